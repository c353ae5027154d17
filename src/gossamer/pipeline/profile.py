"""Profiles a graph or workload: its sizes, its distributions, and how similar interests are.

Only counts by value come to the driver. These are small tables whatever the size of the data: a graph of a billion
edges has about ten thousand distinct degrees.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.values.errors import InputError
from gossamer.pipeline.storage import Place, exists, read_facts, read_parquet
from gossamer.theory.power_law_fit import fit_power_law

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Chosen: the similarity of interests compares all pairs of nodes, so it is left out for more nodes. Profile a sample
# instead.
PAIRS_NODES_MAX = 20_000
TDI_DEPTH = 20
# Chosen: rows for each partition in which values are counted. One hash table of all values costs more for each row as it grows.
PARTITION_ROWS = 1_000_000
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Spread:
    """A distribution: values in ascending order, and how often each occurs."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    def share_above(self) -> NDArray[np.float64]:
        """For each value, the share that is at least as large (the complementary distribution)."""
        above: NDArray[np.float64] = np.cumsum(self.counts[::-1])[::-1] / self.counts.sum()
        return above

    def figures(self) -> dict[str, Any]:
        """Mean, median, extremes, and the power law fitted to the tail."""
        total = self.counts.sum()
        middle = int(np.searchsorted(np.cumsum(self.counts), (total + 1) // 2))
        found = {
            "mean": float((self.values * self.counts).sum() / total),
            "median": int(self.values[middle]),
            "least": int(self.values[0]),
            "most": int(self.values[-1]),
        }
        fit = fit_power_law(self.values, self.counts)
        return found | ({} if fit is None else {f"power_law_{name}": value for name, value in vars(fit).items()})


@dataclass(frozen=True)
class Profile:
    """Sizes, distributions by name, and the similarity of interests where it was computed."""

    sizes: dict[str, int]
    spreads: dict[str, Spread]
    likeness: dict[str, float]

    def figures(self) -> dict[str, Any]:
        """All figures of the profile."""
        return {**self.sizes, **self.likeness, **{name: spread.figures() for name, spread in self.spreads.items()}}


def profile_folder(spark: "SparkSession", folder: Place, of_interests: bool = False) -> Profile:
    """Profile a folder that `gossamer ingest`, `gossamer sample` or `gossamer workload` wrote.

    Edges are profiled if there are any, unless the interests are asked for.
    """
    edges, interests = folder / "edges.parquet", folder / "interests.parquet"
    if exists(spark, edges) and not of_interests:
        rows = read_parquet(spark, edges).select("source", "target")
        spreads = _graph(rows, _is_directed(spark, folder))
        sizes = {"nodes": int(next(iter(spreads.values())).counts.sum()), "edges": rows.count()}
    elif exists(spark, interests):
        rows = read_parquet(spark, interests).select("node", "topic")
        spreads = {"subscribers_per_topic": _spread(rows, "topic"), "topics_per_node": _spread(rows, "node")}
        sizes = {
            "nodes": int(spreads["topics_per_node"].counts.sum()),
            "topics": int(spreads["subscribers_per_topic"].counts.sum()),
            "subscriptions": rows.count(),
        }
    else:
        raise InputError(f"{folder} has neither edges.parquet nor interests.parquet; `gossamer ingest` makes one")
    likeness = _likeness(spark, interests, sizes["nodes"]) if exists(spark, interests) else {}
    return Profile(sizes, spreads, likeness)


def spread_columns(found: dict[str, Profile]) -> dict[str, list[Any]]:
    """The columns of the `spreads` table."""
    columns: dict[str, list[Any]] = {name: [] for name in ("data", "spread", "value", "count", "share")}
    for data, each in found.items():
        for name, spread in each.spreads.items():
            columns["data"] += [data] * len(spread.values)
            columns["spread"] += [name] * len(spread.values)
            columns["value"] += spread.values.tolist()
            columns["count"] += spread.counts.tolist()
            columns["share"] += spread.share_above().tolist()
    return columns


def _graph(rows: "DataFrame", directed: bool) -> dict[str, Spread]:
    from pyspark.sql import functions as f

    if not directed:
        both = rows.select(f.col("source").alias("node")).union(rows.select("target"))
        return {"friends": _spread(both, "node")}
    # Users without followers, or who follow no user, count with zero.
    users = rows.select(f.col("source").alias("node")).union(rows.select("target")).distinct()
    found = {}
    for name, side in (("followers", "target"), ("followees", "source")):
        counted = _counted(rows.select(f.col(side).alias("node")), "node")
        sizes = users.join(counted, "node", "left").select(f.coalesce("size", f.lit(0)).alias("size"))
        found[name] = _by_size(sizes)
    return found


def _spread(rows: "DataFrame", key: str) -> Spread:
    return _by_size(_counted(rows, key))


def _counted(rows: "DataFrame", key: str) -> "DataFrame":
    """How often each value occurs. All rows of a value are brought together first, in partitions of bounded size."""
    from pyspark.sql import functions as f

    usual = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 8)
    partitions = max(usual, -(-rows.count() // PARTITION_ROWS))
    return rows.select(key).repartition(partitions, key).groupBy(key).agg(f.count(f.lit(1)).alias("size"))


def _by_size(sizes: "DataFrame") -> Spread:
    from pyspark.sql import functions as f

    table = sizes.groupBy("size").agg(f.count(f.lit(1)).alias("count")).orderBy("size").toArrow()
    values, counts = (table.column(name).to_numpy().astype(np.int64) for name in ("size", "count"))
    if not len(values):
        raise InputError("the table is empty: there is nothing to profile")
    return Spread(values, counts)


def _is_directed(spark: "SparkSession", folder: Place) -> bool:
    """Whether the manifest of the folder says that edges are directed; without a manifest they are not."""
    manifest = read_facts(spark, folder)
    # The stages of a study have it among their inputs.
    told = (manifest.get("directed"), manifest.get("inputs", {}).get("directed"))
    return any(each is True for each in told) or manifest.get("kind") == "followers"


def _likeness(spark: "SparkSession", interests: Place, node_count: int) -> dict[str, float]:
    """Tdi (SpiderCast, 3.4) and correlated pairs (StAN, Table 1)."""
    if node_count > PAIRS_NODES_MAX:
        return {}
    from gossamer.model.arrays.interest import Interest
    from gossamer.simulator.measure import interest_correlation, top_intersection

    # The number of nodes is bounded above.
    table = read_parquet(spark, interests).select("node", "topic").toArrow()
    (nodes, node_places), (topics, topic_places) = (
        np.unique(table.column(name).to_numpy(), return_inverse=True) for name in ("node", "topic")
    )
    interest = Interest.from_pairs(node_places, topic_places, len(nodes), len(topics), None)
    return {
        f"tdi_{TDI_DEPTH}_percent": top_intersection(interest, TDI_DEPTH),
        f"correlated_pairs_at_{CONFIDENCE:.0%}": interest_correlation(interest, CONFIDENCE),
    }
