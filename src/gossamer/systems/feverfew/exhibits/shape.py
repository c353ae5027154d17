"""Table 3: diameter and clustering of topics of ten sizes, beside constant coverage on the same samples."""

from collections.abc import Sequence
from functools import partial

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.feverfew.exhibits.settings import (
    COMMUNITIES,
    CONSTANT,
    CYCLES,
    DOUBAN,
    FULL,
    PLACES,
    QUICK,
    SEEDS,
    TOPIC_SIZES,
    cover,
)

QUICK_SIZES = (10, 50, 130)
SYSTEMS = {"Feverfew": {}, "SpiderCast": CONSTANT}
# The measures of a topic, and the workload on which each is compared with the published row.
MEASURES = {"diameter": DOUBAN, "clustering": COMMUNITIES, "components": DOUBAN}
LABELS = {"diameter": "diameter (hops)", "clustering": None, "components": "components"}
OTHER = {DOUBAN: "independent", COMMUNITIES: "with communities"}


def _of_topic(size: int, measure: str, metrics: Metrics) -> float:
    return float(metrics["topics"][str(size)][measure])


def _points(quick: bool) -> list[Point]:
    nodes, sizes = (QUICK, QUICK_SIZES) if quick else (FULL, TOPIC_SIZES)
    found = []
    for system, constant in SYSTEMS.items():
        for kind in (DOUBAN, COMMUNITIES):
            for seed in SEEDS[:1] if quick else SEEDS:
                run = cover(nodes, seed, kind, CYCLES, sizes, **PLACES, **constant)
                for measure, primary in MEASURES.items():
                    series = f"{system}, {measure}" if kind == primary else f"{system}, {measure}, {OTHER[kind]}"
                    series = f"{series}, {nodes:,} nodes" if quick else series
                    found += [
                        Point(series, float(size), run, partial(_of_topic, size, measure), quantity=LABELS[measure])
                        for size in sizes
                    ]
    return found


def _named(values: Sequence[SeriesValue], series: str) -> list[SeriesValue]:
    return curve(values, series) or curve(values, f"{series}, {QUICK:,} nodes")


def _is_connected(values: Sequence[SeriesValue]) -> bool:
    found = [value for value in values if "Feverfew, components" in value.series]
    return all(value.measured == 1 for value in found)


def _is_short(values: Sequence[SeriesValue], series: str, most: float) -> bool | None:
    found = [value.measured for value in _named(values, series) if value.x >= 100]
    return all(value <= most for value in found) if found else None


def _is_not_longer(values: Sequence[SeriesValue]) -> bool:
    """Whether Feverfew's diameters are at most those of constant coverage, at every size."""
    ours, theirs = (_named(values, f"{system}, diameter") for system in SYSTEMS)
    return all(one.measured <= other.measured for one, other in zip(ours, theirs, strict=True))


def _is_ordered(values: Sequence[SeriesValue], workload: str = "") -> bool | None:
    """Whether Feverfew clusters less than constant coverage at size 10, and more from size 100 on."""
    ours = _named(values, f"Feverfew, clustering{workload}")
    theirs = {value.x: value.measured for value in _named(values, f"SpiderCast, clustering{workload}")}
    if not ours:
        return None
    return all((value.measured < theirs[value.x]) == (value.x < 100) for value in ours if value.x not in (50.0,))


EXHIBITS = (
    Exhibit(
        name="feverfew/table3",
        title="Diameter and clustering of topics",
        x_label="topic size",
        y_label="clustering coefficient",
        points=_points,
        left_out="10,000 nodes (1,000 instead), most sizes, seeds 2 to 5",
        tolerance=0.1,
        claims=(
            Claim("every topic of the table is connected", _is_connected),
            Claim("diameters are at most 3 from size 100", lambda values: _is_short(values, "Feverfew, diameter", 3)),
            Claim("diameters are not larger than SpiderCast's at any size", _is_not_longer),
            Claim("clustering is below SpiderCast's at size 10, and above it from size 100", _is_ordered),
            Claim(
                "with communities, diameters are at most 4 from size 100",
                lambda values: _is_short(values, "Feverfew, diameter, with communities", 4),
                is_rival=True,
            ),
            Claim(
                "with independent subscriptions, clustering is ordered in the same way",
                lambda values: _is_ordered(values, ", independent"),
                is_rival=True,
            ),
        ),
        remark=(
            "Coefficients depend on the correlation of interests in the crawl, of which the paper publishes no measure. "
            "The topic of each size is the one of the nearest size, so that the diameter at size 10 depends on a few links."
        ),
        log_x=True,
    ),
)
