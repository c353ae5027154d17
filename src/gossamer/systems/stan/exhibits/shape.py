"""Figure 3 and Table 3: how StAN changes the graph of physical links, with 1,000 nodes and 100 topics."""

from collections.abc import Sequence
from functools import partial

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.stan.exhibits.settings import CYCLES, run_on, seeds

DEGREES = (0, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500)
MOMENTS = {"first": "before", "last": "after"}
# The paper reports on "the graph resulting from the physical links". It models overlays as directed graphs, so measures
# along views are rival readings.
READINGS = {
    "clustering coefficient of links": "clustering",
    "clustering coefficient along views": "view_clustering",
    "diameter of links": "overlay_diameter",
    "diameter along views": "view_diameter",
    "mean eccentricity along views": "view_eccentricity",
}
BEFORE, AFTER = 0.0, 1.0


def _share_up_to(moment: str, direction: str, degree: int, metrics: Metrics) -> float:
    """The percentage of nodes with at most this degree."""
    table = metrics["view_degrees"]
    rows = list(zip(table["moment"], table["direction"], table["degree"], table["nodes"], strict=True))
    counted = [(row[2], row[3]) for row in rows if row[0] == moment and row[1] == direction]
    share = sum(nodes for found, nodes in counted if found <= degree) / sum(nodes for _, nodes in counted)
    return 100.0 * float(share)


def _fig3_points(quick: bool) -> list[Point]:
    return [
        Point(
            f"{direction}, {name}",
            float(degree),
            run_on(1000, 100, seed),
            partial(_share_up_to, moment, direction, degree),
        )
        for moment, name in MOMENTS.items()
        for direction in ("in", "out")
        for seed in seeds(quick)
        for degree in DEGREES
    ]


def _metric(name: str, metrics: Metrics) -> float:
    return float(metrics[name])


def _table3_points(quick: bool) -> list[Point]:
    moments = ((BEFORE, 0), (AFTER, CYCLES))
    return [
        Point(
            name,
            x,
            run_on(1000, 100, seed, cycle_limit=cycles, overlay_diameter=True, lengths=True),
            partial(_metric, measured),
            quantity=None if name.startswith("clustering") else "diameter (links)",
        )
        for name, measured in READINGS.items()
        for seed in seeds(quick)
        for x, cycles in moments
    ]


def _gap(values: Sequence[SeriesValue], one: str, other: str, degrees: Sequence[float]) -> float:
    """The largest difference of two curves, in percent of nodes."""
    there = {value.x: value.measured for value in curve(values, other)}
    return max(abs(value.measured - there[value.x]) for value in curve(values, one) if value.x in degrees)


def _in_and_out_alike(values: Sequence[SeriesValue]) -> bool:
    return all(_gap(values, f"in, {name}", f"out, {name}", DEGREES) <= 10 for name in MOMENTS.values())


def _highest_vanish(values: Sequence[SeriesValue]) -> bool:
    """Whether a degree that at most a tenth of the nodes exceeded before is exceeded by a tenth as many nodes after."""
    for direction in ("in", "out"):
        before = {value.x: value.measured for value in curve(values, f"{direction}, before")}
        after = {value.x: value.measured for value in curve(values, f"{direction}, after")}
        high = [x for x in before if before[x] >= 90]
        if not high or 100 - after[min(high)] > (100 - before[min(high)]) / 10:
            return False
    return True


def _low_stay(values: Sequence[SeriesValue]) -> bool:
    """Whether the curves differ by at most a tenth of the nodes up to ten peers."""
    return all(
        _gap(values, f"{direction}, after", f"{direction}, before", (0, 5, 10)) <= 10 for direction in ("in", "out")
    )


def _rise(values: Sequence[SeriesValue], name: str) -> float:
    before, after = (value.measured for value in curve(values, name))
    return after - before


def _falls(values: Sequence[SeriesValue], name: str) -> bool:
    return _rise(values, name) < 0


def _rises_by_one(values: Sequence[SeriesValue], name: str) -> bool:
    return 0.5 <= _rise(values, name) <= 1.5


EXHIBITS = (
    Exhibit(
        name="stan/fig3",
        title="Distinct peers of a node (out), and nodes that have it as a peer (in)",
        x_label="physical degree, by direction",
        y_label="nodes with at most this degree (%)",
        points=_fig3_points,
        left_out="seeds 3 to 5",
        claims=(
            Claim("in- and out-degrees are similar (curves within ten percentage points)", _in_and_out_alike),
            Claim("the highest degrees disappear", _highest_vanish),
            Claim("the lowest degrees do not change (up to ten peers, within ten percentage points)", _low_stay),
        ),
    ),
    Exhibit(
        name="stan/table3",
        title="Clustering and diameter of the physical links, 1,000 nodes and 100 topics",
        x_label="before (0) and after (1)",
        y_label="clustering coefficient",
        points=_table3_points,
        left_out="seeds 3 to 5",
        tolerance=0.1,
        from_zero=True,
        claims=(
            Claim("clustering falls", lambda values: _falls(values, "clustering coefficient of links")),
            Claim("the diameter rises by about one", lambda values: _rises_by_one(values, "diameter of links")),
            Claim(
                "clustering along views falls",
                lambda values: _falls(values, "clustering coefficient along views"),
                is_rival=True,
            ),
            Claim(
                "the diameter along views rises by about one",
                lambda values: _rises_by_one(values, "diameter along views"),
                is_rival=True,
            ),
            Claim(
                "the mean eccentricity along views rises",
                lambda values: _rise(values, "mean eccentricity along views") > 0,
                is_rival=True,
            ),
        ),
        remark=(
            "The clustering before is met for links and the clustering after is met along views, so that the paper "
            "may have measured the directed graph after. A diameter is the distance of one pair out of a million "
            "pairs of nodes, and depends on the chosen workload: 4 before and after with the best fit. A workload "
            "that is fitted to the clustering before as well has the same clustering after "
            "(studies/tables/stan_joint.md)."
        ),
        studies=("stan_joint",),
    ),
)
