"""Plans an overlay on Spark: every part is a task that reads its rows from a partitioned table and writes its links.

`planners/rounds.py` explains the rounds, `division.py` how nodes and topics are divided. Each round is written as a
table of rows (topic, a, b) and read back, so that a lost executor costs only its own tasks: a row with a topic says that
node a belongs to component b of the topic, and a row without a topic is a link between a and b. Only counts and a sample
of constant size come to the driver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.schemas import check_table_types
from gossamer.model.tables.workload import INTERESTS, OVERLAY
from gossamer.model.values.errors import CheckFailed, InputError, TableError
from gossamer.model.values.progress import Progress, silent
from gossamer.pipeline.analyse import SHUFFLE, write_analysis
from gossamer.pipeline.division import (
    HOLDERS_MAX,
    PART_PAIRS,
    PART_ROWS,
    Size,
    at_random,
    count_holders,
    divide,
    place_nodes,
    place_topics,
)
from gossamer.pipeline.needs import least_links
from gossamer.pipeline.session import on_worker
from gossamer.pipeline.storage import Place, discard, exists, read_parquet, rewritten, write_parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Chosen: how the rounds that divide topics order them: once by the line of nodes, then at random. On random interests
# the second round saves 5% of all links, the third 3%, a fourth 2%.
TOPIC_ROUNDS = ("line", "random 1", "random 2")
# The tables of the rounds, in the output folder until the plan is finished.
ASIDE = "rounds.aside"
# What is reported besides the rounds: counting, places, trees, the overlay, its analysis, the lower bound.
OTHER_STEPS = 6


@dataclass(frozen=True)
class SparkPlan:
    """Where a plan is made: the workload's table, the folder to write to, and the number of parts, if it is given."""

    spark: "SparkSession"
    workload: Place
    folder: Place
    parts: int | None = None
    progress: Progress = silent

    def read(self, name: str) -> "DataFrame":
        """A table of the rounds."""
        return read_parquet(self.spark, self.folder / ASIDE / f"{name}.parquet")

    def write(self, name: str, rows: "DataFrame") -> "DataFrame":
        """Write a table of the rounds and read it back."""
        return rewritten(rows, self.folder / ASIDE / f"{name}.parquet")


def write_plan(work: SparkPlan) -> dict[str, Any]:
    """Write overlay.parquet, topics.parquet and degrees.parquet, and return the figures of the plan."""
    steps = _Steps(work.progress, len(TOPIC_ROUNDS) + 1 + OTHER_STEPS)
    steps.begin("counting subscriptions")
    interests = _read_interests(work)
    topics = work.write("topics", count_holders(interests))
    rounds = _link_in_rounds(work, interests, topics, steps)
    steps.begin("joining components")
    links = [*rounds.links, _join_components(work, topics, rounds)]
    steps.begin("writing links")
    _write_overlay(work, links)
    steps.begin("analysing")
    measured = write_analysis(work.spark, work.folder / OVERLAY, work.workload, work.folder, SHUFFLE, lengths=False)
    if measured["partitioned_topics"]:
        raise CheckFailed(f"{measured['partitioned_topics']} topics that must be connected are disconnected")
    steps.begin("bounding from below")
    least = least_links(interests, topics)
    discard(work.spark, work.folder / ASIDE)
    steps.end()
    return {
        **{name: value for name, value in measured.items() if name != "way"},
        "links_at_least": least,
        "links_over_bound": measured["links"] / max(least, 1),
        "max_degree_at_least": ceil(2 * least / max(measured["nodes"], 1)),
        **rounds.counts,
    }


@dataclass
class _Steps:
    """Progress in steps, because Spark Connect does not tell how far a job is."""

    progress: Progress
    total: int
    done: int = -1

    def begin(self, label: str) -> None:
        self.done += 1
        self.progress(label, self.done, self.total)

    def end(self) -> None:
        self.progress("finished", self.total, self.total)


@dataclass(frozen=True)
class _Rounds:
    """The links of all rounds, one table of (topic, node, component) rows without gaps, and the numbers of parts."""

    links: Sequence["DataFrame"]
    components: "DataFrame"
    counts: dict[str, int]


