"""The runs of the paper's evaluation (3.1)."""

from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from typing import Any

from gossamer.analysis.exhibits.harness import Metrics, Point
from gossamer.model.values.run import Run, WorkloadLaw

SIZES = (1000, 2000, 4000, 6000, 8000, 10000)
QUICK_SIZES = (1000, 2000)
SEEDS = (1, 2, 3, 4, 5)
QUICK_SEEDS = (1, 2)
LAWS = ("uniform", "rss", "zipf:1", "nyse")
NODES = "nodes"
SMALLER = "nodes above 2,000 and seeds 3 to 5"


def sizes(quick: bool) -> tuple[int, ...]:
    """The paper's numbers of nodes, or the first of them."""
    return QUICK_SIZES if quick else SIZES


def seeds(quick: bool) -> tuple[int, ...]:
    """Five seeds, or two."""
    return QUICK_SEEDS if quick else SEEDS


def law(nodes: int, topics: int = 100, subscriptions: str = "10", popularity: str = "rss") -> WorkloadLaw:
    """The paper's usual workload: 100 topics, 10 subscriptions, RSS."""
    return WorkloadLaw(nodes=nodes, topics=topics, subscriptions=subscriptions, popularity=popularity)


# The paper's protocol; ours without bridges, whose departures are left; and the reading in which a node asks each
# neighbour to part once, and a covered node only looks again when it has lost a neighbour (docs/papers.md).
PAPER: dict[str, Any] = {"paper": True}
OURS: dict[str, Any] = {"mend_us": 0}
LAZY: dict[str, Any] = {"paper": True, "ask_again": "once", "wakes": "loss"}
# Systems that run SpiderCast's code.
_SAME_CODE = ("spidercast", "similarity", "random")

# The setting of a series at one x: a system, its parameters, and a workload.
Setting = tuple[str, dict[str, Any], WorkloadLaw]
Series = Mapping[str, Callable[[float], Setting]]


def on_nodes(
    system: str,
    parameters: dict[str, Any] | None = None,
    topics: int = 100,
    subscriptions: str = "10",
    popularity: str = "rss",
) -> Callable[[float], Setting]:
    """A series whose x is the number of nodes."""
    return lambda nodes: (system, parameters or {}, law(int(nodes), topics, subscriptions, popularity))


def points(quick: bool, places: Iterable[float], series: Series, **more: Any) -> list[Point]:
    """One point for every series, x and seed. A series turns an x into a setting.

    Diameters and clustering are measured only if `more` says so (`lengths`).
    """
    more = {"lengths": False, **more}
    found = []
    for name, make in series.items():
        for x in places:
            system, parameters, workload = make(x)
            if system in _SAME_CODE and "paper" not in parameters and "mend_us" not in parameters:
                parameters = {**PAPER, **parameters}
            for seed in seeds(quick):
                run = Run(system=system, parameters=parameters, workload=workload, seed=seed, **more)
                found.append(Point(name, float(x), run))
    return found


def metric(name: str) -> Callable[[Metrics], float]:
    """The function that reads this metric."""
    return lambda metrics: float(metrics[name])


def shares(metrics: Metrics) -> dict[int, float]:
    """The share of nodes with each degree."""
    table = metrics["degrees"]
    total = sum(table["nodes"])
    return {int(degree): count / total for degree, count in zip(table["degree"], table["nodes"], strict=True)}


def half_interval(metrics: Metrics) -> float:
    """Half of the 95% interval of the average degree, taken over nodes."""
    found, nodes = shares(metrics), sum(metrics["degrees"]["nodes"])
    mean = sum(degree * share for degree, share in found.items())
    variance = sum(share * (degree - mean) ** 2 for degree, share in found.items())
    return 1.96 * sqrt(variance / nodes)


def near_average(metrics: Metrics) -> float:
    """The percentage of nodes whose degree is within a third of the average."""
    found = shares(metrics)
    mean = sum(degree * share for degree, share in found.items())
    return 100.0 * sum(share for degree, share in found.items() if abs(degree - mean) <= mean / 3)
