"""The identifier circle: a node's nearest successors and predecessors, found by T-Man (section 5).

The place of a node is a hash of its id. A node that was noticed to be dead is ignored until it is heard of with a higher
incarnation; gossip would otherwise bring it back.
"""

from collections.abc import Sequence

from gossamer.model.values.draw import MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.membership.tman import TManView
from gossamer.systems.omen.messages import RingDescriptor

# Chosen: turns until a descriptor that its node has not renewed is forgotten.
AGE_MAX = 30
# Chosen: dead nodes that are remembered, and nodes whose loads are.
FAILED_MAX = LOADS_MAX = 1_000
# Chosen: turns for which a dead node is remembered. Its descriptors are forgotten before, and a peer that claims an
# absurd incarnation for it has no lasting effect.
FAILED_TURNS = 64


def clockwise(from_place: int, to_place: int) -> int:
    """The distance between two places on the circle."""
    return (to_place - from_place) & MASK


def place_of_topic(topic: TopicId) -> int:
    """Where the rendezvous of a topic is."""
    return finish((topic ^ 0x5BD1E995_9D2C5680) & MASK)


def _select(base: RingDescriptor, candidates: Sequence[RingDescriptor], count: int) -> Sequence[RingDescriptor]:
    """Half of them nearest successors of the base, the rest nearest predecessors."""
    here = finish(base.node)
    ordered = sorted(candidates, key=lambda each: (clockwise(here, finish(each.node)), each.node))
    if len(ordered) <= count:
        return ordered
    behind = count // 2
    return ordered[: count - behind] + ordered[len(ordered) - behind :]


class Circle:
    """What one node knows of the circle around it."""

    __slots__ = ("_clock", "_failed_at", "_node", "_order", "_place", "_range", "failed", "loads", "size", "view")

    def __init__(self, seed: int, node: NodeId, watchers: int) -> None:
        self._node = node
        self._place = finish(node)
        self._range = watchers
        # Chosen: room for twice the range on both sides and some more, in the view and in a message.
        self.size = 4 * watchers + 8
        self.view = TManView[RingDescriptor](seed, node, self.size, AGE_MAX, _select)
        # Dead nodes and their incarnations.
        self.failed: dict[NodeId, int] = {}
        # The turn in which each was noticed.
        self._failed_at: dict[NodeId, int] = {}
        self._clock = 0
        # The loads of nodes that descriptors told of.
        self.loads: dict[NodeId, int] = {}
        # The known nodes in clockwise order from here, until the view changes.
        self._order: list[NodeId] | None = None

    def take(self, me: RingDescriptor, descriptors: Sequence[RingDescriptor], sender: NodeId | None = None) -> None:
        """Descriptors have arrived."""
        alive = []
        for each in descriptors:
            if each.version > self.failed.get(each.node, -1):
                self.revive(each.node)
                alive.append(each)
                if each.version:
                    self.loads.pop(each.node, None)
                    self.loads[each.node] = each.load
        while len(self.loads) > LOADS_MAX:
            del self.loads[next(iter(self.loads))]
        self.view.merge(me, alive, sender)
        self._order = None

    def hear(self, me: RingDescriptor, node: NodeId, address: bytes, incarnation: int) -> None:
        """A node has shown that it is alive."""
        descriptor = RingDescriptor(node, address, incarnation, 0, self.loads.get(node, 0))
        if not self.view.renew(descriptor):
            self.take(me, (descriptor,), node)

    def grow_older(self) -> None:
        """A turn has passed."""
        self._clock += 1
        self.view.grow_older()
        for node, turn in list(self._failed_at.items()):
            if turn > self._clock - FAILED_TURNS:
                break
            self.revive(node)
        self._order = None

    def fail(self, node: NodeId, incarnation: int) -> None:
        """A node is dead."""
        self.view.forget(node)
        self._order = None
        known = self.failed.get(node, 0)
        self.revive(node)
        self.failed[node], self._failed_at[node] = max(incarnation, known), self._clock
        while len(self.failed) > FAILED_MAX:
            self.revive(next(iter(self.failed)))

    def revive(self, node: NodeId) -> None:
        """A node that was taken for dead has been heard, or is forgotten."""
        self.failed.pop(node, None)
        self._failed_at.pop(node, None)

    def is_failed(self, node: NodeId) -> bool:
        """Whether a node is known to be dead."""
        return node in self.failed

    def incarnation(self, node: NodeId) -> int:
        """The last known incarnation of a node; 0 if it is not known."""
        found = self.view.get(node)
        return 0 if found is None else found.version

    def peer(self, node: NodeId) -> Peer:
        """A node of the circle with its address."""
        found = self.view.get(node)
        return Peer(node, b"" if found is None else found.address)

    def successors(self) -> list[Peer]:
        """The nearest successors, L + 1 of them where so many are known: the watchers of this node."""
        return [self.peer(node) for node in self._ordered()[: self._range]]

    def distance_before(self, node: NodeId) -> int:
        """How far behind this node another one is."""
        return clockwise(finish(node), self._place)

    def first_after(self, node: NodeId) -> NodeId:
        """The first live successor of a node, as far as this node knows; it may be this node itself."""
        here = finish(node)
        return min(
            (other for other in (*self._ordered(), self._node) if other != node),
            key=lambda other: (clockwise(here, finish(other)), other),
            default=self._node,
        )

    def _ordered(self) -> list[NodeId]:
        if self._order is None:
            self._order = sorted(self.view.nodes(), key=lambda node: (clockwise(self._place, finish(node)), node))
        return self._order
