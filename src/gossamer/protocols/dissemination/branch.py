"""A node's place in the tree of one topic: who brings it messages, who wants none from it, whom it wants none from.

The tree is that of the shortest paths from one publisher, the *reference*: the lowest id that has published on the topic. It
serves all publishers, and a new reference begins with the tree of the one before. Every node decides over which link it is supplied, and nobody else does: it prunes others only
when a copy from its supplier came too, and changes to one that is strictly nearer to the reference. So nobody is left
without a supplier however many messages are on their way while the tree is made, and no circle forms: whoever supplies
is nearer than whom it supplies.

Differs: in Plumtree any copy that was not needed cuts its link in both directions, whoever published it. With thousands
of messages on their way the first copies come over this link and that; of ten subscribers at full speed up to nine were cut
off until they missed something, and then it was too much to be brought back.
"""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US

# Chosen: a link over which copies still come after so long is told again; the word may have been lost.
PRUNE_AGAIN_US = 500 * MILLISECOND_US
# Chosen: copies of other publishers' messages that show, once a tree has had a second to form, that it is none: a reference
# that is gone cannot mend it, so the publisher of the last one becomes the reference.
STRAYS_MAX = 64
FORMED_AFTER_US = SECOND_US
# Farther than anybody is: whoever is asked for help supplies until somebody nearer does.
FAR = 1 << 62

# Who gets a message, and who its name.
Route = tuple[tuple[NodeId, ...], tuple[NodeId, ...]]


class Branch:
    """What a node knows of one topic's tree."""

    __slots__ = (
        "_neighbours",
        "_routes",
        "_since_us",
        "_strays",
        "_told",
        "heard_us",
        "hops",
        "lazy",
        "reference",
        "supplier",
    )

    def __init__(self, reference: NodeId | None, now_us: int) -> None:
        self.reference = reference
        self.supplier: NodeId | None = None
        self.hops = FAR
        # When the supplier last brought something.
        self.heard_us = now_us
        # Who wants none from this node: it gets names.
        self.lazy: dict[NodeId, None] = {}
        # Whom this node told that it wants none, and when.
        self._told: dict[NodeId, int] = {}
        self._strays = 0
        self._since_us = now_us
        # Where messages go by whom they came from, while neighbours, supplier and the lazy are what they were.
        self._routes: dict[NodeId, Route] = {}
        self._neighbours: Sequence[NodeId] = ()

    def route(self, came_from: NodeId, neighbours: Sequence[NodeId]) -> Route:
        """Who gets a message, and who its name. Asked for every message, so it is kept."""
        if neighbours is not self._neighbours:
            self._neighbours = neighbours
            self._routes = {}
        route = self._routes.get(came_from)
        if route is None:
            others = [node for node in neighbours if node != came_from]
            lazy = tuple([node for node in others if self.is_lazy(node)])
            route = self._routes[came_from] = (tuple([node for node in others if node not in lazy]), lazy)
        return route

    def set_lazy(self, node: NodeId, is_lazy: bool) -> None:
        """A neighbour wants none from this node, or wants them again."""
        self._routes = {}
        if is_lazy:
            self.lazy[node] = None
        else:
            self.lazy.pop(node, None)

    def is_lazy(self, node: NodeId) -> bool:
        """Whether a neighbour gets names only. Who supplies this node gets what comes from below it."""
        return node in self.lazy and node != self.supplier

    def take_first(self, sender: NodeId, hops: int) -> NodeId | None:
        """The first copy of a message of the reference; answers whom to graft, if the supplier has changed to one pruned before."""
        if sender == self.supplier:
            self.hops = hops
            return None
        return self._change(sender, hops) if hops < self.hops else None

    def take_copy(self, sender: NodeId, hops: int, first: NodeId, now_us: int) -> tuple[NodeId | None, NodeId | None]:
        """A further copy of a message of the reference; answers whom to graft and whom to prune."""
        if sender == self.supplier:
            # What came first from another came from the supplier too, so the other is not needed.
            return None, self._prune(first, now_us) if first != sender else None
        if hops < self.hops:
            return self._change(sender, hops), None
        return None, self._prune(sender, now_us) if first not in self._told else None

    def is_stray(self, now_us: int) -> bool:
        """A further copy of somebody else's message; says whether there are too many for a tree."""
        if now_us - self._since_us > FORMED_AFTER_US:
            self._strays += 1
        return self._strays > STRAYS_MAX

    def adopt(self, reference: NodeId, now_us: int) -> None:
        """Another publisher is the reference from now on. The tree that there is serves it, until it shows a shorter one."""
        self.reference = reference
        self._strays = 0
        self._since_us = now_us
        if self.supplier is not None:
            # What comes from below still goes to it.
            self.set_lazy(self.supplier, False)
            self._set_supplier(None, FAR)

    def ask(self, node: NodeId) -> None:
        """The supplier does not bring what this node does: it supplies from now on."""
        self._told.pop(node, None)
        self._set_supplier(node, FAR)

    def lose(self, node: NodeId) -> tuple[NodeId, ...]:
        """A neighbour is gone; answers whom to graft: all that were pruned, if it was the supplier."""
        self.set_lazy(node, False)
        self._told.pop(node, None)
        if node != self.supplier:
            return ()
        self._set_supplier(None, FAR)
        pruned, self._told = tuple(self._told), {}
        return pruned

    def _change(self, node: NodeId, hops: int) -> NodeId | None:
        self._set_supplier(node, hops)
        return None if self._told.pop(node, None) is None else node

    def _set_supplier(self, node: NodeId | None, hops: int) -> None:
        self.supplier, self.hops = node, hops
        self._routes = {}

    def _prune(self, node: NodeId, now_us: int) -> NodeId | None:
        if now_us - self._told.get(node, -PRUNE_AGAIN_US) < PRUNE_AGAIN_US:
            return None
        self._told[node] = now_us
        return node
