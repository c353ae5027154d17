"""Figures 3 to 5: backup sets by the primal-dual and the greedy method, and what they do to degrees."""

from collections.abc import Sequence
from itertools import product

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve
from gossamer.model.values.run import Experiment
from gossamer.systems.omen.exhibits.settings import EVERY, SEEDS, SYSTEM, at_end, law, metric, sets

MEASURES = {
    "mean size of a set (% of nodes)": "size_mean_percent",
    "lowest in-degree": "load_least",
    "highest in-degree": "load_most",
    "nodes with an in-degree below 5 (%)": "below_five_percent",
    "nodes with an in-degree above 100 (%)": "above_hundred_percent",
    "nodes that those serve (%)": "served_by_those_percent",
}
ROUNDS, QUICK_ROUNDS = 1_000, 200


def _sets(backups: str, laws: Sequence[str], quick: bool) -> list[Point]:
    return [
        Point(f"{name}: {series}", 1.0, sets(name, seed, backups), metric(measure))
        for name in (laws[:1] if quick else laws)
        for seed in (SEEDS[:1] if quick else SEEDS)
        for series, measure in MEASURES.items()
    ]


def _at(values: Sequence[SeriesValue], series: str) -> float | None:
    found = curve(values, series)
    return found[0].measured if found else None


def _is_balanced(values: Sequence[SeriesValue]) -> bool | None:
    low, high = _at(values, "Unif: lowest in-degree"), _at(values, "Unif: highest in-degree")
    return None if low is None or high is None else low >= 15 and high <= 60


def _is_skewed(values: Sequence[SeriesValue]) -> bool | None:
    """Whether more nodes are hardly used as popularity becomes more uneven."""
    shares = [_at(values, f"{name}: nodes with an in-degree below 5 (%)") for name in ("Unif", "Zipf", "Expo")]
    known = [share for share in shares if share is not None]
    return None if len(known) < 3 else known[0] < known[1] and known[0] < known[2]


def _degrees(quick: bool) -> list[Point]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    found = []
    for backups, linked in product(("primal-dual", "greedy"), ("seen", "shadow")):
        # The paper links shadow nodes only.
        name = backups if linked == "seen" else f"{backups}, links in the shadow set"
        for seed in SEEDS[:1] if quick else SEEDS:
            parameters = {"coverage": 3, "backups": backups, "linked": linked}
            arguments = {"law": law("Unif"), "events": rounds, "every": EVERY, "parameters": parameters}
            run = Experiment(system=SYSTEM, name="mend_generated", arguments=arguments, seed=seed)
            found.append(Point(f"{name}, maximum degree", float(rounds), run, at_end("OMen most")))
            found.append(Point(f"{name}, average degree", float(rounds), run, at_end("OMen mean")))
            found.append(Point(f"{name}, parted topics", float(rounds), run, metric("parted_topics")))
    return found


def _stays_low(values: Sequence[SeriesValue]) -> bool | None:
    found = [value.measured for value in curve(values, "primal-dual, maximum degree") if value.x == ROUNDS]
    return found[0] <= 22 if found else None


def _greed_costs(values: Sequence[SeriesValue]) -> bool | None:
    pairs = [
        [value.measured for value in curve(values, f"{backups}, maximum degree") if value.x == ROUNDS]
        for backups in ("greedy", "primal-dual")
    ]
    return pairs[0][0] >= 2 * pairs[1][0] if all(pairs) else None


def _is_connected(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured == 0 for value in values if value.series.endswith("parted topics"))


EXHIBITS = (
    Exhibit(
        name="omen/fig3",
        title="Backup sets by the primal-dual method (2,000 nodes, 200 topics)",
        x_label="lambda = 3",
        y_label="percent; sets",
        points=lambda quick: _sets("primal-dual", ("Unif",), quick),
        left_out="seeds 2 to 5",
        tolerance=0.25,
        claims=(Claim("in-degrees lie between 15 and 60", _is_balanced),),
    ),
    Exhibit(
        name="omen/fig4",
        title="Backup sets by the greedy method (2,000 nodes, 200 topics)",
        x_label="lambda = 3",
        y_label="percent; sets",
        points=lambda quick: _sets("greedy", ("Unif", "Zipf", "Expo"), quick),
        left_out="Zipf and Expo, seeds 2 to 5",
        tolerance=0.25,
        claims=(Claim("uneven popularity leaves more nodes unused", _is_skewed),),
    ),
    Exhibit(
        name="omen/fig5",
        title="Degrees after 1,000 churn rounds (Unif)",
        x_label="churn round",
        y_label="links",
        points=_degrees,
        left_out="rounds after 200, seeds 2 to 5",
        tolerance=0.25,
        claims=(
            Claim("with primal-dual sets the maximum degree stays at or below 22", _stays_low),
            Claim("with greedy sets it is at least twice as high", _greed_costs),
            Claim("every topic is connected after every event that was measured", _is_connected),
        ),
    ),
)
