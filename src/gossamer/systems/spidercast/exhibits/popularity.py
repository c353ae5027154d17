"""Section 3.4: the effect of popularity on degrees, tdi and diameters."""

from collections.abc import Sequence
from itertools import combinations

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve, steps
from gossamer.model.values.run import Run
from gossamer.systems.spidercast.exhibits.settings import (
    LAWS,
    NODES,
    PAPER,
    SMALLER,
    half_interval,
    law,
    metric,
    on_nodes,
    points,
    seeds,
    shares,
    sizes,
)

# What "a degree of roughly 20" is taken for.
MANY_LINKS = 18


def _by_popularity(quick: bool, tdi: bool = False) -> list[Point]:
    series = {name: on_nodes("spidercast", popularity=name) for name in LAWS}
    return points(quick, sizes(quick), series, tdi_depth=20 if tdi else 0)


WIDTH = ", half of the interval"
MANY = "uniform, 18 links or more"


def _fig7a_points(quick: bool) -> list[Point]:
    """Degrees, the intervals over nodes that the paper's error bars show, and the nodes with roughly 20 links."""
    found = _by_popularity(quick)
    over = "half of the 95% interval over nodes (links)"
    more = [Point(f"{point.series}{WIDTH}", point.x, point.run, half_interval, quantity=over) for point in found]
    many = [
        Point(MANY, point.x, point.run, _nodes_with_many, quantity="nodes with 18 links or more")
        for point in found
        if point.series == "uniform"
    ]
    return found + more + many


def _nodes_with_many(metrics: Metrics) -> float:
    total = sum(metrics["degrees"]["nodes"])
    return float(total * sum(share for degree, share in shares(metrics).items() if degree >= MANY_LINKS))


def _intervals_are_small(values: Sequence[SeriesValue]) -> bool:
    """Whether half of each interval over nodes is at most a twentieth of the average."""
    at = {(value.series, value.x): value.measured for value in values}
    return all(
        value.measured <= at[value.series.removesuffix(WIDTH), value.x] / 20
        for value in values
        if value.series.endswith(WIDTH)
    )


def _several_have_many(values: Sequence[SeriesValue]) -> bool:
    return any(value.measured >= 2 for value in curve(values, MANY))


def _tdi_points(quick: bool) -> list[Point]:
    """tdi(20), and the degrees of the same runs."""
    found = _by_popularity(quick, tdi=True)
    degree = metric("average_degree")
    return found + [
        Point(f"{point.series}, degree", point.x, point.run, degree, quantity="average degree (links)")
        for point in found
    ]


def _pairs_are_reversed(values: Sequence[SeriesValue]) -> bool:
    """Whether of every two distributions, the one with the higher tdi has the lower degree, at every number of nodes."""
    at = {(value.series, value.x): value.measured for value in values}
    return all(
        (at[one, x] > at[other, x]) == (at[f"{one}, degree", x] < at[f"{other}, degree", x])
        for x in {value.x for value in values}
        for one, other in combinations(LAWS, 2)
    )


def _ordered(values: Sequence[SeriesValue]) -> bool:
    """Whether NYSE is lowest and Uniform highest at every number of nodes."""
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in values}
    return all(
        min(LAWS, key=lambda name: at[name, x]) == "nyse" and max(LAWS, key=lambda name: at[name, x]) == "uniform"
        for x in places
    )


FIG7A = Exhibit(
    name="spidercast/fig7a",
    title="Average degree by popularity, (3,0), 10 of 100 topics",
    x_label=NODES,
    y_label="average degree (links)",
    measure=metric("average_degree"),
    points=_fig7a_points,
    left_out=SMALLER,
    spread=half_interval,
    claims=(
        Claim(
            "the average degree is always below 12",
            lambda values: all(value.measured < 12 for name in LAWS for value in curve(values, name)),
        ),
        Claim("the average degree falls with nodes, step by step", lambda values: steps(values, LAWS, rising=False)),
        Claim("NYSE is lowest and Uniform highest", _ordered),
        Claim("intervals over nodes are small (half of one is at most 5% of the average)", _intervals_are_small),
        Claim("with Uniform several nodes (at least two) have roughly 20 links (18 or more)", _several_have_many),
    ),
    remark=(
        "Unbiased ties give at most one node with 18 links or more; a scan by id with a coin gives about fifty (1,000 nodes, "
        "studies/tables/shapes.md), as it gives the published maximum degree."
    ),
    studies=("shapes",),
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
    points=_tdi_points,
    left_out=SMALLER,
    claims=(
        Claim("of every two distributions, the one with the higher tdi(20) has the lower degree", _pairs_are_reversed),
    ),
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
        "overlay of a topic, over all topics. The diameter of the whole overlay, whose paths may cross nodes without the "
        "topic, gives all five numbers in every seed, and one of the two in fig8-diameter; it is a series of both. It is not "
        "the measure that the paper defines, and was found by trying about ten measures against the published numbers: a "
        "probable explanation, not a proven one, and no prediction."
    ),
)

EXHIBITS = (FIG7A, FIG7A_CONNECTED, FIG7B, FIG7_DIAMETER)
