"""Measures of an overlay on Spark, for overlays and workloads past one machine: the results of `gossamer check`.

Each link is given the interests of both its ends; what they share is the topics whose overlays it belongs to. The links
of a topic then meet in one Arrow function, which joins them up. No shared files are needed, and no topic's links need to
fit with another's. Cost: one shuffle of links, one of (topic, link) pairs.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.workload import INTERESTS, OVERLAY
from gossamer.model.values.errors import InputError
from gossamer.pipeline.session import spark_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def analyse_topics(interests: "DataFrame", links: "DataFrame") -> "DataFrame":
    """topics(topic, subscribers, components, links)."""
    from pyspark.sql import functions as f

    held = interests.groupBy("node").agg(f.collect_list("topic").alias("topics"))
    ends = links.join(held.withColumnsRenamed({"node": "u", "topics": "u_topics"}), "u").join(
        held.withColumnsRenamed({"node": "v", "topics": "v_topics"}), "v"
    )
    shared = ends.select("u", "v", f.explode(f.array_intersect("u_topics", "v_topics")).alias("topic"))
    joined = shared.groupBy("topic").applyInArrow(_join_up, "topic bigint, joined bigint, links bigint")
    subscribers = interests.groupBy("topic").agg(f.count(f.lit(1)).alias("subscribers"))
    return subscribers.join(joined, "topic", "left").select(
        "topic",
        "subscribers",
        (f.col("subscribers") - f.coalesce("joined", f.lit(0))).alias("components"),
        f.coalesce("links", f.lit(0)).alias("links"),
    )


def _join_up(table: "pa.Table") -> "pa.Table":
    """All links of one topic: how many components they save, and how many links there are."""
    import numpy as np
    import pyarrow as pa
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    u, v = (table.column(name).to_numpy() for name in ("u", "v"))
    nodes, places = np.unique(np.concatenate((u, v)), return_inverse=True)
    shape = (len(nodes), len(nodes))
    graph = coo_array((np.ones(len(u), np.bool_), (places[: len(u)], places[len(u) :])), shape=shape)
    components = connected_components(graph, directed=False, return_labels=False)
    topic = table.column("topic")[0].as_py()
    return pa.table({"topic": [topic], "joined": [len(nodes) - int(components)], "links": [len(u)]})


def analyse_degrees(interests: "DataFrame", links: "DataFrame") -> "DataFrame":
    """degrees(degree, nodes), nodes without a link included."""
    from pyspark.sql import functions as f

    ends = links.select(f.col("u").alias("node")).union(links.select("v"))
    counted = ends.groupBy("node").agg(f.count(f.lit(1)).alias("degree"))
    nodes = interests.select("node").distinct().join(counted, "node", "left")
    by_degree = nodes.groupBy(f.coalesce("degree", f.lit(0)).alias("degree"))
    return by_degree.agg(f.count(f.lit(1)).alias("nodes"))


def write_analysis(spark: "SparkSession", overlay: Path, workload: Path, folder: Path) -> dict[str, Any]:
    """topics.parquet and degrees.parquet of an overlay over a workload; returns the figures over all of it."""
    from pyspark.sql import functions as f

    overlay = overlay / OVERLAY if (overlay / OVERLAY).exists() else overlay
    for path in (overlay, workload / INTERESTS):
        if not path.exists():
            raise InputError(f"there is no {path}")
    interests = spark.read.parquet(spark_path(workload / INTERESTS)).select("node", "topic")
    links = spark.read.parquet(spark_path(overlay)).select("u", "v")
    strangers = links.join(interests.select(f.col("node").alias("u")), "u", "left_anti").union(
        links.select("v", "u").join(interests.select(f.col("node").alias("v")), "v", "left_anti")
    )
    stranger = strangers.first()
    if stranger is not None:
        raise InputError(f"{overlay} names node {stranger[0]}, which is not in the workload")
    analyse_topics(interests, links).coalesce(1).write.parquet(spark_path(folder / "topics.parquet"))
    analyse_degrees(interests, links).coalesce(1).write.parquet(spark_path(folder / "degrees.parquet"))
    topics = spark.read.parquet(spark_path(folder / "topics.parquet"))
    degrees = spark.read.parquet(spark_path(folder / "degrees.parquet"))
    over_topics = topics.agg(
        f.count(f.lit(1)).alias("topics"),
        f.sum("subscribers").alias("subscriptions"),
        f.sum((f.col("components") > 1).cast("bigint")).alias("partitioned_topics"),
        f.sum("components").alias("components"),
    ).first()
    over_nodes = degrees.agg(
        f.sum("nodes").alias("nodes"),
        f.sum(f.expr("degree * nodes")).alias("ends"),
        f.max("degree").alias("max_degree"),
    ).first()
    assert over_topics is not None
    assert over_nodes is not None
    nodes, ends = int(over_nodes["nodes"]), int(over_nodes["ends"])
    return {
        "nodes": nodes,
        "links": ends // 2,
        "average_degree": ends / nodes,
        "max_degree": int(over_nodes["max_degree"]),
        **{name: int(over_topics[name]) for name in ("topics", "subscriptions", "partitioned_topics", "components")},
    }
