"""Closed forms of coverage and search: cycles until a topic is ln-covered (Theorem 1), the TTL of a search (Theorem 2).

X. K. Ma, Y. J. Wang, W. D. Sun, Science China Information Sciences 57, 052103 (2014), pages 6 to 8. Both theorems count
random samples as balls that are thrown into N boxes: m balls leave N e^(-m/N) boxes empty.

Readings, with the published numbers that decide between them:

- Theorem 1 is printed twice. As stated on page 6 it has n / (n - ln n); section 3.2, where BubbleSample starts, has
  n / (n - 1 - ln n). The second form counts the node itself among the n subscribers that its samples can hit. Figure 6's
  "after 21 cycles" at n = 50 fits the second form (20.7), not the first (16.3).
- Theorem 2's n is the number of other subscribers, the topic size less one: with it, and c = 10, the rows "Theory" of
  Table 1 come out to the printed digits. Where the logarithm's argument is not positive, M is N - 1 (section 3.2, last
  paragraph, does this for n = 1 and gets a TTL of log2(N ln N)). Table 1 prints 14.7 for N = 10^5 and n = 2; the cap
  gives 20.1.
"""

import math
from dataclasses import dataclass

from gossamer.model.values.errors import InputError

# The largest network for which the formulas are evaluated; floats lose digits beyond it.
NODES_MAX = 10**12


@dataclass(frozen=True)
class LnCover:
    """Theorem 1 in both forms: cycles until every subscription to a topic is expected to be ln-covered."""

    neighbours_needed: float
    cycles_as_stated: float
    cycles_section_3_2: float


@dataclass(frozen=True)
class Bubble:
    """Theorem 2: how many agents find a match, and the time to live with which a search reaches them."""

    agents: float
    # Whether the theorem asks for more agents than there are nodes, so that N - 1 take their place.
    is_capped: bool
    # The time to live as a real number, as in Table 1, and rounded up to whole hops.
    ttl: float
    hops: int
    # A search with `hops` sends this many copies, the copy that the asking node keeps included.
    copies: int
    # The proof's bound on the probability that no agent finds a match within a cycle; 1/N or less unless capped.
    miss_probability: float


def ln_cover(nodes: int, size: int, random: int, similar: int) -> LnCover:
    """Theorem 1 for a topic of `size` subscribers; a node samples `random` + `similar` nodes in a cycle (c1 + c2).

    >>> round(ln_cover(10_000, 50, random=10, similar=40).cycles_section_3_2, 1)
    20.7
    """
    _check_topic(nodes, size)
    for name, count in (("random", random), ("similar", similar)):
        if not 0 <= count < nodes:
            raise InputError(f"{name} must lie between 0 and {nodes - 1}, the number of other nodes, got {count}")
    if not random + similar:
        raise InputError("a node must sample at least one node in a cycle; `random` and `similar` are both 0")
    needed = math.log(size)
    turns = nodes / (random + similar)
    return LnCover(
        neighbours_needed=needed,
        cycles_as_stated=-turns * math.log1p(-needed / size),
        cycles_section_3_2=-turns * math.log1p(-(1 + needed) / size),
    )


def bubble(nodes: int, size: int, shuffle: int) -> Bubble:
    """Theorem 2 for a topic of `size` subscribers, the asking node included, and Cyclon's shuffle length (c).

    >>> round(bubble(10_000, 10, shuffle=10).ttl, 2)
    6.77
    """
    _check_topic(nodes, size)
    if not 1 <= shuffle < nodes:
        raise InputError(f"shuffle must lie between 1 and {nodes - 1}, the number of other nodes, got {shuffle}")
    # The nodes that the other subscribers sample in a cycle.
    sampled = -nodes * math.expm1(-shuffle * (size - 1) / nodes)
    share = math.log(nodes) / sampled
    agents = -nodes / shuffle * math.log1p(-share) if share < 1 else math.inf
    is_capped = agents > nodes - 1
    agents = min(agents, nodes - 1.0)
    # Less than one agent means that the asking node itself is enough: it searches with a TTL of 0.
    ttl = max(math.log2(-nodes * math.log1p(-agents / nodes)), 0.0)
    hops = math.ceil(ttl)
    found = -nodes * math.expm1(-shuffle * agents / nodes)
    return Bubble(agents, is_capped, ttl, hops, 2**hops, math.exp(-found * sampled / nodes))


def _check_topic(nodes: int, size: int) -> None:
    if not 2 <= nodes <= NODES_MAX:
        raise InputError(f"nodes must lie between 2 and {NODES_MAX:,}, got {nodes}")
    if not 2 <= size <= nodes:
        raise InputError(f"size must lie between 2 and the number of nodes ({nodes}), got {size}")
