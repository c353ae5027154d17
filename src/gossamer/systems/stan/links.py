"""StAN's physical neighbours: the nodes that any topic ties this node to, one connection for all topics."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.links import LinkReports


class SharedLinks(LinkReports):
    """Counts, for each physical neighbour, this node's views that contain it and its views that contain this node."""

    __slots__ = ("_idle", "_ties", "me")

    def __init__(self, node: NodeId) -> None:
        super().__init__()
        # This node and its address.
        self.me = Peer(node)
        self._ties: dict[NodeId, int] = {}
        # Nodes without ties whose connections are still kept: since this turn, and since the turn before.
        self._idle: list[dict[NodeId, None]] = [{}, {}]

    def peer(self, node: NodeId) -> Peer:
        """A node with its address, if that is known."""
        return self.me if node == self.me.node else super().peer(node)

    def tie(self, node: NodeId, out: list[Action]) -> None:
        """One view more with this neighbour."""
        self._ties[node] = self._ties.get(node, 0) + 1
        if self._ties[node] == 1:
            self._report(NeighbourUp(node), out)

    def tie_viewed(self, peer: Peer, out: list[Action]) -> None:
        """As `tie` for a peer that enters a view of this node: this end opens the connection."""
        self.addresses.setdefault(peer.node, peer.address)
        self.tie(peer.node, out)
        if self._ties[peer.node] == 1:
            out.append(Connect(self.peer(peer.node)))

    def untie(self, node: NodeId, out: list[Action]) -> None:
        """One view fewer with this neighbour."""
        self._ties[node] -= 1
        if not self._ties[node]:
            del self._ties[node]
            self.addresses.pop(node, None)
            self._idle[0][node] = None
            self._report(NeighbourDown(node), out)

    def close_idle(self, out: list[Action]) -> None:
        """Close the connections that no view has needed for a whole turn.

        Not at once: the other end may just have put this node into a view, and would take the end of the connection for
        a crash. Whether that happens would depend on the other topics that the two share.
        """
        for node in self._idle[1]:
            if node not in self._ties:
                out.append(Disconnect(node))
        self._idle = [{}, self._idle[0]]
