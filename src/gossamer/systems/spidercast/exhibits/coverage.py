"""Sections 3.3 and 3.4: the coverage that is enough, and the effect of popularity."""

from collections.abc import Callable, Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve, falls
from gossamer.model.values.run import Run
from gossamer.systems.spidercast.exhibits.settings import (
    PAPER,
    SMALLER,
    Setting,
    law,
    metric,
    on_nodes,
    points,
    seeds,
    sizes,
)

LAWS = ("uniform", "rss", "zipf:1", "nyse")
NODES = "nodes"


def _skewed(greedy: int, random: int, ties: str = "random") -> Callable[[float], Setting]:
    parameters = {"greedy_coverage": greedy, "random_coverage": random, "ties": ties}
    return on_nodes("spidercast", parameters, popularity="zipf:2")


def _fig6a_points(quick: bool) -> list[Point]:
    series = {
        "ties by scan": _skewed(3, 0, "scan"),
        "ties at random": _skewed(3, 0),
        "ties at random, (3,1)": _skewed(3, 1),
        "ties at random, (4,0)": _skewed(4, 0),
        "ties by scan, (3,1)": _skewed(3, 1, "scan"),
        "ties by scan, (4,0)": _skewed(4, 0, "scan"),
    }
    return points(quick, sizes(quick), series)


# The paper finds no disconnected topic below this many nodes, so nothing can be repaired there.
PARTITIONED_FROM = 6000


def _repairs(values: Sequence[SeriesValue], series: str) -> bool | None:
    """Whether no topic is disconnected at the sizes where the paper finds disconnected topics with (3,0)."""
    found = [value.measured for value in curve(values, series) if value.x >= PARTITIONED_FROM]
    return max(found) == 0 if found else None


def _does_not_repair(values: Sequence[SeriesValue], series: str) -> bool | None:
    repairs = _repairs(values, series)
    return None if repairs is None else not repairs


FIG6A = Exhibit(
    name="spidercast/fig6a",
    title="Partitioned topics, Zipf 2, 10 of 100 topics",
    x_label=NODES,
    y_label="partitioned topics (of 100)",
    measure=metric("partitioned_topics"),
    points=_fig6a_points,
    left_out=SMALLER,
    tolerance=0.25,
    claims=(
        Claim("(3,1) repairs the partitions", lambda values: _repairs(values, "ties at random, (3,1)")),
        Claim("(4,0) does not repair the partitions", lambda values: _does_not_repair(values, "ties at random, (4,0)")),
        Claim(
            "(3,1) repairs the partitions, ties by scan",
            lambda values: _repairs(values, "ties by scan, (3,1)"),
            is_rival=True,
        ),
        Claim(
            "(4,0) does not repair the partitions, ties by scan",
            lambda values: _does_not_repair(values, "ties by scan, (4,0)"),
            is_rival=True,
        ),
    ),
    remark=(
        "A biased tie rule (scan by id, flip a coin at each tie) causes the disconnected topics; without bias they "
        "almost disappear. The published row is compared with our rule, without bias; the biased rule is a rival reading, "
        "found by search. The cause is islands, mostly of 4 to 9 nodes with similar interests. "
        "One island can disconnect ten topics, so runs vary widely, and a mean of five runs meets a published 0 only "
        "if all five are 0. Of 20 seeds, 19, 17 and 5 have no disconnected topic at 1,000, 2,000 and 4,000 nodes (at "
        "most 11), and 5, 18 and 16 are within 25% of the published value at 6,000 (1 to 14), 8,000 (10 to 17) and "
        "10,000 nodes (4 to 18). The published row could be a single run; by these shares its probability is about one "
        "in 28. No rule that we tried gives none at 4,000 and about 15 at 6,000 nodes (six seeds, in a separate "
        "simulation of the same cycle). Line 9 of Figure 3 as printed, all nodes acting at once, turns by id, Margin 0 "
        "to 10, quarantines of 1 and 20 cycles, and no redirects disconnect a topic at 4,000 nodes in four to six "
        "runs. A coin of one in four with line 9 as printed does so in no run, but then only two runs of six have more "
        "than two disconnected topics at 6,000 nodes. Nodes that join in hundreds give at most 5 at 6,000 nodes, and "
        "Java's generator seeded once with the node's number gives none."
    ),
)


def _fig6b_points(quick: bool) -> list[Point]:
    return points(quick, sizes(quick), {"(3,0)": _skewed(3, 0), "(3,1)": _skewed(3, 1)})


def _between(values: Sequence[SeriesValue], series: str, low: float, high: float) -> bool:
    return all(low <= value.measured <= high for value in curve(values, series))


