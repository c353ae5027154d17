"""OMen: overlays that mend themselves under churn (Chen, Vitenberg, Jacobsen, DEBS 2016).

The idea: nodes stand on a circle. The successors of a node watch it: they know its neighbours and a *backup set*, other
nodes that hold its topics. When the node goes, its first live successor, the coordinator, runs a central algorithm
(LowODA) on these few nodes only, the shadow set, and has them linked. So degrees stay near those of a central plan.

This file has the turn of a node and its message handlers. `circle.py` has the circle, `watch.py` the watch over
predecessors (Algorithms 2 to 4), `repairs.py` churn events and repairs (Algorithms 1 and 5), `links.py` the links,
`drops.py` the dropping of links, and `rendezvous.py` the search for holders of rare topics.

Differs: a node that has topics without a neighbour says so to its watchers, and the first of them treats this as a join. A
newcomer, a node that takes up a topic and one that lost its links are the same.
Differs: a node that gives up a topic joins its neighbours on the topic itself, as their coordinator.
Differs: disconnected topics are found and bridged (`protocols/roots.py`), whatever disconnected them: more events at a
time than the resilience allows, or many nodes that start together (`mend_us`).
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, draw, draw_base
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe, SetTimer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import BridgeWanted, Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, InterestView
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.protocols.membership.interest_exchange import InterestExchange, InterestFetched
from gossamer.protocols.roots import Roots
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.linking import Linking
from gossamer.systems.omen.links import CLAIMS_REPEAT, LinkAsks, OmenLinks
from gossamer.systems.omen.messages import (
    MESSAGES,
    NODES_MAX,
    BridgeCheckDue,
    ChurnEvent,
    ChurnKind,
    ChurnNotice,
    ComponentClaims,
    Departure,
    DoneNotice,
    InterestUpdate,
    LinkCommand,
    LinkDone,
    NoticeOk,
    RendezvousAnswer,
    RendezvousAsk,
    RingDescriptor,
    RingReply,
    RingRequest,
    ShadowAsk,
    ShadowState,
    Suspicion,
    TurnDue,
    WatchEnd,
    WatchOk,
    WatchPulse,
    WatchState,
    send,
)
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.rendezvous import Rendezvous
from gossamer.systems.omen.repairs import Repairs
from gossamer.systems.omen.reports import Reports
from gossamer.systems.omen.ring import Ring
from gossamer.systems.omen.watch import BackupSets
from gossamer.systems.omen.watchers import REFUTED_MAX, Watchers
from gossamer.systems.omen.watching import Watching


class Omen:
    """The overlay part."""

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = MESSAGES
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (TurnDue, BridgeCheckDue)

    def __init__(
        self,
        parameters: OmenParameters,
        seed: int,
        node: NodeId,
        exchange: InterestExchange,
        view: InterestView,
        membership: Cyclon | None,
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._exchange = exchange
        self._view = view
        self.roots = Roots(node)
        self.links = OmenLinks(exchange, self.roots, parameters.links_max)
        # See `TopicNeighbours`. Bound directly, because disseminations call it for every message.
        self.neighbours_on = self.links.neighbours_on
        # When each sender was last heard. The node machine fills it; every turn empties it.
        self.heard: dict[NodeId, int] = {}
        self.asks = LinkAsks(node, exchange)
        # Watching L + 1 predecessors, not L, leaves a watcher if L of them fail at once with one between (hole 3).
        self.circle = Circle(seed, node, parameters.resilience + 1)
        self.ring = Ring(seed, node, self.circle, view, membership)
        self.repairs = Repairs(parameters, node, self.circle, self.links, self.asks, view)
        backups = BackupSets(parameters, seed, view, self.circle)
        self.watching = Watching(parameters, node, self.circle, self.links, self.repairs, backups, exchange)
        self.watchers = Watchers(parameters, self.circle, self.links, exchange)
        self.reports = Reports(node, self.circle)
        self.linking = Linking(
            parameters, node, self.circle, self.links, self.asks, self.repairs, self.watchers, exchange
        )
        self.rendezvous = Rendezvous(node)
        self._me = Peer(node)
        # The version of the interest that was last sent to neighbours.
        self._version = 0
        # Links to ask for in the first turn.
        self._given: tuple[Peer, ...] = ()
        self._turn = 0

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired(timer=BridgeCheckDue()):
                self._on_mend_due(now_us, out)
            case TimerFired():
                self._on_turn(now_us, out)
            case PeerDown():
                self._on_peer_down(event, now_us, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, now_us, out)
            case Started():
                self._on_started(event, now_us, out)
            case Stopping():
                self._on_stopping(out)
        return self.links.take_facts()

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The whole interest of a node was fetched."""
        if isinstance(fact, InterestFetched):
            self.links.take_in(fact)
            self.watching.take_interest(fact, now_us, out)
        return NOTHING

    # Start, stop and changes of interest.

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> None:
        self._me = Peer(self._node, event.address)
        self._version = self._exchange.version
        self.watchers.start(event.address)
        self.watching.address = self.repairs.address = self.asks.address = event.address
        self.asks.incarnation = self.watchers.incarnation
        if self._parameters.start == "plan" and not event.joining:
            self._given = tuple(peer for peer in event.contacts if peer.node != self._node)
        # Chosen: a random phase, so that nodes started together do not act in step.
        phase_us = draw(self._seed, self._node, Purpose.TURN_PHASE, now_us) % self._parameters.period_us
        out.append(SetTimer(now_us + phase_us, TurnDue()))
        if self._parameters.mend_us:
            out.append(SetTimer(now_us + phase_us + self._parameters.mend_us, BridgeCheckDue()))

    def _on_stopping(self, out: list[Action]) -> None:
        """A graceful leave: the watchers learn the last neighbours."""
        event = ChurnEvent(self._node, self.watchers.incarnation, ChurnKind.LEAVE)
        neighbours = tuple(map(self.links.peer, self.links.neighbours))[:NODES_MAX]
        for peer in self.watchers.peers():
            out.append(send(peer, ChurnNotice(event, neighbours)))
        if neighbours:
            out.append(self.links.to(tuple(self.links.neighbours), Departure()))

    def _on_interest(self, event: Subscribe | Unsubscribe, now_us: int, out: list[Action]) -> None:
        if isinstance(event, Subscribe):
            for peer in event.peers:
                if peer.node != self._node and peer.node not in self.links.neighbours:
                    self.asks.ask(peer, out)
        since, self._version = self._version, self._exchange.version
        if since == self._version:
            return
        topic = event.topic
        holders = [self.links.peer(node) for node in self.links.neighbours_on(topic)]
        is_new = isinstance(event, Subscribe)
        if is_new:
            self.roots.add_topic(topic)
        else:
            self.links.forget_topic(topic)
            self.roots.remove_topic(topic)
            self.repairs.change(topic, self._version, holders, now_us, out)
        self.links.version += 1
        if self.links.neighbours:
            added, removed = ((topic,), ()) if is_new else ((), (topic,))
            notice = InterestUpdate(self._version, since, added, removed)
            out.append(self.links.to(tuple(self.links.neighbours), notice))

    # A turn.

    def _on_turn(self, now_us: int, out: list[Action]) -> None:
        out.append(SetTimer(now_us + self._parameters.period_us, TurnDue()))
        self._turn += 1
        for peer in self._given:
            self.asks.ask(peer, out)
        self._given = ()
        self._note_silence(now_us, out)
        self.ring.turn(self._descriptor(), now_us, out)
        self.repairs.ring_changed(now_us, out)
        self.watchers.turn(out)
        self.watching.turn(self._turn, now_us, out)
        self.repairs.turn(now_us, out)
        self.reports.turn(out)
        self.linking.turn(now_us, out)
        self._look_for_holders(now_us, out)

    def _note_silence(self, now_us: int, out: list[Action]) -> None:
        # Turns are counted, not time: a node that was busy itself has not listened meanwhile.
        heard, most = self.heard, self._parameters.suspect_after
        silent = [*self.watchers.silent(heard), *self.watching.silent(heard)]
        for node, neighbour in self.links.neighbours.items():
            neighbour.silent_turns = 0 if node in heard else neighbour.silent_turns + 1
            if neighbour.silent_turns > most:
                silent.append(node)
        self.heard.clear()
        for node in dict.fromkeys(silent):
            self._fail(node, now_us, out)

    def _descriptor(self) -> RingDescriptor:
        return RingDescriptor(
            self._node, self._me.address, self.watchers.incarnation, 0, self.watching.load(self._turn)
        )

    def _look_for_holders(self, now_us: int, out: list[Action]) -> None:
        """Topics without a neighbour for which no coordinator has found one."""
        if self._turn <= self._parameters.first_turns:
            return
        due = self.rendezvous.turn(self.links.lonely(), 1 + self._parameters.deadline_turns)
        left = dict.fromkeys(due)
        shut = {self._node, *self.links.neighbours, *self.circle.failed}
        key = draw_base(self._seed, self._node, Purpose.LONELY_TOPIC, now_us)
        while left:
            peer = self._view.best_cover(tuple(left), shut, key)
            if peer is None:
                break
            shut.add(peer.node)
            covered = [topic for topic in self._view.topics_of(peer.node) if topic in left]
            if not covered or not self.asks.ask(peer, out):
                break
            for topic in covered:
                del left[topic]
        for topic in left:
            found = self.rendezvous.ask(topic, self._me, self.ring.known(), out)
            if found is not None:
                self.linking.link_to(found, out)

    def _on_mend_due(self, now_us: int, out: list[Action]) -> None:
        out.append(SetTimer(now_us + self._parameters.mend_us, BridgeCheckDue()))
        if self.roots.is_moving:
            self.roots.is_moving = False
            return
        repeat = now_us // self._parameters.mend_us % CLAIMS_REPEAT == 0
        for nodes, claims in self.roots.check((self.links,), repeat):
            out.append(self.links.to(nodes, ComponentClaims(claims)))
        key = draw_base(self._seed, self._node, Purpose.LONELY_TOPIC, now_us)
        peer = self.roots.next_bridge(self._view, {self._node, *self.links.neighbours}, key)
        if peer is not None:
            out.append(Observe(BridgeWanted(peer.node)))
            self.asks.ask(peer, out)

    # Messages.

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        if sender == self._node:
            out.append(Observe(PeerMisbehaved(sender, "has this node's id")))
            return
        match message:
            case RingRequest() | RingReply():
                self.ring.on_message(sender, message, self._descriptor(), now_us, out)
                if self._turn:
                    self.watchers.refresh(out)
                self.repairs.ring_changed(now_us, out)
            case WatchPulse():
                if self.watching.pulse(sender, message, self._descriptor(), now_us, out):
                    self.circle.revive(sender)
            case WatchOk():
                self.watchers.told(sender, message.state, out)
            case WatchState():
                self.watching.state(sender, message, now_us, out)
            case WatchEnd():
                self.watching.end(sender)
            case ShadowAsk():
                self.watching.answer(sender, message, self._turn, out)
            case ShadowState():
                self.watching.take_state(sender, message, now_us, out)
            case ChurnNotice():
                self._on_notice(sender, message, now_us, out)
            case NoticeOk():
                self.reports.close(message.event)
            case DoneNotice():
                self.reports.close(message.event)
                self.repairs.done(message.event)
            case Suspicion():
                if self.watchers.refute(sender, message.incarnation, out):
                    self.asks.incarnation = self.watchers.incarnation
            case LinkCommand():
                self.linking.on_command(sender, message, now_us, out)
            case LinkDone():
                self.repairs.links_done(sender, message, now_us, out)
            case ComponentClaims():
                if not self.roots.take_claims((self.links,), sender, message.claims):
                    out.append(Observe(PeerMisbehaved(sender, "claims what cannot be")))
            case RendezvousAsk():
                self.rendezvous.forward(message, self.ring.known(), out)
            case RendezvousAnswer():
                if message.topic in self._exchange.topics and not self.links.neighbours_on(message.topic):
                    self.linking.link_to(message.peer, out)
            case _:
                self.linking.on_message(sender, message, now_us, out)

    def _on_notice(self, sender: NodeId, message: ChurnNotice, now_us: int, out: list[Action]) -> None:
        event = message.event
        if event.kind is not ChurnKind.LEAVE or event.node == self._node:
            if event.node == self._node and self.watchers.refute(sender, event.number, out):
                self.asks.incarnation = self.watchers.incarnation
            return
        watched = self.watching.watched.get(event.node)
        if watched is not None and watched.incarnation > event.number:
            # It has started anew since.
            is_done = True
        else:
            self._believe(event, sender)
            # A neighbour speaks for itself only, because terminals will be asked for their links; a watcher passes reports on.
            terminals = message.terminals
            if sender != event.node and sender not in self.circle.view:
                terminals = tuple(peer for peer in terminals if peer.node == sender)
            found = self.repairs.notice(
                event, terminals, watched, now_us, out, message.is_handed_over, sender == event.node
            )
            if found is None:
                return
            is_done = found
            self.watching.end(event.node)
            if sender == event.node:
                self.linking.lose(event.node, out)
            self.repairs.ring_changed(now_us, out)
        if sender != event.node:
            to = next((peer for peer in message.terminals if peer.node == sender), self.circle.peer(sender))
            out.append(send(to, DoneNotice(event) if is_done else NoticeOk(event)))

    def _believe(self, event: ChurnEvent, sender: NodeId) -> None:
        """Take a node for dead, in no later life than is known of it: it could not refute an absurd incarnation."""
        known = self._incarnation(event.node)
        if known and (event.node not in self.links.neighbours or sender == event.node):
            self.circle.fail(event.node, min(event.number, known + REFUTED_MAX))

    # Failures.

    def _on_peer_down(self, event: PeerDown, now_us: int, out: list[Action]) -> None:
        node = event.node
        if not event.hung_up:
            self._fail(node, now_us, out)
        elif node in self.links.neighbours:
            # The other end has closed the connection without an agreed drop: it took this node for dead, or restarts.
            peer = self.links.peer(node)
            self.linking.lose(node, out)
            self.asks.ask(peer, out)

    def _fail(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """A node does not answer: it is taken for dead until it is heard with a higher incarnation."""
        watched = self.watching.watched.get(node)
        neighbour = self.links.neighbours.get(node)
        incarnation = self._incarnation(node)
        self.circle.fail(node, incarnation)
        self.watchers.forget(node)
        self.watching.forget(node)
        self.linking.close_ask(node, False, now_us, out)
        self.linking.lose(node, out)
        event = ChurnEvent(node, incarnation, ChurnKind.LEAVE)
        terminals = () if neighbour is None else (self._me,)
        if watched is not None:
            self.repairs.notice(event, terminals, watched, now_us, out)
        if neighbour is not None and (watched is None or self.circle.first_after(node) != self._node):
            self.reports.open(event, neighbour.watchers, self._me, out)
        self.reports.watcher_failed(node, out)
        self.repairs.node_failed(node, now_us, out)
        self.repairs.ring_changed(now_us, out)

    def _incarnation(self, node: NodeId) -> int:
        """The last incarnation of a node that this node has heard of; 0 if it has heard of none."""
        watched, neighbour = self.watching.watched.get(node), self.links.neighbours.get(node)
        return max(
            self.circle.incarnation(node),
            0 if watched is None else watched.incarnation,
            0 if neighbour is None else neighbour.incarnation,
        )
