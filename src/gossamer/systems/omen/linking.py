"""The links of a node: how they are asked for, kept up, and dropped."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer, WireMessage
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.drops import Drops
from gossamer.systems.omen.links import LinkAsks, LinkOrder, OmenLinks
from gossamer.systems.omen.messages import (
    NODES_MAX,
    Departure,
    DropOk,
    DropRefusal,
    DropRequest,
    InterestUpdate,
    LinkCommand,
    LinkDone,
    LinkMissing,
    LinkOk,
    LinkPulse,
    LinkRefusal,
    LinkRequest,
    send,
)
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.repairs import Repairs
from gossamer.systems.omen.watchers import Watchers

# Chosen: links that coordinators may ask a node for in one turn.
COMMANDED_MAX = 64
# Chosen: turns without a change of links after which a node drops links.
DROP_AFTER_TURNS = 3


class Linking:
    """The messages between the ends of links."""

    __slots__ = (
        "_circle",
        "_commanded",
        "_drops",
        "_exchange",
        "_links_version",
        "_moved_turn",
        "_node",
        "_parameters",
        "_repairs",
        "_turn",
        "_watchers",
        "asks",
        "links",
    )

    def __init__(
        self,
        parameters: OmenParameters,
        node: NodeId,
        circle: Circle,
        links: OmenLinks,
        asks: LinkAsks,
        repairs: Repairs,
        watchers: Watchers,
        exchange: InterestExchange,
    ) -> None:
        self._parameters = parameters
        self._node = node
        self._circle = circle
        self.links = links
        self.asks = asks
        self._repairs = repairs
        self._watchers = watchers
        self._exchange = exchange
        self._drops = Drops(links)
        self._turn = 0
        # Links that coordinators asked for in this turn.
        self._commanded = 0
        # The last turn in which links changed, and their version then.
        self._moved_turn = 0
        self._links_version = 0

    def turn(self, now_us: int, out: list[Action]) -> None:
        """Ask again for links, tell neighbours that this node is alive, and drop a link that is not needed."""
        self._turn += 1
        self._commanded = 0
        for node in self.asks.turn(out):
            self.close_ask(node, False, now_us, out)
        self._send_pulses(out)
        self._drop_links(out)

    def _send_pulses(self, out: list[Action]) -> None:
        links, incarnation = self.links, self._watchers.incarnation
        watchers = tuple(self._watchers.peers())
        untold = [node for node, each in links.neighbours.items() if each.told != links.version]
        if untold:
            mine = tuple(links.neighbours)[:NODES_MAX]
            for node in untold:
                links.neighbours[node].told = links.version
            out.append(links.to(untold, LinkPulse(incarnation, self._exchange.version, watchers, mine)))
        others = [node for node in links.neighbours if node not in set(untold)]
        if others:
            out.append(links.to(others, LinkPulse(incarnation, self._exchange.version, watchers)))

    def _drop_links(self, out: list[Action]) -> None:
        if self.links.version != self._links_version:
            self._links_version, self._moved_turn = self.links.version, self._turn
        if self._parameters.drops and not self._repairs.open and self._turn >= self._moved_turn + DROP_AFTER_TURNS:
            self._drops.turn(out)

    def on_command(self, sender: NodeId, message: LinkCommand, now_us: int, out: list[Action]) -> None:
        """A coordinator wants links. What it says is not checked, but its effect is bounded, and ends must share topics."""
        room = COMMANDED_MAX - self._commanded
        self._commanded += len(message.peers)
        # A coordinator asks again for those that are left out.
        peers = message.peers[: max(room, 0)]
        coordinator = Peer(sender, message.address)
        order = self.asks.order(message.event, coordinator, peers, self.links.neighbours, out)
        if order is not None and peers:
            self._answer(order, now_us, out)

    def on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        """A message from the other end of a link, or of one that is to be."""
        neighbour = self.links.neighbours.get(sender)
        match message:
            case LinkRequest():
                self._on_link_request(sender, message, now_us, out)
            case LinkOk():
                if self._may_link(sender, message):
                    self.links.open(self.asks.peer(sender), message, now_us, out)
                    self.close_ask(sender, True, now_us, out)
                else:
                    self.close_ask(sender, False, now_us, out)
                    out.append(self.links.to((sender,), Departure()))
            case LinkRefusal():
                self.close_ask(sender, False, now_us, out)
                self.links.remove(sender, out)
            case LinkMissing() if neighbour is not None:
                # Only an agreed drop ends a link.
                if not self._drops.agreed(sender, out):
                    self.asks.ask(self.links.peer(sender), out)
            case Departure():
                self.lose(sender, out)
            case DropRequest():
                self._drops.request(sender, message, out)
            case DropOk():
                self._drops.agreed(sender, out)
            case DropRefusal():
                self._drops.refused(sender)
            case InterestUpdate() if neighbour is not None:
                self.links.change(sender, message, now_us, out)
            case LinkPulse() if neighbour is not None:
                neighbour.incarnation, neighbour.watchers = message.incarnation, message.watchers
                if message.neighbours is not None:
                    neighbour.neighbours = frozenset(message.neighbours)
                self.links.check_version(sender, message.version, now_us, out)
            case LinkPulse() if sender not in self.asks:
                out.append(self.links.to((sender,), LinkMissing()))

    def _may_link(self, sender: NodeId, message: LinkRequest | LinkOk) -> bool:
        shares = message.count > len(message.topics) or any(topic in self._exchange.topics for topic in message.topics)
        return shares and self.links.has_room_for(sender)

    def _on_link_request(self, sender: NodeId, message: LinkRequest, now_us: int, out: list[Action]) -> None:
        peer = Peer(sender, message.address)
        if not self._may_link(sender, message):
            out.append(send(peer, LinkRefusal()))
            return
        self._circle.revive(sender)
        self.links.open(peer, message, now_us, out)
        exchange = self._exchange
        answer = LinkOk(self._watchers.incarnation, exchange.version, len(exchange.topics), exchange.first())
        out.append(self.links.to((sender,), answer))
        self.close_ask(sender, True, now_us, out)

    def link_to(self, peer: Peer, out: list[Action]) -> None:
        """Ask a node for a link, unless there is one."""
        if peer.node != self._node and peer.node not in self.links.neighbours:
            self.asks.ask(peer, out)

    def close_ask(self, node: NodeId, is_up: bool, now_us: int, out: list[Action]) -> None:
        """A node has answered a request for a link, or cannot be reached."""
        for order in self.asks.close(node, is_up):
            self._answer(order, now_us, out)

    def _answer(self, order: LinkOrder, now_us: int, out: list[Action]) -> None:
        done = LinkDone(order.event, tuple(sorted(order.up)), tuple(sorted(order.down)))
        if order.coordinator.node == self._node:
            self._repairs.links_done(self._node, done, now_us, out)
        else:
            out.append(send(order.coordinator, done))

    def lose(self, node: NodeId, out: list[Action]) -> None:
        """The link to a node is gone."""
        self._drops.forget(node)
        self.links.remove(node, out)
