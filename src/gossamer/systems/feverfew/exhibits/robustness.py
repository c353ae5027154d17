"""Figure 9: completion of messages that spread by push and pull while nodes are substituted or fail."""

from collections.abc import Sequence
from functools import partial

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.model.values.run import Experiment
from gossamer.systems.feverfew.exhibits.settings import CYCLES, DOUBAN, FULL, PLACES, SEEDS, experiment, figures

SIZES = (50, 503, 1_304)
QUICK_NODES, QUICK_SIZES = 2_000, (20, 100, 260)
# Cycles that are drawn; the paper's curves end at 31 and 18.
SHOWN = (1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 20, 25, 31)
SUBSTITUTED, FAILED = (0.005, 0.01), (0.7, 0.8)
EMPTY, COVERED = "from empty views", "from covered views"


def _spread(nodes: int, sizes: Sequence[int], seed: int, **more: object) -> Experiment:
    arguments = {
        "kind": DOUBAN,
        "nodes": nodes,
        "figures": figures(nodes),
        # Nodes that lack neighbours because of failures search at once.
        "parameters": {**PLACES, "bubble_cycles": 0},
        "cycles": SHOWN[-1],
        "sizes": list(sizes),
        **more,
    }
    return experiment("spread", seed, arguments)


def _completion(size: int, cycle: int, metrics: Metrics) -> float:
    return 100.0 * float(metrics["completion"][str(size)][cycle - 1])


def _completed(size: int, metrics: Metrics) -> float:
    """The first cycle in which everybody has the message; one more than the last cycle if there is none."""
    found = metrics["completion"][str(size)]
    return float(found.index(1.0) + 1 if 1.0 in found else len(found) + 1)


def _curves(name: str, size: int, run: Experiment) -> list[Point]:
    """The curve of one size, and at x = 0 the cycle in which it reaches everybody.

    Each seed has such a cycle as a series of its own, so that a mean cannot hide a seed that never reaches everybody.
    """
    found = [Point(f"{name}, size {size:,}", float(cycle), run, partial(_completion, size, cycle)) for cycle in SHOWN]
    series = f"{name}, size {size:,}, seed {run.seed} complete in cycle"
    found.append(Point(series, 0.0, run, partial(_completed, size)))
    return found


def _substitution(quick: bool) -> list[Point]:
    nodes, sizes = (QUICK_NODES, QUICK_SIZES) if quick else (FULL, SIZES)
    found = []
    for share in SUBSTITUTED[1:] if quick else SUBSTITUTED:
        for start, first in ((EMPTY, 0), (COVERED, CYCLES)):
            for seed in SEEDS[:1] if quick else SEEDS:
                run = _spread(nodes, sizes, seed, substituted=share, covered_first=first)
                for size in sizes:
                    found += _curves(f"{share:.1%} substituted, {start}", size, run)
    return found


def _failure(quick: bool) -> list[Point]:
    nodes, sizes = (QUICK_NODES, QUICK_SIZES) if quick else (FULL, SIZES)
    found = []
    for share in FAILED[1:] if quick else FAILED:
        for seed in SEEDS[:1] if quick else SEEDS:
            run = _spread(nodes, sizes, seed, failed=share, covered_first=CYCLES)
            for size in sizes:
                found += _curves(f"{share:.0%} failed", size, run)
    return found


def _complete_by(values: Sequence[SeriesValue], words: str, cycle: int) -> bool:
    """Whether every seed and size has reached everybody by this cycle."""
    found = [value for value in values if value.series.endswith("complete in cycle") and words in value.series]
    return bool(found) and all(value.measured <= cycle for value in found)


def _slows_down(values: Sequence[SeriesValue]) -> bool:
    """Whether curves from empty views rise more in the first half of their time than in the second."""
    for name in {value.series for value in values if EMPTY in value.series and "complete in" not in value.series}:
        points = {point.x: point.measured for point in curve(values, name)}
        if points[15.0] - points[1.0] < points[31.0] - points[15.0]:
            return False
    return True


EXHIBITS = (
    Exhibit(
        name="feverfew/fig9a",
        title="Completion of a message while nodes are substituted in every cycle",
        x_label="cycle",
        y_label="subscribers that have the message (%); cycle at x = 0",
        points=_substitution,
        left_out="10,000 nodes (2,000 instead, smaller topics), 0.5%, seeds 2 to 5",
        claims=(
            Claim(
                "all subscribers are reached within 31 cycles from empty views", lambda v: _complete_by(v, EMPTY, 31)
            ),
            Claim("and within 20 cycles from covered views", lambda v: _complete_by(v, COVERED, 20)),
            Claim("completion rises faster in the first half of the time", _slows_down),
        ),
    ),
    Exhibit(
        name="feverfew/fig9b",
        title="Completion of a message after many nodes fail at once",
        x_label="cycle",
        y_label="live subscribers that have the message (%); cycle at x = 0",
        points=_failure,
        left_out="10,000 nodes (2,000 instead, smaller topics), 70%, seeds 2 to 5",
        claims=(
            Claim(
                "all live subscribers are reached within 18 cycles after 80% fail", lambda v: _complete_by(v, "80%", 18)
            ),
            Claim(
                "and within 12 cycles (our aim, not the paper's)", lambda v: _complete_by(v, "80%", 12), is_rival=True
            ),
        ),
    ),
)
