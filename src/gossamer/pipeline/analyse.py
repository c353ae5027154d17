"""Measures of an overlay on Spark, for overlays and workloads past one machine: the results of `gossamer check`.

Each link is given the interests of both its ends; what they share is the topics whose overlays it belongs to. The links
of a topic then meet in one Arrow function, which measures them with the kernels. No shared files are needed, and no
topic's links need to fit with another's. Cost: one shuffle of links, one of (topic, link) pairs. Where every worker can
read the driver's files, `files.py` does the same without a shuffle.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.workload import INTERESTS, OVERLAY
from gossamer.model.values.errors import InputError
from gossamer.pipeline.files import can_use_files, measure_by_files
from gossamer.pipeline.session import on_worker, spark_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Chosen: diameters of topic overlays of up to so many nodes are exact, of larger ones bounded: the exact one takes a
# search for each 64 nodes that the bounds cannot dismiss.
EXACT_NODES = 20_000

AUTO, SHUFFLE, FILES = "auto", "shuffle", "files"

_MEASURED = "topic bigint, joined bigint, links bigint, diameter bigint, diameter_most bigint, clustered double"


def analyse_topics(interests: "DataFrame", links: "DataFrame", lengths: bool) -> "DataFrame":
    """topics(topic, subscribers, components, links[, diameter, diameter_most, clustering])."""
    from pyspark.sql import functions as f

    held = interests.groupBy("node").agg(f.collect_list("topic").alias("topics"))
    ends = links.join(held.withColumnsRenamed({"node": "u", "topics": "u_topics"}), "u").join(
        held.withColumnsRenamed({"node": "v", "topics": "v_topics"}), "v"
    )
    shared = ends.select("u", "v", f.explode(f.array_intersect("u_topics", "v_topics")).alias("topic"))
    measured = shared.groupBy("topic").applyInArrow(
        on_worker(__name__, "measure_topic", lengths, EXACT_NODES), _MEASURED
    )
    subscribers = interests.groupBy("topic").agg(f.count(f.lit(1)).alias("subscribers"))
    none = f.lit(0)
    columns = [
        "topic",
        "subscribers",
        (f.col("subscribers") - f.coalesce("joined", none)).alias("components"),
        f.coalesce("links", none).cast("bigint").alias("links"),
    ]
    if lengths:
        columns += [
            f.coalesce("diameter", none).cast("bigint").alias("diameter"),
            f.coalesce("diameter_most", none).cast("bigint").alias("diameter_most"),
            # Subscribers without a link in the topic have no neighbours that could be linked.
            (f.coalesce("clustered", f.lit(0.0)) / f.col("subscribers")).alias("clustering"),
        ]
    return subscribers.join(measured, "topic", "left").select(*columns)


def measure_topic(lengths: bool, exact_nodes: int, table: "pa.Table") -> "pa.Table":
    """In a worker: all links of one topic."""
    import numpy as np
    import pyarrow as pa

    from gossamer.kernels.measures import graph_diameter, local_clustering, topic_components
    from gossamer.model.arrays.overlay import Overlay

    u, v = (table.column(name).to_numpy() for name in ("u", "v"))
    nodes, places = np.unique(np.concatenate((u, v)), return_inverse=True)
    count = len(nodes)
    overlay = Overlay.from_links(places[: len(u)], places[len(u) :], count)
    everybody = (np.array([0, count], np.int64), np.arange(count, dtype=np.int32))
    components, links = topic_components(*everybody, overlay.starts, overlay.neighbours, 0, 1)
    least = most = 0
    clustering = np.zeros(count)
    if lengths:
        least, most = graph_diameter(overlay.starts, overlay.neighbours, count <= exact_nodes)
        local_clustering(overlay.starts, overlay.neighbours, clustering)
    found = {
        "topic": [table.column("topic")[0].as_py()],
        "joined": [count - int(components[0])],
        "links": [int(links[0])],
        "diameter": [int(least)],
        "diameter_most": [int(most)],
        "clustered": [float(clustering.sum())],
    }
    return pa.table(found)


def analyse_nodes(interests: "DataFrame", links: "DataFrame") -> "DataFrame":
    """(node, topics, degree), nodes without a link included; strangers to the workload have no `topics`."""
    from pyspark.sql import functions as f

    ends = links.select(f.col("u").alias("node")).union(links.select("v"))
    counted = ends.groupBy("node").agg(f.count(f.lit(1)).alias("degree"))
    nodes = interests.groupBy("node").agg(f.count(f.lit(1)).alias("topics")).join(counted, "node", "full")
    return nodes.select("node", "topics", f.coalesce("degree", f.lit(0)).cast("bigint").alias("degree"))


def analyse_clustering(nodes: "DataFrame", links: "DataFrame") -> float:
    """The mean clustering coefficient of the whole overlay: a link closes as many triangles as its ends have in common."""
    from pyspark.sql import functions as f

    both = links.union(links.select("v", "u")).toDF("node", "other")
    near = both.groupBy("node").agg(f.collect_list("other").alias("near"))
    ends = links.join(near.withColumnsRenamed({"node": "u", "near": "u_near"}), "u").join(
        near.withColumnsRenamed({"node": "v", "near": "v_near"}), "v"
    )
    common = ends.select("u", "v", f.size(f.array_intersect("u_near", "v_near")).alias("common"))
    halves = common.select(f.col("u").alias("node"), "common").union(common.select("v", "common"))
    closed = halves.groupBy("node").agg(f.sum("common").alias("closed"))
    # Each link among its neighbours is met twice, from both of its ends.
    pairs = f.col("degree") * (f.col("degree") - 1)
    local = f.when(pairs > 0, f.coalesce("closed", f.lit(0)) / pairs).otherwise(0.0)
    row = nodes.join(closed, "node", "left").agg(f.avg(local).alias("mean")).first()
    return float(row["mean"]) if row is not None and row["mean"] is not None else 0.0


def write_analysis(
    spark: "SparkSession", overlay: Path, workload: Path, folder: Path, way: str = AUTO, lengths: bool = True
) -> dict[str, Any]:
    """topics.parquet and degrees.parquet of an overlay over a workload; returns the figures over all of it.

    Without `lengths` neither diameters nor clustering, which cost most.
    """
    overlay = overlay / OVERLAY if (overlay / OVERLAY).exists() else overlay
    for path in (overlay, workload / INTERESTS):
        if not path.exists():
            raise InputError(f"there is no {path}")
    if way == FILES or (way == AUTO and can_use_files(spark, overlay, workload / INTERESTS, folder)):
        return {**measure_by_files(spark, overlay, workload, folder, EXACT_NODES, lengths), "way": FILES}
    return {**_by_shuffle(spark, overlay, workload, folder, lengths), "way": SHUFFLE}


def _by_shuffle(spark: "SparkSession", overlay: Path, workload: Path, folder: Path, lengths: bool) -> dict[str, Any]:
    from pyspark.sql import functions as f

    interests = spark.read.parquet(spark_path(workload / INTERESTS)).select("node", "topic")
    links = spark.read.parquet(spark_path(overlay)).select("u", "v")
    # Asked three things below; one row a node.
    nodes = analyse_nodes(interests, links).localCheckpoint()
    stranger = nodes.where("topics is null").orderBy("node").first()
    if stranger is not None:
        raise InputError(f"{overlay} names node {stranger['node']}, which is not in the workload")
    path = spark_path(folder / "topics.parquet")
    analyse_topics(interests, links, lengths).coalesce(1).write.parquet(path)
    by_degree = nodes.groupBy("degree").agg(f.count(f.lit(1)).alias("nodes"))
    by_degree.coalesce(1).write.parquet(spark_path(folder / "degrees.parquet"))
    topics = spark.read.parquet(path)
    wanted = [
        f.count(f.lit(1)).alias("topics"),
        f.sum("subscribers").alias("subscriptions"),
        f.sum((f.col("components") > 1).cast("bigint")).alias("partitioned_topics"),
        f.sum("components").alias("components"),
    ]
    if lengths:
        wanted += [f.max("diameter").alias("least"), f.max("diameter_most").alias("most")]
        wanted += [f.bool_and(f.col("diameter") == f.col("diameter_most")).alias("exact")]
    over_topics = topics.agg(*wanted).first()
    over_nodes = nodes.agg(
        f.count(f.lit(1)).alias("nodes"),
        f.sum("degree").alias("ends"),
        f.max("degree").alias("max_degree"),
        f.avg(f.col("degree") / f.col("topics")).alias("links_per_subscription"),
    ).first()
    assert over_topics is not None
    assert over_nodes is not None
    ends = int(over_nodes["ends"])
    figures: dict[str, Any] = {
        "nodes": int(over_nodes["nodes"]),
        "links": ends // 2,
        "average_degree": ends / int(over_nodes["nodes"]),
        "max_degree": int(over_nodes["max_degree"]),
        **{name: int(over_topics[name]) for name in ("topics", "subscriptions", "partitioned_topics", "components")},
    }
    if lengths:
        figures["max_topic_diameter"] = int(over_topics["least"])
        figures["max_topic_diameter_is_exact"] = bool(over_topics["exact"])
    figures["links_per_subscription"] = float(over_nodes["links_per_subscription"])
    if lengths:
        figures["clustering"] = analyse_clustering(nodes, links)
        if not figures["max_topic_diameter_is_exact"]:
            figures["max_topic_diameter_at_most"] = int(over_topics["most"])
    return figures
