"""Finding the first peer of a topic without disclosing which topics a node follows.

Membership below (Cyclon) carries no interests. In every turn a node sends probes to peers of its membership view. A probe
has a tag for each topic of the node, which only nodes with the topic's key can recognise, and random tags up to a size that
does not depend on the topics. The receiver answers with as many tags: a proof for each topic that it recognised, and
random ones. Tags are in ascending order, so their places tell nothing.

Every probe is for every topic. How often a topic is probed therefore does not depend on the node's other topics, and the
number and size of probes are the same for a node without topics. Probes also go on when a topic has peers, which finds
components of a topic that have lost each other.

docs/privacy.md describes what an eavesdropper can still learn.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, stepped
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.shown import Shown, simulated_secret
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, Started, TimerFired
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.systems.stan.messages import Probe, ProbeDue, ProbeReply, TopicPeer
from gossamer.systems.stan.parameters import TAGS_MAX, StanParameters
from gossamer.systems.stan.proofs import PROOF_BYTES, prove


class Prober:
    """The part between membership and StAN. StAN tells it which topics exist."""

    __slots__ = (
        "_address",
        "_due_us",
        "_keys",
        "_membership",
        "_next",
        "_node",
        "_open",
        "_parameters",
        "_seed",
        "_shown",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Probe, ProbeReply)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ProbeDue,)

    def __init__(self, parameters: StanParameters, seed: int, node: NodeId, membership: Cyclon) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._membership = membership
        self._shown = Shown(simulated_secret(seed, node))
        self._keys: dict[TopicId, bytes] = {}
        # The probes of this turn and of the turn before, by nonce: the peer that was asked.
        self._open: list[dict[int, Peer]] = [{}, {}]
        # Where the topics of the next probe begin, if there are too many for one.
        self._next = 0
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
                if event.secret:
                    self._shown = Shown(event.secret)
                    self._seed = self._shown.number(b"probe seed")
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
            nonce = self._shown.number(b"probe nonce", counter)
            peer = Peer(entry.node, entry.address)
            self._open[0][nonce] = peer
            proofs = [prove(key, b"probe", self._node, peer.node, nonce) for key in self._next_keys()]
            size = self._parameters.probe_tags
            while size < len(proofs):
                size *= 2
            tags = self._among_noise(proofs, min(size, TAGS_MAX), b"probe noise", nonce, peer.node)
            out.append(_send(peer, Probe(nonce, tags, self._address)))

    def _next_keys(self) -> Sequence[bytes]:
        """The keys of all topics; of more than a probe can have, the next ones in turn."""
        keys = list(self._keys.values())
        if len(keys) <= TAGS_MAX:
            return keys
        first = self._next % len(keys)
        self._next = first + TAGS_MAX
        return (keys + keys)[first : first + TAGS_MAX]

    def _on_probe(self, sender: NodeId, message: Probe, out: list[Action]) -> None:
        nonce, tags = message.nonce, _split(message.tags)
        # The proofs are for the authenticated sender; no other node can use them.
        answers = [
            prove(key, b"reply", self._node, sender, nonce)
            for key in self._keys.values()
            if prove(key, b"probe", sender, self._node, nonce) in tags
        ]
        # Junk must not make the answer longer than the probe.
        size = len(message.tags) // PROOF_BYTES
        reply = self._among_noise(answers[:size], size, b"reply noise", nonce, sender)
        out.append(_send(Peer(sender, message.address), ProbeReply(nonce, reply)))

    def _on_reply(self, sender: NodeId, message: ProbeReply) -> Sequence[Fact]:
        for turn in self._open:
            peer = turn.get(message.nonce)
            if peer is not None and peer.node == sender:
                del turn[message.nonce]
                tags = _split(message.tags)
                return [
                    TopicPeer(topic, peer)
                    for topic, key in self._keys.items()
                    if prove(key, b"reply", sender, self._node, message.nonce) in tags
                ]
        return NOTHING

    def _among_noise(self, proofs: Iterable[bytes], size: int, what: bytes, *keys: int) -> bytes:
        tags = list(proofs)
        noise = self._shown.noise(what, max(size - len(tags), 0) * PROOF_BYTES, *keys)
        return b"".join(sorted((*tags, *_split(noise))))


def _split(tags: bytes) -> frozenset[bytes]:
    """The whole tags in bytes that a peer may have sent."""
    return frozenset(tags[place : place + PROOF_BYTES] for place in range(0, len(tags), PROOF_BYTES))


def _send(peer: Peer, message: WireMessage) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