def check_workload(workload: Place) -> None:
    """Refuse a local folder without a table of interests, before Spark starts."""
    if not isinstance(workload, Path):
        return
    if not workload.is_dir():
        raise InputError(f"{workload} is not a folder; a workload is a folder that contains {INTERESTS}")
    check_table_types("interests", workload / INTERESTS)


def _read_interests(work: SparkPlan) -> "DataFrame":
    path = work.workload / INTERESTS
    if not exists(work.spark, path):
        raise InputError(f"there is no {path}; a workload is a folder that contains {INTERESTS}")
    table = read_parquet(work.spark, path)
    wrong = "node is null or node < 0 or topic is null or topic < 0"
    if "role" in table.columns:
        wrong += " or role is null or role not in (1, 2, 3)"
    found = table.selectExpr("count(*) as rows", f"count_if({wrong}) as wrong").first()
    assert found is not None
    if found["wrong"]:
        raise TableError(
            f"{path} has {found['wrong']} rows with a null, a negative id, or a role other than 1, 2 and 3; remove them"
        )
    if not found["rows"]:
        raise InputError(f"{path} is empty: a workload needs at least one (node, topic) row")
    interests = table.select("node", "topic")
    if work.parts is not None and work.parts > 1:
        nodes = interests.select("node").distinct().count()
        if work.parts > nodes:
            raise InputError(f"`parts` must be between 1 and the number of nodes ({nodes}), got {work.parts}")
    return interests


def _link_in_rounds(work: SparkPlan, interests: "DataFrame", topics: "DataFrame", steps: _Steps) -> _Rounds:
    """The rounds: first parts of the nodes, then parts of the topics."""
    size = _size(topics)
    parts = work.parts or size.node_parts()
    steps.begin("placing nodes")
    nodes = _divide_nodes(work, interests, topics, size, parts)
    steps.begin(f"planning {parts} parts of the nodes")
    rows = interests.join(nodes, "node").selectExpr("part", "topic", "node as a", "node as b")
    found = _plan_parts(work, "nodes", rows, keep_connected=parts > 1)
    _check_duplicates(work, found)
    links, components = [_links(found)], found.where("topic is not null")
    counts = {"node_parts": parts}
    if parts == 1:
        steps.done += len(TOPIC_ROUNDS)
    else:
        shared = work.read("topic_places").where(f"holders between 2 and {HOLDERS_MAX}")
        groups = work.parts or _size(shared).topic_parts()
        counts["topic_parts"] = groups
        large = components.join(topics.where(f"holders > {HOLDERS_MAX}").select("topic"), "topic", "left_semi")
        for name in TOPIC_ROUNDS:
            steps.begin(f"planning {groups} parts of the topics ({name})")
            found = _plan_parts(work, name.replace(" ", "_"), _with_parts(work, components, shared, groups, name))
            links.append(_links(found))
            components = found.where("topic is not null")
        components = components.unionByName(large.select("topic", "a", "b"))
    return _Rounds(links, components, counts)


def _size(topics: "DataFrame") -> Size:
    row = topics.selectExpr(
        "coalesce(sum(holders), 0) as rows", "cast(coalesce(sum(holders * double(holders)), 0) as bigint) as squares"
    ).first()
    assert row is not None
    return Size(int(row["rows"]), int(row["squares"]))


def _divide_nodes(work: SparkPlan, interests: "DataFrame", topics: "DataFrame", size: Size, parts: int) -> "DataFrame":
    """(node, part) of every node; also writes the places of topics for later rounds."""
    if parts == 1:
        return interests.selectExpr("node", "0 as part").distinct()
    placed = work.write("topic_places", topics.join(place_topics(work.spark, interests, size.rows), "topic", "left"))
    return divide(work.spark, work.write("nodes_placed", place_nodes(interests, placed)), "node", parts, "nodes")


def _with_parts(work: SparkPlan, components: "DataFrame", shared: "DataFrame", groups: int, name: str) -> "DataFrame":
    """The rows of all topics that take part in a round, with the part of their topic."""
    from pyspark.sql import functions as f

    line = at_random(shared, name)
    if name == TOPIC_ROUNDS[0]:
        line = line.drop("place").join(shared.select("topic", "place"), "topic").fillna(0, ["place"])
    weight = f.expr(f"holders + holders * holders div {PART_PAIRS // PART_ROWS}")
    placed = work.write(f"placed_{name.replace(' ', '_')}", line.withColumn("weight", weight))
    return components.join(divide(work.spark, placed, "topic", groups, name), "topic").select("part", "topic", "a", "b")


