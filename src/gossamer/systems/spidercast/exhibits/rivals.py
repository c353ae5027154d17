"""Section 3.9: SpiderCast beside similarity, random and ring-per-topic overlays."""

from collections.abc import Sequence
from typing import Any

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve
from gossamer.systems.spidercast.exhibits.settings import (
    QUICK_SIZES,
    SMALLER,
    metric,
    on_nodes,
    points,
    sizes,
)

SPIDERCAST = "SpiderCast (3,0)"
EVENT = "SpiderCast (3,0), event engine"
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
    event = {EVENT: on_nodes("spidercast")}
    return _of(quick, list(SYSTEMS)) + points(
        quick, QUICK_SIZES if quick else (1000, 2000, 4000), event, engine="event"
    )


def _rivals_have_more(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured > 100 for value in values if value.series != SPIDERCAST)


def _rivals_grow(values: Sequence[SeriesValue]) -> bool:
    names = {value.series for value in values} - {SPIDERCAST}
    return all(curve(values, name)[-1].measured > curve(values, name)[0].measured for name in names)


def _random_links_make_it_worse(values: Sequence[SeriesValue]) -> bool:
    at = {(value.series, value.x): value.measured for value in values}
    places = {value.x for value in values}
    return all(
        at["similarity(10,0)", x] < at["similarity(9,1)", x] < at["similarity(8,2)", x] < at["similarity(7,3)", x]
        for x in places
    )


def _ring_costs_more(values: Sequence[SeriesValue]) -> bool:
    """Between 51% and 82% higher, give or take two points at either end."""
    at = {(value.series, value.x): value.measured for value in values}
    shares = [at["ring per topic", x] / at[SPIDERCAST, x] - 1 for x in {value.x for value in values}]
    return all(0.49 <= share <= 0.84 for share in shares)


def _ring_is_flat(values: Sequence[SeriesValue]) -> bool:
    measured = [value.measured for value in curve(values, "ring per topic")]
    return max(measured) <= 1.05 * min(measured)


def _fig14_points(quick: bool) -> list[Point]:
    series = {
        SPIDERCAST: on_nodes("spidercast"),
        "ring per topic": on_nodes("ring-per-topic"),
        "ring per topic, uniform": on_nodes("ring-per-topic", popularity="uniform"),
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
        remark=(
            "Our random(10) is flat, 10.1 in both engines and 10.97 where nobody ever disconnects. A row that falls "
            "with nodes comes out if the choice favours some nodes: a scan by id in which each further candidate wins "
            "with a chance of 0.007 meets it at all sizes (10.68, 10.55, 10.37, 10.30, 10.27, 10.26), and Java's "
            "generator made anew for each choice from the node's number and the time, with Margin 8, at the five "
            "sizes tried (10.82, 10.58, 10.23, 10.17, and 10.10 at 10,000). But similarity(9,1) and (7,3) draw their "
            "random links in the same way and are then missed at 1,000 to 4,000 nodes: 10.5 and 10.6 to 10.7 with the "
            "scan, 10.7 to 10.9 and 10.6 to 11.4 with Java's generator (published 10.2); both were fitted to the row by "
            "search and neither explains the table. Ruled out, all 10.1 at 1,000 and at 4,000 nodes: 20 or 100 joins a cycle, everybody "
            "acting at once, turns by id, heartbeats every 5 or 10 cycles and neighbours chosen again; with any of "
            "these the degree at the moment when the last node is covered is at most 10.28. Views of 12 to 200 of "
            "1,000 nodes give 10.1, too (all with three seeds, in a separate simulation of the same cycle). Figure "
            "3's line 9 as printed gives the published 20.04 of similarity(20,0), where ours is 20.08, but not "
            "similarity(9,1) to (7,3) (10.3, published 10.2) nor SpiderCast's own row (11.4 to 9.4)."
        ),
    ),
    Exhibit(
        name="spidercast/fig13a",
        title="Components of SpiderCast and similarity overlays",
        x_label="nodes",
        y_label=COMPONENTS,
        measure=metric("components"),
        points=lambda quick: _of(quick, [SPIDERCAST, *RIVALS_A]),
        left_out=SMALLER,
        tolerance=0.0,
        log_y=True,
        claims=(
            Claim("every similarity overlay has more than 100 components", _rivals_have_more),
            Claim("their number grows with nodes", _rivals_grow),
            Claim("random links in place of similar ones make it worse", _random_links_make_it_worse),
        ),
        remark=(
            "All grow with nodes but similarity(20,0): 107.9, 108.2, 106.8 and 105.9 components at 1,000, 2,000, "
            "4,000 and 10,000 nodes (eight seeds, a standard error of about 1). The biased ties with Margin 2 that "
            "give the published maximum degree (fig8-degree) make it grow, 108.6, 110.9 and 110.7 at 1,000, 4,000 and "
            "10,000 (20 seeds, standard errors 0.5, 1.1 and 0.8), and the other rows grow and keep their order at "
            "these sizes (three seeds): a probable cause, with the misses named there. Alone neither grows beyond the "
            "noise: 107.1 to 108.9 with biased ties, 110.6 to 111.8 with Margin 0; nor do 107.9 to 106.0 with Figure "
            "3's line 9 as printed and 107.7 to 105.3 with interests drawn with repeats."
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
        tolerance=0.0,
        log_y=True,
        claims=(
            Claim("random(10) has more than 100 components", _rivals_have_more),
            Claim("their number grows with nodes", _rivals_grow),
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
        claims=(
            Claim("a ring per topic costs 51% to 82% more", _ring_costs_more),
            Claim("and does not change with nodes (by more than 5%)", _ring_is_flat),
        ),
        remark=(
            "Ours costs 47% to 76% more: the ring's degree is 15.9 at every size, where the published shares imply "
            "16.3 (51% over 10.81, 82% over 8.95). 3.9.2 says RSS, but 16.3 at every size is the degree of rings over "
            "topics of equal popularity, drawn beside it: a probable cause, found by trying about ten variants. The "
            "other ways tried to draw RSS interests give less (15.3 with replacement or with each topic on its own, "
            "15.7 by a continuous law), Zipf 0.3 gives 16.2, a link that serves at most two topics 16.6, no merging 20."
        ),
    ),
)
