"""Finding topics whose overlays are disconnected, by spreading the lowest node id of each component.

The idea: a coverage-based overlay is satisfied once every topic has enough neighbours, also if a topic's nodes form two
islands. Each node therefore tells its neighbours at intervals, for each of its topics, the lowest node id that it has
heard of (the *root*) and its distance in links. A node that has heard of no id below its own for some time, but knows a
lower holder of the topic from its interest view, is in another component than that holder, and builds a bridge to it.
The overlay decides what a bridge is and when it ends.

A root that has left is forgotten because its distance grows with every round, until it is above the accepted maximum.

A node whose neighbours have changed since the last check skips the check. While an overlay is being built, nearly
every claim would be wrong a moment later (checking at once costs 14 s of 35 s for 10,000 nodes).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import PART_TOPICS

# Chosen: 16 links, more than the diameter of any topic of 100,000 nodes with three neighbours each. Roots that are farther
# away are ignored; a topic with a larger diameter gets a bridge that it does not need.
DEPTH_MAX = 16
# Chosen: 8 checks without a lower id before a bridge is built; claims travel at least one link between two checks.
PATIENCE = 8
# Chosen: messages may be lost. What was told of a change, or to a new neighbour, is told again after these numbers of checks;
# every 128th check sends all claims to all neighbours. Other checks send changes only.
AGAIN = (4, 16)
REPEAT = 128

# (topic, lowest id heard of, distance in links)
RootClaim = tuple[TopicId, NodeId, int]
# The receivers of a message, and its claims.
ClaimsTo = tuple[tuple[NodeId, ...], tuple[RootClaim, ...]]


class RootedNeighbour(Protocol):
    """A neighbour: its interest, the topics of it that this node holds too, its claims, and whether it has this node's."""

    interest: set[TopicId]
    roots: dict[TopicId, RootClaim]
    has_claims: bool

    @property
    def shared(self) -> Iterable[TopicId]:
        """The topics that both nodes hold."""
        ...


class RootedLinks(Protocol):
    """The neighbours of an overlay, or of one task of it."""

    @property
    def neighbours(self) -> Mapping[NodeId, RootedNeighbour]:
        """The neighbours by id."""
        ...


