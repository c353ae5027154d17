"""StAN: stacked aligned overlay networks (Matos, Nunes, Oliveira, Pereira, IPTPS 2010).

The idea: a node keeps a separate random view for every topic. It gives every other node a weight, a hash of the two ids
that is the same in all topics, and in each topic keeps the lightest nodes that its random walks inside that topic have
found. Two topics with many nodes in common therefore end with the same peers and share links, although neither topic's
overlay knows the other. The behaviour of a node in one topic does not depend on its other topics.

Reading: Listing 1, line 8 adds `myId` again; the text says that the ids of the neighbours are added. We follow the
text.

Differs: a peer learns when it enters or leaves a view, and links are used in both directions. With views of ln(n)
peers, about one node of a topic is in no view and would receive nothing.
Differs: nodes that a walk visits also weigh its source (`weigh_sources`). The paper's walks only bring ids back, so
that a node in no view is never found.
Differs: the paper starts from overlays that already exist. Here a newcomer enters through one peer. Its view size is
the number of nodes that have that peer in their views: on average the mean view size, whereas the peer's own size would
pass on its random deviation. The peer increases its own view size by `view_factor`. Mean view sizes therefore grow with
the logarithm of the topic without an estimate of its size. When a peer leaves, the view size shrinks by one with
probability view_factor / view size.
Differs: the result of a walk is accepted only for the walk that is open; any other result is dropped.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, stepped, unit
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.shown import Shown, simulated_secret
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
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved, TopicViewChanged
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.systems.stan.links import SharedLinks
from gossamer.systems.stan.messages import (
    Collect,
    Collected,
    Enter,
    Held,
    Hold,
    Release,
    TopicLeave,
    TopicMessage,
    TopicPeer,
    WalkDue,
    Welcome,
)
from gossamer.systems.stan.parameters import HOLDERS_MAX, VIEW_MAX, VIEW_MIN, VIEW_MIN_PROBED, StanParameters
from gossamer.systems.stan.probe import Prober
from gossamer.systems.stan.proofs import prove, topic_key
from gossamer.systems.stan.topic import TopicState
from gossamer.systems.stan.view import TopicView, topic_seed, weight_key

# Chosen: topics that were left whose late messages are recognised.
LEFT_MAX = 1_024


class Stan:
    """The overlay part. All state is kept by topic, except weights, addresses and physical neighbours."""

    __slots__ = (
        "_changed",
        "_due_us",
        "_left",
        "_links",
        "_node",
        "_parameters",
        "_prober",
        "_seed",
        "_shown",
        "_topic_seed",
        "_view_min",
        "_weights",
        "topics",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (
        Collect,
        Collected,
        Hold,
        Held,
        Release,
        Enter,
        Welcome,
        TopicLeave,
    )
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (WalkDue,)

    def __init__(self, parameters: StanParameters, seed: int, node: NodeId, prober: Prober | None = None) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._prober = prober
        self._view_min = VIEW_MIN if prober is None else VIEW_MIN_PROBED
        self._weights = weight_key(seed, node)
        self._shown = Shown(simulated_secret(seed, node))
        self._topic_seed: Callable[[TopicId], int] = partial(topic_seed, seed)
        self._due_us = 0
        self.topics: dict[TopicId, TopicState] = {}
        # The keys of topics that this node has left, the longest ago first.
        self._left: dict[TopicId, bytes] = {}
        # Topics whose neighbours may have changed since the last report.
        self._changed: dict[TopicId, None] = {}
        self._links = SharedLinks(node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired():
                self._on_walk_due(now_us, out)
            case PeerDown():
                for state in self.topics.values():
                    if event.node in state.view:
                        # If it is alive after all, it learns that it left this view.
                        self._tell(state, (event.node,), Release, out)
                    self._remove_peer(state, event.node, now_us, out)
            case Subscribe():
                self._on_subscribe(event, out)
            case Unsubscribe():
                self._on_unsubscribe(event.topic, out)
            case Started():
                self._links.me = Peer(self._node, event.address)
                if event.secret:
                    # Whatever others make out about the draws in one topic tells them nothing about other topics.
                    self._shown = Shown(event.secret)
                    self._seed = self._shown.number(b"stan seed")
                    self._weights = self._shown.number(b"stan weights")
                    self._topic_seed = partial(self._shown.number, b"topic seed")
                # Chosen: a random phase, so that nodes started together do not walk in step.
                phase = draw(self._seed, self._node, Purpose.STAN_PHASE, now_us) % self._parameters.period_us
                out.append(SetTimer(now_us + phase, WalkDue()))
                self._due_us = now_us
            case Stopping():
                for topic in list(self.topics):
                    self._on_unsubscribe(topic, out)
        return self._facts()

    def _facts(self) -> Sequence[Fact]:
        facts = self._links.take_facts()
        if not self._changed:
            return facts
        changes = [self.topics[topic].take_change() for topic in self._changed if topic in self.topics]
        self._changed.clear()
        return [*facts, *(change for change in changes if change is not None)]

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A probe has found a peer: enter the topic through it, or start the next walk there."""
        if isinstance(fact, TopicPeer) and fact.topic in self.topics:
            state = self.topics[fact.topic]
            if state.alone:
                self._enter(state, fact.peer, out)
            else:
                state.found = fact.peer
        return NOTHING

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """See `TopicNeighbours`: the nodes in this node's view of the topic, and those that have this node in theirs."""
        state = self.topics.get(topic)
        return NOTHING if state is None else state.neighbours

    # Entering and leaving topics.

    def _on_subscribe(self, event: Subscribe, out: list[Action]) -> None:
        if event.topic in self.topics:
            return
        key = topic_key(event.topic, event.secret)
        size = self._view_min if event.joining else max(1, min(len(event.peers), VIEW_MAX))
        view = TopicView(self._node, self._weights, size)
        state = TopicState(
            event.topic, key, self._topic_seed(event.topic), view, event.peers, self._changed, self._prober is not None
        )
        self.topics[event.topic] = state
        if self._prober is not None:
            self._prober.add_topic(event.topic, key)
        if not event.joining:
            state.contacts = ()
            self._weigh(state, event.peers, out)
        elif event.peers:
            self._enter(state, event.peers[0], out)

    def _on_unsubscribe(self, topic: TopicId, out: list[Action]) -> None:
        state = self.topics.pop(topic, None)
        if state is None:
            return
        if self._prober is not None:
            self._prober.remove_topic(topic)
        self._left.pop(topic, None)
        self._left[topic] = state.key
        if len(self._left) > LEFT_MAX:
            del self._left[next(iter(self._left))]
        self._tell(state, sorted({*state.view.nodes(), *state.holders}), TopicLeave, out)
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

    def _remove_peer(self, state: TopicState, node: NodeId, now_us: int, out: list[Action]) -> None:
        """Remove a peer that has left the topic or cannot be reached."""
        if state.drop(node):
            out.append(Observe(TopicViewChanged(state.topic, (node,), ())))
            self._links.untie(node, out)
            bits = draw(state.seed, self._node, Purpose.STAN_SHRINK, now_us, item=node)
            size = state.view.size
            if size > self._view_min and unit(bits) * size < self._parameters.view_factor:
                state.view.size = size - 1
        self._remove_holder(state, node, out)

    # Random walks.

    def _on_walk_due(self, now_us: int, out: list[Action]) -> None:
        if now_us < self._due_us:
            return
        self._due_us = now_us + self._parameters.period_us
        out.append(SetTimer(self._due_us, WalkDue()))
        self._links.close_idle(out)
        for state in self.topics.values():
            asked, given_up = state.unproved()
            self._tell(state, asked, Hold, out)
            for node in given_up:
                self._remove_peer(state, node, now_us, out)
            if state.alone:
                if state.contacts:
                    self._enter(state, state.contacts[state.entries % len(state.contacts)], out)
                continue
            if not state.view:
                # The view is empty, but other nodes have this node in theirs.
                self._weigh(state, [self._links.peer(node) for node in state.holders], out)
            self._begin_walk(state, now_us, out)

    def _begin_walk(self, state: TopicState, now_us: int, out: list[Action]) -> None:
        """Listing 1, lines 1 to 3."""
        target, state.found = state.found, None
        if target is None:
            bits = draw(
                state.seed, self._node, Purpose.STAN_WALK, stepped(now_us, self._parameters.walk_hops + 1), self._node
            )
            target = self._links.peer(state.view[below(bits, len(state.view))])
        state.walk = self._shown.number(b"walk", state.topic, now_us)
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
        """Listing 1, lines 5 to 14."""
        if message.holds:
            self._add_holder(state, sender, out)
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
        """Listing 1, lines 16 to 22: keep the lightest of the known and the collected nodes, as many as before."""
        if walk == state.walk:
            state.walk = None
            self._weigh(state, peers, out)

    # Messages.

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        assert isinstance(message, TopicMessage)
        state = self.topics.get(message.topic)
        key = self._left.get(message.topic) if state is None else state.key
        # No answer in any case: a stranger must not learn whether this node holds the topic.
        if key is None or sender == self._node or message.proof != prove(key, b"stan", sender, self._node):
            out.append(Observe(PeerMisbehaved(sender, "spoke of a topic that is not held, or without its key")))
            return
        if state is None:
            # It was under way when this node left the topic.
            return
        state.prove(sender)
        match message:
            case Collect():
                self._on_collect(state, sender, message, now_us, out)
            case Collected():
                self._take_in(state, message.walk, message.peers, out)
            case Hold():
                self._add_holder(state, sender, out)
                if self._prober is not None:
                    self._tell(state, (sender,), Held, out)
            case Release():
                self._remove_holder(state, sender, out)
            case Enter():
                self._on_enter(state, sender, message, now_us, out)
            case Welcome():
                self._on_welcome(state, sender, message, out)
            case TopicLeave():
                self._remove_peer(state, sender, now_us, out)

    def _weigh(self, state: TopicState, peers: Iterable[Peer], out: list[Action]) -> None:
        """Offer peers to a view, and tell the nodes that enter and leave it."""
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

    def _add_holder(self, state: TopicState, node: NodeId, out: list[Action]) -> None:
        if state.add_holder(node):
            self._links.tie(node, out)
            if len(state.holders) > HOLDERS_MAX:
                self._remove_holder(state, next(iter(state.holders)), out)

    def _remove_holder(self, state: TopicState, node: NodeId, out: list[Action]) -> None:
        if state.remove_holder(node):
            self._links.untie(node, out)

    def _tell(
        self,
        state: TopicState,
        nodes: Sequence[NodeId],
        kind: type[Hold | Held | Release | TopicLeave],
        out: list[Action],
    ) -> None:
        for node in nodes:
            out.append(_send(self._links.peer(node), kind(state.topic, self._proof(state, node))))

    def _proof(self, state: TopicState, receiver: NodeId) -> bytes:
        return prove(state.key, b"stan", self._node, receiver)


def _send(peer: Peer, message: WireMessage) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
