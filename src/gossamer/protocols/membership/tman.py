"""T-Man: gossip that builds any topology that a ranking describes.

M. Jelasity, A. Montresor, O. Babaoglu, *T-Man: Gossip-based fast overlay topology construction*, Computer Networks 53
(2009), pages 2321 to 2339, Figure 1.

The idea: every node keeps a bounded view of descriptors. Once a period it takes a partner from its view and sends it the
descriptors that are best *for the partner*; the partner answers in the same way; both keep the best of what they now
know. Good neighbours know good neighbours, so that views converge in a number of cycles that grows with the logarithm of
the network. Random samples from a membership part below keep separate regions connected.

`TManView` is the state without messages, for parts that exchange descriptors in messages of their own. `TMan` is a part;
a system derives from it and names its message classes, because descriptors carry what its ranking needs:

    class Ring(TMan[RingDescriptor]):
        MESSAGES: ClassVar[...] = (RingRequest, RingReply)
        TIMERS: ClassVar[...] = (RingDue,)

Differs: a descriptor has a version, which its owner raises with every change, and an age, which grows with every cycle
and every hop. The descriptor of a dead node grows old everywhere and is forgotten; the paper removes the oldest entries
of a view. Cycles alone would not do: the youngest copy can move, in every cycle, from a node that has not counted the
cycle yet to one that already has, and so never grow old.
A false descriptor of a third node loses against the node's own, and lasts no longer than its age allows.
Differs: a buffer always begins with its sender's own descriptor, so that live nodes are renewed wherever they take part.
"""

from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from gossamer.model.values.draw import ITEM_FACTOR, MASK, Purpose, draw, draw_base, finish
from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, PeerDown, Started, TimerFired
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import Address, Number, Timer, Value, WireMessage
from gossamer.protocols.contract.parts import NOTHING

# Larger than any age that a view keeps. Ages from peers are cut to it.
OLDEST = 255


class Descriptor(Value, frozen=True, array_like=True, gc=False):
    """A node as other nodes know it; a system's own class adds the fields that its ranking needs."""

    node: NodeId
    address: Address
    # Grows with every change of the other fields at the node itself.
    version: Number
    # Cycles and hops since the node itself sent this descriptor.
    age: int


D = TypeVar("D", bound=Descriptor)

# (base, candidates, count) -> at most `count` of the candidates, best first: the neighbours that the base node should
# have. The base is the own descriptor when a node chooses its view, and the partner's when it fills a buffer for it. The
# result must not depend on the order of the candidates.
Select = Callable[[D, Sequence[D], int], Sequence[D]]


def by_rank(rank: Callable[[D, D], Any], seed: int, node: NodeId) -> Select[D]:
    """A selection that takes the candidates of lowest `rank(base, candidate)`.

    Ties are broken by a keyed draw that is fixed for this node: its view does not change among equals, and no id is
    preferred by all nodes.
    """
    key = draw_base(seed, node, Purpose.TMAN_TIE, 0)

    def select(base: D, candidates: Sequence[D], count: int) -> Sequence[D]:
        def order(candidate: D) -> tuple[Any, int, NodeId]:
            tie = finish((key + candidate.node * ITEM_FACTOR) & MASK)
            return rank(base, candidate), tie, candidate.node

        return nsmallest(count, candidates, key=order)

    return select


