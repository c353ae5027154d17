"""What a StAN node keeps for one topic."""

from collections.abc import Iterable, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.facts import TopicNeighboursChanged
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.stan.view import TopicView

# Chosen: turns in which a node of the view is asked to prove that it is in the topic.
PROOF_TURNS = 5


class TopicState:
    """The node's view of the topic, the nodes that have this node in their views, and what is under way.

    All changes of the view and of the holders go through this class, so that `neighbours` is rebuilt only after one.
    """

    __slots__ = (
        "_changed",
        "_neighbours",
        "_neighbours_are_stale",
        "_reported",
        "_unproved",
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

    def __init__(
        self,
        topic: TopicId,
        key: bytes,
        seed: int,
        view: TopicView,
        contacts: tuple[Peer, ...],
        changed: dict[TopicId, None],
        asks_proofs: bool,
    ) -> None:
        """`changed` collects the topics whose neighbours may have changed. `asks_proofs`: see `neighbours`."""
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
        self._changed = changed
        # How often each node in the view that has not proved yet to be in the topic was asked; None if nobody must.
        self._unproved: dict[NodeId, int] | None = {} if asks_proofs else None
        # The neighbours that were last reported.
        self._reported: tuple[NodeId, ...] = ()

    def take_change(self) -> TopicNeighboursChanged | None:
        """The change of the neighbours since the last call, if there is any."""
        before, now = self._reported, self.neighbours
        if now is before:
            return None
        self._reported = now
        removed = tuple(node for node in before if node not in now)
        return TopicNeighboursChanged(self.topic, removed, tuple(node for node in now if node not in before))

    @property
    def alone(self) -> bool:
        """Whether the node knows no other node in this topic."""
        return not self.view and not self.holders

    @property
    def neighbours(self) -> tuple[NodeId, ...]:
        """The nodes in the view and the holders, each once, by id: the same tuple until they change.

        Other nodes told which nodes belong into the view. One that must prove that it is in the topic, and has not done
        so, is not a neighbour yet.
        """
        if self._neighbours_are_stale:
            self._neighbours_are_stale = False
            unproved = self._unproved or {}
            viewed = [node for node in self.view.nodes() if node not in unproved]
            neighbours = tuple(sorted({**dict.fromkeys(viewed), **self.holders}))
            if neighbours != self._neighbours:
                self._neighbours = neighbours
        return self._neighbours

    def weigh(self, nodes: Iterable[NodeId]) -> tuple[Sequence[NodeId], Sequence[NodeId]]:
        """See `TopicView.weigh`."""
        added, dropped = self.view.weigh(nodes)
        if self._unproved is not None:
            for node in dropped:
                self._unproved.pop(node, None)
            self._unproved.update(dict.fromkeys((node for node in added if node not in self.holders), 0))
        if added or dropped:
            self._mark()
        return added, dropped

    def drop(self, node: NodeId) -> bool:
        """See `TopicView.drop`."""
        if not self.view.drop(node):
            return False
        if self._unproved is not None:
            self._unproved.pop(node, None)
        self._mark()
        return True

    def add_holder(self, node: NodeId) -> bool:
        """A node has this node in its view; returns whether that is news."""
        if node in self.holders:
            return False
        self.holders[node] = None
        self._mark()
        return True

    def remove_holder(self, node: NodeId) -> bool:
        """A node removed this node from its view; return whether it had this node in its view."""
        if node not in self.holders:
            return False
        del self.holders[node]
        self._mark()
        return True

    def prove(self, node: NodeId) -> None:
        """A node has proved that it is in the topic."""
        if self._unproved and self._unproved.pop(node, None) is not None:
            self._mark()

    def unproved(self) -> tuple[list[NodeId], list[NodeId]]:
        """The nodes in the view to ask for a proof now, and those that were asked in vain too often."""
        if not self._unproved:
            return [], []
        self._unproved = {node: asked + 1 for node, asked in self._unproved.items()}
        given_up = [node for node, asked in self._unproved.items() if asked > PROOF_TURNS]
        return [node for node in self._unproved if node not in given_up], given_up

    def _mark(self) -> None:
        self._neighbours_are_stale = True
        self._changed[self.topic] = None
