"""The inverse of the theory: the gossip probability or the degree that reaches a given share of the subscribers.

Each function returns the smallest such value. A binary search finds it, because the share reached never falls when
gamma or the degree grows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gossamer.model.arrays.degrees import DegreeLaw, degree_law
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.errors import InputError
from gossamer.theory.percolation import GossipSettings, Reach, check_share, reach

# Chosen: the upper end of the search; a node with more links is a server rather than a peer.
MEAN_DEGREE_MAX = 1000
FAMILIES = ("poisson", "regular")
# Shares do not depend on the number of nodes, so any number will do.
_ANY_COUNT = 1


def gossip_for(law: DegreeLaw, subscribers: float, target: float, loss: float = 0.0) -> float:
    """The smallest gamma with which an event reaches this share of the subscribers on average."""
    check_share("target", target)

    def reached(gamma: float) -> float:
        return _subscribers_reached(law, GossipSettings(subscribers, gamma, loss))

    if target == 0 or reached(0.0) >= target:
        return 0.0
    best = reached(1.0)
    if best < target:
        raise InputError(
            f"no gossip probability reaches {target:g} of the subscribers on {law.text}: the best, with 1, is {best:.6g}; "
            "more links are needed"
        )
    return _smallest(lambda gamma: reached(gamma) >= target, 0.0, 1.0)


def degree_for(family: str, gossip: GossipSettings, target: float) -> float:
    """The smallest mean degree of a Poisson overlay, or the smallest degree of a regular one, for this target."""
    check_share("target", target)
    if family not in FAMILIES:
        raise InputError(f"the degree distribution must be one of {', '.join(FAMILIES)}, got {family!r}")

    def enough(mean: float) -> bool:
        return _subscribers_reached(degree_law(f"{family}:{mean:.17g}"), gossip) >= target

    if target == 0:
        return 0.0
    if target == 1 and family == "poisson":
        raise InputError(
            "no Poisson overlay reaches every subscriber: some nodes have no link; ask for a target below 1"
        )
    if not enough(MEAN_DEGREE_MAX):
        best = _subscribers_reached(degree_law(f"{family}:{MEAN_DEGREE_MAX}"), gossip)
        raise InputError(
            f"no {family} overlay with up to {MEAN_DEGREE_MAX} links a node reaches {target:g} of the subscribers: the best "
            f"is {best:.6g}; use a higher gossip probability"
        )
    if family == "regular":
        return float(next(degree for degree in range(1, MEAN_DEGREE_MAX + 1) if enough(degree)))
    return _smallest(enough, 0.0, float(MEAN_DEGREE_MAX))


@dataclass(frozen=True)
class TopicReach:
    """The reach of one topic of a workload on an overlay."""

    topic: int
    subscribers: int
    share: float
    reach: Reach


def topics_on(law: DegreeLaw, interest: Interest, gamma: float, loss: float = 0.0) -> list[TopicReach]:
    """The reach of each topic of a workload on an overlay with these degrees, from the topic's share of subscribers."""
    node_count = interest.node_count
    by_count = {
        count: reach(law, GossipSettings(count / node_count, gamma, loss), node_count)
        for count in np.unique(interest.popularity).tolist()
    }
    return [
        TopicReach(topic, count, count / node_count, by_count[count])
        for topic, count in enumerate(interest.popularity.tolist())
    ]


def _subscribers_reached(law: DegreeLaw, gossip: GossipSettings) -> float:
    return reach(law, gossip, _ANY_COUNT).subscribers_reached


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value with holds(value), to 1e-12 of the interval; holds(high) must be true."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
