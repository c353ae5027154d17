"""Feverfew's neighbours: nodes of its own ln-covered view, and nodes that have this node in theirs.

A link stays while either end wants it. Each end knows the interest of the other: HoldRequest and HoldOk carry it,
InterestNotice changes it, and the rest of a large interest is fetched.

The two ends may disagree about a link after a lost message, a restart, or a ReleaseNotice that crosses a HoldRequest. Each
end therefore sends pulses to its neighbours, and a node that is not a neighbour of the sender answers NoLink, which ends
the link at the other end too.
"""

from collections.abc import Collection

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.neighbours import InterestedLinks, InterestedNeighbour
from gossamer.protocols.roots import Roots
from gossamer.systems.feverfew.messages import HoldOk, HoldRequest


class FeverfewNeighbour(InterestedNeighbour):
    """A neighbour: which ends want the link, and the interest of the other end."""

    __slots__ = ("held_by", "holds")

    def __init__(self, own: Collection[TopicId]) -> None:
        super().__init__(own)
        # Whether this node has it in its view, and whether it has this node in its view.
        self.holds = False
        self.held_by = False


class CoverLinks(InterestedLinks[FeverfewNeighbour]):
    """All neighbours, each with the ends that want the link."""

    __slots__ = ()

    def __init__(self, exchange: InterestExchange, roots: Roots, most: int) -> None:
        super().__init__(exchange, roots, most, FeverfewNeighbour)

    def ask(self, node: NodeId, address: bytes) -> None:
        """A node is asked for a link: keep its address until it answers."""
        if address:
            self.addresses[node] = address

    def held_by(self) -> list[NodeId]:
        """The neighbours that have this node in their views."""
        return [node for node, each in self.neighbours.items() if each.held_by]

    def hold(self, node: NodeId, message: HoldOk, now_us: int, out: list[Action]) -> None:
        """A node of this node's view has answered."""
        self._up(node, out).holds = True
        self._take_interest(node, message, now_us, out)

    def held(self, node: NodeId, message: HoldRequest, now_us: int, out: list[Action]) -> None:
        """This node has entered the view of another node."""
        if message.address:
            self.addresses[node] = message.address
        self._up(node, out).held_by = True
        self._take_interest(node, message, now_us, out)

    def release(self, node: NodeId, out: list[Action]) -> None:
        """A node has left this node's view."""
        self._unwant(node, "holds", out)

    def released(self, node: NodeId, out: list[Action]) -> None:
        """This node has left the view of another node."""
        self._unwant(node, "held_by", out)

    def _unwant(self, node: NodeId, end: str, out: list[Action]) -> None:
        each = self.neighbours.get(node)
        if each is not None:
            setattr(each, end, False)
        if each is None or not (each.holds or each.held_by):
            self.remove(node, out)
