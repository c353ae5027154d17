"""Section 3.9: SpiderCast compared with similarity, random and ring-per-topic overlays."""

from collections.abc import Sequence
from typing import Any

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve, steps
from gossamer.systems.spidercast.exhibits.settings import (
    OURS,
    QUICK_SIZES,
    SMALLER,
    metric,
    on_nodes,
    points,
    sizes,
)

SPIDERCAST = "SpiderCast (3,0)"
RING, RING_UNIFORM = "ring per topic", "ring per topic, uniform"
OURS_SERIES, EVENT = "SpiderCast (3,0), ours", "SpiderCast (3,0), ours, event engine"
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    SPIDERCAST: ("spidercast", {}),
    "similarity(10,0)": ("similarity", {"similar": 10, "random": 0}),
    "similarity(9,1)": ("similarity", {"similar": 9, "random": 1}),
    "similarity(8,2)": ("similarity", {"similar": 8, "random": 2}),
    "similarity(7,3)": ("similarity", {"similar": 7, "random": 3}),
    "random(10)": ("random", {"links": 10}),
    "similarity(20,0)": ("similarity", {"similar": 20, "random": 0}),
}
RIVALS_A = ("similarity(10,0)", "similarity(9,1)", "similarity(8,2)", "similarity(7,3)", "similarity(20,0)")


def _of(quick: bool, names: Sequence[str]) -> list[Point]:
    return points(quick, sizes(quick), {name: on_nodes(*SYSTEMS[name]) for name in names})


def _fig12_points(quick: bool) -> list[Point]:
    event = {EVENT: on_nodes("spidercast", OURS)}
    return (
        _of(quick, list(SYSTEMS))
        + points(quick, sizes(quick), {OURS_SERIES: on_nodes("spidercast", OURS)})
        + points(quick, QUICK_SIZES if quick else (1000, 2000, 4000), event, engine="event")
    )


SIX = tuple(name for name in SYSTEMS if name != "similarity(20,0)")


def _roughly_the_same(values: Sequence[SeriesValue]) -> bool:
    """Whether the six degrees differ by at most 15% at every number of nodes; the published ones differ by 14%."""
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in curve(values, SPIDERCAST)}
    return all(max(at[name, x] for name in SIX) <= 1.15 * min(at[name, x] for name in SIX) for x in places)


def _twice(values: Sequence[SeriesValue]) -> bool:
    """Whether similarity(20,0) has twice the links of each of the six, within 15%."""
    at = {(value.series, value.x): value.measured for value in values}
    return all(
        1.7 <= value.measured / at[name, value.x] <= 2.3 for value in curve(values, "similarity(20,0)") for name in SIX
    )


def _all_connected(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured == 100 for value in curve(values, SPIDERCAST))


def _rivals_have_more(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured > 100 for value in values if value.series != SPIDERCAST)


def _rivals_grow(values: Sequence[SeriesValue]) -> bool | None:
    return steps(values, sorted({value.series for value in values} - {SPIDERCAST}), rising=True)


def _random_links_make_it_worse(values: Sequence[SeriesValue]) -> bool:
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in values}
    return all(
        at["similarity(10,0)", x] < at["similarity(9,1)", x] < at["similarity(8,2)", x] < at["similarity(7,3)", x]
        for x in places
    )


def _ring_costs_more(values: Sequence[SeriesValue], ring: str = RING) -> bool:
    """Whether a ring per topic has a degree 51% to 82% higher, with two percentage points of tolerance at either end."""
    at = {(value.series, value.x): value.measured for value in values}
    shares = [at[ring, x] / at[SPIDERCAST, x] - 1 for x in {value.x for value in values}]
    return all(0.49 <= share <= 0.84 for share in shares)


def _ring_is_flat(values: Sequence[SeriesValue]) -> bool:
    measured = [value.measured for value in curve(values, RING)]
    return max(measured) <= 1.05 * min(measured)


