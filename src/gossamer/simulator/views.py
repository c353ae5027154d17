"""Interest views for simulated nodes: an oracle that knows the workload and which nodes are present.

The oracle keeps one bitset of nodes for each topic, as a Python integer, and counts with bit slices: adding ten bitsets
of 10,000 nodes takes a hundred operations on integers instead of 100,000 on sets. An answer depends only on the
workload, the nodes that are present and the question.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import finish_all
from gossamer.model.values.draw import (
    ITEM_FACTOR,
    MASK,
    Purpose,
    draw,
    finish,
)
from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Peer

# Below this many candidates plain Python is faster than numpy.
FEW = 24


class InterestOracle:
    """The topics of every node that is present. Answers name only nodes that are present."""

    def __init__(self, node_count: int) -> None:
        self.node_count = node_count
        self.present = 0
        self._holders: dict[int, int] = {}
        self._interests: dict[int, tuple[int, ...]] = {}
        # The last interest of every node that has been present: other nodes do not notice at once that a node is gone.
        self._last: dict[int, frozenset[int]] = {}

    def put(self, node: int, interest: Iterable[int]) -> None:
        """Add a node that is present, with its topics."""
        self.drop(node)
        bit = 1 << node
        self.present |= bit
        self._interests[node] = tuple(interest)
        self._last[node] = frozenset(self._interests[node])
        for topic in self._interests[node]:
            self._holders[topic] = self._holders.get(topic, 0) | bit

    def drop(self, node: int) -> None:
        """Remove a node."""
        bit = 1 << node
        self.present &= ~bit
        for topic in self._interests.pop(node, ()):
            self._holders[topic] &= ~bit

    def view_for(
        self, parameters: Any, seed: int, node: int, distance_us: Callable[[int], int] | None = None
    ) -> "OracleView":
        """The interest view of a node: all nodes, or a fixed random share, as the system's parameters say.

        `distance_us` gives the latency to another node, for parameters that break ties by distance.
        """
        ties = getattr(parameters, "ties", "random")
        if ties == "near" and distance_us is None:
            raise InputError("ties=near needs links with latencies; use engine='event'")
        visible = None
        view = getattr(parameters, "view", 1.0)
        if view < 1:
            visible = _bits_of(view_slots(seed, node, self.node_count, view))
        coin = getattr(parameters, "coin", 0.5) if ties == "scan" else None
        return OracleView(self, visible, coin, distance_us if ties == "near" else None)

    def holders(self, topic: int) -> int:
        """The nodes with this topic that are present, as bits."""
        return self._holders.get(topic, 0)

    def last_interest(self, node: int) -> frozenset[int]:
        """The topics of a node, which may have left since."""
        return self._last.get(node, frozenset())


class OracleView:
    """What one node knows (`contract.parts.InterestView` and `InterestLookup`), answered by the oracle."""

    __slots__ = ("_coin", "_distance_us", "_oracle", "_visible")

    def __init__(
        self, oracle: InterestOracle, visible: int | None, coin: float | None, distance_us: Callable[[int], int] | None
    ) -> None:
        self._oracle = oracle
        self._visible = visible
        # With a coin, ties are decided by a scan.
        self._coin = coin
        self._distance_us = distance_us

    def best_cover(self, topics: Sequence[int], exclude: Collection[int], key: int) -> Peer | None:
        """See `InterestView`."""
        planes: list[int] = []
        for topic in topics:
            carry = self._oracle.holders(topic)
            for level, plane in enumerate(planes):
                planes[level], carry = plane ^ carry, plane & carry
                if not carry:
                    break
            if carry:
                planes.append(carry)
        best = allowed = self._allowed(exclude)
        for plane in reversed(planes):
            best = (best & plane) or best
        # No allowed node has any of the topics.
        if best == allowed and not any(allowed & plane for plane in planes):
            return None
        if self._distance_us is not None:
            best = _nearest(best, self._distance_us)
        if best and self._coin is not None:
            return Peer(_scanned(best, key, coin_limit(self._coin)))
        return self._pick(best, key)

    def random_cover(self, topics: Sequence[int], exclude: Collection[int], key: int) -> Peer | None:
        """See `InterestView`."""
        holders = 0
        for topic in topics:
            holders |= self._oracle.holders(topic)
        return self._pick(holders & self._allowed(exclude), key)

    def random_peer(self, exclude: Collection[int], key: int) -> Peer | None:
        """See `InterestView`."""
        return self._pick(self._allowed(exclude), key)

    def holder_below(self, topic: int, node: int, exclude: Collection[int], key: int) -> Peer | None:
        """See `InterestView`."""
        return self._pick(self._oracle.holders(topic) & ((1 << node) - 1) & self._allowed(exclude), key)

    def topics_of(self, node: int) -> frozenset[int]:
        """See `InterestLookup`."""
        return self._oracle.last_interest(node)

    def digest_of(self, node: int) -> None:
        """See `InterestLookup`."""

    def note(self, heard: Heard) -> None:
        """See `InterestLookup`: the oracle knows already."""

    def topic_size(self, topic: int) -> int:
        """See `InterestLookup`."""
        return self._oracle.holders(topic).bit_count()

    def network_size(self) -> int:
        """See `InterestLookup`."""
        return self._oracle.present.bit_count()

    def _allowed(self, exclude: Collection[int]) -> int:
        allowed = self._oracle.present if self._visible is None else self._oracle.present & self._visible
        for node in exclude:
            allowed &= ~(1 << node)
        return allowed

    def _pick(self, candidates: int, key: int) -> Peer | None:
        if not candidates:
            return None
        if candidates.bit_count() <= FEW:
            return Peer(min((finish((key + node * ITEM_FACTOR) & MASK), node) for node in _ids(candidates))[1])
        return Peer(_smallest_draw(candidates, key))


def view_slots(seed: int, node: int, node_count: int, fraction: float) -> NDArray[np.int64]:
    """The distinct nodes in the view of `node`: a walk through all ids with a random start and stride."""
    stride, start = view_walk(seed, node, node_count)
    count = view_size(node_count, fraction)
    return (start + stride * np.arange(count, dtype=np.int64)) % node_count


def view_size(node_count: int, fraction: float) -> int:
    """The number of nodes in a view of this share; the node itself may be one of them."""
    return min(node_count, max(1, round(fraction * node_count)))


def view_walk(seed: int, node: int, node_count: int) -> tuple[int, int]:
    """(stride, start) of a node's view; the stride shares no divisor with the number of nodes."""
    attempt = 0
    while True:
        stride = 1 + draw(seed, node, Purpose.VIEW, attempt) % node_count
        if gcd(stride, node_count) == 1:
            return stride % node_count, draw(seed, node, Purpose.VIEW, attempt, item=1) % node_count
        attempt += 1


