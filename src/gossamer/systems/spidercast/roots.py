"""Finding a topic's overlay in two parts: who is the lowest node of each, as far as neighbours say.

Differs: the paper has nothing of the kind. With K_g = 3 four nodes that cover each other are satisfied and may be an
island; up to one seed in a hundred ended so. Each node therefore says now and then, for each of its topics, the lowest
id that it has heard of and how many links away that is. Whoever has heard of nobody lower for a while, but knows of a
lower holder of the topic from its interest view, stands in another part than that one, and builds a bridge to it.

A bridge takes a place of the random task, within L_max + Margin: with K_r = 0 and Margin = 0 there is no room for one.
It is let go when its ends share no topic any more.
A root that is gone is forgotten because its distance only grows, until it is too far to be believed.

A node whose neighbours came or went since its last turn does not look: they are not what they will be, and while an
overlay is built nearly all that would be said is wrong a moment later (looking at once costs 14 s of 35 for 10,000 nodes).
"""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import PART_TOPICS
from gossamer.systems.spidercast.messages import ConnectRequest, Task
from gossamer.systems.spidercast.task import NeighbourTask

# Chosen: 16 links, more than the diameter of any topic of 100,000 nodes with three neighbours each. Farther roots are
# not believed; a topic that is longer gets a bridge that it would not have needed.
DEPTH_MAX = 16
# Chosen: 8 looks without a lower node before a bridge is built; news of the lowest travels a link or more each look.
PATIENCE = 8
# Chosen: every 16th look says everything to everybody, should something have been lost; else only what is new is said.
REPEAT = 16

# (topic, lowest id heard of, links away)
RootClaim = tuple[TopicId, NodeId, int]


class Roots:
    """What one node believes of its topics."""

    __slots__ = ("_alone", "_node", "_roots", "is_moving", "is_stale")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._roots: dict[TopicId, tuple[NodeId, int]] = {}
        # For how many looks the node itself has been the lowest.
        self._alone: dict[TopicId, int] = {}
        # Neighbours came or went since the last turn.
        self.is_moving = True
        # Something is not as it was at the last look: neighbours, what they hold, or what they claim.
        self.is_stale = True

    def hold(self, topic: TopicId) -> None:
        """The node holds another topic; what it believes of those it held before stays as it is."""
        self._roots[topic] = (self._node, 0)
        self._alone[topic] = 0
        self.is_stale = True

    def let_go(self, topic: TopicId) -> None:
        """The node holds a topic no longer."""
        del self._roots[topic], self._alone[topic]
        self.is_stale = True

    def moved(self) -> None:
        """A neighbour came or went."""
        self.is_moving = self.is_stale = True

    def look(
        self, tasks: Sequence[NeighbourTask], repeat: bool
    ) -> list[tuple[tuple[NodeId, ...], tuple[RootClaim, ...]]]:
        """Take in what neighbours said; returns what to say to whom: what is new, or all to those who heard nothing."""
        before = self._roots
        changed = []
        if self.is_stale:
            self.is_stale = False
            roots = dict.fromkeys(before, (self._node, 0))
            for task in tasks:
                for node, neighbour in task.neighbours.items():
                    for topic in neighbour.shared:
                        # One that has said nothing yet is itself there, at least.
                        claim = neighbour.roots.get(topic)
                        root, links = (node, 1) if claim is None else (claim[1], claim[2] + 1)
                        if root <= roots[topic][0] and (root, links) < roots[topic] and links <= DEPTH_MAX:
                            roots[topic] = (root, links)
            self._roots = roots
            changed = [topic for topic, root in roots.items() if root != before[topic]]
        for topic, (root, _) in self._roots.items():
            self._alone[topic] = min(self._alone[topic] + 1, PATIENCE) if root == self._node else 0
        told: dict[NodeId, None] = {}
        untold: dict[NodeId, None] = {}
        for task in tasks:
            for node, neighbour in task.neighbours.items():
                if repeat or not neighbour.heard_claims:
                    untold[node] = None
                    neighbour.heard_claims = True
                elif changed:
                    told[node] = None
        said: list[tuple[tuple[NodeId, ...], tuple[RootClaim, ...]]] = []
        if untold:
            said += self._claims(tuple(untold), tuple(self._roots))
        news = tuple(node for node in told if node not in untold)
        if news:
            said += self._claims(news, changed)
        return said

    def _claims(
        self, nodes: tuple[NodeId, ...], topics: Sequence[TopicId]
    ) -> list[tuple[tuple[NodeId, ...], tuple[RootClaim, ...]]]:
        """Claims of these topics, as many at a time as fit a frame; one empty where there are none."""
        frames = range(0, max(len(topics), 1), PART_TOPICS)
        return [
            (nodes, tuple([(topic, *self._roots[topic]) for topic in topics[first : first + PART_TOPICS]]))
            for first in frames
        ]

    def hear(self, tasks: Sequence[NeighbourTask], sender: NodeId, claims: Sequence[RootClaim]) -> bool:
        """Keep what a neighbour said of shared topics; says whether it can be true.

        Nobody but a node itself is no link away from it, and no id is negative. A lower id than there is would be
        believed all the same: a liar can keep its part of a topic from being bridged.
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
        """Somebody in another part of a topic in which nobody lower was heard of for long enough."""
        for topic in sorted(topic for topic, looks in self._alone.items() if looks >= PATIENCE):
            peer = view.holder_below(topic, self._node, exclude, key)
            if peer is not None:
                # Give it time before another is asked.
                self._alone[topic] = 0
                return peer
        return None

    def lowest(self, topic: TopicId) -> tuple[NodeId, int, int]:
        """(lowest id heard of, links away, looks that it was the node itself)."""
        return (*self._roots[topic], self._alone[topic])


def may_be_bridge(message: ConnectRequest, interest: Collection[TopicId]) -> bool:
    """Only the random task has bridges, and only over a topic; any other would be a place that is never given up."""
    shares = any(topic in interest for topic in message.interest) or message.count > len(message.interest)
    return message.is_bridge and message.task == Task.RANDOM and shares