def _fig14_points(quick: bool) -> list[Point]:
    series = {
        SPIDERCAST: on_nodes("spidercast"),
        RING: on_nodes("ring-per-topic"),
        RING_UNIFORM: on_nodes("ring-per-topic", popularity="uniform"),
    }
    return points(quick, sizes(quick), series)


COMPONENTS = "components, summed over 100 topics"

EXHIBITS = (
    Exhibit(
        name="spidercast/fig12",
        title="Average degree of SpiderCast and its rivals, RSS, 10 of 100 topics",
        x_label="nodes",
        y_label="average degree (links)",
        measure=metric("average_degree"),
        points=_fig12_points,
        left_out=SMALLER,
        claims=(
            Claim("the six overlays have roughly the same degree (within 15%)", _roughly_the_same),
            Claim("similarity(20,0) has twice the links of each of the others (within 15%)", _twice),
        ),
        remark=(
            "Our random(10) does not change with nodes: 10.1, where the paper has 10.82 at 1,000 nodes. None of the "
            "readings in studies/tables/spidercast.md gives more than 10.3. A choice that prefers some nodes would "
            "fall with nodes, but similarity(9,1), which draws its random link in the same way, is flat in the paper. "
            "Figure 3's line 9 as printed gives 11.4 for SpiderCast itself."
        ),
        studies=("spidercast",),
    ),
    Exhibit(
        name="spidercast/fig13a",
        title="Components of SpiderCast and similarity overlays",
        x_label="nodes",
        y_label=COMPONENTS,
        measure=metric("components"),
        points=lambda quick: _of(quick, [SPIDERCAST, *RIVALS_A]),
        left_out=SMALLER,
        log_y=True,
        claims=(
            Claim("SpiderCast has 100 components", _all_connected),
            Claim("every similarity overlay has more than 100 components", _rivals_have_more),
            Claim(
                "similarity(20,0) has more than 100 components too",
                lambda values: all(value.measured > 100 for value in curve(values, "similarity(20,0)")),
            ),
            Claim("the number of components grows with nodes, step by step", _rivals_grow),
            Claim("random links instead of similar ones give more components", _random_links_make_it_worse),
        ),
        remark=(
            "similarity(20,0) has about 107 components at every size, so that it does not grow step by step beyond "
            "the noise of five seeds; the other rows do. Whether more seeds show a growth was not studied."
        ),
    ),
    Exhibit(
        name="spidercast/fig13b",
        title="Components of SpiderCast and random overlays",
        x_label="nodes",
        y_label=COMPONENTS,
        measure=metric("components"),
        points=lambda quick: _of(quick, [SPIDERCAST, "random(10)"]),
        left_out=SMALLER,
        log_y=True,
        claims=(
            Claim("SpiderCast has 100 components", _all_connected),
            Claim("random(10) has more than 100 components", _rivals_have_more),
            Claim("the number of components grows with nodes, step by step", _rivals_grow),
        ),
    ),
    Exhibit(
        name="spidercast/fig14",
        title="Average degree of SpiderCast and of a ring per topic",
        x_label="nodes",
        y_label="average degree (links)",
        measure=metric("average_degree"),
        points=_fig14_points,
        left_out=SMALLER,
        from_zero=True,
        claims=(
            Claim("the degree of a ring per topic is 51% to 82% higher", _ring_costs_more),
            Claim(
                "the degree of a ring per topic is 51% to 82% higher, with topics of equal popularity",
                lambda values: _ring_costs_more(values, RING_UNIFORM),
                is_rival=True,
            ),
            Claim("the degree of a ring per topic does not change with nodes (by more than 5%)", _ring_is_flat),
            Claim(
                "SpiderCast's degree falls with nodes, step by step",
                lambda values: steps(values, [SPIDERCAST], rising=False),
            ),
        ),
        remark=(
            "The degree of the rings is 15.9 at every size, whereas the published percentages imply 16.3 (51% over "
            "10.81, 82% over 8.95). Section 3.9.2 says RSS, but 16.3 at every size is the degree of rings over topics "
            "of equal popularity, which are drawn too: a probable cause, found by search. Interests drawn with "
            "repeats give 15.3."
        ),
        studies=("interests",),
    ),
)
