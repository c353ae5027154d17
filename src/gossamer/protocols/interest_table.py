"""The interest view that a node fills by itself: whatever a membership protocol that carries interests brings.

The table is bounded and forgets whom it has not heard of for longest. It answers overlay parts (`InterestView`) and
learns from the membership part below (`Heard`). Cost of a question: the table's size.
"""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.interface import NOTHING, Action, Event, Fact, Heard, Message, Peer, Timer

# Chosen: 1,000 nodes with their interests; SpiderCast needs 5% of the nodes (3.7), so this serves some 20,000.
KNOWN_MAX = 1_000


class InterestTable:
    """Nodes heard of lately, with their interests."""

    __slots__ = ("_known", "_most", "_node")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, node: NodeId, most: int = KNOWN_MAX) -> None:
        self._node = node
        self._most = most
        # In the order in which they were last heard of.
        self._known: dict[NodeId, tuple[bytes, frozenset[TopicId]]] = {}

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Nothing happens here but through what is heard."""
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Remember who was heard of; nobody further up needs to know."""
        if isinstance(fact, Heard) and fact.node != self._node:
            self._known.pop(fact.node, None)
            self._known[fact.node] = (fact.address, frozenset(fact.interest))
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return NOTHING

    def best_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)
        return self._pick(lambda interest: len(interest & wanted), exclude, key)

    def random_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)
        return self._pick(lambda interest: 0 if interest.isdisjoint(wanted) else 1, exclude, key)

    def random_peer(self, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return self._pick(lambda interest: 1, exclude, key)

    def holder_below(self, topic: TopicId, node: NodeId, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        above = {*exclude, *(other for other in self._known if other >= node)}
        return self._pick(lambda interest: int(topic in interest), above, key)

    def _pick(self, worth: Callable[[frozenset[TopicId]], int], exclude: Collection[NodeId], key: int) -> Peer | None:
        """The known node of greatest worth, above nothing; the smallest draw among equals."""
        best: tuple[int, int, NodeId] | None = None
        for node, (_, interest) in self._known.items():
            value = worth(interest)
            if value and (best is None or value >= -best[0]) and node not in exclude:
                score = (-value, finish((key + node * ITEM_FACTOR) & MASK), node)
                if best is None or score < best:
                    best = score
        return None if best is None else Peer(best[2], self._known[best[2]][0])
