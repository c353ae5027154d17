"""One neighbour maintenance task of SpiderCast: its neighbours, their coverage, and the rules that choose among them.

A task knows neither messages nor time: those are in `maintenance.py` and `machine.py`.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.systems.spidercast.parameters import Departures

# Paper: "If its degree is lower than its number of subscriptions and K_r <= 3" (3.3.1).
ADAPTIVE_COVERAGE_MAX = 3
# The version of an interest of which only a part is known.
NO_VERSION = -1


class Rule(IntEnum):
    """How a task selects neighbours, and when it has enough."""

    COVER_GREEDILY = 0
    COVER_AT_RANDOM = 1
    # The rivals of 3.9.1 want a number of links instead of coverage.
    COUNT_SIMILAR = 2
    COUNT_RANDOM = 3


# Chosen: this many turns of a node whose timers are late count as one. Nodes without CPU are often neighbours of each other,
# and some of them have less of it than others.
LATE_TURNS = 4


class Neighbour:
    """A neighbour as its last messages describe it, and the values that this node last sent to it."""

    __slots__ = (
        "asked_when",
        "degree",
        "has_claims",
        "interest",
        "is_bridge",
        "roots",
        "shared",
        "silence",
        "spoken_us",
        "target",
        "told",
        "told_us",
        "version",
    )

    def __init__(self, degree: int, target: int, interest: Iterable[TopicId], told: tuple[int, int]) -> None:
        self.degree = degree
        self.target = target
        # Its interest as far as it is known, and the version of it; NO_VERSION while a part is missing.
        self.interest = set(interest)
        self.version = NO_VERSION
        # Topics that this node holds too.
        self.shared: dict[TopicId, None] = {}
        # The (degree, target) of this node that was last sent to it.
        self.told = told
        # Its (degree, target) when it was last sent a DISCONNECT.
        self.asked_when: tuple[int, int] | None = None
        # Heartbeat turns of this node since the neighbour was last heard, in units of a late turn.
        self.silence = 0
        # When this node last sent it anything, and when the last heartbeat.
        self.spoken_us = self.told_us = 0
        # Its claims (`protocols/roots.py`), whether it has this node's claims, and whether the link is a bridge.
        self.roots: dict[TopicId, tuple[TopicId, NodeId, int]] = {}
        self.has_claims = False
        self.is_bridge = False


class NeighbourTask:
    """Neighbours, coverage, and L: the state of Figure 1 for one task."""

    __slots__ = (
        "_cover",
        "_interest",
        "_just_covered",
        "_uncovered_count",
        "asks",
        "counts_uncovered",
        "coverage",
        "is_asleep",
        "margin",
        "neighbours",
        "rule",
        "strict",
        "target",
    )

    def __init__(
        self, rule: Rule, coverage: int, margin: int, reading: Departures, counts_uncovered: bool = False
    ) -> None:
        self.rule = rule
        # Paper: line 9 of Figure 3 as printed, instead of the text; and when to ask a neighbour that refused.
        self.strict = reading.parts_above == "degree"
        self.asks = reading.ask_again
        # With wakes=loss: covered, and Figure 4, line 37 has not woken the task since.
        self.is_asleep = False
        # Also count topics that are already under-covered when judging whether a neighbour can be spared.
        self.counts_uncovered = counts_uncovered
        # K; for the rivals, the number of links wanted.
        self.coverage = coverage
        self.margin = margin
        self.neighbours: dict[NodeId, Neighbour] = {}
        # L, the adaptive target number of neighbours.
        self.target = 0
        self._interest: dict[TopicId, None] = {}
        self._cover: dict[TopicId, int] = {}
        self._uncovered_count = 0
        # Topics that exactly K neighbours hold: no neighbour with one of them can be spared.
        self._just_covered: set[TopicId] = set()

    @property
    def degree(self) -> int:
        """The number of neighbours in this task."""
        return len(self.neighbours)

    @property
    def degree_max(self) -> int:
        """Paper: L_max = K * |self_interest| (2.3). The rivals: the number of links wanted."""
        return self.coverage * (len(self._interest) if self.rule <= Rule.COVER_AT_RANDOM else 1)

    @property
    def has_room(self) -> bool:
        """Paper: "the number of neighbors is limited to be below L^max + Margin"."""
        return len(self.neighbours) < self.degree_max + self.margin

    @property
    def under_covered(self) -> int:
        """CALCKUNCOVERED of Figure 3, kept up to date on every change; for the rivals, the number of missing links."""
        if self.rule <= Rule.COVER_AT_RANDOM:
            return self._uncovered_count
        return max(self.coverage - len(self.neighbours), 0)

    def under_covered_without(self, node: NodeId) -> int:
        """CALCKUNCOVERED over all neighbours except one."""
        if self.rule <= Rule.COVER_AT_RANDOM:
            shared = self.neighbours[node].shared
            if self.counts_uncovered:
                return self._uncovered_count + sum([self._cover[topic] <= self.coverage for topic in shared])
            return self._uncovered_count + len(self._just_covered.intersection(shared))
        return max(self.coverage - len(self.neighbours) + 1, 0)

    def uncovered_topics(self) -> list[TopicId]:
        """The node's topics that fewer than K neighbours hold.

        Paper: Figure 5 counts over `cands`. Differs: over the current neighbours, as the text says (docs/papers.md).
        """
        return [topic for topic in self._interest if self._cover[topic] < self.coverage]

    def next_coverage_node(
        self, view: InterestView, interest: Sequence[TopicId], exclude: Collection[NodeId], key: int
    ) -> Peer | None:
        """NEXTGREEDYCOVERAGENODE and NEXTRANDOMCOVERAGENODE (Figure 5), and their replacements in the rivals (3.9.1)."""
        match self.rule:
            case Rule.COVER_GREEDILY:
                return view.best_cover(self.uncovered_topics(), exclude, key)
            case Rule.COVER_AT_RANDOM:
                return view.random_cover(self.uncovered_topics(), exclude, key)
            case Rule.COUNT_SIMILAR:
                return view.best_cover(interest, exclude, key)
            case Rule.COUNT_RANDOM:
                return view.random_peer(exclude, key)

    def raise_coverage(self) -> None:
        """Set K to K + 1, for the adaptive K_r."""
        self.coverage += 1
        self.is_asleep = False
        self._uncovered_count, self._just_covered = 0, set()
        for topic, count in self._cover.items():
            self._note(topic, count)

    def add_topic(self, topic: TopicId) -> None:
        """This node holds one more topic."""
        self.is_asleep = False
        self._interest[topic] = None
        self._cover[topic] = 0
        self._note(topic, 0)
        for neighbour in self.neighbours.values():
            _forget_claims(neighbour)
            if topic in neighbour.interest:
                self._share(neighbour, topic)

    def remove_topic(self, topic: TopicId) -> None:
        """This node no longer holds a topic."""
        self.is_asleep = False
        for neighbour in self.neighbours.values():
            _forget_claims(neighbour)
            neighbour.shared.pop(topic, None)
        del self._interest[topic]
        self._uncovered_count -= self._cover.pop(topic) < self.coverage
        self._just_covered.discard(topic)

    def add(self, node: NodeId, neighbour: Neighbour) -> None:
        """Add a neighbour, or replace a known one."""
        if node in self.neighbours:
            self.remove(node)
        self.neighbours[node] = neighbour
        for topic in self._interest:
            if topic in neighbour.interest:
                self._share(neighbour, topic)

    def remove(self, node: NodeId) -> None:
        """Remove a neighbour."""
        for topic in self.neighbours.pop(node).shared:
            self._count(topic, -1)
        # Paper: "if (|neighbors| < L) or (under_covered > 0) then wake up connectivity task" (Figure 4, lines 37-38).
        if len(self.neighbours) < self.target or self.under_covered:
            self.is_asleep = False

    def change_interest(self, node: NodeId, added: Iterable[TopicId], removed: Iterable[TopicId]) -> None:
        """Topics were added to and removed from the interest of a neighbour."""
        neighbour = self.neighbours[node]
        self.is_asleep = False
        _forget_claims(neighbour)
        for topic in removed:
            neighbour.interest.discard(topic)
            if topic in neighbour.shared:
                del neighbour.shared[topic]
                self._count(topic, -1)
        for topic in added:
            neighbour.interest.add(topic)
            if topic in self._interest and topic not in neighbour.shared:
                self._share(neighbour, topic)

    def replace_interest(self, node: NodeId, interest: Sequence[TopicId]) -> None:
        """Set the whole interest of a neighbour."""
        neighbour = self.neighbours[node]
        whole = set(interest)
        self.change_interest(node, interest, [topic for topic in neighbour.shared if topic not in whole])
        neighbour.interest = whole

    def grow_target(self) -> None:
        """Figure 4, lines 4-5 and 15-16: L follows the degree, up to L_max."""
        if self.target < self.degree_max and len(self.neighbours) < self.target + self.margin:
            self.target += 1

    def disconnect_candidate(self, key: int, under_covered_most: int | None) -> NodeId | None:
        """DISCONNECTCANDIDATE of Figure 3: the most redundant neighbour among those that have reached their own coverage.

        None if every removal would leave more than `under_covered_most` topics under-covered.

        Paper: line 9 says degree > target; the text says that `target <= degree` shows coverage. We follow the text
        (`parts_above`).
        Differs: a neighbour that did not agree is no candidate until its (degree, target) changes (`ask_again`). As
        written, nodes send DISCONNECT for ever: about 35 a node, 0.2 of them agreed to.
        """
        best: tuple[int, int, NodeId] | None = None
        fewest = under_covered_most
        for node, neighbour in self.neighbours.items():
            if neighbour.degree < neighbour.target + self.strict or neighbour.is_bridge or self._was_asked(neighbour):
                continue
            under_covered = self.under_covered_without(node)
            # Skip before the draw: in a node at rest no neighbour can be spared, and this runs every turn.
            if fewest is not None and under_covered > fewest:
                continue
            score = (under_covered, finish((key + node * ITEM_FACTOR) & MASK), node)
            if best is None or score < best:
                best, fewest = score, under_covered
        return None if best is None else best[2]

    def _was_asked(self, neighbour: Neighbour) -> bool:
        """Whether a neighbour refused a DISCONNECT and must not be asked again yet."""
        if self.asks == "changed":
            return neighbour.asked_when == (neighbour.degree, neighbour.target)
        return self.asks == "once" and neighbour.asked_when is not None

    def redirect_candidate(self, interest: Collection[TopicId], key: int) -> NodeId | None:
        """Figure 4, lines 7-8: the neighbour below its target + Margin that shares most topics with the requester."""
        best: tuple[int, int, NodeId] | None = None
        for node, neighbour in self.neighbours.items():
            if neighbour.degree < neighbour.target + self.margin:
                score = (
                    -len(neighbour.interest.intersection(interest)),
                    finish((key + node * ITEM_FACTOR) & MASK),
                    node,
                )
                if best is None or score < best:
                    best = score
        return None if best is None else best[2]

    def idle_bridges(self) -> list[NodeId]:
        """Bridges to neighbours that share no topic with this node any more."""
        return [node for node, neighbour in self.neighbours.items() if neighbour.is_bridge and not neighbour.shared]

    def untold(self) -> list[NodeId]:
        """Neighbours that do not know this node's current (degree, target)."""
        now = (len(self.neighbours), self.target)
        return [node for node, neighbour in self.neighbours.items() if neighbour.told != now]

    def _share(self, neighbour: Neighbour, topic: TopicId) -> None:
        neighbour.shared[topic] = None
        self._count(topic, 1)

    def _count(self, topic: TopicId, change: int) -> None:
        """Change the number of neighbours that hold one of this node's topics."""
        count = self._cover[topic]
        self._uncovered_count -= count < self.coverage
        self._cover[topic] = count + change
        self._note(topic, count + change)

    def _note(self, topic: TopicId, count: int) -> None:
        self._uncovered_count += count < self.coverage
        if count == self.coverage:
            self._just_covered.add(topic)
        else:
            self._just_covered.discard(topic)


def wants_more_links(greedy: NeighbourTask, random: NeighbourTask, topics: int) -> bool:
    """3.3.1: whether to raise K_r: K_g coverage took only K_g links, or there are fewer links than topics."""
    if not topics or greedy.under_covered:
        return False
    if random.coverage == 0:
        return greedy.degree == greedy.coverage
    if random.under_covered or random.coverage > ADAPTIVE_COVERAGE_MAX:
        return False
    return len({**greedy.neighbours, **random.neighbours}) < topics


def _forget_claims(neighbour: Neighbour) -> None:
    """Drop all claims: an end that gains a topic has missed the claims on it, so both ends send all claims again."""
    neighbour.roots = {}
    neighbour.has_claims = False
