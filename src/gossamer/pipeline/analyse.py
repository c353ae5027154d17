"""Measures of an overlay on Spark, for overlays that do not fit one machine: the same results as `gossamer check`.

Each link is joined with the interests of both of its ends. The topics that both ends have in common are the topics
whose overlays contain the link. One Arrow function then gets all links of a topic and calls the registered measures.
Workers need no shared files, and only the links of one topic must fit in memory. Cost: one shuffle of links, one of
(topic, link) pairs. Where every worker can read the files of the driver, `files.py` computes the same without a
shuffle.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Registers the measures of this package.
import gossamer.simulator.topic_measures  # noqa: F401
from gossamer.model.tables.measures import (
    SPARK_TYPES,
    TopicMeasure,
    TopicRange,
    load_measures,
    measure_modules,
    node_measures,
    topic_figures,
    topic_measures,
)
from gossamer.model.tables.workload import ABSENT, INTERESTS, OVERLAY
from gossamer.model.values.errors import InputError
from gossamer.pipeline.files import can_use_files, measure_by_files
from gossamer.pipeline.session import on_worker
from gossamer.pipeline.storage import Place, discard, exists, read_parquet, rewritten, write_parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Chosen: diameters of topics of up to this many subscribers are exact, those of larger topics are bounds. An exact
# diameter takes one search for each 64 nodes that the bounds cannot exclude.
EXACT_NODES = 20_000

AUTO, SHUFFLE, FILES = "auto", "shuffle", "files"


def analyse_topics(interests: "DataFrame", links: "DataFrame", lengths: bool) -> "DataFrame":
    """The table `topics` with a column for each registered measure; without `lengths`, only the cheap ones.

    `interests` has a column `present`; rows of absent nodes count only in the list of topics.
    """
    from pyspark.sql import functions as f

    everything, interests = interests, interests.where("present")
    held = interests.groupBy("node").agg(f.collect_list("topic").alias("topics"))
    ends = links.join(held.withColumnsRenamed({"node": "u", "topics": "u_topics"}), "u").join(
        held.withColumnsRenamed({"node": "v", "topics": "v_topics"}), "v"
    )
    shared = ends.select(
        f.explode(f.array_intersect("u_topics", "v_topics")).alias("topic"), "u", "v", f.lit(0).alias("subscribers")
    )
    # One more row for each topic has its number of subscribers, some of which may have no link in the topic.
    nothing = f.lit(None).cast("bigint")
    counted = everything.groupBy("topic").agg(f.sum(f.col("present").cast("bigint")).alias("subscribers"))
    rows = shared.union(counted.select("topic", nothing.alias("u"), nothing.alias("v"), "subscribers"))
    types = {name: SPARK_TYPES[kind] for each in topic_measures(lengths) for name, kind in each.columns.items()}
    schema = ", ".join(["topic bigint", *(f"{name} {kind}" for name, kind in types.items())])
    call = on_worker(__name__, "measure_topic", lengths, EXACT_NODES, measure_modules())
    return rows.groupBy("topic").applyInArrow(call, schema)


def measure_topic(lengths: bool, exact_nodes: int, modules: Sequence[str], table: "pa.Table") -> "pa.Table":
    """In a worker: measure one topic by all of its links and its number of subscribers."""
    import numpy as np
    import pyarrow as pa

    from gossamer.model.arrays.overlay import Overlay
    from gossamer.simulator.measure import measure_range

    load_measures(modules)
    count = int(table.column("subscribers").to_numpy().max())
    linked = table.filter(table.column("u").is_valid())
    u, v = (linked.column(name).to_numpy() for name in ("u", "v"))
    # Places 0..count-1: first the subscribers that have a link, by id, then those that have none.
    _, places = np.unique(np.concatenate((u, v)), return_inverse=True)
    overlay = Overlay.from_links(places[: len(u)], places[len(u) :], count)
    subscribers = (np.array([0, count], np.int64), np.arange(count, dtype=np.int32))
    columns = measure_range(TopicRange(*subscribers, overlay.starts, overlay.neighbours, 0, 1, exact_nodes), lengths)
    return pa.table({"topic": table.column("topic").slice(0, 1), **columns})


def analyse_nodes(interests: "DataFrame", links: "DataFrame") -> "DataFrame":
    """(node, topics, present, degree) of every node; `topics` is null for a node that is not in the workload."""
    from pyspark.sql import functions as f

    ends = links.select(f.col("u").alias("node")).union(links.select("v"))
    counted = ends.groupBy("node").agg(f.count(f.lit(1)).alias("degree"))
    own = interests.groupBy("node").agg(f.count(f.lit(1)).alias("topics"), f.first("present").alias("present"))
    nodes = own.join(counted, "node", "full")
    return nodes.select("node", "topics", "present", f.coalesce("degree", f.lit(0)).cast("bigint").alias("degree"))


def analyse_clustering(nodes: "DataFrame", links: "DataFrame") -> float:
    """The mean clustering coefficient: a link is part of one triangle for each common neighbour of its ends."""
    from pyspark.sql import functions as f

    both = links.union(links.select("v", "u")).toDF("node", "other")
    near = both.groupBy("node").agg(f.collect_list("other").alias("near"))
    ends = links.join(near.withColumnsRenamed({"node": "u", "near": "u_near"}), "u").join(
        near.withColumnsRenamed({"node": "v", "near": "v_near"}), "v"
    )
    common = ends.select("u", "v", f.size(f.array_intersect("u_near", "v_near")).alias("common"))
    halves = common.select(f.col("u").alias("node"), "common").union(common.select("v", "common"))
    closed = halves.groupBy("node").agg(f.sum("common").alias("closed"))
    # Each link among the neighbours of a node is counted twice, once for each end.
    pairs = f.col("degree") * (f.col("degree") - 1)
    local = f.when(pairs > 0, f.coalesce("closed", f.lit(0)) / pairs).otherwise(0.0)
    row = nodes.join(closed, "node", "left").agg(f.avg(local).alias("mean")).first()
    return float(row["mean"]) if row is not None and row["mean"] is not None else 0.0


def write_analysis(
    spark: "SparkSession", overlay: Place, workload: Place, folder: Place, way: str = AUTO, lengths: bool = True
) -> dict[str, Any]:
    """Write topics.parquet and degrees.parquet of an overlay, and return the figures of `gossamer check`.

    Without `lengths`, diameters and clustering are left out, which cost most.
    """
    links = links_of(spark, overlay)
    for path in (links, workload / INTERESTS):
        if not exists(spark, path):
            raise InputError(f"there is no {path}")
    if isinstance(links, Path) and isinstance(workload, Path) and isinstance(folder, Path):
        if way == FILES or (way == AUTO and can_use_files(spark, links, workload / INTERESTS, folder)):
            return {**measure_by_files(spark, links, workload, folder, EXACT_NODES, lengths), "way": FILES}
    elif way == FILES:
        raise InputError("`way` files needs local folders that all workers share; a URI is analysed by `way` shuffle")
    return {**_by_shuffle(spark, links, workload, folder, lengths), "way": SHUFFLE}


def links_of(spark: "SparkSession", overlay: Place) -> Place:
    """The table of links that a file, or the folder of a build or simulation, names."""
    return overlay / OVERLAY if exists(spark, overlay / OVERLAY) else overlay


def _absent(spark: "SparkSession", links: Place) -> Place | None:
    """The table of absent nodes beside a table of links; None if all nodes are present."""
    place = links.parent / ABSENT
    return place if exists(spark, place) else None


def _with_presence(spark: "SparkSession", interests: "DataFrame", absent: Place | None) -> "DataFrame":
    """Interests with a column `present`, which is false for the nodes in the table of absent nodes."""
    from pyspark.sql import functions as f

    if absent is None:
        return interests.withColumn("present", f.lit(True))
    gone = read_parquet(spark, absent).select("node", f.lit(True).alias("gone"))
    return interests.join(gone, "node", "left").select("node", "topic", f.col("gone").isNull().alias("present"))


def _by_shuffle(spark: "SparkSession", overlay: Place, workload: Place, folder: Place, lengths: bool) -> dict[str, Any]:
    from pyspark.sql import functions as f

    interests = read_parquet(spark, workload / INTERESTS).select("node", "topic")
    interests = _with_presence(spark, interests, _absent(spark, overlay))
    links = read_parquet(spark, overlay).select("u", "v")
    # One row for each node; three queries below read it.
    nodes = rewritten(analyse_nodes(interests, links), folder / "nodes.aside")
    stranger = nodes.where("topics is null").orderBy("node").first()
    if stranger is not None:
        raise InputError(f"{overlay} names node {stranger['node']}, which is not in the workload")
    nodes = nodes.where("present").drop("present")
    write_parquet(analyse_topics(interests, links, lengths).repartition(1), folder / "topics.parquet")
    by_degree = nodes.groupBy("degree").agg(f.count(f.lit(1)).alias("nodes"))
    write_parquet(by_degree.coalesce(1), folder / "degrees.parquet")
    topics = read_parquet(spark, folder / "topics.parquet")

    def columns_of(each: TopicMeasure) -> dict[str, Any]:
        # One row for each topic: the driver has the columns of one measure at a time.
        table = topics.select(*each.columns).toArrow()
        return {name: table.column(name).to_numpy() for name in each.columns}

    over_topics = topics.agg(f.count(f.lit(1)).alias("topics"), f.sum("subscribers").alias("subscriptions")).first()
    over_nodes = nodes.agg(
        f.count(f.lit(1)).alias("nodes"),
        f.sum("degree").alias("ends"),
        f.max("degree").alias("max_degree"),
        f.avg(f.col("degree") / f.col("topics")).alias("links_per_subscription"),
    ).first()
    assert over_topics is not None
    assert over_nodes is not None
    clustering = {"clustering": analyse_clustering(nodes, links)} if lengths else {}
    discard(spark, folder / "nodes.aside")
    count = int(over_nodes["nodes"])
    return {
        "nodes": count,
        "links": links.count(),
        "average_degree": int(over_nodes["ends"] or 0) / count if count else 0.0,
        "max_degree": int(over_nodes["max_degree"] or 0),
        **{name: int(over_topics[name]) for name in ("topics", "subscriptions")},
        **topic_figures(columns_of, lengths),
        "links_per_subscription": float(over_nodes["links_per_subscription"] or 0.0),
        **clustering,
        # Measures of nodes need the whole overlay in memory, which this way avoids.
        **({"left_out": [each.column for each in node_measures()]} if node_measures() else {}),
    }
