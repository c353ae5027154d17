"""Finding the first peer of a topic without disclosing which topics a node follows.

Membership below (Cyclon) carries no interests. A node sends probes to peers of its membership view, each probe for one
topic: a tag that only nodes with the topic's key can recognise. Every node answers every probe, with a proof of its own or
with a random-looking tag. A node sends the same number of probes in every turn, whether it follows no topic or a thousand.
Probes that no topic needs are sent for topics that already have peers, which reconnects components of a topic; a node
without topics sends random-looking tags. The numbers of probes and answers therefore disclose nothing.

docs/privacy.md describes what an eavesdropper can still learn.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, stepped
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, Started, TimerFired
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.systems.stan.messages import Probe, ProbeDue, ProbeReply, TopicPeer
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.proofs import prove, topic_key


class Prober:
    """The part between membership and StAN. StAN tells it which topics exist and which need a peer."""

    __slots__ = (
        "_address",
        "_due_us",
        "_keys",
        "_membership",
        "_node",
        "_open",
        "_own_key",
        "_parameters",
        "_seed",
        "_sought",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Probe, ProbeReply)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ProbeDue,)

    def __init__(self, parameters: StanParameters, seed: int, node: NodeId, membership: Cyclon) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._membership = membership
        # No other node knows this key: tags made with it look random to all others.
        self._own_key = topic_key(node, draw(seed, node, Purpose.STAN_NONCE, 0).to_bytes(8, "big"))
        self._keys: dict[TopicId, bytes] = {}
        self._sought: dict[TopicId, None] = {}
        # The probes of this turn and of the turn before, by nonce: the topic, and the peer that was asked.
        self._open: list[dict[int, tuple[TopicId, Peer]]] = [{}, {}]
        self._due_us = 0
        self._address = b""

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived(message=Probe()):
                self._on_probe(event.sender, event.message, out)
            case MessageReceived(message=ProbeReply()):
                return self._on_reply(event.sender, event.message)
            case TimerFired():
                self._on_probe_due(now_us, out)
            case Started():
                phase = draw(self._seed, self._node, Purpose.STAN_PHASE, now_us, item=1) % self._parameters.probe_us
                self._due_us = now_us
                self._address = event.address
                out.append(SetTimer(now_us + phase, ProbeDue()))
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Facts of membership are not needed: its view is read when probes are due."""
        return NOTHING

    # Called by StAN.

    def add_topic(self, topic: TopicId, key: bytes) -> None:
        """The node follows a topic."""
        self._keys[topic] = key

    def remove_topic(self, topic: TopicId) -> None:
        """The node no longer follows a topic."""
        self._keys.pop(topic, None)
        self._sought.pop(topic, None)

    def seek(self, topic: TopicId, needs_peer: bool) -> None:
        """Set whether a topic needs a peer."""
        if needs_peer:
            self._sought[topic] = None
        else:
            self._sought.pop(topic, None)

    # Probes.

    def _on_probe_due(self, now_us: int, out: list[Action]) -> None:
        if now_us < self._due_us:
            return
        self._due_us = now_us + self._parameters.probe_us
        out.append(SetTimer(self._due_us, ProbeDue()))
        self._open = [{}, self._open[0]]
        known = self._membership.view()
        for step in range(self._parameters.probes if known else 0):
            counter = stepped(now_us, step)
            entry = known[below(draw(self._seed, self._node, Purpose.STAN_PROBE, counter), len(known))]
            nonce = draw(self._seed, self._node, Purpose.STAN_NONCE, counter, item=1)
            topic = self._next_topic(counter)
            key = self._own_key if topic is None else self._keys[topic]
            peer = Peer(entry.node, entry.address)
            if topic is not None:
                self._open[0][nonce] = (topic, peer)
            tag = prove(key, b"probe", self._node, peer.node, nonce)
            out.append(_send(peer, Probe(nonce, tag, self._address)))

    def _next_topic(self, counter: int) -> TopicId | None:
        """A random topic that needs a peer, else any topic; None if the node follows none."""
        topics = list(self._sought or self._keys)
        if not topics:
            return None
        return min(topics, key=lambda topic: (draw(self._seed, self._node, Purpose.STAN_PROBE, counter, topic), topic))

    def _on_probe(self, sender: NodeId, message: Probe, out: list[Action]) -> None:
        nonce = message.nonce
        answer = self._own_key
        for key in self._keys.values():
            # No early exit: the time that this takes must not show whether a topic was recognised.
            if prove(key, b"probe", sender, self._node, nonce) == message.tag:
                answer = key
        # The tag is for the authenticated sender; no other node can use it.
        tag = prove(answer, b"reply", self._node, sender, nonce)
        out.append(_send(Peer(sender, message.address), ProbeReply(nonce, tag)))

    def _on_reply(self, sender: NodeId, message: ProbeReply) -> Sequence[Fact]:
        for turn in self._open:
            topic, peer = turn.get(message.nonce, (None, None))
            if topic is None or peer is None or peer.node != sender:
                continue
            del turn[message.nonce]
            key = self._keys.get(topic)
            if key is not None and prove(key, b"reply", sender, self._node, message.nonce) == message.tag:
                return (TopicPeer(topic, peer),)
        return NOTHING


def _send(peer: Peer, message: WireMessage) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
