"""The runs of the paper's evaluation (3.1)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gossamer.analysis.exhibits.harness import Metrics, Point
from gossamer.model.values.run import Run, WorkloadLaw

SIZES = (1000, 2000, 4000, 6000, 8000, 10000)
QUICK_SIZES = (1000, 2000)
SEEDS = (1, 2, 3, 4, 5)
QUICK_SEEDS = (1, 2)
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


# The paper's protocol, which does not search for disconnected topics.
PAPER = {"mend_us": 0}

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
    """One point for every series, x and seed. A series turns an x into a setting."""
    found = []
    for name, make in series.items():
        for x in places:
            system, parameters, workload = make(x)
            if system == "spidercast":
                parameters = {**PAPER, **parameters}
            for seed in seeds(quick):
                run = Run(system=system, parameters=parameters, workload=workload, seed=seed, **more)
                found.append(Point(name, float(x), run))
    return found


def metric(name: str) -> Callable[[Metrics], float]:
    """The function that reads this metric."""
    return lambda metrics: float(metrics[name])
