"""StAN: stacked aligned overlay networks (Matos, Nunes, Oliveira, Pereira, IPTPS 2010).

The idea: a node keeps a random view of its own for every topic. It gives every other node a weight by a hash of the
two ids, the same in all topics, and in each topic keeps the lightest it has heard of, from random walks inside that
topic. Two topics with many nodes in common so end with the same peers, and share links, though neither has been told
of the other. What a node does in one topic is the same whatever else it follows.

Listing 1's line 8 adds `myId` again; the text says that the ids of the neighbours are added, and so do we.

Differs: a peer is told when it enters or leaves a view. Links are then used both ways: with views of ln(n) peers about
one node a topic is in nobody's view, and would get nothing.
Differs: nodes that a walk visits weigh its source too (`weigh_sources`). The paper's walks only bring ids back, so that a
node in nobody's view is never found.
Differs: the paper starts from overlays that others have built. Here a newcomer enters by one peer, keeps as large a view
as there are nodes that have that peer in theirs (on average the mean view; the peer's own size would be inherited with
all its luck), and the peer makes room for `view_factor` more: mean views so grow with the logarithm of the topic, and
nobody estimates its size. A peer that goes takes a place with it with probability view_factor / view size.
Differs: a walk's answer is taken only from the walk that is open; what nobody asked for is dropped.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, stepped, unit
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
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
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import Message, Peer, Timer
from gossamer.protocols.contract.parts import NOTHING
from gossamer.systems.stan.links import SharedLinks
from gossamer.systems.stan.messages import (
    Collect,
    Collected,
    Enter,
    Hold,
    Release,
    TopicLeave,
    TopicMessage,
    TopicPeer,
    TopicViewChanged,
    WalkDue,
    Welcome,
)
from gossamer.systems.stan.parameters import HOLDERS_MAX, VIEW_MAX, VIEW_MIN, VIEW_MIN_PROBED, StanParameters
from gossamer.systems.stan.probe import Prober
from gossamer.systems.stan.proofs import prove, topic_key
from gossamer.systems.stan.topic import TopicState
from gossamer.systems.stan.view import TopicView, topic_seed, weight_key


class Stan:
    """The overlay part. Everything but weights, addresses and physical neighbours is by topic."""

    __slots__ = (
        "_due_us",
        "_links",
        "_node",
        "_parameters",
        "_prober",
        "_seed",
        "_view_min",
        "_weights",
        "topics",
    )

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Collect, Collected, Hold, Release, Enter, Welcome, TopicLeave)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (WalkDue,)

    def __init__(self, parameters: StanParameters, seed: int, node: NodeId, prober: Prober | None = None) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._prober = prober
        self._view_min = VIEW_MIN if prober is None else VIEW_MIN_PROBED
        self._weights = weight_key(seed, node)
        self._due_us = 0
        self.topics: dict[TopicId, TopicState] = {}
        self._links = SharedLinks(node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired():
                self._on_walk_due(now_us, out)
            case PeerDown():
                for state in self.topics.values():
                    if event.node in state.view:
                        # Should it live after all, it knows that it is held no longer.
                        self._tell(state, (event.node,), Release, out)
                    self._on_gone(state, event.node, now_us, out)
                    self._note_alone(state)
            case Subscribe():
                self._on_subscribe(event, out)
            case Unsubscribe():
                self._on_unsubscribe(event.topic, out)
            case Started():
                self._links.me = Peer(self._node, event.address)
                # Chosen: a random phase, so that nodes started together do not walk in step.
                phase = draw(self._seed, self._node, Purpose.STAN_PHASE, now_us) % self._parameters.period_us
                out.append(SetTimer(now_us + phase, WalkDue()))
                self._due_us = now_us
            case Stopping():
                for topic in list(self.topics):
                    self._on_unsubscribe(topic, out)
        return self._links.take_facts()

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A probe has found a peer: enter by it, or let the next walk begin there."""
        if isinstance(fact, TopicPeer) and fact.topic in self.topics:
            state = self.topics[fact.topic]
            if state.alone:
                self._enter(state, fact.peer, out)
            else:
                state.found = fact.peer
        return NOTHING

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """See `Overlay`: the nodes in this node's view of the topic, and the nodes that have this node in theirs."""
        state = self.topics.get(topic)
        return NOTHING if state is None else state.neighbours

    # Coming and going.

    def _on_subscribe(self, event: Subscribe, out: list[Action]) -> None:
        if event.topic in self.topics:
            return
        key = topic_key(event.topic, event.secret)
        size = self._view_min if event.joining else max(1, min(len(event.peers), VIEW_MAX))
        view = TopicView(self._node, self._weights, size)
        state = TopicState(event.topic, key, topic_seed(self._seed, event.topic), view, event.peers)
        self.topics[event.topic] = state
        if self._prober is not None:
            self._prober.hold(event.topic, key)
        if not event.joining:
            state.contacts = ()
            self._weigh(state, event.peers, out)
        elif event.peers:
            self._enter(state, event.peers[0], out)
        self._note_alone(state)

    def _on_unsubscribe(self, topic: TopicId, out: list[Action]) -> None:
        state = self.topics.pop(topic, None)
        if state is None:
            return
        if self._prober is not None:
            self._prober.let_go(topic)
        self._tell(state, state.neighbours, TopicLeave, out)
        if state.view:
            out.append(Observe(TopicViewChanged(topic, tuple(state.view.nodes()), ())))
        for node in (*state.view.nodes(), *state.holders):
            self._links.untie(node, out)

    def _enter(self, state: TopicState, contact: Peer, out: list[Action]) -> None:
        state.entering = contact.node
        state.entries += 1
        message = Enter(state.topic, self._proof(state, contact.node), self._links.me)
        out.append(_send(contact, message))

    def _on_enter(self, state: TopicState, sender: NodeId, message: Enter, now_us: int, out: list[Action]) -> None:
        peers = tuple(self._links.peer(node) for node in (self._node, *state.view.nodes()) if node != sender)
        newcomer = Peer(sender, message.newcomer.address)
        welcome = Welcome(state.topic, self._proof(state, sender), len(state.holders), peers)
        out.append(_send(newcomer, welcome))
        if sender not in state.holders and sender not in state.view:
            factor = self._parameters.view_factor
            bits = draw(state.seed, self._node, Purpose.STAN_RAISE, now_us, item=sender)
            more = int(factor) + (unit(bits) < factor - int(factor))
            state.view.size = min(state.view.size + more, VIEW_MAX)
        self._weigh(state, (newcomer,), out)

    def _on_welcome(self, state: TopicState, sender: NodeId, message: Welcome, out: list[Action]) -> None:
        if sender != state.entering:
            return
        state.entering = None
        state.view.size = max(self._view_min, min(message.view_size, VIEW_MAX))
        self._weigh(state, message.peers, out)

    def _on_gone(self, state: TopicState, node: NodeId, now_us: int, out: list[Action]) -> None:
        """A peer has left the topic, or is down."""
        if state.drop(node):
            out.append(Observe(TopicViewChanged(state.topic, (node,), ())))
            self._links.untie(node, out)
            bits = draw(state.seed, self._node, Purpose.STAN_SHRINK, now_us, item=node)
            size = state.view.size
            if size > self._view_min and unit(bits) * size < self._parameters.view_factor:
                state.view.size = size - 1
        self._release(state, node, out)

    # Walks, Listing 1.

    def _on_walk_due(self, now_us: int, out: list[Action]) -> None:
        if now_us < self._due_us:
            return
        self._due_us = now_us + self._parameters.period_us
        out.append(SetTimer(self._due_us, WalkDue()))
        self._links.close_idle(out)
        for state in self.topics.values():
            if state.alone:
                if state.contacts:
                    self._enter(state, state.contacts[state.entries % len(state.contacts)], out)
                continue
            if not state.view:
                # All peers are gone, but some still have this node in their views.
                self._weigh(state, [self._links.peer(node) for node in state.holders], out)
            self._begin_walk(state, now_us, out)

    def _begin_walk(self, state: TopicState, now_us: int, out: list[Action]) -> None:
        """Lines 1 to 3."""
        target, state.found = state.found, None
        if target is None:
            bits = draw(
                state.seed, self._node, Purpose.STAN_WALK, stepped(now_us, self._parameters.walk_hops + 1), self._node
            )
            target = self._links.peer(state.view[below(bits, len(state.view))])
        state.walk = draw(state.seed, self._node, Purpose.STAN_NAME, now_us)
        self._collect(state, target, self._links.me, state.walk, self._parameters.walk_hops, (), out)

    def _collect(
        self,
        state: TopicState,
        target: Peer,
        source: Peer,
        walk: int,
        hops_left: int,
        peers: tuple[Peer, ...],
        out: list[Action],
    ) -> None:
        holds = target.node in state.view
        proof = self._proof(state, target.node)
        out.append(_send(target, Collect(state.topic, proof, source, walk, hops_left, holds, peers)))

    def _on_collect(self, state: TopicState, sender: NodeId, message: Collect, now_us: int, out: list[Action]) -> None:
        """Lines 5 to 14."""
        if message.holds:
            self._hold(state, sender, out)
        found = {peer.node: peer for peer in message.peers}
        for node in (self._node, *state.view.nodes()):
            found.setdefault(node, self._links.peer(node))
        peers, source = tuple(found.values()), message.source
        hops_left = min(message.hops_left, self._parameters.walk_hops)
        if hops_left > 0 and state.view:
            bits = draw(state.seed, self._node, Purpose.STAN_WALK, stepped(now_us, hops_left), source.node)
            target = self._links.peer(state.view[below(bits, len(state.view))])
            self._collect(state, target, source, message.walk, hops_left - 1, peers, out)
        elif source.node == self._node:
            self._take_in(state, message.walk, peers, out)
        else:
            reply = Collected(state.topic, self._proof(state, source.node), message.walk, peers)
            out.append(_send(source, reply))
        if self._parameters.weigh_sources:
            self._weigh(state, (source,), out)

    def _take_in(self, state: TopicState, walk: int, peers: Sequence[Peer], out: list[Action]) -> None:
        """Lines 16 to 22: the lightest of all that is known, as many as before."""
        if walk == state.walk:
            state.walk = None
            self._weigh(state, peers, out)

    # Messages.

    def _on_message(self, sender: NodeId, message: Message, now_us: int, out: list[Action]) -> None:
        assert isinstance(message, TopicMessage)
        state = self.topics.get(message.topic)
        # One answer, none, whether the topic is not held or the proof is wrong: a stranger learns nothing.
        if state is None or sender == self._node or message.proof != prove(state.key, b"stan", sender, self._node):
            out.append(Observe(PeerMisbehaved(sender, "spoke of a topic that is not held, or without its key")))
            return
        match message:
            case Collect():
                self._on_collect(state, sender, message, now_us, out)
            case Collected():
                self._take_in(state, message.walk, message.peers, out)
            case Hold():
                self._hold(state, sender, out)
            case Release():
                self._release(state, sender, out)
            case Enter():
                self._on_enter(state, sender, message, now_us, out)
            case Welcome():
                self._on_welcome(state, sender, message, out)
            case TopicLeave():
                self._on_gone(state, sender, now_us, out)
        self._note_alone(state)

    def _weigh(self, state: TopicState, peers: Iterable[Peer], out: list[Action]) -> None:
        """Offer peers to a view, and tell those who come and go."""
        addresses = {peer.node: peer.address for peer in peers}
        added, dropped = state.weigh(addresses)
        if added:
            out.append(Observe(TopicViewChanged(state.topic, tuple(dropped), tuple(added))))
        for node in added:
            self._links.tie_viewed(Peer(node, addresses[node]), out)
        self._tell(state, added, Hold, out)
        self._tell(state, dropped, Release, out)
        for node in dropped:
            self._links.untie(node, out)

    def _hold(self, state: TopicState, node: NodeId, out: list[Action]) -> None:
        if state.add_holder(node):
            self._links.tie(node, out)
            if len(state.holders) > HOLDERS_MAX:
                self._release(state, next(iter(state.holders)), out)

    def _release(self, state: TopicState, node: NodeId, out: list[Action]) -> None:
        if state.remove_holder(node):
            self._links.untie(node, out)

    def _note_alone(self, state: TopicState) -> None:
        if self._prober is not None:
            self._prober.seek(state.topic, state.alone)

    def _tell(
        self, state: TopicState, nodes: Sequence[NodeId], kind: type[Hold | Release | TopicLeave], out: list[Action]
    ) -> None:
        for node in nodes:
            out.append(_send(self._links.peer(node), kind(state.topic, self._proof(state, node))))

    def _proof(self, state: TopicState, receiver: NodeId) -> bytes:
        return prove(state.key, b"stan", self._node, receiver)


def _send(peer: Peer, message: Message) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
