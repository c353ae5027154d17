"""Finding the first peer of a topic without telling anybody which topics one follows.

Membership below (Cyclon) carries no interests. A node sends probes to peers that membership brings, each for one topic: a
tag that only somebody with the topic's key recognises. Everybody answers every probe: with a proof of its own, or with
a random number. A node sends as many probes whether it follows no topic or a thousand, as long as it runs: those that
no topic needs are sent for topics that have peers already, which finds parts of a topic that have lost each other, and
those of a node without topics are random numbers. So neither the number of probes nor that of answers shows anything.

What a listener can still do stands in docs/privacy.md.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, stepped
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, Started, TimerFired
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Message, Peer, Timer
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.systems.stan.messages import Probe, ProbeDue, ProbeReply, TopicPeer
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.proofs import prove, topic_key


class Prober:
    """The part between membership and StAN, which tells it what is held and what is sought."""

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

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Probe, ProbeReply)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ProbeDue,)

    def __init__(self, parameters: StanParameters, seed: int, node: NodeId, membership: Cyclon) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._membership = membership
        # Nobody else has it: what it makes are random numbers to all others.
        self._own_key = topic_key(node, draw(seed, node, Purpose.STAN_NONCE, 0).to_bytes(8, "big"))
        self._keys: dict[TopicId, bytes] = {}
        self._sought: dict[TopicId, None] = {}
        # Probes of this turn and the one before, by nonce: the topic, and who was asked.
        self._open: list[dict[int, tuple[TopicId, Peer]]] = [{}, {}]
        self._due_us = 0
        self._address = b""

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
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
        """Membership is asked when a probe is due."""
        return NOTHING

    # What StAN says.

    def hold(self, topic: TopicId, key: bytes) -> None:
        """The node follows a topic."""
        self._keys[topic] = key

    def let_go(self, topic: TopicId) -> None:
        """It follows it no longer."""
        self._keys.pop(topic, None)
        self._sought.pop(topic, None)

    def seek(self, topic: TopicId, wanted: bool) -> None:
        """A topic has no peer, or has one."""
        if wanted:
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
        """One that has no peer yet, else any; none where none is followed."""
        topics = list(self._sought or self._keys)
        if not topics:
            return None
        return min(topics, key=lambda topic: (draw(self._seed, self._node, Purpose.STAN_PROBE, counter, topic), topic))

    def _on_probe(self, sender: NodeId, message: Probe, out: list[Action]) -> None:
        nonce = message.nonce
        answer = self._own_key
        for key in self._keys.values():
            # No early end: how long it takes does not say whether a topic was recognised.
            if prove(key, b"probe", sender, self._node, nonce) == message.tag:
                answer = key
        # For whoever the link says it is: the tag is of no use to anybody else.
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


def _send(peer: Peer, message: Message) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
