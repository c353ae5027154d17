"""Samples a graph by breadth-first search from a few random nodes, with all edges between the sampled nodes.

Of memberships, users are sampled: the search goes from a user to all users in the same groups, and sampled users keep
all of their groups.

Within one hop, nodes are taken in the order of a keyed hash of their ids, so the sample does not depend on
partitioning. Cost: one pass over the edges for each hop.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.pipeline.session import read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FRIENDS, FOLLOWERS, MEMBERSHIPS = "friends", "followers", "memberships"


# From a frontier (node) to the neighbours of its nodes (node), which may repeat.
_NextNodes = Callable[["DataFrame"], "DataFrame"]


def along_edges(edges: "DataFrame") -> _NextNodes:
    """Search along edges, in both directions."""
    from pyspark.sql import functions as f

    both = edges.select("source", "target").union(edges.select("target", "source"))
    return lambda frontier: both.join(f.broadcast(frontier), both.source == frontier.node, "left_semi").select(
        f.col("target").alias("node")
    )


def through_groups(interests: "DataFrame") -> _NextNodes:
    """Search from a user to all users in one of its groups."""
    from pyspark.sql import functions as f

    def reach(frontier: "DataFrame") -> "DataFrame":
        groups = interests.join(f.broadcast(frontier), "node", "left_semi").select("topic").distinct()
        return interests.join(groups, "topic", "left_semi").select("node")

    return reach


def sample_nodes(
    spark: "SparkSession",
    reach: _NextNodes,
    connected: "DataFrame",
    node_count: int,
    wanted: int,
    seeds: int,
    seed: int,
) -> "DataFrame":
    """(node): the first `wanted` nodes that the search reaches.

    When a search has seen its whole component, it starts again at other nodes of `connected` (node), the nodes that have
    an edge or group. Each time there are twice as many starts, so that a graph of many small components takes few hops.
    """
    from pyspark.sql import functions as f

    if not 1 <= wanted <= node_count:
        raise InputError(f"`nodes` must be between 1 and the graph's {node_count} nodes, got {wanted}")
    if not 1 <= seeds <= wanted:
        raise InputError(f"`seeds` must be between 1 and `nodes` ({wanted}), got {seeds}")
    starts: dict[int, None] = {}
    counter = 0
    while len(starts) < seeds:
        starts[below(draw(seed, counter, Purpose.SAMPLE, 0), node_count)] = None
        counter += 1
    visited = spark.createDataFrame([(node,) for node in starts], "node bigint")
    frontier, count = visited, len(starts)
    restarts = 0
    while count < wanted:
        reached = reach(frontier).distinct().join(visited, "node", "left_anti")
        # The nodes with the smallest hashes; the id breaks ties.
        fresh = reached.orderBy(f.xxhash64(f.lit(seed), "node"), "node").limit(wanted - count).localCheckpoint()
        found = fresh.count()
        if found == 0:
            restarts += 1
            # At most half of the missing nodes are starts, so that there is room for their neighbours.
            count_started = min(2**restarts, max(1, (wanted - count) // 2))
            others = connected.select("node").distinct().join(visited, "node", "left_anti")
            hashed = others.orderBy(f.xxhash64(f.lit(seed), f.lit(restarts), "node"), "node")
            fresh = hashed.limit(count_started).localCheckpoint()
            found = fresh.count()
            if found == 0:
                raise InputError(
                    f"the sample would have only {count} of the {wanted} nodes asked for: no other node has an edge or "
                    f"group; ask for at most {count}"
                )
        # Without a checkpoint the query would grow with every hop and start from the first hop each time.
        visited = visited.union(fresh).localCheckpoint()
        frontier, count = fresh, count + found
    return visited


def write_sample(
    spark: "SparkSession", graph: Path, folder: Path, wanted: int, seeds: int, seed: int, kind: str
) -> dict[str, int]:
    """Write interests(node, topic) and, for a graph, edges(source, target) of a sample; returns their row counts."""
    from pyspark.sql import functions as f

    table = "interests" if kind == MEMBERSHIPS else "edges"
    path, names_path = graph / f"{table}.parquet", graph / "names.parquet"
    if not path.exists():
        made_by = "memberships" if kind == MEMBERSHIPS else "edges"
        raise InputError(f"{graph} has no {path.name}; `gossamer ingest {made_by}` makes one")
    rows = read_parquet(spark, path)
    rows = rows.select("node", "topic") if kind == MEMBERSHIPS else rows.select("source", "target")
    node_count = read_parquet(spark, names_path).count() if names_path.exists() else _highest(rows) + 1
    if kind == MEMBERSHIPS:
        nodes = sample_nodes(spark, through_groups(rows), rows, node_count, wanted, seeds, seed)
        write_parquet(rows.join(nodes, "node", "left_semi").coalesce(1), folder / "interests.parquet")
        return _counts(spark, nodes, folder)
    edges = rows
    linked = edges.select(f.col("source").alias("node")).union(edges.select("target"))
    nodes = sample_nodes(spark, along_edges(edges), linked, node_count, wanted, seeds, seed)
    ends = {side: nodes.withColumnRenamed("node", side) for side in ("source", "target")}
    among = edges.join(ends["source"], "source", "left_semi").join(ends["target"], "target", "left_semi")
    write_parquet(among.coalesce(1), folder / "edges.parquet")
    among = read_parquet(spark, folder / "edges.parquet")
    # A follower (source) subscribes to the user that it follows (target). Friends subscribe to each other.
    interests = among.select(f.col("source").alias("node"), f.col("target").alias("topic"))
    if kind == FRIENDS:
        interests = interests.union(among.select("target", "source")).distinct()
    write_parquet(interests.coalesce(1), folder / "interests.parquet")
    return {"edges": among.count(), **_counts(spark, nodes, folder)}


def _counts(spark: "SparkSession", nodes: "DataFrame", folder: Path) -> dict[str, int]:
    """The numbers of sampled nodes and of interests, and of nodes without any interest if there are such nodes."""
    interests = read_parquet(spark, folder / "interests.parquet")
    counts = {"nodes": nodes.count(), "interests": interests.count()}
    without = counts["nodes"] - interests.select("node").distinct().count()
    return {**counts, "nodes_without_interests": without} if without else counts


def _highest(rows: "DataFrame") -> int:
    from pyspark.sql import functions as f

    ends = f.col("node") if "node" in rows.columns else f.greatest("source", "target")
    row = rows.agg(f.max(ends).alias("highest")).first()
    return int(row["highest"]) if row and row["highest"] is not None else -1
