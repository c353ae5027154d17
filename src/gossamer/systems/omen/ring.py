"""The gossip that keeps the circle: exchanges of descriptors, and random nodes for them (Algorithm 3)."""

from collections.abc import Sequence

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.messages import RingDescriptor, RingReply, RingRequest, Suspicion, send

# Chosen: further exchanges in a turn, each with a nearer successor than the last.
CHASES_MAX = 8


class Ring:
    """The exchanges of one node. Random nodes come from Cyclon or, in simulations, from the interest view."""

    __slots__ = ("_chases", "_circle", "_first", "_membership", "_node", "_partner", "_seed", "_view")

    def __init__(self, seed: int, node: NodeId, circle: Circle, view: InterestView, membership: Cyclon | None) -> None:
        self._seed = seed
        self._node = node
        self._circle = circle
        self._view = view
        self._membership = membership
        # The node that this node has sent descriptors to.
        self._partner: NodeId | None = None
        # The first successor that was asked last, and further exchanges in this turn.
        self._first: NodeId | None = None
        self._chases = 0

    def turn(self, me: RingDescriptor, now_us: int, out: list[Action]) -> None:
        """The active thread."""
        self._circle.grow_older()
        samples = self._samples(now_us)
        self._circle.take(me, samples)
        self._chases = 0
        partner = self._circle.view.partner(me, 0, now_us)
        if partner is not None:
            self._ask(partner, me, samples, out)

    def _ask(
        self, partner: RingDescriptor, me: RingDescriptor, samples: Sequence[RingDescriptor], out: list[Action]
    ) -> None:
        self._partner = partner.node
        buffer = self._circle.view.buffer(me, partner, samples, self._circle.size)
        out.append(send(Peer(partner.node, partner.address), RingRequest(buffer)))

    def on_message(
        self, sender: NodeId, message: RingRequest | RingReply, me: RingDescriptor, now_us: int, out: list[Action]
    ) -> None:
        """The passive thread, and the answer to the active one."""
        if not message.descriptors or message.descriptors[0].node != sender:
            out.append(Observe(PeerMisbehaved(sender, "sends descriptors without its own")))
            return
        theirs = message.descriptors[0]
        if isinstance(message, RingRequest):
            buffer = self._circle.view.buffer(me, theirs, self._samples(now_us), self._circle.size)
            out.append(send(Peer(sender, theirs.address), RingReply(buffer)))
        elif sender != self._partner:
            return
        if theirs.version <= self._circle.failed.get(sender, -1):
            # It is alive and is taken for dead: it must know.
            out.append(send(Peer(sender, theirs.address), Suspicion(theirs.version)))
        self._circle.take(me, message.descriptors[: self._circle.size], sender)
        if isinstance(message, RingReply):
            self._chase(me, out)

    def _chase(self, me: RingDescriptor, out: list[Action]) -> None:
        """Differs: a node that has found a nearer successor asks it at once, so that a newcomer soon has its place."""
        first = next(iter(self._circle.successors()), None)
        found = None if first is None else self._circle.view.get(first.node)
        if found is not None and found.node != self._first and self._chases < CHASES_MAX:
            self._first = found.node
            self._chases += 1
            self._ask(found, me, (), out)

    def known(self) -> list[Peer]:
        """All nodes that this node knows on the circle and from Cyclon."""
        known = [Peer(each.node, each.address) for each in self._circle.view.descriptors()]
        if self._membership is not None:
            known += [Peer(each.node, each.address) for each in self._membership.view() if each.node]
        return known

    def _samples(self, now_us: int) -> list[RingDescriptor]:
        """Random nodes. Their incarnations are not known."""
        if self._membership is not None:
            entries = self._membership.view()
            return [RingDescriptor(each.node, each.address, 0, each.age) for each in entries if each.node]
        key = draw_base(self._seed, self._node, Purpose.RING_SAMPLE, now_us)
        peer = self._view.random_peer((self._node,), key)
        return [] if peer is None else [RingDescriptor(peer.node, peer.address, 0, 0)]
