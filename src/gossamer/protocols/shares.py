"""Sizes of topics from random views: the cheaper estimate that Ma, Wang, Sun (2014) propose (section 5, page 12).

Paper: "each node is responsible for estimating the percentages of a set of random topics using the random view of Cyclon
... Through aggregating and averaging these percentages for the same topic, we can obtain an accurate percentage."

The idea: a node counts, for each of its own topics, how many of the random peers that it sees hold the topic. Nodes that
share the topic average their counts whenever they meet, as in `aggregation.py`, so that the evidence of all subscribers
is pooled. The share times the size of the network is the size of the topic. Old evidence fades, so that there are no
epochs; an exchange may fail without harm, because evidence comes in all the time.

Differs: a node estimates the topics that it holds, not a random set: these are the ones that it needs, and it can count
them in every peer whose interest it sees.

A topic of few subscribers is seen rarely: with n subscribers that each see k peers a cycle, about n^2 k w / N of w cycles'
peers hold the topic, and the relative error is the inverse root of that number. `python -m bench sizes` compares both.

A false count is bounded in weight, and is refused if its share is more than four times or less than a quarter of the
own share, once the own share rests on enough peers.
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Annotated

from msgspec import Meta

from gossamer.model.values.draw import finish
from gossamer.model.values.ids import TopicId
from gossamer.protocols.contract.messages import Digest, Value

# Chosen: evidence loses a twentieth of its weight in a cycle.
KEEP = 0.95
# Chosen: shares of two nodes differ by less than this factor once both rest on this many matches.
RATIO, MATCHES_ENOUGH = 4.0, 8.0
# Chosen: topics in one report, 1.8 kB.
REPORT_TOPICS = 64


class TopicCount(Value, frozen=True, array_like=True, gc=False):
    """How many of the peers that were seen hold a topic; averages, and therefore not whole numbers."""

    topic: TopicId
    matches: float
    seen: float


Shares = Annotated[tuple[TopicCount, ...], Meta(max_length=REPORT_TOPICS)]


class TopicShares:
    """The shares of a node's own topics among random peers. The state is bounded by the node's own interest."""

    __slots__ = ("_counts", "_offered")

    def __init__(self) -> None:
        # (matches, seen) of each of the node's own topics.
        self._counts: dict[TopicId, tuple[float, float]] = {}
        self._offered: dict[TopicId, tuple[float, float]] = {}

    def hold(self, topic: TopicId) -> None:
        """The node subscribed to a topic."""
        self._counts.setdefault(topic, (0.0, 0.0))

    def drop(self, topic: TopicId) -> None:
        """The node gave up a topic."""
        self._counts.pop(topic, None)
        self._offered.pop(topic, None)

    def tick(self) -> None:
        """A cycle has passed: old evidence fades."""
        self._counts = {topic: (KEEP * matches, KEEP * seen) for topic, (matches, seen) in self._counts.items()}

    def observe(self, digest: Digest) -> None:
        """Count a random peer that was seen for the first time in this cycle.

        A digest of a large interest is a sample of the topics with the smallest hashes (`interest_exchange.bottom`): it
        says nothing about topics with larger hashes, which are not counted.
        """
        held = frozenset(digest.topics)
        is_whole = len(digest.topics) >= digest.count
        last = max(map(finish, digest.topics), default=0)
        for topic, (matches, seen) in self._counts.items():
            if is_whole or finish(topic) <= last:
                self._counts[topic] = (matches + (topic in held), seen + 1.0)

    def share(self, topic: TopicId) -> float | None:
        """The share of the other nodes that hold the topic, or None without evidence."""
        matches, seen = self._counts.get(topic, (0.0, 0.0))
        return matches / seen if seen else None

    def size(self, topic: TopicId, network_size: float) -> float | None:
        """The number of nodes that hold a topic of this node, the node included."""
        share = self.share(topic)
        return None if share is None else 1.0 + share * max(network_size - 1.0, 0.0)

    def offer(self, topics: Iterable[TopicId]) -> Shares:
        """The counts to send to a peer, of topics that the peer holds too; at most `REPORT_TOPICS` of them."""
        known = [topic for topic in topics if topic in self._counts][:REPORT_TOPICS]
        self._offered = {topic: self._counts[topic] for topic in known}
        return _report(self._offered)

    def answer(self, counts: Shares) -> Shares:
        """Take in an offer; returns what to send back: the own counts of the topics that were averaged."""
        mine: dict[TopicId, tuple[float, float]] = {}
        for count in counts:
            own = self._counts.get(count.topic)
            if own is None or count.topic in mine or not _is_plausible(own, count):
                continue
            mine[count.topic] = own
            self._counts[count.topic] = ((own[0] + count.matches) / 2, (own[1] + count.seen) / 2)
        return _report(mine)

    def take(self, counts: Shares) -> None:
        """Take in the answer to the last offer."""
        offered, self._offered = self._offered, {}
        for count in counts:
            sent, own = offered.pop(count.topic, None), self._counts.get(count.topic)
            if sent is None or own is None or not _is_plausible(sent, count):
                continue
            # Other exchanges may have changed the counts since the offer.
            seen = max(own[1] + (count.seen - sent[1]) / 2, 0.0)
            matches = own[0] + (count.matches - sent[0]) / 2
            self._counts[count.topic] = (min(max(matches, 0.0), seen), seen)


def _report(counts: Mapping[TopicId, tuple[float, float]]) -> Shares:
    return tuple(TopicCount(topic, *count) for topic, count in counts.items())


def _is_plausible(own: tuple[float, float], count: TopicCount) -> bool:
    """Whether a peer's count may be averaged with the own one."""
    matches, seen = own
    if not (isfinite(count.seen) and 0 <= count.matches <= count.seen <= RATIO * seen + 1 / (1 - KEEP) ** 2):
        return False
    if matches < MATCHES_ENOUGH or not count.seen:
        return True
    return matches / seen / RATIO <= count.matches / count.seen <= RATIO * matches / seen
