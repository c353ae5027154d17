"""A node's place in the tree of one topic: its supplier, the neighbours it pruned, and the neighbours that pruned it.

The tree consists of the paths from one publisher, the *reference*: the publisher with the lowest id that was heard on the
topic lately. The tree serves all publishers, and a new reference starts with the tree of the reference before it. Each node
alone decides which link supplies it. It prunes another link only if an unpruned one sent the same message too, and changes
to another supplier if that one is strictly nearer to the reference, or if the supplier so far did not send the reference's last
message. So no node is left without a supplier, however many messages travel while the tree forms. Suppliers form no cycle while
all nodes have the same reference, because each supplier sent the reference's last message to the node that it supplies. Nodes
in a cycle would send their own messages only to each other.

All nodes get the same messages, so all choose the same reference within a message or two, also in halves of a network that were
apart and know different publishers.

Differs: in Plumtree every redundant copy cuts its link in both directions, whoever published the message. With
thousands of messages under way the first copies arrive over varying links: of ten subscribers at full speed, up to nine
were cut off until they noticed that they missed messages, and by then too many were missing to fetch.
"""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US

# Chosen: prune a link again if copies still arrive over it after this time; the first `Prune` may have been lost.
PRUNE_AGAIN_US = 500 * MILLISECOND_US
# Chosen: a reference that was silent for this time is replaced by the next publisher. Longer than a message takes to reach all
# nodes; with 10 s, nodes that received a message late kept another reference than the others for many seconds.
SILENT_US = 2 * SECOND_US
# Chosen: how much later than another neighbour the supplier may send a message: several hops of a slow network.
SUBSTITUTE_AFTER_US = 100 * MILLISECOND_US
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
        "heard_us",
        "hops",
        "lazy",
        "reference",
        "reference_us",
        "stuck_us",
        "substitute",
        "supplier",
        "teller",
    )

    def __init__(self, reference: NodeId | None, now_us: int) -> None:
        self.reference = reference
        self.supplier: NodeId | None = None
        self.hops = FAR
        # The neighbour that sent the reference's last message, its distance, and when, if the supplier has not sent that message.
        self.substitute: tuple[NodeId, int, int] | None = None
        # When the supplier last sent a message, and when one was last given up because it seemed stuck.
        self.heard_us = now_us
        self.stuck_us = -FAR
        # Neighbours that pruned this node, and whether they are listeners, which get names.
        self.lazy: dict[NodeId, bool] = {}
        # Neighbours that this node pruned, when, and their distance; and the one that announces messages to this node.
        self._pruned: dict[NodeId, tuple[int, int]] = {}
        self.teller: NodeId | None = None
        # When the first copy of a message of the reference last arrived.
        self.reference_us = now_us
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
        if self.supplier is None and self.reference is not None:
            # That neighbour has a supplier, so it passes this node's messages on. If all neighbours prune a node without supplier,
            # because their reference is another one, its messages would go to nobody.
            self._set_supplier(node, FAR)

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

    def on_first_copy(self, sender: NodeId, hops: int, now_us: int) -> NodeId | None:
        """The first copy of a message of the reference arrived; returns a new supplier to graft if it was pruned."""
        if sender == self.supplier:
            self.hops, self.substitute = hops, None
        elif hops < self.hops:
            return self._change_supplier(sender, hops)
        else:
            self.substitute = (sender, hops, now_us)
        return None

    def replace_supplier(self, now_us: int) -> NodeId | None:
        """Replace a supplier that did not send the reference's last message; returns the new one to graft if it was pruned.

        Its own path to the reference has changed, and may lead through this node by now.
        """
        if self.substitute is None or now_us - self.substitute[2] < SUBSTITUTE_AFTER_US:
            return None
        return self._change_supplier(*self.substitute[:2])

    def on_further_copy(
        self, sender: NodeId, hops: int, first: NodeId | None, now_us: int
    ) -> tuple[NodeId | None, NodeId | None]:
        """A redundant copy of a message of the reference arrived; returns the neighbour to graft and the one to prune.

        `first` is the neighbour that sent the message first; None if this node published it.
        """
        if sender == self.supplier:
            self.substitute = None
            # The supplier sends this message too, so the first sender is not needed.
            return None, self._prune(first, FAR, now_us) if first not in (None, sender) else None
        if hops < self.hops:
            return self._change_supplier(sender, hops), None
        return None, self._prune(sender, hops, now_us) if first not in self._pruned else None

    def may_adopt(self, publisher: NodeId, now_us: int) -> bool:
        """Whether another publisher becomes the reference by its message."""
        reference = self.reference
        return reference is None or publisher < reference or now_us - self.reference_us > SILENT_US

    def adopt(self, reference: NodeId, now_us: int) -> None:
        """Make another publisher the reference. The present tree serves it until its messages show a shorter one."""
        self.reference = reference
        self.reference_us = now_us
        self.replace_supplier(now_us)
        if self.supplier is not None:
            # Until the first message of the new reference arrives, the supplier so far stays. It gets messages from other
            # neighbours, also afterwards.
            self.set_eager(self.supplier)
            self._set_supplier(self.supplier, FAR)

    def use_as_supplier(self, node: NodeId) -> None:
        """Take a neighbour as supplier because it announced messages that the supplier so far did not send."""
        self._unprune(node)
        self._set_supplier(node, FAR)

    def lose(self, node: NodeId) -> tuple[NodeId, ...]:
        """Forget a neighbour that is gone; returns the neighbours to graft: all pruned ones, if it was the supplier."""
        self.set_eager(node)
        self._unprune(node)
        if self.substitute is not None and self.substitute[0] == node:
            self.substitute = None
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
        self.supplier, self.hops, self.substitute = node, hops, None
        self._routes = {}

    def _prune(self, node: NodeId, hops: int, now_us: int) -> NodeId | None:
        if now_us - self._pruned.get(node, (-PRUNE_AGAIN_US, 0))[0] < PRUNE_AGAIN_US:
            return None
        self._pruned[node] = (now_us, hops)
        return node
