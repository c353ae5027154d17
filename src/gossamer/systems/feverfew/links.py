"""Feverfew's neighbours: nodes of its own ln-covered view, and nodes that have this node in theirs.

A link stays while either end wants it. Each end knows the interest of the other: HoldRequest and HoldOk carry it,
InterestNotice changes it, and the rest of a large interest is fetched.

The two ends may disagree about a link after a lost message, a restart, or a ReleaseNotice that crosses a HoldRequest. Each
end therefore sends pulses to its neighbours, and a node that is not a neighbour of the sender answers NoLink, which ends
the link at the other end too.
"""

from collections.abc import Collection, Iterable

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.links import TopicLinks
from gossamer.protocols.membership.interest_exchange import TOPICS_MAX, InterestExchange, InterestFetched
from gossamer.protocols.roots import RootClaim, Roots
from gossamer.systems.feverfew.messages import HoldOk, HoldRequest, InterestNotice

# The version of an interest that is not known whole.
NO_VERSION = -1


class FeverfewNeighbour:
    """A neighbour: which ends want the link, and the interest of the other end."""

    __slots__ = ("_own", "has_claims", "held_by", "holds", "interest", "roots", "silent_turns", "version")

    def __init__(self, own: Collection[TopicId]) -> None:
        # The topics of this node.
        self._own = own
        # Whether this node has it in its view, and whether it has this node in its view.
        self.holds = False
        self.held_by = False
        self.interest: set[TopicId] = set()
        self.version = NO_VERSION
        # Pulse turns of this node since it was last heard.
        self.silent_turns = 0
        # Its claims (`protocols/roots.py`), and whether it has this node's claims.
        self.roots: dict[TopicId, RootClaim] = {}
        self.has_claims = False

    @property
    def shared(self) -> list[TopicId]:
        """The topics that both nodes hold."""
        return [topic for topic in self._own if topic in self.interest]


class CoverLinks(TopicLinks):
    """All neighbours with their interests and addresses, and the neighbours on each topic."""

    __slots__ = ("_exchange", "_most", "_roots", "neighbours")

    def __init__(self, exchange: InterestExchange, roots: Roots, most: int) -> None:
        super().__init__(exchange.topics)
        self.neighbours: dict[NodeId, FeverfewNeighbour] = {}
        self._exchange = exchange
        self._roots = roots
        # Other nodes may not open more links than this; 0: any number.
        self._most = most

    def _holders(self, topic: TopicId) -> Iterable[NodeId]:
        return (node for node, each in self.neighbours.items() if topic in each.interest)

    def ask(self, node: NodeId, address: bytes) -> None:
        """A node is asked for a link: keep its address until it answers."""
        if address:
            self.addresses[node] = address

    def has_room_for(self, node: NodeId) -> bool:
        """Whether another node may open a link to this one."""
        return node in self.neighbours or not self._most or len(self.neighbours) < self._most

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

    def remove(self, node: NodeId, out: list[Action]) -> None:
        """A neighbour is gone, or a node that was asked for a link did not answer."""
        self.addresses.pop(node, None)
        if self.neighbours.pop(node, None) is not None:
            self.changed()
            self._roots.neighbours_changed()
            out.append(Disconnect(node))
            self._report(NeighbourDown(node), out)

    def change(self, node: NodeId, message: InterestNotice, now_us: int, out: list[Action]) -> None:
        """A neighbour has changed its interest."""
        each = self.neighbours[node]
        if message.version <= each.version:
            return
        if message.since != each.version:
            self._exchange.fetch(self.peer(node), now_us, out)
            return
        if len(each.interest) + len(message.added) > TOPICS_MAX:
            out.append(Observe(PeerMisbehaved(node, f"claims more than {TOPICS_MAX} topics")))
            return
        interest = (each.interest | set(message.added)) - set(message.removed)
        self._set_interest(each, interest, message.version)

    def check_version(self, node: NodeId, version: int, now_us: int, out: list[Action]) -> None:
        """A neighbour has named the version of its interest; another version than the known one is fetched."""
        if version > self.neighbours[node].version:
            self._exchange.fetch(self.peer(node), now_us, out)

    def take_in(self, fetched: InterestFetched) -> None:
        """The whole interest of a node was fetched."""
        each = self.neighbours.get(fetched.node)
        if each is not None and fetched.version > each.version:
            self._set_interest(each, set(fetched.topics), fetched.version)

    def _up(self, node: NodeId, out: list[Action]) -> FeverfewNeighbour:
        each = self.neighbours.get(node)
        if each is None:
            each = self.neighbours[node] = FeverfewNeighbour(self._exchange.topics)
            self._roots.neighbours_changed()
            out.append(Connect(self.peer(node)))
            self._report(NeighbourUp(node), out)
        each.silent_turns = 0
        return each

    def _unwant(self, node: NodeId, end: str, out: list[Action]) -> None:
        each = self.neighbours.get(node)
        if each is not None:
            setattr(each, end, False)
        if each is None or not (each.holds or each.held_by):
            self.remove(node, out)

    def _take_interest(self, node: NodeId, message: HoldRequest | HoldOk, now_us: int, out: list[Action]) -> None:
        each = self.neighbours[node]
        if message.version <= each.version:
            return
        whole = message.count <= len(message.topics)
        self._set_interest(each, set(message.topics), message.version if whole else NO_VERSION)
        if not whole:
            self._exchange.fetch(self.peer(node), now_us, out)

    def _set_interest(self, each: FeverfewNeighbour, interest: set[TopicId], version: int) -> None:
        each.interest, each.version = interest, version
        each.roots = {topic: claim for topic, claim in each.roots.items() if topic in interest}
        self._roots.is_stale = True
        self.changed()
