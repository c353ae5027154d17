"""Section 3.5: numbers of nodes, topics and subscriptions."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve, is_ordered, steps
from gossamer.systems.spidercast.exhibits.settings import (
    SMALLER,
    Setting,
    half_interval,
    law,
    metric,
    near_average,
    on_nodes,
    points,
    sizes,
)

TOPICS = (100, 200, 400, 600, 800, 1000)
SUBSCRIPTIONS = (10, 15, 20, 30, 40)
SPIDERCAST = "SpiderCast (3,0)"
DEGREE = "average degree (links)"


def _by_nodes(quick: bool, tdi_depth: int = 0) -> list[Point]:
    series = {f"{topics} topics": on_nodes("spidercast", topics=topics) for topics in (100, 200)}
    return points(quick, sizes(quick), series, tdi_depth=tdi_depth)


BOTH = ("100 topics", "200 topics")


def _pairs(values: Sequence[SeriesValue]) -> list[tuple[float, float]]:
    """The values with 100 and with 200 topics, at each number of nodes."""
    few, many = (curve(values, name) for name in BOTH)
    return [(one.measured, other.measured) for one, other in zip(few, many, strict=True)]


def _moderate(values: Sequence[SeriesValue]) -> bool:
    """Whether twice the topics give more links, but at most half as many again, at each number of nodes."""
    return all(few < many <= 1.5 * few for few, many in _pairs(values))


def _max_degree_points(quick: bool) -> list[Point]:
    """The maximum degree, how many times the average it is, and the share of nodes near the average."""
    found = _by_nodes(quick)
    ratio, near = "maximum / average degree", "nodes within a third of the average (%)"
    return (
        found
        + [Point(f"{point.series}, ratio", point.x, point.run, _max_ratio, quantity=ratio) for point in found]
        + [Point(f"{point.series}, near", point.x, point.run, near_average, quantity=near) for point in found]
    )


def _max_ratio(metrics: Metrics) -> float:
    return float(metrics["max_degree"]) / float(metrics["average_degree"])


def _two_or_three_times(values: Sequence[SeriesValue]) -> bool:
    return all(1.5 <= value.measured < 3.5 for name in BOTH for value in curve(values, f"{name}, ratio"))


def _most_are_near(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured > 50 for name in BOTH for value in curve(values, f"{name}, near"))


def _slows_down(values: Sequence[SeriesValue]) -> bool:
    """Whether each step of the curve is flatter than the one before; the paper calls it logarithmic, without numbers."""
    found = sorted(values, key=lambda value: value.x)
    slopes = [(b.measured - a.measured) / (b.x - a.x) for a, b in pairwise(found)]
    return all(slope > 0 for slope in slopes) and all(later < earlier for earlier, later in pairwise(slopes))


def _at_most_doubles(values: Sequence[SeriesValue]) -> bool:
    found = sorted(values, key=lambda value: value.x)
    return found[-1].measured <= 2 * found[0].measured


def _by_topics(quick: bool, **more: Any) -> list[Point]:
    nodes = 2000 if quick else 10000

    def at(topics: float) -> Setting:
        return "spidercast", {}, law(nodes, int(topics), "20")

    # The quick series has its own name, so that it is not compared with values published for another size.
    series = {f"{SPIDERCAST}, 2,000 nodes" if quick else SPIDERCAST: at}
    return points(quick, (100, 400, 1000) if quick else TOPICS, series, **more)


def _with_diameter(quick: bool) -> list[Point]:
    """The largest topic diameter, and the diameter of the whole overlay as a rival reading."""
    found = _by_topics(quick, overlay_diameter=True, lengths=True)
    whole = metric("overlay_diameter")
    return found + [Point(f"{point.series}, whole overlay", point.x, point.run, whole) for point in found]


def _diameter_falls(values: Sequence[SeriesValue]) -> bool:
    found = curve(values, values[0].series)
    return found[-1].measured < found[0].measured


def _subscribing(nodes: int) -> Callable[[float], Setting]:
    return lambda count: ("spidercast", {}, law(nodes, 100, str(int(count))))


def _by_subscriptions(quick: bool, tdi: bool = False) -> list[Point]:
    found = []
    for nodes in (1000, 2000) if quick else (1000, 4000, 10000):
        for count in SUBSCRIPTIONS:
            series = {f"{nodes:,} nodes": _subscribing(nodes)}
            found += points(quick, [count], series, tdi_depth=2 * count if tdi else 0)
    return found


def _step_by_step(values: Sequence[SeriesValue], places: Sequence[int], rising: bool) -> bool:
    """Whether every curve rises (or falls) at each step between these numbers of subscriptions."""
    at = {(value.series, value.x): value.measured for value in values}
    names = {value.series for value in values}
    return all(is_ordered([at[name, place] for place in places], rising) for name in names)


FEW, MANY = (10, 15, 20), (20, 30, 40)

EXHIBITS = (
    Exhibit(
        name="spidercast/fig8a",
        title="Average degree by number of nodes, RSS, 10 subscriptions",
        x_label="nodes",
        y_label=DEGREE,
        measure=metric("average_degree"),
        points=_by_nodes,
        left_out=SMALLER,
        spread=half_interval,
        claims=(
            Claim(
                "the average degree falls with nodes, step by step", lambda values: steps(values, BOTH, rising=False)
            ),
            Claim("200 topics give more links than 100, at most half as many again, at every size", _moderate),
        ),
    ),
    Exhibit(
        name="spidercast/fig8d",
        title="tdi(20) by number of nodes, RSS, 10 subscriptions",
        x_label="nodes",
        y_label="tdi(20) (%)",
        measure=metric("tdi_percent"),
        points=lambda quick: _by_nodes(quick, 20),
        left_out=SMALLER,
        claims=(
            Claim("tdi rises with nodes, step by step", lambda values: steps(values, BOTH, rising=True)),
            Claim("tdi is lower with 200 topics at every size", lambda values: all(a > b for a, b in _pairs(values))),
        ),
    ),
    Exhibit(
        name="spidercast/fig8-degree",
        title="Maximum degree by number of nodes, RSS, 10 subscriptions",
        x_label="nodes",
        y_label="maximum degree (links)",
        measure=metric("max_degree"),
        points=_max_degree_points,
        left_out=SMALLER,
        tolerance=0.1,
        claims=(
            Claim("the maximum degree is roughly 2 or 3 times the average (1.5 to 3.5)", _two_or_three_times),
            Claim("most nodes have roughly the same degree (over half within a third of the average)", _most_are_near),
        ),
        remark=(
            "Our maximum is 16 to 19, 1.5 times the average. A scan by id in which a coin decides each tie gives 35, "
            "and 32 with a coin of one in four and Margin 2, which leaves SpiderCast's row of Figure 12 within its "
            "tolerance (10.98, 9.65); with a random task that disconnects only above L_max it also gives Figure 6(b): "
            "8 of the 10 numbers of the study, against 6 as written (studies/tables/spidercast.md, seed 1). This is a "
            "probable cause, found by search over coins and margins; the paper says that ties are broken randomly, "
            "and the rule leaves 2 disconnected topics where Figure 6(a) has 15. It is not adopted."
        ),
        studies=(
            "spidercast",
            "shapes",
        ),
    ),
    Exhibit(
        name="spidercast/fig8b",
        title="Average degree by number of topics, 20 subscriptions",
        x_label="topics",
        y_label=DEGREE,
        measure=metric("average_degree"),
        points=_by_topics,
        left_out="10,000 nodes (2,000 instead), three numbers of topics, seeds 3 to 5",
        claims=(
            Claim("growth slows down: each further topic adds less than the one before", _slows_down),
            Claim("growth is moderate: ten times the topics give at most twice the degree", _at_most_doubles),
        ),
        remark=(
            "Our degree grows 2.5 times at 10,000 nodes and 3.1 times at 1,000. The paper says moderate (3.5.2), "
            "sub-linear (1) and logarithmic (abstract) and publishes no numbers; twice is our reading. No reading "
            "that we tried grows less (3.07 to 3.22 times at 1,000 nodes, studies/tables/shapes.md)."
        ),
        studies=("shapes",),
    ),
    Exhibit(
        name="spidercast/fig8e",
        title="tdi(40) by number of topics, 20 subscriptions",
        x_label="topics",
        y_label="tdi(40) (%)",
        measure=metric("tdi_percent"),
        points=lambda quick: _by_topics(quick, tdi_depth=40),
        left_out="10,000 nodes (2,000 instead), three numbers of topics, seeds 3 to 5",
        claims=(
            Claim(
                "tdi falls with topics, step by step", lambda values: steps(values, [values[0].series], rising=False)
            ),
        ),
    ),
    Exhibit(
        name="spidercast/fig8-diameter",
        title="Maximum topic diameter by number of topics, 20 subscriptions",
        x_label="topics",
        y_label="largest diameter (hops)",
        measure=metric("max_topic_diameter"),
        points=_with_diameter,
        left_out="10,000 nodes (2,000 instead), three numbers of topics, seeds 3 to 5",
        tolerance=0.1,
        claims=(Claim("the diameter is smaller with 1,000 topics than with 100", _diameter_falls),),
        remark=(
            "As in fig7-diameter, we measure the exact maximum over all topics. The diameter of the whole overlay is not "
            "the measure that the paper defines. With 1,000 topics it is 4, as published. With 100 topics it is 6 in all "
            "five seeds, where 5 is published."
        ),
    ),
    Exhibit(
        name="spidercast/fig8c",
        title="Average degree by number of subscriptions, 100 topics",
        x_label="subscriptions per node",
        y_label=DEGREE,
        measure=metric("average_degree"),
        points=_by_subscriptions,
        left_out="numbers of nodes above 2,000, seeds 3 to 5",
        remark=(
            "At 1,000 nodes our degree hardly changes from 15 to 20 subscriptions (11.3 and 11.2), with every reading "
            "that we tried (studies/tables/shapes.md); at 2,000 nodes it rises."
        ),
        studies=("shapes",),
        claims=(
            Claim(
                "the average degree rises from 10 to 15 and from 15 to 20 subscriptions",
                lambda values: _step_by_step(values, FEW, rising=True),
            ),
            Claim(
                "the average degree falls from 20 to 30 and from 30 to 40 subscriptions",
                lambda values: _step_by_step(values, MANY, rising=False),
            ),
        ),
    ),
    Exhibit(
        name="spidercast/fig8f",
        title="tdi(2d) by number of subscriptions d, 100 topics",
        x_label="subscriptions per node (d)",
        y_label="tdi(2d) (%)",
        measure=metric("tdi_percent"),
        points=lambda quick: _by_subscriptions(quick, tdi=True),
        left_out="numbers of nodes above 2,000, seeds 3 to 5",
        claims=(
            Claim(
                "tdi falls from 10 to 15 and from 15 to 20 subscriptions",
                lambda values: _step_by_step(values, FEW, rising=False),
            ),
            Claim(
                "tdi rises from 20 to 30 and from 30 to 40 subscriptions",
                lambda values: _step_by_step(values, MANY, rising=True),
            ),
        ),
        remark=(
            "We draw interests without repeats; tdi then rises with subscriptions, but for 10,000 nodes, where it is "
            "lowest at 15. If a node draws d times, repeats are dropped and intersections are divided by d, tdi falls "
            "and rises as published at 4,000 nodes (42.5, 40.9, 40.6, 41.1, 41.7) and nearly so at 1,000 (36.9, 36.2, "
            "36.3, 37.4, 38.5; five seeds); divided by the smaller interest, as the paper defines it, it is lowest at "
            "10 or 15. But with such interests Figure 6(b) is at 4.7 to 4.9 (published about 7), Figure 14 at 15.3 "
            "(published 16.3, ours 15.9), and Figure 12 is met in both cases. The reading explains one exhibit and "
            "makes two worse; it is not adopted."
        ),
        studies=("interests",),
    ),
)
