"""What BubbleSample needs if all nodes search at once: places in agent views, cycles and bytes. Ours; not in the paper."""

from collections.abc import Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue
from gossamer.systems.feverfew.exhibits.settings import CYCLES, FULL, QUICK, cover, metric

PLACES = (40, 100)
RULES = {"the paper's rule": False, "our rule": True}
RARE = "topics of 2 to 4 subscribers"


def _covered(metrics: Metrics) -> float:
    return 100.0 * float(metrics["covered_share"][-1])


def _rare(metrics: Metrics) -> float:
    """Coverage in the first interval of `experiments.SIZES`."""
    return 100.0 * float(metrics["covered_by_size"][-1][0])


def _cycle(metrics: Metrics) -> float:
    """The first cycle with 99.5% covered; one more than the last cycle if there is none."""
    shares = metrics["covered_share"]
    return float(next((cycle for cycle, share in enumerate(shares, 1) if share >= 0.995), len(shares) + 1))


def _points(quick: bool) -> list[Point]:
    nodes = QUICK if quick else FULL
    found = []
    for rule, meet in RULES.items():
        for places in PLACES[:1] if quick else PLACES:
            run, x = cover(nodes, 1, agents_meet=meet, agent_size=places), float(places)
            found.append(Point(f"{rule}, covered (%)", x, run, _covered))
            found.append(Point(f"{rule}, {RARE} (%)", x, run, _rare))
            found.append(Point(f"{rule}, cycle with 99.5%", x, run, _cycle))
            found.append(Point(f"{rule}, bytes of searches", x, run, metric("search_bytes")))
            found.append(Point(f"{rule}, bytes of shuffles", x, run, metric("shuffle_bytes")))
    return found


def _at(values: Sequence[SeriesValue], series: str) -> dict[float, float]:
    return {value.x: value.measured for value in values if value.series == series}


def _covers(values: Sequence[SeriesValue]) -> bool:
    return all(cycle <= CYCLES for cycle in _at(values, "our rule, cycle with 99.5%").values())


def _is_cheap(values: Sequence[SeriesValue]) -> bool:
    searches, shuffles = _at(values, "our rule, bytes of searches"), _at(values, "our rule, bytes of shuffles")
    return all(searches[places] <= shuffles[places] for places in searches)


EXHIBITS = (
    Exhibit(
        name="feverfew/frontier",
        title="Coverage, cycles and bytes if all nodes search at once",
        x_label="places in an agent view",
        y_label="percent; cycle; bytes per node and cycle",
        points=_points,
        left_out="10,000 nodes (1,000 instead), 100 places",
        claims=(
            Claim(f"our rule covers 99.5% of all subscriptions by cycle {CYCLES}", _covers),
            Claim("its searches need at most the bytes of shuffles", _is_cheap),
        ),
    ),
)
