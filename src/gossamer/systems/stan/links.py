"""StAN's physical neighbours: the nodes that any topic ties this node to, one connection for all topics."""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import NOTHING


class SharedLinks:
    """Counts, for each physical neighbour, this node's views that contain it and its views that contain this node."""

    __slots__ = ("_addresses", "_facts", "_idle", "_ties", "me")

    def __init__(self, node: NodeId) -> None:
        # This node and its address.
        self.me = Peer(node)
        self._ties: dict[NodeId, int] = {}
        self._addresses: dict[NodeId, bytes] = {}
        # Nodes without ties whose connections are still kept: since this turn, and since the turn before.
        self._idle: list[dict[NodeId, None]] = [{}, {}]
        self._facts: list[Fact] = []

    def peer(self, node: NodeId) -> Peer:
        """A node with its address, if that is known."""
        return self.me if node == self.me.node else Peer(node, self._addresses.get(node, b""))

    def tie(self, node: NodeId, out: list[Action]) -> None:
        """One view more with this neighbour."""
        self._ties[node] = self._ties.get(node, 0) + 1
        if self._ties[node] == 1:
            self._state(NeighbourUp(node), out)

    def tie_viewed(self, peer: Peer, out: list[Action]) -> None:
        """As `tie` for a peer that enters a view of this node: this end opens the connection."""
        self._addresses.setdefault(peer.node, peer.address)
        self.tie(peer.node, out)
        if self._ties[peer.node] == 1:
            out.append(Connect(self.peer(peer.node)))

    def untie(self, node: NodeId, out: list[Action]) -> None:
        """One view fewer with this neighbour."""
        self._ties[node] -= 1
        if not self._ties[node]:
            del self._ties[node]
            self._addresses.pop(node, None)
            self._idle[0][node] = None
            self._state(NeighbourDown(node), out)

    def close_idle(self, out: list[Action]) -> None:
        """Close the connections that no view has needed for a whole turn.

        Not at once: the other end may just have put this node into a view, and would take the end of the connection for
        a crash. Whether that happens would depend on the other topics that the two share.
        """
        for node in self._idle[1]:
            if node not in self._ties:
                out.append(Disconnect(node))
        self._idle = [{}, self._idle[0]]

    def take_facts(self) -> Sequence[Fact]:
        """The neighbours that came and went since the last call."""
        if not self._facts:
            return NOTHING
        facts, self._facts = self._facts, []
        return facts

    def _state(self, fact: Fact, out: list[Action]) -> None:
        self._facts.append(fact)
        out.append(Observe(fact))
