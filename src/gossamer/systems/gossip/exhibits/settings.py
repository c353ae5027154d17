"""Runs in the words of the paper's evaluation (V-B), and what theory says of them.

A share sigma of subscribers is a workload in which every node follows so many of so many topics, by chance: each topic
then has sigma of the nodes, independently. Every event is by a random node on a random topic.
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
# No event of the paper's runs is held back by its time to live.
FAR = 1_000_000


def seeds(quick: bool) -> tuple[int, ...]:
    """Twenty networks, or four."""
    return QUICK_SEEDS if quick else SEEDS


def gossip_run(degree: str, nodes: int, share: tuple[int, int], gamma: float, seed: int, **more: Any) -> Run:
    """A network with its events; a share of subscribers is given as (topics a node follows, topics)."""
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
    )


@cache
def law(degree: str) -> DegreeLaw:
    """A degree law, read once."""
    return degree_law(degree)


@cache
def nodes_of(degree: str) -> int:
    """How many nodes a scale-free network has."""
    return int(read_scale_free(degree)[1].sum())


@cache
def theory(degree: str, nodes: int, sigma: float, gamma: float) -> Reach:
    """What theory says of an event."""
    return find_reach(law(degree), GossipSettings(sigma, gamma), nodes)


def paper_subscribers(degree: str, sigma: float, gamma: float) -> float:
    """The paper's own count of subscribers, sigma <r>; infinite above the threshold."""
    return sigma * mean_receivers(law(degree), GossipSettings(sigma, gamma))


def metric(name: str) -> Callable[[Metrics], float]:
    """The measure of this name."""
    return lambda metrics: float(metrics[name])


def constant(value: float) -> Callable[[Metrics], float]:
    """A curve that a formula gives, whatever was measured."""
    return lambda metrics: value