class Roots:
    """For each topic of one node, the lowest id that it has heard of."""

    __slots__ = ("_again", "_alone", "_node", "_roots", "_told_nodes", "_told_topics", "is_moving", "is_stale")

    def __init__(self, node: NodeId, tells_again: bool = True) -> None:
        """`tells_again` is False where no message is lost: in lockstep with a kernel, which sends each claim once."""
        self._node = node
        self._again = AGAIN if tells_again else (0,)
        self._roots: dict[TopicId, tuple[NodeId, int]] = {}
        # The number of checks in a row in which the node itself was the lowest.
        self._alone: dict[TopicId, int] = {}
        # Topics whose root changed, and new neighbours, and the number of checks since they were told first.
        self._told_topics: dict[TopicId, int] = {}
        self._told_nodes: dict[NodeId, int] = {}
        # Neighbours have changed since the last check was due.
        self.is_moving = True
        # Neighbours, their interests or their claims have changed since the last check.
        self.is_stale = True

    def add_topic(self, topic: TopicId) -> None:
        """The node holds one more topic; the roots of its other topics stay."""
        self._roots[topic] = (self._node, 0)
        self._alone[topic] = 0
        self.is_stale = True

    def remove_topic(self, topic: TopicId) -> None:
        """The node no longer holds a topic."""
        del self._roots[topic], self._alone[topic]
        self.is_stale = True

    def neighbours_changed(self) -> None:
        """A neighbour was added or removed."""
        self.is_moving = self.is_stale = True

    def check(self, tasks: Sequence[RootedLinks], repeat: bool) -> list[ClaimsTo]:
        """Compute the roots from the neighbours' claims; returns the claims to send.

        Changes go to all neighbours; new neighbours, or with `repeat` all of them, get all claims. Both are told again.
        """
        changed = self._recompute(tasks) if self.is_stale else []
        to_tell = [*changed, *(topic for topic in _due_again(self._told_topics, self._again) if topic not in changed)]
        told_before = set(_due_again(self._told_nodes, self._again))
        self._told_topics |= dict.fromkeys(changed, 0)
        for topic, (root, _) in self._roots.items():
            self._alone[topic] = min(self._alone[topic] + 1, PATIENCE) if root == self._node else 0
        get_all: dict[NodeId, None] = {}
        get_changes: dict[NodeId, None] = {}
        for task in tasks:
            for node, neighbour in task.neighbours.items():
                if not neighbour.has_claims:
                    self._told_nodes[node] = 0
                    neighbour.has_claims = True
                    get_all[node] = None
                elif repeat or node in told_before:
                    get_all[node] = None
                elif to_tell:
                    get_changes[node] = None
        claims: list[ClaimsTo] = []
        if get_all:
            claims += self._claims(tuple(get_all), tuple(self._roots))
        others = tuple(node for node in get_changes if node not in get_all)
        if others:
            claims += self._claims(others, [topic for topic in to_tell if topic in self._roots])
        return claims

    def _recompute(self, tasks: Sequence[RootedLinks]) -> list[TopicId]:
        """The lowest root of each topic among this node and its neighbours' claims; returns the topics that changed."""
        self.is_stale = False
        before, roots = self._roots, dict.fromkeys(self._roots, (self._node, 0))
        for task in tasks:
            for node, neighbour in task.neighbours.items():
                for topic in neighbour.shared:
                    # A neighbour without a claim is itself one link away.
                    claim = neighbour.roots.get(topic)
                    root, links = (node, 1) if claim is None else (claim[1], claim[2] + 1)
                    if root <= roots[topic][0] and (root, links) < roots[topic] and links <= DEPTH_MAX:
                        roots[topic] = (root, links)
        self._roots = roots
        return [topic for topic, root in roots.items() if root != before[topic]]

    def _claims(self, nodes: tuple[NodeId, ...], topics: Sequence[TopicId]) -> list[ClaimsTo]:
        """The claims on these topics in messages of bounded size; one empty message if there are none."""
        frames = range(0, max(len(topics), 1), PART_TOPICS)
        return [
            (nodes, tuple([(topic, *self._roots[topic]) for topic in topics[first : first + PART_TOPICS]]))
            for first in frames
        ]

    def take_claims(self, tasks: Sequence[RootedLinks], sender: NodeId, claims: Sequence[RootClaim]) -> bool:
        """Keep a neighbour's claims on shared topics; returns False if one of them is impossible.

        Only the sender itself is at distance 0, and no id is negative. A claim of an id that does not exist is accepted: a
        lying neighbour can prevent the bridges of its own component.
        """
        for claim in claims:
            if claim[1] < 0 or (claim[2] == 0) != (claim[1] == sender):
                return False
        for task in tasks:
            neighbour = task.neighbours.get(sender)
            if neighbour is None:
                continue
            roots, interest = neighbour.roots, neighbour.interest
            for claim in claims:
                topic = claim[0]
                if roots.get(topic) != claim and topic in self._roots and topic in interest:
                    roots[topic] = claim
                    self.is_stale = True
        return True

    def next_bridge(self, view: InterestView, exclude: Collection[NodeId], key: int) -> Peer | None:
        """A peer in another component of a topic in which no lower id was heard of for long enough."""
        for topic in sorted(topic for topic, checks in self._alone.items() if checks >= PATIENCE):
            peer = view.holder_below(topic, self._node, exclude, key)
            if peer is not None:
                # Wait again before another peer is asked.
                self._alone[topic] = 0
                return peer
        return None

    def lowest(self, topic: TopicId) -> tuple[NodeId, int, int]:
        """(lowest id heard of, distance in links, number of checks in which it was the node itself)."""
        return (*self._roots[topic], self._alone[topic])


def _due_again(told: dict[int, int], again: Sequence[int]) -> list[int]:
    """Count one more check for everything that was told; returns what must be told again now."""
    due = []
    for each, checks in tuple(told.items()):
        told[each] = checks + 1
        if checks + 1 in again:
            due.append(each)
        if checks + 1 >= again[-1]:
            del told[each]
    return due
