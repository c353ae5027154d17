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
        "Our implementation needs fewer links at every size: 6.9 to 6.0 with (3,0), and 10.4 to 9.8 with (3,1). Figure "
        "3, line 9, as printed (a node disconnects neighbours above their target, but not those at their target) "
        "hardly ever disconnects and gives 7.8 to 6.6 and 13.2 to 12.5 (three seeds), the published numbers. But it "
        "misses Figure 12 (11.4 at 1,000 nodes, published 10.81), which our rule meets; no single rule that we tried "
        "meets both. Other variants, with one seed: biased ties give 7.6 to 6.5 and 11.0 to 10.4, and no heartbeats at "
        "all give 7.4 to 6.3 and 12.1 to 11.6. The engine, Margin, drop_when_stuck, a shorter quarantine and "
        "heartbeats every fifth cycle change less than 0.2. Counting a link of both tasks twice adds at most 0.4."
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
