"""Dropping links that the overlay does not need.

A link is not needed if its ends have, for each topic that both hold, a common neighbour that holds it too. The paper adds
links only (`Differs`).

Two nodes must not drop links that rely on each other. A node has at most one request open, and keeps the links to its
witnesses meanwhile; the other end agrees only if it has links to all witnesses too and is not dropping one of them.
Then both paths exist at the moment at which the link goes.
"""

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.systems.omen.links import OmenLinks
from gossamer.systems.omen.messages import DropOk, DropRefusal, DropRequest

# Chosen: turns until a refused request is repeated, and turns until an answer is no longer expected.
AGAIN_TURNS = 32
ANSWER_TURNS = 3


class Drops:
    """The requests of one node to drop links."""

    __slots__ = ("_asked", "_links", "_refused", "_turn", "_until", "_witnesses")

    def __init__(self, links: OmenLinks) -> None:
        self._links = links
        self._asked: NodeId | None = None
        self._until = 0
        self._witnesses: frozenset[NodeId] = frozenset()
        # Neighbours that refused, and the turn in which they may be asked again.
        self._refused: dict[NodeId, int] = {}
        self._turn = 0

    def turn(self, out: list[Action]) -> None:
        """Ask for the next drop, if none is open."""
        self._turn += 1
        if self._asked is not None:
            if self._turn < self._until:
                return
            self._end()
        self._refused = {node: turn for node, turn in self._refused.items() if turn > self._turn}
        neighbours = self._links.neighbours
        by_degree = sorted(neighbours, key=lambda node: (-len(neighbours[node].neighbours or ()), node))
        for node in by_degree:
            if node in self._refused:
                continue
            witnesses = self._find_witnesses(node)
            if witnesses is not None:
                self._asked, self._until, self._witnesses = node, self._turn + ANSWER_TURNS, witnesses
                out.append(self._links.to((node,), DropRequest(tuple(sorted(witnesses)))))
                return

    def _find_witnesses(self, node: NodeId) -> frozenset[NodeId] | None:
        """Few common neighbours that hold all shared topics; None if there are none."""
        neighbour = self._links.neighbours[node]
        if neighbour.neighbours is None:
            return None
        left: set[TopicId] = set(neighbour.shared)
        witnesses: set[NodeId] = set()
        for other in sorted(neighbour.neighbours & self._links.neighbours.keys()):
            covered = left & self._links.neighbours[other].interest
            if covered:
                witnesses.add(other)
                left -= covered
        return None if left else frozenset(witnesses)

    def request(self, sender: NodeId, message: DropRequest, out: list[Action]) -> None:
        """Another end wants to drop the link."""
        neighbours = self._links.neighbours
        neighbour = neighbours.get(sender)
        if neighbour is None:
            out.append(self._links.to((sender,), DropOk()))
            return
        left = set(neighbour.shared)
        for witness in message.witnesses:
            if witness in neighbours and witness != self._asked:
                left -= neighbours[witness].interest
        # A link that this node relies on stays.
        if left or sender in self._witnesses:
            out.append(self._links.to((sender,), DropRefusal()))
            return
        self.forget(sender)
        out.append(self._links.to((sender,), DropOk()))
        self._links.remove(sender, out)

    def agreed(self, sender: NodeId, out: list[Action]) -> bool:
        """The other end has dropped the link; returns whether this node asked for it."""
        if sender != self._asked:
            return False
        self._end()
        self._links.remove(sender, out)
        return True

    def refused(self, sender: NodeId) -> None:
        """The other end needs the link."""
        if sender == self._asked:
            self._end()
            self._refused[sender] = self._turn + AGAIN_TURNS

    def forget(self, node: NodeId) -> None:
        """A neighbour is gone."""
        self._refused.pop(node, None)
        if node == self._asked or node in self._witnesses:
            self._end()

    def _end(self) -> None:
        if self._asked is not None:
            self._refused[self._asked] = self._turn + AGAIN_TURNS
        self._asked, self._witnesses = None, frozenset()
