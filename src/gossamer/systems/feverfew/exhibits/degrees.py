"""Figure 8: links of nodes by number of nodes and of subscriptions, beside nodes that know all and constant coverage."""

from collections.abc import Sequence
from functools import partial

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.model.values.run import Experiment
from gossamer.systems.feverfew.exhibits.settings import (
    COMMUNITIES,
    CONSTANT,
    CYCLES,
    DOUBAN,
    FULL,
    PLACES,
    QUICK,
    TOPIC_SIZES,
    cover,
    cover_globally,
    figures,
    last,
    metric,
)

FEVERFEW, GLOBAL, SPIDERCAST = "Feverfew", "Global", "SpiderCast (3,1)"
SYSTEMS = (FEVERFEW, GLOBAL, SPIDERCAST)
# The places of `experiments.SUBSCRIPTIONS`.
SUBSCRIPTIONS = (1, 10, 20, 40, 80, 160, 320)
NODES = tuple(range(1_000, 10_001, 1_000))
COVERED = "covered subscriptions (%)"


def _run(system: str, nodes: int, seed: int, kind: str = DOUBAN, **more: object) -> Experiment:
    topics = TOPIC_SIZES if nodes == FULL else ()
    if system == GLOBAL:
        return cover_globally(nodes, seed, kind, topics)
    constant = CONSTANT if system == SPIDERCAST else {}
    return cover(nodes, seed, kind, CYCLES, topics, **PLACES, **constant, **more)


def _by_nodes(quick: bool) -> list[Point]:
    sizes = NODES[:2] if quick else NODES
    return [Point(system, float(nodes), _run(system, nodes, 1)) for system in SYSTEMS for nodes in sizes]


def _of_group(group: int, metrics: Metrics) -> float:
    return float(metrics["degree_by_subscriptions"][group] or 0.0)


def _by_subscriptions(quick: bool) -> list[Point]:
    nodes = QUICK if quick else FULL
    return [
        Point(system, float(least), _run(system, nodes, seed), partial(_of_group, group))
        for system in SYSTEMS
        for seed in ((1,) if quick else (1, 2, 3))
        for group, least in enumerate(SUBSCRIPTIONS[:5])
    ]


def _links(quick: bool) -> list[Point]:
    nodes = QUICK if quick else FULL
    found = []
    for seed in (1,) if quick else (1, 2, 3):
        for system in SYSTEMS:
            run = _run(system, nodes, seed)
            found.append(Point(system, float(nodes), run, last("links_per_subscription")))
            found.append(Point(f"{system}, {COVERED}", float(nodes), run, _covered))
            mean = metric("links_per_subscription_node_mean")
            found.append(Point(f"{system}, mean over nodes", float(nodes), run, mean))
            found.append(
                Point(
                    f"{system}, with communities",
                    float(nodes),
                    _run(system, nodes, seed, COMMUNITIES),
                    last("links_per_subscription"),
                )
            )
        if not quick:
            jaccard = _run(FEVERFEW, nodes, seed, utility="jaccard")
            found.append(Point("Jaccard", float(nodes), jaccard, last("links_per_subscription")))
    return found


def _covered(metrics: Metrics) -> float:
    return 100.0 * float(metrics["covered_share"][-1])


def _at(values: Sequence[SeriesValue], series: str) -> list[float]:
    return [value.measured for value in curve(values, series)]


def _below(values: Sequence[SeriesValue], one: str, other: str, factor: float) -> bool:
    """Whether one series is at most `factor` times another at every x."""
    pairs = zip(_at(values, one), _at(values, other), strict=True)
    return all(value <= factor * bound for value, bound in pairs)


def _is_sublinear(values: Sequence[SeriesValue], nodes: bool) -> bool | None:
    """Whether the degree grows less than the topics of the workload, or than the subscriptions of the node."""
    first, *_, last_point = curve(values, FEVERFEW)
    grown = figures(int(last_point.x))["topics"] / figures(int(first.x))["topics"] if nodes else last_point.x / first.x
    return last_point.measured / first.measured < grown


def _few_links(values: Sequence[SeriesValue]) -> bool:
    return all(value <= 0.70 for value in _at(values, FEVERFEW))


def _nearly_all_covered(values: Sequence[SeriesValue]) -> bool:
    return all(value >= 99.5 for system in SYSTEMS for value in _at(values, f"{system}, {COVERED}"))


_NEAR_GLOBAL = Claim(
    "Feverfew has at most 12% more links than nodes that know all",
    lambda values: _below(values, FEVERFEW, GLOBAL, 1.12),
)
_BELOW_SPIDERCAST = Claim(
    "Feverfew has fewer links than SpiderCast (3,1)", lambda values: _below(values, FEVERFEW, SPIDERCAST, 0.9999)
)

EXHIBITS = (
    Exhibit(
        name="feverfew/fig8a",
        title="Average degree by number of nodes",
        x_label="nodes",
        y_label="average degree (links)",
        measure=metric("degree_mean"),
        points=_by_nodes,
        left_out="more than 2,000 nodes",
        claims=(
            _NEAR_GLOBAL,
            _BELOW_SPIDERCAST,
            Claim("the degree grows less than the number of topics", lambda values: _is_sublinear(values, nodes=True)),
        ),
    ),
    Exhibit(
        name="feverfew/fig8b",
        title="Average degree by number of subscriptions",
        x_label="subscriptions of the node, from",
        y_label="average degree (links)",
        points=_by_subscriptions,
        left_out="10,000 nodes (1,000 instead), seeds 2 and 3",
        claims=(
            _NEAR_GLOBAL,
            _BELOW_SPIDERCAST,
            Claim("the degree grows less than the subscriptions", lambda values: _is_sublinear(values, nodes=False)),
        ),
        log_x=True,
    ),
    Exhibit(
        name="feverfew/fig8-links",
        title="Links per subscription, all links over all subscriptions",
        x_label="nodes",
        y_label="links per subscription; percent",
        points=_links,
        left_out="10,000 nodes (1,000 instead), the Jaccard utility, seeds 2 and 3",
        claims=(
            Claim("99.5% of all subscriptions are covered", _nearly_all_covered),
            Claim("Feverfew has at most 0.70 links per subscription", _few_links),
            _NEAR_GLOBAL,
            Claim(
                "Feverfew has at least 18% fewer links than SpiderCast (3,1)",
                lambda values: _below(values, FEVERFEW, SPIDERCAST, 0.82),
            ),
        ),
    ),
)
