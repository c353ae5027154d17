"""A node's place in the tree of one topic: its supplier, the neighbours it pruned, and the neighbours that pruned it.

The tree consists of the shortest paths from one publisher, the *reference*: the publisher with the lowest id on the
topic. The tree serves all publishers, and a new reference starts with the tree of the reference before it. Each node
alone decides which link supplies it. It prunes another link only if its supplier sent the same message too, and changes
to another supplier only if that one is strictly nearer to the reference. So no node is left without a supplier, however
many messages travel while the tree forms, and no cycle forms, because a supplier is always nearer to the reference than
the node that it supplies.

Differs: in Plumtree every redundant copy cuts its link in both directions, whoever published the message. With
thousands of messages under way the first copies arrive over varying links: of ten subscribers at full speed, up to nine
were cut off until they noticed that they missed messages, and by then too many were missing to fetch.
"""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US

# Chosen: prune a link again if copies still arrive over it after this time; the first `Prune` may have been lost.
PRUNE_AGAIN_US = 500 * MILLISECOND_US
# Chosen: redundant copies of other publishers' messages, one second after the tree began to form, that show that this
# is not a tree. A reference that is gone cannot repair it, so the publisher of the last copy becomes the reference.
STRAYS_MAX = 64
FORMED_AFTER_US = SECOND_US
# More hops than any real path: a node that was asked to supply is replaced by any neighbour whose distance is known.
FAR = 1 << 62

# The neighbours that get a message, and the listeners, which get its name.
_Route = tuple[tuple[NodeId, ...], tuple[NodeId, ...]]


