"""What a StAN node keeps for one topic."""

from collections.abc import Iterable, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.stan.view import TopicView


class TopicState:
    """The node's view of the topic, the nodes that have this node in their views, and what is under way.

    All changes of the view and of the holders go through this class, so that `neighbours` is rebuilt only after one.
    """

    __slots__ = (
        "_neighbours",
        "_neighbours_are_stale",
        "contacts",
        "entering",
        "entries",
        "found",
        "holders",
        "key",
        "seed",
        "topic",
        "view",
        "walk",
    )

    def __init__(self, topic: TopicId, key: bytes, seed: int, view: TopicView, contacts: tuple[Peer, ...]) -> None:
        self.topic = topic
        self.key = key
        self.seed = seed
        self.view = view
        self.contacts = contacts
        # Nodes that said that this node is in their views, in the order in which they said so.
        self.holders: dict[NodeId, None] = {}
        # The contact whose welcome is awaited, and how many times a contact was asked.
        self.entering: NodeId | None = None
        self.entries = 0
        # A peer that a probe has found: the next walk starts there.
        self.found: Peer | None = None
        # The walk whose answer is awaited.
        self.walk: int | None = None
        self._neighbours: tuple[NodeId, ...] = ()
        self._neighbours_are_stale = False

    @property
    def alone(self) -> bool:
        """Whether the node knows no other node in this topic."""
        return not self.view and not self.holders

    @property
    def neighbours(self) -> tuple[NodeId, ...]:
        """The nodes in the view and the holders, each once, by id: the same tuple until they change."""
        if self._neighbours_are_stale:
            self._neighbours_are_stale = False
            neighbours = tuple(sorted({**dict.fromkeys(self.view.nodes()), **self.holders}))
            if neighbours != self._neighbours:
                self._neighbours = neighbours
        return self._neighbours

    def weigh(self, nodes: Iterable[NodeId]) -> tuple[Sequence[NodeId], Sequence[NodeId]]:
        """See `TopicView.weigh`."""
        added, dropped = self.view.weigh(nodes)
        if added or dropped:
            self._neighbours_are_stale = True
        return added, dropped

    def drop(self, node: NodeId) -> bool:
        """See `TopicView.drop`."""
        if not self.view.drop(node):
            return False
        self._neighbours_are_stale = True
        return True

    def add_holder(self, node: NodeId) -> bool:
        """A node has this node in its view; returns whether that is news."""
        if node in self.holders:
            return False
        self.holders[node] = None
        self._neighbours_are_stale = True
        return True

    def remove_holder(self, node: NodeId) -> bool:
        """A node removed this node from its view; return whether it had this node in its view."""
        if node not in self.holders:
            return False
        del self.holders[node]
        self._neighbours_are_stale = True
        return True
