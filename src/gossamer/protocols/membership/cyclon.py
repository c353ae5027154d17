"""Cyclon: membership by shuffling (Voulgaris, Gavidia, van Steen, J. Network Syst. Manage. 2005).

The idea: every node keeps a small view of peers with ages. Once a period it sends a few entries, its own among them,
to its *oldest* peer and gets as many back; each side replaces the entries that it sent. Links are exchanged, not copied,
so that in-degrees stay even and the graph stays close to a random one. The entry of a dead node grows old, is asked, does
not answer, and is gone.

Differs: the entry of the peer that is asked is removed when the request is sent, not after a timeout. The paper gives
that entry away in the same exchange, so that a live peer loses nothing and a dead one is forgotten without a timer.
Differs: a node does not send a peer the peer's own entry. In the paper a reply may contain the requester, which discards
it; if the replier also replaces that entry, neither end of the exchange knows the other any more.
Differs: a newcomer asks again every period until an introduction arrives, and a node with an empty view asks its first
contacts again. In the paper no join is ever lost.
Differs: a node has at most one exchange open; a reply that arrives after the next request was sent is dropped.
Differs: a node introduces only the sender of a JOIN.
Differs: with `rejoin_us` a node sometimes shuffles with a first contact, or with a peer that stopped answering, instead of
its oldest peer (`rejoining.py`). Two large halves of a network that were partitioned for long have no entries of each other
left, and would stay two networks.
Differs: with `slowest` a node whose shuffles bring nothing new doubles its period, up to so many times. The part above that
knows what is new calls `quicken`.

A live node may know the address of a contact but not its id: `Peer(0, address)`. Such a contact is asked, and never enters
the view.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from gossamer.model.values.draw import Purpose, below, draw, stepped
from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    Contacts,
    Event,
    MessageReceived,
    PeerDown,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Fact, Heard, PeerMisbehaved, ViewChanged
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.cyclon_messages import (
    Introduction,
    Join,
    JoinWalk,
    ShuffleDue,
    ShuffleReply,
    ShuffleRequest,
    ShuffleSent,
)
from gossamer.protocols.membership.cyclon_view import CyclonView, ViewEntry
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.membership.rejoining import Rejoining, others

# Chosen: the slowest pace of a node that looks for lost peers, as a multiple of the shortest period.
SEARCHING = 4


class CyclonParameters(Struct, frozen=True, kw_only=True):
    """Paper: section 4 uses views of 20, shuffles of 8 and a period of 10 s."""

    view_size: Annotated[int, Meta(ge=1, le=250, description="Paper: 20. Entries in a view")] = 20
    shuffle_length: Annotated[
        int, Meta(ge=1, le=250, description="Paper: 8. Entries that each side of a shuffle sends")
    ] = 8
    walk_length: Annotated[
        int,
        Meta(ge=1, le=15, description="Chosen: 5, the mean path length in the paper's networks. Hops of a join walk"),
    ] = 5
    period_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Paper: 10 s. Microseconds between a node's shuffles")
    ] = 10 * SECOND_US
    rejoin_us: Annotated[
        int,
        Meta(
            ge=0,
            le=PERIOD_US_MAX,
            description="Chosen: 0 (never), as in the paper. Microseconds between shuffles with a first contact, and the "
            "longest time between two shuffles with peers that stopped answering",
        ),
    ] = 0

    def problem(self) -> str | None:
        """An error in the combination of parameters, or None."""
        if self.shuffle_length > self.view_size:
            return f"shuffle_length must be at most view_size ({self.view_size}), got {self.shuffle_length}"
        return None


class Cyclon:
    """The membership part."""

    __slots__ = (
        "_accepts_any_sender",
        "_address",
        "_asked",
        "_due_us",
        "_exchange",
        "_given",
        "_introduced",
        "_node",
        "_parameters",
        "_rejoining",
        "_seed",
        "_slowest",
        "_slowness",
        "_view",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (ShuffleRequest, ShuffleReply, Join, JoinWalk, Introduction)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ShuffleDue,)

    def __init__(
        self,
        parameters: CyclonParameters,
        seed: int,
        node: NodeId,
        exchange: InterestExchange | None = None,
        slowest: int = 1,
    ) -> None:
        self._parameters = parameters
        # The present period as a multiple of the shortest, and the largest multiple.
        self._slowness, self._slowest = 1, slowest
        # If set, entries carry digests of interests: this node's own comes from here.
        self._exchange = exchange
        self._seed = seed
        self._node = node
        self._address = b""
        self._view = CyclonView(seed, node, parameters.view_size)
        self._rejoining = Rejoining(seed, node, parameters.rejoin_us, parameters.view_size)
        self._introduced = False
        self._due_us = 0
        # The peer that was sent the last request, until it answers.
        self._asked: Peer | None = None
        # The open exchange is with a contact whose id is unknown: a reply from any sender is accepted.
        self._accepts_any_sender = False
        self._given: list[NodeId] = []

    def view(self) -> list[ViewEntry]:
        """The view in its own order."""
        return list(self._view.first(len(self._view.nodes)))

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        if isinstance(event, MessageReceived):
            return self._on_message(event.sender, event.message, now_us, out)
        if isinstance(event, TimerFired):
            return self._on_shuffle_due(now_us, out)
        if isinstance(event, Started):
            return self._on_started(event, now_us, out)
        if isinstance(event, PeerDown):
            return self._on_peer_down(event, now_us, out)
        if isinstance(event, Contacts):
            self._rejoining.contacts = others(event.contacts, self._address)
        if isinstance(event, Subscribe | Unsubscribe):
            # Other nodes should soon hear of it.
            self.quicken(now_us, out)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Membership is the lowest part; no part below states facts."""
        return NOTHING

    def quicken(self, now_us: int, out: list[Action]) -> None:
        """Something is new: shuffle at the shortest period again."""
        self._slowness = 1
        if self._due_us > now_us + self._parameters.period_us:
            self._due_us = now_us + self._parameters.period_us
            out.append(SetTimer(self._due_us, ShuffleDue()))

    def _me(self) -> ViewEntry:
        return ViewEntry(self._node, 0, self._address, None if self._exchange is None else self._exchange.digest())

    def _on_peer_down(self, event: PeerDown, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Remove an unreachable peer from the view at once.

        Only where entries carry interests, because an overlay would go on choosing the dead peer. Where the view itself is the
        overlay, dead peers grow old as in the paper, and the kernel does the same.
        """
        if self._exchange is None or event.hung_up or event.node not in self._view.nodes:
            return NOTHING
        gone = self._view.remove(self._view.nodes.index(event.node))
        self._rejoining.lose(Peer(gone.node, gone.address), now_us)
        self.quicken(now_us, out)
        return (ViewChanged((event.node,), ()),)

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> Sequence[Fact]:
        self._address = event.address
        # Chosen: a random phase, so that nodes started together do not shuffle in step.
        phase = draw(self._seed, self._node, Purpose.CYCLON_PHASE, now_us) % self._parameters.period_us
        self._due_us = now_us
        out.append(SetTimer(now_us + phase, ShuffleDue()))
        contacts = others(event.contacts, self._address)
        self._rejoining.start(contacts, now_us)
        self._introduced = not event.joining
        if event.joining:
            self._ask_to_join(out)
            return NOTHING
        added: list[NodeId] = []
        for contact in contacts:
            if self._view.has_room_for(contact.node) and not _is_unnamed(contact):
                self._view.append(ViewEntry(contact.node, 0, contact.address))
                added.append(contact.node)
        return (ViewChanged((), tuple(added)),) if added else NOTHING

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if self._rejoining.hear(sender, now_us):
            self.quicken(now_us, out)
        match message:
            case ShuffleRequest():
                return self._on_shuffle_request(sender, message, now_us, out)
            case ShuffleReply():
                return self._on_shuffle_reply(sender, message, out)
            case Join():
                return self._on_join(sender, message, now_us, out)
            case JoinWalk():
                return self._on_join_walk(message, now_us, out)
            case Introduction():
                return self._on_introduction(message)
        return NOTHING

    # The active side of a shuffle.

    def _on_shuffle_due(self, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if now_us < self._due_us:
            return NOTHING
        self._due_us = now_us + self._parameters.period_us * self._slowness
        # In a network of few nodes views are often empty, and a newcomer would wait long for entries.
        is_small = len(self._view.nodes) < self._parameters.shuffle_length
        slowest = 1 if is_small else self._slowest
        self._slowness = min(2 * self._slowness, SEARCHING if self._rejoining.is_searching else slowest, slowest)
        out.append(SetTimer(self._due_us, ShuffleDue()))
        if self._asked is not None and not _is_unnamed(self._asked):
            self._rejoining.lose(self._asked, now_us)
        if not self._view.nodes or (self._rejoining.contacts and not self._introduced):
            self._ask_to_join(out)
            return NOTHING
        # Paper: "increase by one the age of all neighbors", "select neighbor Q with the highest age" (section 3).
        self._view.grow_older()
        contact = self._rejoining.due(now_us)
        removed: tuple[NodeId, ...] = ()
        if contact is None:
            asked = self._view.remove_oldest()
            removed = (asked.node,)
        else:
            asked = ViewEntry(contact.node, 0, contact.address)
            if not _is_unnamed(contact) and contact.node in self._view.nodes:
                asked = self._view.remove(self._view.nodes.index(contact.node))
                removed = (asked.node,)
        # Paper: "and l - 1 other random neighbors" ... "replace Q's entry with a new entry of age 0 and with
        # P's address".
        count = min(self._parameters.shuffle_length - 1, len(self._view.nodes))
        self._view.choose(count, Purpose.CYCLON_SHUFFLE, now_us, item=0)
        entries = self._view.first(count)
        self._asked = Peer(asked.node, asked.address)
        self._accepts_any_sender = contact is not None and _is_unnamed(contact)
        self._given = [entry.node for entry in entries]
        request = ShuffleRequest((self._me(), *entries))
        out.append(_send(self._asked, request))
        sent = ShuffleSent(self._asked)
        return (ViewChanged(removed, ()), sent) if removed else (sent,)

    def _on_shuffle_reply(self, sender: NodeId, message: ShuffleReply, out: list[Action]) -> Sequence[Fact]:
        # Accepting a reply from any sender is no new risk: any node can offer entries with a request at any time.
        if (self._asked is None or sender != self._asked.node) and not self._accepts_any_sender:
            return NOTHING
        given, self._asked, self._given = self._given, None, []
        self._accepts_any_sender = False
        return self._take_in(sender, message.entries, given, out)

    # The passive side.

    def _on_shuffle_request(
        self, sender: NodeId, message: ShuffleRequest, now_us: int, out: list[Action]
    ) -> Sequence[Fact]:
        # Paper: Q "sends back a random subset of its own neighbors" and does not age its view.
        count = min(self._parameters.shuffle_length, len(self._view.nodes))
        self._view.choose(count, Purpose.CYCLON_REPLY, now_us, item=sender)
        entries = self._view.first(self._view.leave_out(sender, count))
        address = message.entries[0].address if message.entries else b""
        out.append(_send(Peer(sender, address), ShuffleReply(entries)))
        return self._take_in(sender, message.entries, [entry.node for entry in entries], out)

    def _take_in(
        self, sender: NodeId, entries: Sequence[ViewEntry], given: list[NodeId], out: list[Action]
    ) -> Sequence[Fact]:
        """Paper: fill empty slots first, then replace the entries that were sent; skip known peers and oneself."""
        if len(entries) > self._parameters.shuffle_length:
            out.append(Observe(PeerMisbehaved(sender, "more entries than a shuffle holds")))
        removed: list[NodeId] = []
        added: list[NodeId] = []
        replaceable = iter(given)
        for entry in entries[: self._parameters.shuffle_length]:
            if entry.node == self._node:
                continue
            if entry.node in self._view.nodes:
                self._view.renew(entry, is_its_own=entry.node == sender)
                continue
            if self._view.is_full:
                # Between a request and its reply other exchanges may have replaced the entries that were sent, and this
                # reply may contain one of them again.
                gone = next((node for node in replaceable if node in self._view.nodes and node not in added), None)
                if gone is None:
                    break
                self._view.replace(self._view.nodes.index(gone), entry)
                removed.append(gone)
            else:
                self._view.append(entry)
            added.append(entry.node)
        facts: list[Fact] = [ViewChanged(tuple(removed), tuple(added))] if added else []
        if self._exchange is not None:
            heard = entries[: self._parameters.shuffle_length]
            facts += [Heard(entry.node, entry.address, entry.digest) for entry in heard if entry.digest is not None]
        return facts

    # Joining: random walks from the contact, so that in-degrees stay even.

    def _ask_to_join(self, out: list[Action]) -> None:
        peer = self._rejoining.to_join()
        if peer is not None:
            out.append(_send(peer, Join(Peer(self._node, self._address))))

    def _on_join(self, sender: NodeId, message: Join, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if message.newcomer.node != sender:
            out.append(Observe(PeerMisbehaved(sender, "asks to introduce another node")))
            return NOTHING
        # Paper: the introducer starts as many walks as a view has entries, each as long as the mean path.
        if not self._view.nodes:
            return self._end_walk(JoinWalk(message.newcomer, 0, 0), now_us, out)
        for walk in range(self._parameters.view_size):
            self._walk_on(JoinWalk(message.newcomer, walk, self._parameters.walk_length), now_us, out)
        return NOTHING

    def _on_join_walk(self, message: JoinWalk, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if message.hops_left <= 0 or not self._view.nodes or message.newcomer.node == self._node:
            return self._end_walk(message, now_us, out)
        self._walk_on(message, now_us, out)
        return NOTHING

    def _walk_on(self, message: JoinWalk, now_us: int, out: list[Action]) -> None:
        hops_left = min(message.hops_left, self._parameters.walk_length) - 1
        bits = draw(self._seed, self._node, Purpose.CYCLON_WALK, _walk_counter(message, now_us), message.newcomer.node)
        position = below(bits, len(self._view.nodes))
        onward = JoinWalk(message.newcomer, message.walk, hops_left)
        out.append(_send(Peer(self._view.nodes[position], self._view.address(position)), onward))

    def _end_walk(self, message: JoinWalk, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Paper: the last node replaces a random neighbour by the newcomer, which gets that neighbour as an entry."""
        newcomer = message.newcomer
        if newcomer.node == self._node:
            return NOTHING
        if newcomer.node in self._view.nodes:
            self._view.renew(ViewEntry(newcomer.node, 0, newcomer.address), is_its_own=True)
            return NOTHING
        if not self._view.is_full:
            # Chosen: a node with room keeps all its neighbours and offers itself.
            self._view.append(ViewEntry(newcomer.node, 0, newcomer.address))
            out.append(_send(newcomer, Introduction(self._me())))
            return (ViewChanged((), (newcomer.node,)),)
        bits = draw(
            self._seed, self._node, Purpose.CYCLON_REPLACE, _walk_counter(message, now_us), message.newcomer.node
        )
        position = below(bits, len(self._view.nodes))
        replaced = self._view.replace(position, ViewEntry(newcomer.node, 0, newcomer.address))
        out.append(_send(newcomer, Introduction(replaced)))
        return (ViewChanged((replaced.node,), (newcomer.node,)),)

    def _on_introduction(self, message: Introduction) -> Sequence[Fact]:
        self._introduced = True
        entry = message.entry
        heard: tuple[Fact, ...] = ()
        if self._exchange is not None and entry.digest is not None:
            heard = (Heard(entry.node, entry.address, entry.digest),)
        if entry.node in self._view.nodes:
            self._view.renew(entry, is_its_own=False)
        if not self._view.has_room_for(entry.node):
            return heard
        self._view.append(entry)
        return (ViewChanged((), (entry.node,)), *heard)


def _is_unnamed(contact: Peer) -> bool:
    """Whether only the address of a contact is known."""
    return contact.node == 0 and bool(contact.address)


def _walk_counter(message: JoinWalk, now_us: int) -> int:
    """A draw counter of its own for each hop of each walk that a node may handle at the same time."""
    return stepped(now_us, (message.walk % 256) * 16 + message.hops_left % 16)


def _send(peer: Peer, message: WireMessage) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
