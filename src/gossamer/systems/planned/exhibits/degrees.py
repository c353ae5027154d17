"""Average and maximum degree of GM, LowODA and MinMaxODA, for rho from 1 to the number of nodes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.model.values.run import Run, WorkloadLaw

# OMen's synthetic workload (its section 6.1).
LAWS = {"Unif": "uniform", "Zipf": "zipf:2", "Expo": "expo"}
NODES, TOPICS, SUBSCRIPTIONS = 2000, 200, "power:10:90"
RHOS = (1, 1.5, 2, 3, 5, 10, 30, 100, NODES)
SEEDS = (1, 2, 3)
EGO = "friends:ego-facebook/facebook_combined.txt.gz"
AVERAGE, MAXIMUM = "average degree (links)", "maximum degree (links)"
RHO = "rho"


def _points(workloads: dict[str, str | WorkloadLaw], seeds: tuple[int, ...], rhos: Sequence[float]) -> list[Point]:
    found = []
    for name, workload in workloads.items():
        before = f"{name}, " if name else ""
        for seed in seeds:
            for rho in rhos:
                for label, system, parameters in (
                    (f"{before}LowODA", "lowoda", {"rho": float(rho)}),
                    (f"{before}GM", "gm", {}),
                    (f"{before}MinMaxODA", "minmaxoda", {}),
                ):
                    run = Run(system=system, parameters=parameters, workload=workload, seed=seed, lengths=False)
                    found.append(Point(label, float(rho), run))
    return found


def _synthetic(quick: bool) -> list[Point]:
    laws: dict[str, str | WorkloadLaw] = {
        name: WorkloadLaw(nodes=NODES, topics=TOPICS, subscriptions=SUBSCRIPTIONS, popularity=law)
        for name, law in LAWS.items()
    }
    return _points(laws, SEEDS[:1] if quick else SEEDS, RHOS[::4] if quick else RHOS)


def _friends(quick: bool) -> list[Point]:
    return _points({"": EGO}, (1,), RHOS[::4] if quick else RHOS)


def _names(values: Sequence[SeriesValue]) -> list[str]:
    return sorted({value.series.removesuffix("LowODA") for value in values if value.series.endswith("LowODA")})


def _between(values: Sequence[SeriesValue], lower: str, upper: str) -> bool:
    """Whether lower <= LowODA <= upper at every rho above 1. At rho = 1 LowODA is GM with ties broken by degree."""
    for name in _names(values):
        rows = (curve(values, f"{name}{system}") for system in (lower, "LowODA", upper))
        for low, middle, high in zip(*rows, strict=True):
            if middle.x > 1 and not low.measured <= middle.measured <= high.measured:
                return False
    return True


def _moves(values: Sequence[SeriesValue], sign: int) -> bool:
    """Whether LowODA rises (sign 1) or falls (sign -1) from the first rho to the last."""
    for name in _names(values):
        found = curve(values, f"{name}LowODA")
        if sign * (found[-1].measured - found[0].measured) <= 0:
            return False
    return True


def _flattens(values: Sequence[SeriesValue]) -> bool:
    """Whether the maximum degree changes by at most one link at each step from rho = 3 on."""
    for name in _names(values):
        found = [value.measured for value in curve(values, f"{name}LowODA") if value.x >= 3]
        if any(abs(later - earlier) > 1 for earlier, later in pairwise(found)):
            return False
    return True


def _exhibit(
    name: str,
    title: str,
    measure: Callable[[Metrics], float],
    label: str,
    points: Callable[[bool], list[Point]],
    claims: tuple[Claim, ...],
) -> Exhibit:
    return Exhibit(
        name=name,
        title=title,
        x_label=RHO,
        y_label=label,
        measure=measure,
        points=points,
        left_out="six values of rho, and seeds 2 and 3 where there is more than one seed",
        claims=claims,
        log_x=True,
        log_y=label == MAXIMUM,
    )


def _average(metrics: Metrics) -> float:
    return float(metrics["average_degree"])


def _maximum(metrics: Metrics) -> float:
    return float(metrics["max_degree"])


_AVERAGE_CLAIMS = (
    Claim("GM has the smallest average degree for every rho above 1", lambda values: _between(values, "GM", "LowODA")),
    Claim(
        "LowODA's average degree is higher with the largest rho than with the smallest",
        lambda values: _moves(values, 1),
    ),
)
_MAXIMUM_CLAIMS = (
    Claim("GM has the largest maximum degree for every rho above 1", lambda values: _between(values, "LowODA", "GM")),
)

EXHIBITS = (
    _exhibit(
        "planners/average-degree",
        "Average degree of central plans, 2,000 nodes, 200 topics",
        _average,
        AVERAGE,
        _synthetic,
        _AVERAGE_CLAIMS,
    ),
    _exhibit(
        "planners/maximum-degree",
        "Maximum degree of central plans, 2,000 nodes, 200 topics",
        _maximum,
        MAXIMUM,
        _synthetic,
        (*_MAXIMUM_CLAIMS, Claim("LowODA's maximum degree hardly changes from rho = 3 on", _flattens)),
    ),
    _exhibit(
        "planners/friends-average-degree",
        "Average degree of central plans on ego-Facebook (4,039 users, one topic each)",
        _average,
        AVERAGE,
        _friends,
        _AVERAGE_CLAIMS,
    ),
    _exhibit(
        "planners/friends-maximum-degree",
        "Maximum degree of central plans on ego-Facebook (4,039 users, one topic each)",
        _maximum,
        MAXIMUM,
        _friends,
        _MAXIMUM_CLAIMS,
    ),
)
