"""The experiments of the paper's evaluation (section 4), on generated workloads with the four published figures."""

from collections.abc import Callable, Mapping
from typing import Any

from gossamer.analysis.exhibits.harness import Metrics
from gossamer.model.values.run import Experiment

SYSTEM = "feverfew"
# Independent subscriptions, and subscriptions within communities; both have the published figures.
DOUBAN, COMMUNITIES = "douban", "communities"
# Paper: 10,000 users, 31,289 topics, 486,842 subscriptions, the largest topic has 1,304 subscribers (section 4).
FULL = 10_000
QUICK = 1_000
SEEDS = (1, 2, 3, 4, 5)
# Paper: the sizes of Table 3. All exhibits with full covers measure them, so that they share their runs.
TOPIC_SIZES = (10, 100, 200, 400, 600, 825, 1_007, 1_110, 1_208, 1_304)
# Paper: GossipSample alone for 30 cycles. Chosen: 26 cycles of BubbleSample after it.
GOSSIP_CYCLES, CYCLES = 30, 56
# Chosen: the agent view of the exhibits in which all subscriptions must be covered.
PLACES = {"agent_size": 100}
# The baseline with constant coverage: three greedy neighbours and one random neighbour for each topic.
CONSTANT = {"coverage": 3, "random_coverage": 1}


def figures(nodes: int) -> dict[str, int]:
    """The other three figures of a crawl of this many users.

    Paper: 6,109 topics with 1,000 users and 31,289 with 10,000 (section 4.2). Chosen: a power law between them, and the
    same subscriptions for each user and the same share of users in the largest topic as with 10,000 users.
    """
    topics = {1_000: 6_109, 10_000: 31_289}.get(nodes) or round(6_109 * (nodes / 1_000) ** 0.70943)
    return {"topics": topics, "total": round(48.6842 * nodes), "largest": max(2, round(0.1304 * nodes))}


def cover(nodes: int, seed: int, kind: str = DOUBAN, cycles: int = CYCLES, topics: Any = (), **more: Any) -> Experiment:
    """Nodes that cover their subscriptions from empty views."""
    arguments = {
        "kind": kind,
        "nodes": nodes,
        "figures": figures(nodes),
        "parameters": more,
        "cycles": cycles,
        "topics": list(topics),
    }
    return Experiment(system=SYSTEM, name="cover", arguments=arguments, seed=seed)


def cover_globally(nodes: int, seed: int, kind: str = DOUBAN, topics: Any = ()) -> Experiment:
    """The covers of nodes that know all interests."""
    arguments = {"kind": kind, "nodes": nodes, "figures": figures(nodes), "topics": list(topics)}
    return Experiment(system=SYSTEM, name="cover_globally", arguments=arguments, seed=seed)


def formula() -> Experiment:
    """A point that is a closed form and needs no measurement."""
    return Experiment(system=SYSTEM, name="formula", seed=1)


def constant(value: float) -> Callable[[Metrics], float]:
    """A measure that ignores the metrics and returns the value of a formula."""
    return lambda metrics: value


def metric(name: str) -> Callable[[Metrics], float]:
    """The measure that reads this metric."""
    return lambda metrics: float(metrics[name])


def last(name: str) -> Callable[[Metrics], float]:
    """The measure that reads the last value of a metric by cycle."""
    return lambda metrics: float(metrics[name][-1])


def experiment(name: str, seed: int, arguments: Mapping[str, Any]) -> Experiment:
    """Another experiment of `experiments.py`."""
    return Experiment(system=SYSTEM, name=name, arguments=dict(arguments), seed=seed)
