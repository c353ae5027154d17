"""Feverfew's two views by interest, as pure choices: the similar view and the ln-covered view."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId

# Chosen: nodes that a node remembers because they did not answer, until they send something.
FAILED_MAX = 8
# Chosen: nodes found by searches that wait for the next cover.
FOUND_MAX = 64
# Chosen: a node that keeps its cover replaces it as a whole if a new one needs less than nine tenths of its nodes, and
# releases a node if each of its topics then still has one neighbour more than it needs. Sizes of topics vary, and a link
# that comes and goes with them costs more than a spare one.
FEWER, SPARE = 0.9, 1

# The topics that a node holds, as far as they are known.
TopicsOf = Callable[[NodeId], AbstractSet[TopicId]]


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

    def __init__(self, topics_of: TopicsOf, jaccard: bool) -> None:
        self.topics_of = topics_of
        self.is_jaccard = jaccard

    def of(self, node: NodeId, rest: set[TopicId]) -> float:
        """The utility of a node for these uncovered topics."""
        topics = self.topics_of(node)
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
    candidates: Iterable[NodeId],
    needs: Mapping[TopicId, int],
    utility: Utility,
    key: int,
    first: Sequence[NodeId] = (),
    liked: Collection[NodeId] = (),
) -> tuple[list[NodeId], dict[TopicId, int]]:
    """Algorithm 3: the nodes that a greedy cover chooses, in order, and the neighbours that each topic then lacks.

    The nodes in `first` are chosen before all others, whatever they cover. Among nodes of equal utility, those in `liked`
    come first. A topic that is covered more often than it needs lacks less than nothing.

    Reading: with nothing left to cover, the algorithm as printed clears the view and returns. Here the cover starts from
    the needs of all subscriptions.
    """
    missing = dict(needs)
    rest = {topic for topic, need in missing.items() if need > 0}
    chosen: list[NodeId] = []

    def choose(node: NodeId) -> None:
        chosen.append(node)
        for topic in utility.topics_of(node) & missing.keys():
            missing[topic] -= 1
            if not missing[topic]:
                rest.discard(topic)

    for node in first:
        choose(node)
    heap = [
        (-utility.of(node, rest), tie(key, node) + (0 if node in liked else MASK + 1), node)
        for node in candidates
        if node not in chosen
    ]
    heapify(heap)
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
        choose(node)
    return chosen, missing


def settled_cover(
    cover: Sequence[NodeId],
    fixed: Sequence[NodeId],
    candidates: Iterable[NodeId],
    needs: Mapping[TopicId, int],
    utility: Utility,
    key: int,
    linked: Collection[NodeId] = (),
) -> tuple[list[NodeId], dict[TopicId, int]]:
    """As `ln_cover`, but the present cover stays as far as it is of use. `fixed` are nodes that stay in any case.

    `linked` are nodes that have a link to this one on their own account: covering a topic by them costs nothing.
    """
    kept = _useful(cover, fixed, needs, utility.topics_of)
    grown, missing = ln_cover(candidates, needs, utility, key, kept, linked)
    new, lacking = ln_cover(candidates, needs, utility, key, fixed, linked)
    cost, present_cost = (sum(node not in linked for node in nodes) for nodes in (new, grown))
    if cost < FEWER * present_cost and _lacking(lacking) <= _lacking(missing):
        return new, lacking
    return grown, missing


def _lacking(missing: Mapping[TopicId, int]) -> int:
    return sum(max(0, lacking) for lacking in missing.values())


def _useful(
    cover: Sequence[NodeId], fixed: Collection[NodeId], needs: Mapping[TopicId, int], topics_of: TopicsOf
) -> list[NodeId]:
    """The nodes of a cover without those that no topic misses; the node that was chosen last is judged first."""
    spare = {topic: -need - SPARE for topic, need in needs.items()}
    shares = {node: [topic for topic in needs if needs[topic] and topic in topics_of(node)] for node in cover}
    for topics in shares.values():
        for topic in topics:
            spare[topic] += 1
    kept = []
    for node in reversed(cover):
        topics = shares[node]
        if node not in fixed and all(spare[topic] > 0 for topic in topics):
            for topic in topics:
                spare[topic] -= 1
        else:
            kept.append(node)
    return kept[::-1]


def random_cover(
    candidates: Iterable[NodeId], missing: dict[TopicId, int], topics_of: TopicsOf, key: int
) -> list[NodeId]:
    """Nodes in a random order, each if it shares a topic that still lacks a neighbour; `missing` is reduced."""
    chosen = []
    for node in sorted(candidates, key=lambda node: tie(key, node)):
        rest = [topic for topic in topics_of(node) if missing.get(topic, 0) > 0]
        for topic in rest:
            missing[topic] -= 1
        if rest:
            chosen.append(node)
    return chosen