def _plan_parts(work: SparkPlan, name: str, rows: "DataFrame", keep_connected: bool = False) -> "DataFrame":
    call = on_worker(__name__, "link_rows", keep_connected)
    return work.write(f"round_{name}", rows.groupBy("part").applyInArrow(call, "topic bigint, a bigint, b bigint"))


def link_rows(keep_connected: bool, table: "pa.Table") -> "pa.Table":
    """In a worker: the links of one part, and the components of its topics; connected topics only if asked for.

    A repeated subscription gets a row without a component, and nothing is planned.
    """
    import numpy as np
    import pyarrow as pa

    from gossamer.planners.rounds import link_part

    topics, nodes, components = (table.column(name).to_numpy() for name in ("topic", "a", "b"))
    order = np.lexsort((nodes, topics))
    topics, nodes, components = topics[order], nodes[order], components[order]
    again = np.flatnonzero((topics[1:] == topics[:-1]) & (nodes[1:] == nodes[:-1]))
    if len(again):
        nothing = pa.nulls(len(again), pa.int64())
        return pa.table({"topic": topics[again], "a": nodes[again], "b": nothing})
    u, v, joined = link_part(topics, nodes, components)
    if not keep_connected:
        starts = np.flatnonzero(np.append(True, topics[1:] != topics[:-1]))
        is_whole = np.minimum.reduceat(joined, starts) == np.maximum.reduceat(joined, starts)
        kept = ~np.repeat(is_whole, np.diff(np.append(starts, len(topics))))
        topics, nodes, joined = topics[kept], nodes[kept], joined[kept]
    named = pa.chunked_array([pa.nulls(len(u), pa.int64()), pa.array(topics)])
    return pa.table({"topic": named, "a": np.concatenate((u, nodes)), "b": np.concatenate((v, joined))})


def _check_duplicates(work: SparkPlan, found: "DataFrame") -> None:
    again = found.where("b is null")
    first = again.orderBy("a", "topic").first()
    if first is not None:
        raise TableError(
            f"{work.workload / INTERESTS} contains {again.count()} duplicate rows, the first for node {first['a']} and "
            f"topic {first['topic']}; keep each pair once"
        )


def _links(found: "DataFrame") -> "DataFrame":
    return found.where("topic is null").selectExpr("a as u", "b as v")


def _join_components(work: SparkPlan, topics: "DataFrame", rounds: _Rounds) -> "DataFrame":
    """The links of the trees that join the components of each topic."""
    from pyspark.sql import functions as f

    links = reduce(lambda one, other: one.unionByName(other), rounds.links).distinct()
    ends = links.selectExpr("u as a").unionByName(links.selectExpr("v as a"))
    degrees = ends.groupBy("a").agg(f.count(f.lit(1)).alias("degree"))
    weighted = at_random(topics.withColumnRenamed("holders", "weight"), "trees")
    parts = divide(work.spark, weighted, "topic", work.parts or max(1, ceil(_size(topics).rows / PART_ROWS)), "trees")
    rows = rounds.components.join(parts, "topic").join(degrees, "a", "left").fillna(0, ["degree"])
    call = on_worker(__name__, "tree_rows")
    return work.write("trees", rows.groupBy("part").applyInArrow(call, "u bigint, v bigint"))


def tree_rows(table: "pa.Table") -> "pa.Table":
    """In a worker: the links that join the components of some topics."""
    import pyarrow as pa

    from gossamer.planners.rounds import tree_links

    u, v = tree_links(*(table.column(name).to_numpy() for name in ("topic", "a", "b", "degree")))
    return pa.table({"u": u, "v": v})


def _write_overlay(work: SparkPlan, links: Sequence["DataFrame"]) -> None:
    """All links once, sorted, in as many files as there are partitions."""
    every = reduce(lambda one, other: one.unionByName(other), links).distinct()
    write_parquet(every.repartitionByRange("u", "v").sortWithinPartitions("u", "v"), work.folder / OVERLAY)
