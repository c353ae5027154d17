"""A part of a graph that is still like it: breadth first from a few random nodes, with all edges among the sampled.

The order in which nodes of one hop are taken is a keyed hash of their ids, so the sample is the same whatever the
partitioning. Cost: one pass over the edges for each hop.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.pipeline.session import spark_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A component can be smaller than what is asked for; then another random node is tried, so many times.
RESTARTS_MAX = 50


def sample_nodes(edges: "DataFrame", node_count: int, wanted: int, seeds: int, seed: int) -> "DataFrame":
    """(node): about the first `wanted` nodes that a search reaches; fewer only where the graph has fewer."""
    from pyspark.sql import functions as f

    if not 1 <= wanted <= node_count:
        raise InputError(f"--nodes must be between 1 and the graph's {node_count} nodes, got {wanted}")
    if not 1 <= seeds <= wanted:
        raise InputError(f"--seeds must be between 1 and --nodes ({wanted}), got {seeds}")
    spark = edges.sparkSession
    starts: dict[int, None] = {}
    counter = 0
    while len(starts) < seeds:
        starts[below(draw(seed, counter, Purpose.SAMPLE, 0), node_count)] = None
        counter += 1
    visited = spark.createDataFrame([(node,) for node in starts], "node bigint")
    frontier, count = visited, len(starts)
    both = edges.select("source", "target").union(edges.select("target", "source"))
    restarts = 0
    while count < wanted:
        reached = (
            both.join(f.broadcast(frontier), both.source == frontier.node, "left_semi")
            .select(f.col("target").alias("node"))
            .distinct()
            .join(visited, "node", "left_anti")
        )
        # The first of them by hash; the id breaks ties.
        fresh = reached.orderBy(f.xxhash64(f.lit(seed), "node"), "node").limit(wanted - count).localCheckpoint()
        found = fresh.count()
        if found == 0:
            restarts += 1
            if restarts > RESTARTS_MAX:
                break
            node = below(draw(seed, counter, Purpose.SAMPLE, 0), node_count)
            counter += 1
            fresh = spark.createDataFrame([(node,)], "node bigint").join(visited, "node", "left_anti").localCheckpoint()
            found = fresh.count()
        # A plan that grows with every hop would be planned anew from the first each time.
        visited = visited.union(fresh).localCheckpoint()
        frontier, count = fresh, count + found
    return visited


def write_sample(
    spark: "SparkSession", graph: Path, folder: Path, wanted: int, seeds: int, seed: int, kind: str
) -> dict[str, int]:
    """interests(node, topic) and edges(source, target) of a sample of an ingested graph; returns their rows."""
    from pyspark.sql import functions as f

    edges_path, names_path = graph / "edges.parquet", graph / "names.parquet"
    if not edges_path.exists():
        raise InputError(f"{graph} holds no edges.parquet; `gossamer ingest edges` makes one")
    edges = spark.read.parquet(spark_path(edges_path)).select("source", "target")
    node_count = spark.read.parquet(spark_path(names_path)).count() if names_path.exists() else _highest(edges) + 1
    nodes = sample_nodes(edges, node_count, wanted, seeds, seed)
    ends = {side: nodes.withColumnRenamed("node", side) for side in ("source", "target")}
    among = edges.join(ends["source"], "source", "left_semi").join(ends["target"], "target", "left_semi")
    among.coalesce(1).write.parquet(spark_path(folder / "edges.parquet"))
    among = spark.read.parquet(spark_path(folder / "edges.parquet"))
    # A follower (source) subscribes to whom it follows (target); friends to each other.
    interests = among.select(f.col("source").alias("node"), f.col("target").alias("topic"))
    if kind == "friends":
        interests = interests.union(among.select("target", "source")).distinct()
    interests.coalesce(1).write.parquet(spark_path(folder / "interests.parquet"))
    return {
        "nodes": nodes.count(),
        "edges": among.count(),
        "interests": spark.read.parquet(spark_path(folder / "interests.parquet")).count(),
    }


def _highest(edges: "DataFrame") -> int:
    from pyspark.sql import functions as f

    row = edges.agg(f.max(f.greatest("source", "target")).alias("highest")).first()
    return int(row["highest"]) if row and row["highest"] is not None else -1
