"""What a topic's size decides: the neighbours that each subscriber needs, and the hops of a search.

Paper: section 3 (ln-covered) and Theorem 2. Both functions take sizes as the node knows them.
"""

from math import ceil, exp, log, log2
from typing import Protocol


class Sizes(Protocol):
    """The sizes that a node works with: those of an oracle, or estimates."""

    def topic_size(self, topic: int) -> int:
        """The number of nodes that hold a topic."""
        ...

    def network_size(self) -> int:
        """The number of nodes in the network."""
        ...


def needed(size: int) -> int:
    """Ln n neighbours, rounded up, at least one and at most all other subscribers."""
    return max(0, min(ceil(log(size)), size - 1)) if size > 2 else max(0, size - 1)


def wanted_coverage(size: int, coverage: int, random_coverage: int) -> tuple[int, int]:
    """The neighbours that a topic of this size needs, and how many of them are chosen at random.

    A coverage of 0 means ln n. No topic needs more neighbours than it has other subscribers.
    """
    greedy = min(coverage, max(0, size - 1)) if coverage else needed(size)
    total = min(greedy + random_coverage, max(0, size - 1))
    return total, total - greedy


def hops(network: int, size: int, samples: int) -> int:
    """TTL of a search (Theorem 2), rounded up; the theorem's n is the number of other subscribers.

    Where the theorem asks for more agents than there are, the TTL is that of all other nodes.
    """
    if network < 3:
        return 1
    others = max(size - 1, 1)
    reached = network * (1 - exp(-samples * others / network))
    agents = float(network - 1)
    if log(network) < reached:
        agents = min(agents, -network / samples * log(1 - log(network) / reached))
    return max(0, ceil(log2(-network * log(1 - agents / network))))