class Branch:
    """The state of one topic's tree at one node."""

    __slots__ = (
        "_neighbours",
        "_pruned",
        "_routes",
        "_since_us",
        "_strays",
        "heard_us",
        "hops",
        "lazy",
        "reference",
        "supplier",
        "teller",
    )

    def __init__(self, reference: NodeId | None, now_us: int) -> None:
        self.reference = reference
        self.supplier: NodeId | None = None
        self.hops = FAR
        # When the supplier last sent a message.
        self.heard_us = now_us
        # Neighbours that pruned this node, and whether they are listeners, which get names.
        self.lazy: dict[NodeId, bool] = {}
        # Neighbours that this node pruned, when, and their distance; and the one that announces messages to this node.
        self._pruned: dict[NodeId, tuple[int, int]] = {}
        self.teller: NodeId | None = None
        self._strays = 0
        self._since_us = now_us
        # The route of a message by its sender; valid while the neighbours, the supplier and `lazy` do not change.
        self._routes: dict[NodeId, _Route] = {}
        self._neighbours: Sequence[NodeId] = ()

    def route(self, came_from: NodeId, neighbours: Sequence[NodeId]) -> _Route:
        """The neighbours that get a message, and those that get its name. Called for every message, so it is cached."""
        if neighbours is not self._neighbours:
            self._neighbours = neighbours
            self._routes = {}
        route = self._routes.get(came_from)
        if route is None:
            others = [node for node in neighbours if node != came_from]
            eager = tuple([node for node in others if not self.is_lazy(node)])
            listeners = tuple([node for node in others if self.is_lazy(node) and self.lazy[node]])
            route = self._routes[came_from] = (eager, listeners)
        return route

    def set_lazy(self, node: NodeId, listens: bool) -> None:
        """A neighbour wants no messages (`Prune`), but their names if it `listens`."""
        self._routes = {}
        self.lazy[node] = listens

    def set_eager(self, node: NodeId) -> None:
        """A neighbour wants messages again (`Graft`)."""
        self._routes = {}
        self.lazy.pop(node, None)

    def is_lazy(self, node: NodeId) -> bool:
        """Whether a neighbour gets no messages. The supplier always gets messages from other neighbours."""
        return node in self.lazy and node != self.supplier

    @property
    def pruned(self) -> Collection[NodeId]:
        """The neighbours that this node pruned, in that order."""
        return self._pruned.keys()

    @property
    def has_independent(self) -> bool:
        """Whether a pruned neighbour is not behind the supplier."""
        return any(hops <= self.hops for _, hops in self._pruned.values())

    def independent(self, nodes: Sequence[NodeId]) -> Sequence[NodeId]:
        """Those of these pruned neighbours that do not receive messages through the supplier, if there is any; else all.

        A neighbour that is as near to the reference as the supplier is not behind it.
        """
        return [node for node in nodes if self._pruned[node][1] <= self.hops] or nodes

    def on_first_copy(self, sender: NodeId, hops: int) -> NodeId | None:
        """The first copy of a message of the reference arrived; returns a new supplier to graft if it was pruned."""
        if sender == self.supplier:
            self.hops = hops
            return None
        return self._change_supplier(sender, hops) if hops < self.hops else None

    def on_further_copy(
        self, sender: NodeId, hops: int, first: NodeId, now_us: int
    ) -> tuple[NodeId | None, NodeId | None]:
        """A redundant copy of a message of the reference arrived; returns the neighbour to graft and the one to prune.

        `first` is the neighbour that sent the message first.
        """
        if sender == self.supplier:
            # The supplier sends this message too, so the first sender is not needed.
            return None, self._prune(first, FAR, now_us) if first != sender else None
        if hops < self.hops:
            return self._change_supplier(sender, hops), None
        return None, self._prune(sender, hops, now_us) if first not in self._pruned else None

    def has_too_many_strays(self, now_us: int) -> bool:
        """Count a redundant copy of another publisher's message; returns whether there are too many for a tree."""
        if now_us - self._since_us > FORMED_AFTER_US:
            self._strays += 1
        return self._strays > STRAYS_MAX

    def adopt(self, reference: NodeId, now_us: int) -> None:
        """Make another publisher the reference. The present tree serves it until its messages show a shorter one."""
        self.reference = reference
        self._strays = 0
        self._since_us = now_us
        if self.supplier is not None:
            # Messages that arrive from other neighbours still go to the supplier so far.
            self.set_eager(self.supplier)
            self._set_supplier(None, FAR)

    def use_as_supplier(self, node: NodeId) -> None:
        """Take a neighbour as supplier because it announced messages that the supplier so far did not send."""
        self._unprune(node)
        self._set_supplier(node, FAR)

    def lose(self, node: NodeId) -> tuple[NodeId, ...]:
        """Forget a neighbour that is gone; returns the neighbours to graft: all pruned ones, if it was the supplier."""
        self.set_eager(node)
        self._unprune(node)
        return self.lose_supplier() if node == self.supplier else ()

    def lose_supplier(self) -> tuple[NodeId, ...]:
        """The supplier is gone or passes nothing on; returns the neighbours to graft: all pruned ones."""
        self._set_supplier(None, FAR)
        # Nobody passes this node's messages on, so that they must go to every neighbour.
        self.lazy = {}
        pruned, self._pruned, self.teller = tuple(self._pruned), {}, None
        return pruned

    def _change_supplier(self, node: NodeId, hops: int) -> NodeId | None:
        self._set_supplier(node, hops)
        return node if self._unprune(node) else None

    def _unprune(self, node: NodeId) -> bool:
        """A neighbour that was pruned is to send messages again, or is gone; returns whether it was pruned."""
        if node == self.teller:
            self.teller = None
        return self._pruned.pop(node, None) is not None

    def _set_supplier(self, node: NodeId | None, hops: int) -> None:
        self.supplier, self.hops = node, hops
        self._routes = {}

    def _prune(self, node: NodeId, hops: int, now_us: int) -> NodeId | None:
        if now_us - self._pruned.get(node, (-PRUNE_AGAIN_US, 0))[0] < PRUNE_AGAIN_US:
            return None
        self._pruned[node] = (now_us, hops)
        return node
