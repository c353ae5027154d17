"""Which peers a maintenance task may ask: its open CONNECT, redirect candidate, quarantined peers, and given peers."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.spidercast.task import NeighbourTask


class ConnectAttempts:
    """One task's CONNECT requests.

    Differs: the paper keeps a set of redirect candidates (`redirects`). One is enough here: a task has one CONNECT open
    at a time and tries the candidate that it was redirected to before it asks another peer.
    """

    __slots__ = ("given", "is_bridge", "kept", "open_peer", "open_until_us", "quarantined", "redirects", "told")

    def __init__(self, kept: int) -> None:
        # Redirect candidates, oldest first, and how many are kept.
        self.redirects: list[Peer] = []
        self.kept = kept
        # Peers that the application named (a plan's peers). They are asked first, for links that are never dropped.
        self.given: dict[NodeId, Peer] = {}
        # Paper: "quarantine the nodes to which recent CONNECT requests were sent" (2.3.1). Node to the end of its
        # quarantine.
        self.quarantined: dict[NodeId, int] = {}
        self.open_peer: NodeId | None = None
        self.open_until_us = 0
        # The (degree, target) in the open CONNECT, and whether it asks for a bridge.
        self.told = (0, 0)
        self.is_bridge = False

    def is_waiting(self, now_us: int) -> bool:
        """Whether an answer to the open CONNECT may still arrive."""
        return self.open_peer is not None and now_us < self.open_until_us

    def close(self, node: NodeId) -> bool:
        """Close the CONNECT to this peer; returns whether it was the open one."""
        if self.open_peer != node:
            return False
        self.open_peer = None
        return True

    def end_quarantines(self, now_us: int) -> None:
        """Release the peers whose quarantine is over."""
        for node in [node for node, until_us in self.quarantined.items() if until_us <= now_us]:
            del self.quarantined[node]

    def take_given(self, task: NeighbourTask, now_us: int) -> Peer | None:
        """The next given peer, unless it is a neighbour already or an answer is awaited. It is asked once."""
        if self.is_waiting(now_us):
            return None
        peer = self.given.pop(next(iter(self.given)))
        return None if peer.node in task.neighbours else peer

    def keep_redirect(self, peer: Peer | None) -> None:
        """Add a redirect candidate; where only one is kept, it replaces the one before."""
        if self.kept == 1:
            self.redirects = [] if peer is None else [peer]
        elif peer is not None and len(self.redirects) < self.kept:
            self.redirects.append(peer)

    def take_redirect(self, me: NodeId, task: NeighbourTask) -> Peer | None:
        """The oldest redirect candidate that is not this node, a neighbour or quarantined. It is used once."""
        while self.redirects:
            peer = self.redirects.pop(0)
            if peer.node != me and peer.node not in task.neighbours and peer.node not in self.quarantined:
                return peer
        return None
