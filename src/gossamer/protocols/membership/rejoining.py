"""Which peers outside its view a Cyclon node shuffles with, so that two halves of a network find each other again.

After a long partition no view has an entry of the other half. Two kinds of peers lead back: the first contacts, and peers
that stopped answering (*lost* peers). A first contact is asked at a fixed interval. A lost peer is asked a few seconds after the
loss, then at growing intervals. When one of them answers, the others are asked soon, because what separated them is
probably over.
"""

from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.messages import Peer

# Chosen: 6 s before a lost peer is asked for the first time; a live node's attempt to open a connection fails after 5 s. Each
# further interval is twice as long, up to two thirds of the interval of first contacts; up to a half is added by a draw.
FIRST_RETRY_US = 6 * SECOND_US


def others(contacts: tuple[Peer, ...], address: bytes) -> tuple[Peer, ...]:
    """The contacts without the node at this address: a node may be in its own list."""
    return tuple(peer for peer in contacts if not peer.address or peer.address != address)


class Rejoining:
    """The first contacts, the last peers that were lost, and when to ask the next of each. `every_us` = 0: never."""

    __slots__ = (
        "_asked",
        "_contact_us",
        "_every_us",
        "_lost",
        "_most",
        "_node",
        "_retry_us",
        "_seed",
        "_wait_us",
        "contacts",
    )

    def __init__(self, seed: int, node: NodeId, every_us: int, most: int) -> None:
        self._seed = seed
        self._node = node
        self._every_us = every_us
        self._most = most
        self.contacts: tuple[Peer, ...] = ()
        self._contact_us = 0
        self._asked = 0
        # Addresses of lost peers: the peer that is asked next comes first.
        self._lost: dict[NodeId, bytes] = {}
        self._wait_us = 0
        self._retry_us = 0

    def start(self, contacts: tuple[Peer, ...], now_us: int) -> None:
        """The node has started with these first contacts."""
        self.contacts = contacts
        self._contact_us = now_us + self._every_us

    def lose(self, peer: Peer, now_us: int) -> None:
        """A peer did not answer, or cannot be reached."""
        if not self._every_us or peer.node in self._lost:
            return
        if not self._lost:
            self._wait_us = self._at_most(FIRST_RETRY_US)
            self._wait(now_us)
        self._lost[peer.node] = peer.address
        if len(self._lost) > self._most:
            del self._lost[next(iter(self._lost))]

    def hear(self, node: NodeId, now_us: int) -> bool:
        """A peer sent a message. If it was lost, other lost peers can probably be reached too; returns whether it was."""
        if self._lost.pop(node, None) is None:
            return False
        self._wait_us, self._retry_us = self._at_most(FIRST_RETRY_US), now_us
        return True

    @property
    def is_searching(self) -> bool:
        """Whether lost peers are asked again."""
        return bool(self._lost)

    def due(self, now_us: int) -> Peer | None:
        """The peer to shuffle with now instead of the oldest one of the view; None if no peer is due."""
        if not self._every_us:
            return None
        if self.contacts and now_us >= self._contact_us:
            self._contact_us = now_us + self._every_us
            return self.next_contact()
        if not self._lost or now_us < self._retry_us:
            return None
        self._wait(now_us)
        self._wait_us = self._at_most(2 * self._wait_us)
        return self._next_lost()

    def next_contact(self) -> Peer:
        """The next first contact in turn; there is at least one."""
        contact = self.contacts[self._asked % len(self.contacts)]
        self._asked += 1
        return contact

    def to_join(self) -> Peer | None:
        """The peer that a node with an empty view asks next: its first contacts and the lost peers in turn."""
        if self._lost and (not self.contacts or self._asked % (len(self.contacts) + 1) == len(self.contacts)):
            self._asked += 1
            return self._next_lost()
        return self.next_contact() if self.contacts else None

    def _next_lost(self) -> Peer:
        node = next(iter(self._lost))
        address = self._lost[node] = self._lost.pop(node)
        return Peer(node, address)

    def _at_most(self, wait_us: int) -> int:
        return min(wait_us, 2 * self._every_us // 3)

    def _wait(self, now_us: int) -> None:
        """Set the time of the next retry. It is drawn, because all nodes of a half lose the other half at the same time."""
        bits = draw(self._seed, self._node, Purpose.CYCLON_PHASE, now_us, 1)
        self._retry_us = now_us + self._wait_us + bits % (self._wait_us // 2 + 1)
