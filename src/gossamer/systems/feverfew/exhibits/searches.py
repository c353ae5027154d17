"""Tables 1 and 2: time and messages of isolated searches, and lookups in Chord."""

from collections.abc import Sequence
from math import log2

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.feverfew.exhibits.settings import SEEDS, constant, experiment, formula, metric
from gossamer.theory.coverage import bubble

SIZES = (2, 10, 100, 200, 400, 600, 825, 1_007, 1_110, 1_208, 1_304)
QUICK_SIZES = (2, 100, 1_304)
# Paper: ten random nodes in a cycle (4.1.2).
SAMPLES = 10
NODES, MANY = 10_000, 100_000
THEORY, MANY_THEORY = "theory, 10,000 nodes", "theory, 100,000 nodes"
LATEST, MISSED = "95th percentile of the first match", "searches without a match (%)"
MEAN, CHORD = "mean of the first match", "Chord, mean hops of lookups"
NOTICES, AT_ONCE = "notices", "notices, all copies at once"


def _as_printed(nodes: int, size: int) -> float:
    """Theorem 2, rounded as in the paper: three digits, of which at most two are decimals."""
    ttl = bubble(nodes, size, SAMPLES).ttl
    return round(ttl, 1 if ttl >= 10 else 2)


def _missed_percent(metrics: Metrics) -> float:
    return 100.0 * float(metrics["miss_probability"])


def _time_points(quick: bool) -> list[Point]:
    found = []
    for size in QUICK_SIZES if quick else SIZES:
        x = float(size)
        found.append(Point(THEORY, x, formula(), constant(_as_printed(NODES, size))))
        found.append(Point(MANY_THEORY, x, formula(), constant(_as_printed(MANY, size))))
        for seed in SEEDS[:2] if quick else SEEDS:
            run = experiment("search", seed, {"nodes": NODES, "size": size, "shuffle": SAMPLES})
            found.append(Point(LATEST, x, run, metric("first_match_cycles_p95")))
            found.append(Point(MEAN, x, run, metric("first_match_cycles_mean")))
            found.append(Point(MISSED, x, run, _missed_percent))
            found.append(Point(CHORD, x, experiment("lookup", seed, {"nodes": NODES}), metric("hops_mean")))
    return found


def _cost_points(quick: bool) -> list[Point]:
    found = []
    for size in QUICK_SIZES if quick else SIZES:
        for seed in SEEDS[:2] if quick else SEEDS:
            for name, at_once in ((NOTICES, False), (AT_ONCE, True)):
                arguments = {"nodes": NODES, "size": size, "shuffle": SAMPLES, "at_once": at_once}
                run = experiment("search", seed, arguments)
                found.append(Point(name, float(size), run, metric("notices_per_search")))
    return found


def _few_missed(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured <= 10 for value in curve(values, MISSED))


def _faster_than_a_lookup(values: Sequence[SeriesValue]) -> bool:
    """Whether the first match comes in fewer cycles than the bound on the hops in a structured overlay."""
    return all(value.measured < log2(NODES) for value in curve(values, LATEST))


def _is_cheaper(values: Sequence[SeriesValue]) -> bool:
    """Whether searches cost fewer messages than the bound of a structured overlay, at every size."""
    return all(value.measured < log2(NODES) for value in curve(values, NOTICES))


def _theory_is_lower(values: Sequence[SeriesValue]) -> bool:
    """Whether the theory is not above the 95th percentile of the measured times, at most sizes."""
    theory = {value.x: value.measured for value in curve(values, THEORY)}
    found = [theory[value.x] <= value.measured for value in curve(values, LATEST)]
    return 2 * sum(found) > len(found)


EXHIBITS = (
    Exhibit(
        name="feverfew/table1",
        title="Time of searches until the first match",
        x_label="topic size",
        y_label="cycles; percent",
        points=_time_points,
        left_out="eight of eleven sizes, seeds 3 to 5",
        # Theory must have the digits that are printed.
        tolerance=0.0,
        claims=(
            Claim("at most 10% of the searches find nobody, at every size", _few_missed),
            Claim("95% of matching searches match within log2 N cycles, the bound on a lookup", _faster_than_a_lookup),
            Claim("at most sizes the theory is not above the 95th percentile of the first match", _theory_is_lower),
        ),
        remark=(
            "Theory for 100,000 nodes and two subscribers is printed as 14.7. There the theorem asks for more agents than "
            "nodes; with N - 1 agents, as section 3.2 says, the TTL is 20.1. The practical row (11 8 5 4 2 2 2 1 1 1 1) is "
            "no mean and no percentile of our searches: the 95th percentile of those that match is 12 8 5 4 3 3 2 2 2 2 2. A "
            "search ends one cycle after its TTL: that no match is later cannot fail, and is no claim here. At size 10, 10.1% of searches find nobody by "
            "the closed form."
        ),
        log_x=True,
    ),
    Exhibit(
        name="feverfew/table2",
        title="Messages of a search: notices to the asker and to the nodes found",
        x_label="topic size",
        y_label="messages per search",
        points=_cost_points,
        left_out="eight of eleven sizes, seeds 3 to 5",
        tolerance=0.25,
        claims=(Claim("a search costs fewer messages than a lookup's bound, log2 N, at every size", _is_cheaper),),
        log_x=True,
    ),
)