FIG6B = Exhibit(
    name="spidercast/fig6b",
    title="Average degree, Zipf 2, 10 of 100 topics",
    x_label=NODES,
    y_label="average degree (links)",
    measure=metric("average_degree"),
    points=_fig6b_points,
    left_out=SMALLER,
    claims=(
        Claim("(3,0) has an average degree of about 7 (6 to 8)", lambda values: _between(values, "(3,0)", 6, 8)),
        Claim("(3,1) has an average degree of about 13 (12 to 14)", lambda values: _between(values, "(3,1)", 12, 14)),
    ),
    remark=(
        "Our implementation needs fewer links at every size: 6.9 to 6.0 with (3,0), and 10.4 to 9.8 with (3,1). Figure "
        "3, line 9, as printed (a node disconnects neighbours above their target, but not those at their target) "
        "hardly ever disconnects and gives 7.8 to 6.6 and 13.2 to 12.5 (three seeds), the published numbers. But it "
        "misses Figure 12 (11.4 at 1,000 nodes, published 10.81), which our rule meets; no single rule that we tried "
        "meets both. Other variants, with one seed: biased ties give 7.6 to 6.5 and 11.0 to 10.4, and no heartbeats at "
        "all give 7.4 to 6.3 and 12.1 to 11.6. The engine, Margin, drop_when_stuck, a shorter quarantine and "
        "heartbeats every fifth cycle change less than 0.2. Counting a link of both tasks twice adds at most 0.4."
    ),
)


def _by_popularity(quick: bool, tdi: bool = False) -> list[Point]:
    series = {name: on_nodes("spidercast", popularity=name) for name in LAWS}
    return points(quick, sizes(quick), series, tdi_depth=20 if tdi else 0)


def _ordered(values: Sequence[SeriesValue]) -> bool:
    """Whether NYSE is lowest and Uniform highest at every number of nodes."""
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in values}
    return all(
        min(LAWS, key=lambda name: at[name, x]) == "nyse" and max(LAWS, key=lambda name: at[name, x]) == "uniform"
        for x in places
    )


def _reverse_order(values: Sequence[SeriesValue]) -> bool:
    """Whether tdi is highest for NYSE and lowest for Uniform at every number of nodes."""
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in values}
    return all(
        max(LAWS, key=lambda name: at[name, x]) == "nyse" and min(LAWS, key=lambda name: at[name, x]) == "uniform"
        for x in places
    )


FIG7A = Exhibit(
    name="spidercast/fig7a",
    title="Average degree by popularity, (3,0), 10 of 100 topics",
    x_label=NODES,
    y_label="average degree (links)",
    measure=metric("average_degree"),
    points=_by_popularity,
    left_out=SMALLER,
    claims=(
        Claim("the average degree is always below 12", lambda values: all(value.measured < 12 for value in values)),
        Claim("the average degree falls with nodes", lambda values: all(falls(values, name) for name in LAWS)),
        Claim("NYSE is lowest and Uniform highest", _ordered),
    ),
)

FIG7A_CONNECTED = Exhibit(
    name="spidercast/fig7-partitions",
    title="Partitioned topics by popularity, (3,0)",
    x_label=NODES,
    y_label="partitioned topics (of 100)",
    measure=metric("partitioned_topics"),
    points=_by_popularity,
    left_out=SMALLER,
    claims=(Claim("all topics are connected", lambda values: all(value.measured == 0 for value in values)),),
)

FIG7B = Exhibit(
    name="spidercast/fig7b",
    title="tdi(20) by popularity, 10 of 100 topics",
    x_label=NODES,
    y_label="tdi(20) (%)",
    measure=metric("tdi_percent"),
    points=lambda quick: _by_popularity(quick, tdi=True),
    left_out=SMALLER,
    claims=(Claim("the order is that of Figure 7(a), reversed", _reverse_order),),
)


WHOLE = ", whole overlay"


def _diameter_points(quick: bool) -> list[Point]:
    """The largest topic diameter, and the diameter of the whole overlay as a rival reading."""
    nodes = 2000 if quick else 10000
    workloads = {name: law(nodes, popularity=name) for name in LAWS} | {"rss, 200 topics": law(nodes, 200)}
    found = []
    for name, workload in workloads.items():
        for seed in seeds(quick):
            run = Run(system="spidercast", parameters=PAPER, seed=seed, workload=workload, overlay_diameter=True)
            found.append(Point(name, float(nodes), run))
            found.append(Point(f"{name}{WHOLE}", float(nodes), run, metric("overlay_diameter")))
    return found


FIG7_DIAMETER = Exhibit(
    name="spidercast/fig7-diameter",
    title="Maximum topic diameter by popularity, (3,0)",
    x_label=NODES,
    y_label="largest diameter (hops)",
    measure=metric("max_topic_diameter"),
    points=_diameter_points,
    left_out="10,000 nodes (2,000 instead, which has no published value) and seeds 3 to 5",
    tolerance=0.1,
    remark=(
        "We measure the paper's definition (3.2) exactly: the largest number of hops between two nodes inside the "
        "overlay of a topic, over all topics. No measure inside topics that we tried gives the published numbers: for "
        "RSS and NYSE the mean diameter is 9.4 and 7.2, the mean eccentricity 8.4 and 5.2, the mean path 5.8 and 3.6, "
        "and the diameter of the most popular topic 9 and 10 (one seed). The diameter of the whole overlay, whose "
        "paths may cross nodes without the topic, gives all five numbers in every seed, and one of the two in "
        "fig8-diameter. It is not the measure that the paper defines, and we found it by trying about ten measures "
        "against the published numbers: a probable explanation, not a proven one, and no prediction."
    ),
)

EXHIBITS = (FIG6A, FIG6B, FIG7A, FIG7A_CONNECTED, FIG7B, FIG7_DIAMETER)
