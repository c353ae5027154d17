"""Table 1: how the degrees of OMen and of the planners grow with the number of nodes."""

from collections.abc import Callable, Sequence
from math import log2

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve
from gossamer.systems.omen.exhibits.settings import SEEDS, average, mend, metric

PLANNERS = ("LowODA-Re", "GM", "MinMaxODA")
# Chosen: the table has bounds, which are measured here as growth from size to size on one friend graph.
SIZES, QUICK_SIZES = (250, 500, 1_000, 2_000), (100, 200)
TABLE_EVENTS, TABLE_EVERY = 200, 20


def _growth(quick: bool) -> list[Point]:
    found = []
    for nodes in QUICK_SIZES if quick else SIZES:
        for seed in SEEDS[:1] if quick else SEEDS[:3]:
            run = mend("ego-facebook", seed, nodes, TABLE_EVENTS, PLANNERS, every=TABLE_EVERY)
            for name in ("OMen", *PLANNERS):
                found.append(Point(f"{name}, maximum degree", float(nodes), run, average(f"{name} most")))
                found.append(Point(f"{name}, average degree", float(nodes), run, average(f"{name} mean")))
            found.append(Point("OMen, parted topics", float(nodes), run, metric("parted_topics")))
    return found


def _exponent(values: Sequence[SeriesValue], series: str) -> float | None:
    """The power of the number of nodes with which a degree grows; None in a quick run."""
    points = curve(values, series)
    if [point.x for point in points] != list(map(float, SIZES)):
        return None
    return log2(points[-1].measured / points[0].measured) / log2(SIZES[-1] / SIZES[0])


def _grows_less(one: str, other: str, kind: str, margin: float = 0.0) -> Callable[[Sequence[SeriesValue]], bool | None]:
    def holds(values: Sequence[SeriesValue]) -> bool | None:
        powers = [_exponent(values, f"{name}, {kind} degree") for name in (one, other)]
        return None if powers[0] is None or powers[1] is None else powers[0] < powers[1] + margin

    return holds


EXHIBITS = (
    Exhibit(
        name="omen/table1",
        title="Growth of degrees with the number of nodes, 200 churn events (friends)",
        x_label="nodes",
        y_label="links; topics",
        points=_growth,
        left_out="250 to 2,000 nodes (100 and 200 instead), seeds 2 and 3",
        claims=(
            Claim(
                "OMen's average grows as LowODA's (powers differ by under 0.1)",
                _grows_less("OMen", "LowODA-Re", "average", 0.1),
            ),
            Claim(
                "OMen's maximum grows as LowODA's (powers differ by under 0.1)",
                _grows_less("OMen", "LowODA-Re", "maximum", 0.1),
            ),
            Claim("GM's maximum grows faster than LowODA's", _grows_less("LowODA-Re", "GM", "maximum")),
            Claim("MinMaxODA's average grows faster than LowODA's", _grows_less("LowODA-Re", "MinMaxODA", "average")),
        ),
        remark="The table's bounds are for the worst workload. On this graph interests grow with the sample, too.",
        log_x=True,
        log_y=True,
    ),
)
