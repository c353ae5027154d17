"""Section 3.3: the coverage that is enough."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.model.values.run import Run
from gossamer.systems.spidercast.exhibits.settings import (
    LAWS,
    NODES,
    PAPER,
    SMALLER,
    Setting,
    law,
    metric,
    on_nodes,
    points,
    seeds,
    shares,
    sizes,
)


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


def _is_small(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured <= 15 for value in curve(values, "ties at random"))


def _random_links_help(values: Sequence[SeriesValue]) -> bool | None:
    """Whether (3,1) has fewer disconnected topics than (3,0), summed over the sizes where the paper finds some."""
    sums = [
        [value.measured for value in curve(values, series) if value.x >= PARTITIONED_FROM]
        for series in ("ties at random", "ties at random, (3,1)")
    ]
    return sum(sums[1]) < sum(sums[0]) if sums[0] else None


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
        Claim("at most 15 of 100 topics are disconnected with (3,0)", _is_small),
        Claim("(3,1) repairs the partitions", lambda values: _repairs(values, "ties at random, (3,1)")),
        Claim("(3,1) has fewer disconnected topics than (3,0)", _random_links_help),
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
        "The paper says that ties are broken randomly. A biased rule (scan by id, a coin at each tie) disconnects "
        "topics, because four or more nodes with equal interests cover each other and stop; without bias there is "
        "hardly a disconnected topic. The biased rule is a rival reading, found by search. One island can disconnect "
        "ten topics, so that runs vary widely. It also gives the published maximum degree "
        "(studies/tables/spidercast.md), but 11.2 links in Figure 12 at 1,000 nodes (published 10.81), unless the "
        "coin is one in four and Margin 2; then only 2 topics are disconnected at 6,000 nodes (seed 1; published 15)."
    ),
    studies=("spidercast",),
)


FEW_LINKS = 3


def _share_with_three(metrics: Metrics) -> float:
    return 100.0 * shares(metrics).get(FEW_LINKS, 0.0)


def _fig6b_points(quick: bool) -> list[Point]:
    found = points(quick, sizes(quick), {"(3,0)": _skewed(3, 0), "(3,1)": _skewed(3, 1)})
    few = "nodes with three links (%)"
    return found + [
        Point("(3,0), three links", point.x, point.run, _share_with_three, quantity=few)
        for point in found
        if point.series == "(3,0)"
    ]


def _has_fewer_than_ten(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured < 10 for value in curve(values, "(3,0)"))


def _many_have_three(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured >= 10 for value in curve(values, "(3,0), three links"))


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
        Claim("with (3,0) a node has fewer links than topics (10) on average", _has_fewer_than_ten),
        Claim("with (3,0) many nodes (at least a tenth) have three links", _many_have_three),
    ),
    remark=(
        "(3,1) has 10 links at 4,000 nodes. Figure 3's line 9 as printed gives 12.8, but 11.4 in Figure 12 at 1,000 "
        "nodes (published 10.81); a random task that disconnects only above L_max gives 12.1 and leaves Figure 12 as "
        "it is, without support in the text; ties by scan give 10.8 (studies/tables/spidercast.md, seed 1). No "
        "reading that we tried has nodes with three links (studies/tables/shapes.md)."
    ),
    studies=(
        "spidercast",
        "shapes",
    ),
)


SETTINGS = ((1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (2, 1), (0, 1), (0, 2), (0, 3))
SUFFICIENT = ("uniform", "rss", "nyse")
DISCONNECTED = ", disconnected topics"


def _setting_points(quick: bool) -> list[Point]:
    """For each (K_g, K_r): the degree, and the disconnected topics. The x is the number of the setting."""
    found = []
    for name in SUFFICIENT[1:2] if quick else SUFFICIENT:
        for x, (greedy, random) in enumerate(SETTINGS):
            for seed in seeds(quick)[:3]:
                parameters = {**PAPER, "greedy_coverage": greedy, "random_coverage": random}
                workload = law(1000 if quick else 4000, popularity=name)
                run = Run(system="spidercast", parameters=parameters, seed=seed, workload=workload, lengths=False)
                found.append(Point(name, float(x), run, metric("average_degree")))
                parted = Point(f"{name}{DISCONNECTED}", float(x), run, metric("partitioned_topics"))
                found.append(replace(parted, quantity="disconnected topics (of 100)"))
    return found


def _lowest_that_connects(values: Sequence[SeriesValue]) -> bool:
    """Whether (3,0) connects all topics, and no setting that does has fewer links."""
    for name in {value.series for value in values if value.series in SUFFICIENT}:
        degrees = {value.x: value.measured for value in curve(values, name)}
        connecting = [value.x for value in curve(values, f"{name}{DISCONNECTED}") if value.measured == 0]
        if not connecting or min(connecting, key=lambda x: degrees[x]) != SETTINGS.index((3, 0)):
            return False
    return True


SEC33 = Exhibit(
    name="spidercast/sec33",
    title="Links and disconnected topics by (K_g, K_r), 4,000 nodes, 10 of 100 topics",
    x_label="setting: " + ", ".join(f"{x} = ({greedy},{random})" for x, (greedy, random) in enumerate(SETTINGS)),
    y_label="average degree (links)",
    points=_setting_points,
    left_out="4,000 nodes (1,000 instead), Uniform and NYSE, seed 3",
    claims=(Claim("(3,0) connects all topics, and no setting with fewer links does", _lowest_that_connects),),
    from_zero=True,
    is_categorical=True,
)

ADAPTIVE = ", adaptive"
ALL_LAWS = (*LAWS, "zipf:2")


def _adaptive_points(quick: bool) -> list[Point]:
    """Disconnected topics with the adaptive K_r, and the degree with it and with (3,0)."""
    plain = {name: on_nodes("spidercast", popularity=name) for name in ALL_LAWS}
    own = {name: on_nodes("spidercast", {"adaptive": True}, popularity=name) for name in ALL_LAWS}
    degree, links = metric("average_degree"), "average degree (links)"
    found = [
        replace(point, series=f"{point.series}{end}, degree", measure=degree, quantity=links)
        for series, end in ((plain, ", (3,0)"), (own, ADAPTIVE))
        for point in points(quick, sizes(quick), series)
    ]
    return points(quick, sizes(quick), {f"{name}{ADAPTIVE}": make for name, make in own.items()}) + found


def _adaptive_connects(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured == 0 for name in ALL_LAWS for value in curve(values, f"{name}{ADAPTIVE}"))


def _settles(values: Sequence[SeriesValue]) -> bool:
    """Whether the adaptive rule gives the degree of (3,0), except with Zipf 2, where it gives more."""
    for name in ALL_LAWS:
        pairs = zip(curve(values, f"{name}, (3,0), degree"), curve(values, f"{name}{ADAPTIVE}, degree"), strict=True)
        if any((own.measured == plain.measured) == (name == "zipf:2") for plain, own in pairs):
            return False
    return True


SEC331 = Exhibit(
    name="spidercast/sec331",
    title="Disconnected topics with the adaptive K_r, 10 of 100 topics",
    x_label=NODES,
    y_label="disconnected topics (of 100)",
    measure=metric("partitioned_topics"),
    points=_adaptive_points,
    left_out=SMALLER,
    claims=(
        Claim("the adaptive K_r connects all topics with every distribution", _adaptive_connects),
        Claim("K_r stays 0 (the overlay is that of (3,0)) except with Zipf 2", _settles),
    ),
)


EXHIBITS = (SEC33, FIG6A, FIG6B, SEC331)
