"""Feverfew's two views by interest, as pure choices: the similar view and the ln-covered view."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.parts import InterestLookup

# Chosen: nodes that a node remembers because they did not answer, until they send something.
FAILED_MAX = 8
# Chosen: nodes found by searches that wait for the next cover.
FOUND_MAX = 64


@dataclass(slots=True)
class ViewCandidate:
    """A node that may enter a view."""

    node: NodeId
    age: int
    address: bytes = b""


def merged(*buffers: Iterable[ViewCandidate]) -> dict[NodeId, ViewCandidate]:
    """Each node once, in the order of the first mention, with its youngest age and the address that came with it."""
    found: dict[NodeId, ViewCandidate] = {}
    for buffer in buffers:
        for each in buffer:
            known = found.get(each.node)
            if known is None:
                found[each.node] = ViewCandidate(each.node, each.age, each.address)
            elif each.age < known.age:
                known.age, known.address = each.age, each.address or known.address
    return found


class Utility:
    """Equation (2): how much of the uncovered interest a node shares, as a count or as a Jaccard index."""

    def __init__(self, lookup: InterestLookup, jaccard: bool) -> None:
        self._lookup = lookup
        self.is_jaccard = jaccard

    def of(self, node: NodeId, rest: set[TopicId]) -> float:
        """The utility of a node for these uncovered topics."""
        topics = self._lookup.topics_of(node)
        shared = len(topics & rest)
        if not self.is_jaccard:
            return float(shared)
        union = len(rest) + len(topics) - shared
        return shared / union if union else 0.0


def tie(key: int, node: NodeId) -> int:
    """Decides between nodes of equal utility; the smallest wins."""
    return finish((key + node * ITEM_FACTOR) & MASK)


def most_similar(
    candidates: Iterable[ViewCandidate], rest: set[TopicId], utility: Utility, key: int, size: int
) -> list[ViewCandidate]:
    """SelectSimilarNeighbors of Algorithms 1 and 2: the candidates of greatest utility, best first."""
    ranked = sorted(candidates, key=lambda each: (-utility.of(each.node, rest), tie(key, each.node)))
    return ranked[:size]


def ln_cover(
    candidates: Sequence[NodeId], needs: Mapping[TopicId, int], utility: Utility, lookup: InterestLookup, key: int
) -> tuple[list[NodeId], dict[TopicId, int]]:
    """Algorithm 3: the nodes that a greedy cover chooses, in order, and the neighbours that each topic then lacks.

    A topic that is covered more often than it needs lacks less than nothing.

    Reading: with nothing left to cover, the algorithm as printed clears the view and returns. Here the cover starts from
    the needs of all subscriptions.
    """
    missing = dict(needs)
    rest = {topic for topic, need in missing.items() if need > 0}
    heap = [(-utility.of(node, rest), tie(key, node), node) for node in candidates]
    heapify(heap)
    chosen: list[NodeId] = []
    while rest and heap:
        if utility.is_jaccard:
            # A Jaccard index can rise while topics are covered, so all are computed again.
            heap = [(-utility.of(node, rest), order, node) for _, order, node in heap]
            heapify(heap)
        worth, order, node = heappop(heap)
        now = -utility.of(node, rest)
        if now != worth:
            heappush(heap, (now, order, node))
            continue
        if not now:
            break
        chosen.append(node)
        for topic in lookup.topics_of(node):
            if topic in missing:
                missing[topic] -= 1
                if not missing[topic]:
                    rest.discard(topic)
    return chosen, missing


def random_cover(
    candidates: Iterable[NodeId], missing: dict[TopicId, int], lookup: InterestLookup, key: int
) -> list[NodeId]:
    """Nodes in a random order, each if it shares a topic that still lacks a neighbour; `missing` is reduced."""
    chosen = []
    for node in sorted(candidates, key=lambda node: tie(key, node)):
        rest = [topic for topic in lookup.topics_of(node) if missing.get(topic, 0) > 0]
        for topic in rest:
            missing[topic] -= 1
        if rest:
            chosen.append(node)
    return chosen
