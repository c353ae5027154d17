"""Neighbours with their interests: each end of a link tells the other its interest, and every change of it.

The message that opens a link carries as much of an interest as fits a frame; the rest is fetched. Changes name the
versions between which they lead, so that a lost change is noticed and the interest is fetched anew.
"""

from collections.abc import Collection, Iterable
from typing import Generic, Protocol, TypeVar

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.links import TopicLinks
from gossamer.protocols.membership.interest_exchange import TOPICS_MAX, InterestExchange, InterestFetched
from gossamer.protocols.roots import RootClaim, Roots

# The version of an interest that is not known whole.
NO_VERSION = -1


class InterestedNeighbour:
    """A neighbour and its interest."""

    __slots__ = ("_own", "has_claims", "interest", "roots", "silent_turns", "version")

    def __init__(self, own: Collection[TopicId]) -> None:
        # The topics of this node.
        self._own = own
        self.interest: set[TopicId] = set()
        self.version = NO_VERSION
        # Turns of this node since it was last heard.
        self.silent_turns = 0
        # Its claims (`protocols/roots.py`), and whether it has this node's claims.
        self.roots: dict[TopicId, RootClaim] = {}
        self.has_claims = False

    @property
    def shared(self) -> list[TopicId]:
        """The topics that both nodes hold."""
        return [topic for topic in self._own if topic in self.interest]


class StatedInterest(Protocol):
    """A message with the sender's interest, or with the part of it that fits a frame."""

    @property
    def version(self) -> int:
        """The version of the interest."""
        ...

    @property
    def count(self) -> int:
        """The number of topics in the whole interest."""
        ...

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """The topics that fit the frame."""
        ...


class ChangedInterest(Protocol):
    """A message with a change of the sender's interest."""

    @property
    def version(self) -> int:
        """The version after the change."""
        ...

    @property
    def since(self) -> int:
        """The version before the change."""
        ...

    @property
    def added(self) -> tuple[TopicId, ...]:
        """New topics."""
        ...

    @property
    def removed(self) -> tuple[TopicId, ...]:
        """Topics that the sender no longer holds."""
        ...


N = TypeVar("N", bound=InterestedNeighbour)


class InterestedLinks(TopicLinks, Generic[N]):
    """All neighbours with their interests and addresses, and the neighbours on each topic."""

    __slots__ = ("_exchange", "_kind", "_most", "_roots", "neighbours")

    def __init__(self, exchange: InterestExchange, roots: Roots, most: int, kind: type[N]) -> None:
        super().__init__(exchange.topics)
        self.neighbours: dict[NodeId, N] = {}
        self._exchange = exchange
        self._roots = roots
        # Other nodes may not open more links than this; 0: any number.
        self._most = most
        self._kind = kind

    def _holders(self, topic: TopicId) -> Iterable[NodeId]:
        return (node for node, each in self.neighbours.items() if topic in each.interest)

    def has_room_for(self, node: NodeId) -> bool:
        """Whether another node may open a link to this one."""
        return node in self.neighbours or not self._most or len(self.neighbours) < self._most

    def remove(self, node: NodeId, out: list[Action]) -> None:
        """A neighbour is gone, or a node that was asked for a link did not answer."""
        self.addresses.pop(node, None)
        if self.neighbours.pop(node, None) is not None:
            self.changed()
            self._roots.neighbours_changed()
            out.append(Disconnect(node))
            self._report(NeighbourDown(node), out)

    def change(self, node: NodeId, message: ChangedInterest, now_us: int, out: list[Action]) -> None:
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
        self._set_interest(node, interest, message.version)

    def check_version(self, node: NodeId, version: int, now_us: int, out: list[Action]) -> None:
        """A neighbour has named the version of its interest; another version than the known one is fetched."""
        if version > self.neighbours[node].version:
            self._exchange.fetch(self.peer(node), now_us, out)

    def take_in(self, fetched: InterestFetched) -> None:
        """The whole interest of a node was fetched."""
        each = self.neighbours.get(fetched.node)
        if each is not None and fetched.version > each.version:
            self._set_interest(fetched.node, set(fetched.topics), fetched.version)

    def _up(self, node: NodeId, out: list[Action]) -> N:
        each = self.neighbours.get(node)
        if each is None:
            each = self.neighbours[node] = self._kind(self._exchange.topics)
            self._roots.neighbours_changed()
            out.append(Connect(self.peer(node)))
            self._report(NeighbourUp(node), out)
        each.silent_turns = 0
        return each

    def _take_interest(self, node: NodeId, message: StatedInterest, now_us: int, out: list[Action]) -> None:
        each = self.neighbours[node]
        if message.version <= each.version:
            return
        whole = message.count <= len(message.topics)
        self._set_interest(node, set(message.topics), message.version if whole else NO_VERSION)
        if not whole:
            self._exchange.fetch(self.peer(node), now_us, out)

    def _set_interest(self, node: NodeId, interest: set[TopicId], version: int) -> None:
        each = self.neighbours[node]
        each.interest, each.version = interest, version
        each.roots = {topic: claim for topic, claim in each.roots.items() if topic in interest}
        self._roots.is_stale = True
        self.topics_changed(node)
