"""Samples a graph by breadth-first search from a few random nodes, with all edges between the sampled nodes.

Of memberships, users are sampled: the search goes from a user to all users in the same groups, and sampled users keep
all of their groups.

Within one hop, nodes are taken in the order of a keyed hash of their ids, so the sample does not depend on
partitioning. Cost: one pass over the edges for each hop.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.pipeline.storage import Place, discard, exists, read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FRIENDS, FOLLOWERS, MEMBERSHIPS = "friends", "followers", "memberships"


# Chosen: up to this many nodes, a frontier or sample is sent to every worker (about 100 MB there); more are joined by
# shuffling. Spark itself would decide by the compressed size of the file.
BROADCAST_NODES_MAX = 2_000_000

# From a frontier (node) and its size to the neighbours of its nodes (node), which may repeat.
_NextNodes = Callable[["DataFrame", int], "DataFrame"]


def with_hint(nodes: "DataFrame", count: int) -> "DataFrame":
    """The nodes with the plan of a join: sent to every worker, or shuffled."""
    return nodes.hint("broadcast" if count <= BROADCAST_NODES_MAX else "shuffle_merge")


def along_edges(edges: "DataFrame") -> _NextNodes:
    """Search along edges, in both directions. A hop reads the edges once."""
    from pyspark.sql import functions as f

    def reach(frontier: "DataFrame", count: int) -> "DataFrame":
        ends = {
            end: with_hint(frontier.select(f.col("node").alias(end), f.lit(True).alias(f"{end}_in")), count)
            for end in ("source", "target")
        }
        marked = edges.join(ends["source"], "source", "left").join(ends["target"], "target", "left")
        # An edge with both ends in the frontier leads to no new node.
        leads = marked.where("(source_in is null) != (target_in is null)")
        return leads.select(f.when(f.col("source_in"), f.col("target")).otherwise(f.col("source")).alias("node"))

    return reach


def through_groups(interests: "DataFrame") -> _NextNodes:
    """Search from a user to all users in one of its groups."""

    def reach(frontier: "DataFrame", count: int) -> "DataFrame":
        groups = interests.join(with_hint(frontier, count), "node", "left_semi").select("topic").distinct()
        return interests.join(groups, "topic", "left_semi").select("node")

    return reach


@dataclass
class _Search:
    """The nodes found so far. Each hop is a table, so that a lost executor costs the current hop only."""

    spark: "SparkSession"
    folder: Place
    hops: list[Place] = field(default_factory=list)
    count: int = 0

    def add(self, nodes: "DataFrame") -> int:
        """Write the nodes of a hop; returns their number."""
        place = self.folder / f"{len(self.hops):06}"
        write_parquet(nodes.select("node"), place)
        found: int = read_parquet(self.spark, place).count()
        if found:
            self.hops.append(place)
            self.count += found
        else:
            discard(self.spark, place)
        return found

    def frontier(self) -> "DataFrame":
        """The nodes of the last hop."""
        return read_parquet(self.spark, self.hops[-1])

    def visited(self) -> "DataFrame":
        """All nodes found so far."""
        return read_parquet(self.spark, *self.hops)

    def first(self, nodes: "DataFrame", most: int, *key: int) -> "DataFrame":
        """The new nodes with the smallest hashes under a key, where the id breaks ties."""
        from pyspark.sql import functions as f

        fresh = nodes.distinct().join(with_hint(self.visited(), self.count), "node", "left_anti")
        return fresh.orderBy(f.xxhash64(*map(f.lit, key), "node"), "node").limit(most)


def sample_nodes(
    spark: "SparkSession",
    reach: _NextNodes,
    connected: "DataFrame",
    node_count: int,
    wanted: int,
    seeds: int,
    seed: int,
    folder: Place,
) -> "DataFrame":
    """(node): the first `wanted` nodes that the search reaches, as tables in a folder.

    When a search has seen its whole component, it starts again at other nodes of `connected` (node), the nodes that have
    an edge or group. Each time there are twice as many starts, so that a graph of many small components takes few hops.
    """
    if not 1 <= wanted <= node_count:
        raise InputError(f"`nodes` must be between 1 and the graph's {node_count} nodes, got {wanted}")
    if not 1 <= seeds <= wanted:
        raise InputError(f"`seeds` must be between 1 and `nodes` ({wanted}), got {seeds}")
    starts: dict[int, None] = {}
    counter = 0
    while len(starts) < seeds:
        starts[below(draw(seed, counter, Purpose.SAMPLE, 0), node_count)] = None
        counter += 1
    search = _Search(spark, folder)
    last = search.add(spark.createDataFrame([(node,) for node in starts], "node bigint"))
    restarts = 0
    while search.count < wanted:
        missing = wanted - search.count
        last = search.add(search.first(reach(search.frontier(), last), missing, seed))
        if last:
            continue
        restarts += 1
        # At most half of the missing nodes are starts, so that there is room for their neighbours.
        started = min(2**restarts, max(1, missing // 2))
        last = search.add(search.first(connected.select("node"), started, seed, restarts))
        if not last:
            raise InputError(
                f"the sample would have only {search.count} of the {wanted} nodes asked for: no other node has an edge or "
                f"group; ask for at most {search.count}"
            )
    return search.visited()


def write_sample(
    spark: "SparkSession", graph: Place, folder: Place, wanted: int, seeds: int, seed: int, kind: str
) -> dict[str, int]:
    """Write interests(node, topic) and, for a graph, edges(source, target) of a sample; returns their row counts."""
    from pyspark.sql import functions as f

    table = "interests" if kind == MEMBERSHIPS else "edges"
    path, names_path = graph / f"{table}.parquet", graph / "names.parquet"
    if not exists(spark, path):
        made_by = "memberships" if kind == MEMBERSHIPS else "edges"
        raise InputError(f"{graph} has no {path.name}; `gossamer ingest {made_by}` makes one")
    rows = read_parquet(spark, path)
    rows = rows.select("node", "topic") if kind == MEMBERSHIPS else rows.select("source", "target")
    node_count = read_parquet(spark, names_path).count() if exists(spark, names_path) else _highest(rows) + 1
    hops = folder / "hops.aside"
    if kind == MEMBERSHIPS:
        nodes = sample_nodes(spark, through_groups(rows), rows, node_count, wanted, seeds, seed, hops)
        _write_small(rows.join(with_hint(nodes, wanted), "node", "left_semi"), folder / "interests.parquet")
        counts = _counts(spark, wanted, folder)
    else:
        linked = rows.select(f.col("source").alias("node")).union(rows.select("target"))
        nodes = sample_nodes(spark, along_edges(rows), linked, node_count, wanted, seeds, seed, hops)
        counts = _write_edges(spark, rows, nodes, wanted, folder, kind)
    discard(spark, hops)
    copy_names(spark, graph, folder)
    return counts


def copy_names(spark: "SparkSession", graph: Place, folder: Place) -> None:
    """Write the names of the nodes and topics of a workload, if the tables that it was taken from have names.

    The topics of a graph are its users.
    """
    users, topics = graph / "names.parquet", graph / "topic_names.parquet"
    if not exists(spark, users):
        return
    rows = read_parquet(spark, folder / "interests.parquet")
    _write_named(spark, users, rows, "node", folder / "names.parquet")
    if exists(spark, topics):
        _write_named(spark, topics, rows, "topic", folder / "topic_names.parquet")
    elif exists(spark, graph / "edges.parquet"):
        _write_named(spark, users, rows, "topic", folder / "topic_names.parquet")


def _write_named(spark: "SparkSession", names: Place, rows: "DataFrame", column: str, place: Place) -> None:
    ids = rows.select(rows[column].alias("id")).distinct()
    _write_small(read_parquet(spark, names).join(ids, "id", "left_semi").select("id", "name"), place)


def _write_edges(
    spark: "SparkSession", edges: "DataFrame", nodes: "DataFrame", wanted: int, folder: Place, kind: str
) -> dict[str, int]:
    """Write the edges among the sampled nodes, and the interests that they mean."""
    from pyspark.sql import functions as f

    ends = {side: with_hint(nodes.withColumnRenamed("node", side), wanted) for side in ("source", "target")}
    among = edges.join(ends["source"], "source", "left_semi").join(ends["target"], "target", "left_semi")
    _write_small(among, folder / "edges.parquet")
    among = read_parquet(spark, folder / "edges.parquet")
    # A follower (source) subscribes to the user that it follows (target). Friends subscribe to each other.
    interests = among.select(f.col("source").alias("node"), f.col("target").alias("topic"))
    if kind == FRIENDS:
        interests = interests.union(among.select("target", "source")).distinct()
    _write_small(interests, folder / "interests.parquet")
    return {"edges": among.count(), **_counts(spark, wanted, folder)}


def _write_small(rows: "DataFrame", place: Place) -> None:
    """Write the few rows that filters have left of a large table as one file.

    `coalesce(1)` would run the filters, and so the reading of the whole table, in one task.
    """
    write_parquet(rows.repartition(1), place)


def _counts(spark: "SparkSession", nodes: int, folder: Place) -> dict[str, int]:
    """The numbers of sampled nodes and of interests, and of nodes without any interest if there are such nodes."""
    interests = read_parquet(spark, folder / "interests.parquet")
    counts = {"nodes": nodes, "interests": interests.count()}
    without = nodes - interests.select("node").distinct().count()
    return {**counts, "nodes_without_interests": without} if without else counts


def _highest(rows: "DataFrame") -> int:
    from pyspark.sql import functions as f

    ends = f.col("node") if "node" in rows.columns else f.greatest("source", "target")
    row = rows.agg(f.max(ends).alias("highest")).first()
    return int(row["highest"]) if row and row["highest"] is not None else -1