class TManView(Generic[D]):
    """A bounded view of descriptors, without messages and timers."""

    __slots__ = ("_age_max", "_clock", "_entries", "_node", "_seed", "_select", "_size_max")

    def __init__(self, seed: int, node: NodeId, size_max: int, age_max: int, select: Select[D]) -> None:
        self._seed = seed
        self._node = node
        self._size_max = size_max
        self._age_max = min(age_max, OLDEST)
        self._select = select
        self._clock = 0
        # Each descriptor as it came, and the clock at which its age was 0; ages are computed when descriptors leave.
        self._entries: dict[NodeId, tuple[D, int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, node: NodeId) -> bool:
        return node in self._entries

    def nodes(self) -> tuple[NodeId, ...]:
        """The nodes of the view."""
        return tuple(self._entries)

    def get(self, node: NodeId) -> D | None:
        """The descriptor of a node, as it came."""
        held = self._entries.get(node)
        return None if held is None else held[0]

    def renew(self, descriptor: D) -> bool:
        """The node of a descriptor has sent it itself: it is young again. Returns False if the view has no such version."""
        held = self._entries.get(descriptor.node)
        if held is None or held[0].version != descriptor.version:
            return False
        self._entries[descriptor.node] = (descriptor, self._clock)
        return True

    def descriptors(self) -> list[D]:
        """The descriptors with their present ages."""
        return [self._aged(descriptor, born) for descriptor, born in self._entries.values()]

    def grow_older(self) -> tuple[NodeId, ...]:
        """Let a cycle pass; forgets and returns the nodes whose descriptors are too old."""
        self._clock += 1
        gone = tuple(node for node, (_, born) in self._entries.items() if self._clock - born > self._age_max)
        for node in gone:
            del self._entries[node]
        return gone

    def forget(self, node: NodeId) -> bool:
        """Remove a node; returns whether it was in the view."""
        return self._entries.pop(node, None) is not None

    def clear(self) -> None:
        """Remove all nodes."""
        self._entries = {}

    def merge(
        self, me: D, received: Sequence[D], sender: NodeId | None = None
    ) -> tuple[tuple[NodeId, ...], tuple[NodeId, ...]]:
        """Keep the best of the view and of these descriptors; returns the nodes that left it and those that entered.

        Of two descriptors of one node, the one that the node itself sends wins, then the higher version, then the lower
        age. `sender` is the peer that sent the descriptors, if they came in a message.
        """
        before = self._entries
        known = dict(before)
        for descriptor in received:
            age = min(max(descriptor.age, 0), OLDEST)
            if descriptor.node == self._node or age > self._age_max:
                continue
            born = self._clock - age
            held = known.get(descriptor.node)
            if held is None or descriptor.node == sender or (descriptor.version, born) > (held[0].version, held[1]):
                known[descriptor.node] = (descriptor, born)
        if len(known) > self._size_max:
            chosen = self._select(me, [descriptor for descriptor, _ in known.values()], self._size_max)
            known = {descriptor.node: known[descriptor.node] for descriptor in chosen}
        self._entries = known
        removed = tuple(node for node in before if node not in known)
        return removed, tuple(node for node in known if node not in before)

    def partner(self, me: D, choice: int, now_us: int) -> D | None:
        """A random node among the `choice` best of the view (the paper's psi), or of the whole view if `choice` is 0."""
        descriptors = self.descriptors()
        if choice and len(descriptors) > choice:
            descriptors = list(self._select(me, descriptors, choice))
        key = draw_base(self._seed, self._node, Purpose.TMAN_PARTNER, now_us)
        return min(
            descriptors, key=lambda each: (finish((key + each.node * ITEM_FACTOR) & MASK), each.node), default=None
        )

    def buffer(self, me: D, peer: D, samples: Sequence[D], count: int) -> tuple[D, ...]:
        """What to send to a peer: the own descriptor, then the best for the peer among the view and the samples."""
        known = {descriptor.node: descriptor for descriptor in samples}
        known |= {descriptor.node: descriptor for descriptor in self.descriptors()}
        known.pop(peer.node, None)
        known.pop(self._node, None)
        rest: Sequence[D] = list(known.values())
        if len(rest) > count - 1:
            rest = self._select(peer, rest, count - 1)
        return (me, *(replace(descriptor, age=min(descriptor.age + 1, OLDEST)) for descriptor in rest))

    def _aged(self, descriptor: D, born: int) -> D:
        age = self._clock - born
        return descriptor if descriptor.age == age else replace(descriptor, age=age)


class TManParameters(Struct, frozen=True, kw_only=True):
    """The settings of a T-Man part."""

    view_size: Annotated[int, Meta(ge=1, le=250, description="Chosen: 20. Descriptors in a view")] = 20
    buffer_size: Annotated[
        int, Meta(ge=1, le=250, description="Chosen: 20. Descriptors in a message, the sender's own included")
    ] = 20
    choice: Annotated[
        int, Meta(ge=0, le=250, description="Chosen: 10. The partner is one of this many best; 0 means all")
    ] = 10
    age_max: Annotated[
        int, Meta(ge=1, le=OLDEST, description="Chosen: 30. The age at which a descriptor is forgotten")
    ] = 30
    period_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 10 s, as Cyclon. Microseconds between exchanges")
    ] = 10 * SECOND_US


class RankedViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="tman_view_changed"):
    """A T-Man view lost the `removed` nodes and gained the `added` nodes in one step."""

    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class TMan(Generic[D]):
    """T-Man as a part: derive from it, and name a request, a reply and a timer class in `MESSAGES` and `TIMERS`.

    Request and reply have one field, `descriptors`. `me` gives the own descriptor with age 0; `samples` gives random
    descriptors, from the membership part below.
    """

    # The class names of a derived part: (request, reply) and (due,).
    REQUEST: ClassVar[type[Any]]
    REPLY: ClassVar[type[Any]]
    DUE: ClassVar[type[Timer]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        messages: tuple[type[WireMessage], ...] = getattr(cls, "MESSAGES", ())
        timers: tuple[type[Timer], ...] = getattr(cls, "TIMERS", ())
        if messages and timers:
            cls.REQUEST, cls.REPLY = messages[:2]
            cls.DUE = timers[0]

    def __init__(
        self,
        parameters: TManParameters,
        seed: int,
        node: NodeId,
        me: Callable[[], D],
        samples: Callable[[], Sequence[D]],
        select: Select[D],
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._me = me
        self._samples = samples
        self._due_us = 0
        self._asked: NodeId | None = None
        self.view = TManView(seed, node, parameters.view_size, parameters.age_max, select)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        if isinstance(event, MessageReceived):
            if isinstance(event.message, self.REQUEST):
                return self._on_request(event.sender, event.message.descriptors, out)
            return self._on_reply(event.sender, event.message.descriptors, out)
        if isinstance(event, TimerFired):
            return self._on_due(now_us, out)
        if isinstance(event, Started):
            # Chosen: a random phase, so that nodes started together do not exchange in step.
            phase = draw(self._seed, self._node, Purpose.TMAN_PHASE, now_us) % self._parameters.period_us
            self._due_us = now_us
            out.append(SetTimer(now_us + phase, self.DUE()))
        elif isinstance(event, PeerDown) and not event.hung_up and self.view.forget(event.node):
            return (RankedViewChanged((event.node,), ()),)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Random nodes come from `samples`, not from facts."""
        return NOTHING

    def _on_due(self, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Paper, Figure 1(a): select a peer, and send it the best descriptors for it."""
        if now_us < self._due_us:
            return NOTHING
        self._due_us = now_us + self._parameters.period_us
        out.append(SetTimer(self._due_us, self.DUE()))
        old = self.view.grow_older()
        me, samples = self._me(), self._samples()
        removed, added = self.view.merge(me, samples)
        partner = self.view.partner(me, self._parameters.choice, now_us)
        if partner is not None:
            self._asked = partner.node
            buffer = self.view.buffer(me, partner, samples, self._parameters.buffer_size)
            out.append(_send(partner, self.REQUEST(buffer)))
        # A node that was too old and is sampled again did not change.
        again = [node for node in old if node in added]
        gone = (*(node for node in old if node not in again), *removed)
        return _changed(gone, tuple(node for node in added if node not in again))

    def _on_request(self, sender: NodeId, descriptors: Sequence[D], out: list[Action]) -> Sequence[Fact]:
        """Paper, Figure 1(b): answer with the best descriptors for the sender, then merge."""
        if not descriptors or descriptors[0].node != sender:
            out.append(Observe(PeerMisbehaved(sender, "a T-Man request without its sender's descriptor")))
            return NOTHING
        me = self._me()
        buffer = self.view.buffer(me, descriptors[0], self._samples(), self._parameters.buffer_size)
        out.append(_send(descriptors[0], self.REPLY(buffer)))
        return self._take_in(me, sender, descriptors, out)

    def _on_reply(self, sender: NodeId, descriptors: Sequence[D], out: list[Action]) -> Sequence[Fact]:
        if sender != self._asked:
            return NOTHING
        self._asked = None
        return self._take_in(self._me(), sender, descriptors, out)

    def _take_in(self, me: D, sender: NodeId, descriptors: Sequence[D], out: list[Action]) -> Sequence[Fact]:
        if len(descriptors) > self._parameters.buffer_size:
            out.append(Observe(PeerMisbehaved(sender, "more descriptors than a T-Man message has")))
        return _changed(*self.view.merge(me, descriptors[: self._parameters.buffer_size], sender))


def _changed(removed: tuple[NodeId, ...], added: tuple[NodeId, ...]) -> Sequence[Fact]:
    return (RankedViewChanged(removed, added),) if removed or added else NOTHING


def _send(peer: Descriptor, message: Any) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
