"""The runs of the paper's evaluation (V-B), and the predictions of the theory for them.

A share sigma of subscribers is a workload in which every node follows a fixed number of random topics, such as 3 of 10.
Each topic then has a share sigma of the nodes. A random node publishes each message on a random topic.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from gossamer.analysis.exhibits.harness import Metrics
from gossamer.model.arrays.degrees import DegreeLaw, degree_law, read_scale_free
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.theory.percolation import GossipSettings, Reach, mean_receivers
from gossamer.theory.percolation import reach as find_reach

# Paper: "a corpus of 20 different randomly generated networks. For each network ... 400 events" (V-B).
SEEDS, EVENTS = tuple(range(1, 21)), 400
QUICK_SEEDS = (1, 2, 3, 4)
# A time to live that stops no message, as in the paper's runs.
FAR = 1_000_000


def seeds(quick: bool) -> tuple[int, ...]:
    """The seeds of twenty networks, or of four."""
    return QUICK_SEEDS if quick else SEEDS


def gossip_run(degree: str, nodes: int, share: tuple[int, int], gamma: float, seed: int, **more: Any) -> Run:
    """A network with its messages. The share of subscribers is given as (topics of a node, all topics)."""
    topics_each, topics = share
    carried = {"gamma": gamma, "ttl": FAR, **more}
    return Run(
        system="unstructured",
        parameters={"degree": degree},
        seed=seed,
        workload=WorkloadLaw(nodes=nodes, topics=topics, subscriptions=str(topics_each), popularity="uniform"),
        dissemination="gossip",
        dissemination_parameters=carried,
        event_count=EVENTS,
        lengths=False,
    )


@cache
def law(degree: str) -> DegreeLaw:
    """The degree law of this text, cached."""
    return degree_law(degree)


@cache
def nodes_of(degree: str) -> int:
    """The number of nodes of a scale-free network."""
    return int(read_scale_free(degree)[1].sum())


@cache
def theory(degree: str, nodes: int, sigma: float, gamma: float) -> Reach:
    """The prediction of the theory for a message."""
    return find_reach(law(degree), GossipSettings(sigma, gamma), nodes)


def paper_subscribers(degree: str, sigma: float, gamma: float) -> float:
    """The paper's count of subscribers, sigma <r>, which is infinite above the threshold."""
    return sigma * mean_receivers(law(degree), GossipSettings(sigma, gamma))


def metric(name: str) -> Callable[[Metrics], float]:
    """The function that reads this metric."""
    return lambda metrics: float(metrics[name])


def constant(value: float) -> Callable[[Metrics], float]:
    """A function that ignores the metrics and returns a value of a formula."""
    return lambda metrics: value