def _nearest(candidates: int, distance_us: Callable[[int], int]) -> int:
    """The nearest candidates, as bits."""
    nodes = list(_ids(candidates))
    least = min(map(distance_us, nodes), default=0)
    return sum(1 << node for node in nodes if distance_us(node) == least)


def _ids(bits: int) -> Iterable[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _bits_of(nodes: NDArray[np.int64]) -> int:
    flags = np.zeros(int(nodes.max()) // 8 * 8 + 8, np.uint8)
    flags[nodes] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def node_ids(bits: int) -> NDArray[np.uint64]:
    """The set bits, ascending."""
    content = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(content, bitorder="little")).astype(np.uint64)


def _smallest_draw(bits: int, key: int) -> int:
    """The candidate with the smallest draw. Ids ascend, so the lowest id wins a tie."""
    nodes = node_ids(bits)
    return int(nodes[np.argmin(finish_all(np.uint64(key & MASK) + nodes * np.uint64(ITEM_FACTOR)))])


def coin_limit(coin: float) -> int:
    """A coin with this probability wins if its 64-bit draw is at most this number."""
    return min(int(coin * 2**64), MASK)


def _scanned(candidates: int, key: int, limit: int) -> int:
    """Scan by id and flip a coin at each tie. Higher ids win more often: a biased rule for the exhibit of Figure 6."""
    chosen = -1
    for node in _ids(candidates):
        if chosen < 0 or finish((key + node * ITEM_FACTOR) & MASK) <= limit:
            chosen = node
    return chosen
