"""OMen's neighbours, and the links that this node has asked for.

Both ends of a link know it: LinkRequest and LinkOk open it, DropRequest and DropOk close it. The ends may disagree after
a lost message or a restart. Each end therefore sends pulses, and a node that has no link to the sender answers LinkMissing;
the sender then asks for the link again, because only an agreed drop may take away a link that a topic needs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.neighbours import InterestedLinks, InterestedNeighbour
from gossamer.protocols.roots import Roots
from gossamer.systems.omen.messages import (
    NODES_MAX,
    STATE_TOPICS,
    ChurnEvent,
    LinkOk,
    LinkRequest,
    ShadowLink,
    send,
)

# Chosen: links that a node is asking for at the same time. Coordinators may name any number of nodes.
ASKS_MAX = 200
# Chosen: every 16th check for disconnected topics tells neighbours all claims, because one that was lost can hide that a
# topic is disconnected until then.
CLAIMS_REPEAT = 16
# Chosen: turns until a node that does not answer a LinkRequest counts as unreachable; it is asked in each.
ANSWER_TURNS = 4


class OmenNeighbour(InterestedNeighbour):
    """A neighbour: its incarnation, who watches it, and its neighbours."""

    __slots__ = ("incarnation", "neighbours", "told", "watchers")

    def __init__(self, own: Collection[TopicId]) -> None:
        super().__init__(own)
        self.incarnation = 0
        self.watchers: tuple[Peer, ...] = ()
        # None until it has told them.
        self.neighbours: frozenset[NodeId] | None = None
        # The version of this node's links that it was last told.
        self.told = -1


class OmenLinks(InterestedLinks[OmenNeighbour]):
    """All neighbours. `version` grows with every link that comes or goes."""

    __slots__ = ("version",)

    def __init__(self, exchange: InterestExchange, roots: Roots, most: int) -> None:
        super().__init__(exchange, roots, most, OmenNeighbour)
        self.version = 0

    def open(self, peer: Peer, message: LinkRequest | LinkOk, now_us: int, out: list[Action]) -> None:
        """Another node has asked for a link, or has accepted one."""
        if peer.address:
            self.addresses[peer.node] = peer.address
        self.version += peer.node not in self.neighbours
        neighbour = self._up(peer.node, out)
        neighbour.incarnation = max(neighbour.incarnation, message.incarnation)
        # The other end may have lost what it was told.
        neighbour.told = -1
        self._take_interest(peer.node, message, now_us, out)

    def remove(self, node: NodeId, out: list[Action]) -> None:
        """See `InterestedLinks`."""
        self.version += node in self.neighbours
        super().remove(node, out)

    def lonely(self) -> list[TopicId]:
        """The topics of this node that no neighbour holds."""
        left = dict.fromkeys(self._own)
        for neighbour in self.neighbours.values():
            for topic in neighbour.interest & left.keys():
                del left[topic]
        return list(left)

    def on_topics(self, topics: Collection[TopicId]) -> tuple[tuple[TopicId, ...], tuple[ShadowLink, ...]]:
        """Those of these topics that this node holds, and its links on them, as many as fit a frame."""
        held = frozenset(topics).intersection(self._own)
        links: list[ShadowLink] = []
        room = STATE_TOPICS
        for node, neighbour in self.neighbours.items():
            common = held & neighbour.interest
            room -= len(common)
            if common and room >= 0 and len(links) < NODES_MAX:
                degree = len(neighbour.neighbours or ())
                links.append(ShadowLink(node, self.addresses.get(node, b""), tuple(sorted(common)), degree))
        return tuple(sorted(held)), tuple(links)


@dataclass
class _Ask:
    """A node that was asked for a link."""

    peer: Peer
    turns: int = 0


@dataclass
class LinkOrder:
    """The links that a coordinator wants from this node. It is answered when none is awaited any more."""

    event: ChurnEvent
    coordinator: Peer
    awaited: set[NodeId] = field(default_factory=set)
    up: set[NodeId] = field(default_factory=set)
    down: set[NodeId] = field(default_factory=set)


class LinkAsks:
    """The links that this node has asked for and that are not open yet."""

    __slots__ = ("_exchange", "_node", "_open", "_orders", "address", "incarnation")

    def __init__(self, node: NodeId, exchange: InterestExchange) -> None:
        self._node = node
        self._exchange = exchange
        self._open: dict[NodeId, _Ask] = {}
        self._orders: dict[tuple[ChurnEvent, NodeId], LinkOrder] = {}
        self.incarnation = 0
        self.address = b""

    def __contains__(self, node: NodeId) -> bool:
        return node in self._open

    def peer(self, node: NodeId) -> Peer:
        """A node that was asked, with its address."""
        ask = self._open.get(node)
        return Peer(node) if ask is None else ask.peer

    def ask(self, peer: Peer, out: list[Action]) -> bool:
        """Ask a node for a link; returns whether there was room for the request."""
        if peer.node in self._open:
            return True
        if len(self._open) >= ASKS_MAX or peer.node == self._node:
            return False
        self._open[peer.node] = _Ask(peer)
        self._request(peer, out)
        return True

    def order(
        self, event: ChurnEvent, coordinator: Peer, peers: Iterable[Peer], linked: Collection[NodeId], out: list[Action]
    ) -> LinkOrder | None:
        """Ask for the links that a coordinator wants; returns its order if all is known already."""
        # A command that is repeated takes the place of the one before: it names all links that are still missing.
        order = self._orders[event, coordinator.node] = LinkOrder(event, coordinator)
        for peer in peers:
            if peer.node in linked:
                order.up.add(peer.node)
            else:
                (order.awaited if self.ask(peer, out) else order.down).add(peer.node)
        return self._answered(order)

    def close(self, node: NodeId, is_up: bool) -> list[LinkOrder]:
        """A node has answered or cannot be reached; returns the orders that can be answered now."""
        self._open.pop(node, None)
        orders = [order for order in self._orders.values() if node in order.awaited]
        for order in orders:
            order.awaited.discard(node)
            (order.up if is_up else order.down).add(node)
        return [order for order in orders if self._answered(order)]

    def _answered(self, order: LinkOrder) -> LinkOrder | None:
        return None if order.awaited else self._orders.pop((order.event, order.coordinator.node))

    def turn(self, out: list[Action]) -> list[NodeId]:
        """Ask again; returns the nodes that have not answered for too long."""
        silent = []
        for node, ask in self._open.items():
            ask.turns += 1
            if ask.turns > ANSWER_TURNS:
                silent.append(node)
            elif ask.turns > 1:
                self._request(ask.peer, out)
        return silent

    def _request(self, peer: Peer, out: list[Action]) -> None:
        topics = self._exchange
        request = LinkRequest(self.incarnation, topics.version, len(topics.topics), topics.first(), self.address)
        out.append(send(peer, request))
