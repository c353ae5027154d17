"""Sizes of the network and of topics, as a live node estimates them.

The node's interest table knows up to a thousand nodes. While it has room, the nodes in it are counted. A full table is a
sample: the network is then counted by gossip (`protocols/aggregation.py`), and the size of a topic is its share among the
random nodes that subscribers meet (`protocols/shares.py`) times the size of the network. Both ride on the exchanges of
similar views.
"""

from collections.abc import Iterable

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.aggregation import AggregationParameters, EpochCount, Report
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.membership.interest_table import InterestTable
from gossamer.protocols.shares import Shares, TopicShares


class SizeEstimates:
    """The sizes that a node without an oracle works with."""

    __slots__ = ("_count", "_shares", "_table")

    def __init__(self, table: InterestTable, seed: int, node: NodeId) -> None:
        self._table = table
        self._count = EpochCount(AggregationParameters(), seed, node)
        self._shares = TopicShares()

    def network_size(self) -> int:
        """The number of nodes in the network."""
        known, counted = self._table.network_size(), self._count.size
        return known if counted is None or not self._table.is_full else max(known, round(counted))

    def topic_size(self, topic: TopicId) -> int:
        """The number of nodes that hold a topic of this node."""
        known = self._table.topic_size(topic)
        if not self._table.is_full:
            return known
        # A full table that lacks other holders does not show that there are none: the node searches for them.
        return max(known, round(self._shares.size(topic, self.network_size()) or 0), 2)

    def hold(self, topic: TopicId) -> None:
        """The node subscribed to a topic."""
        self._shares.hold(topic)

    def drop(self, topic: TopicId) -> None:
        """The node gave up a topic."""
        self._shares.drop(topic)

    def tick(self) -> None:
        """A cycle begins."""
        self._count.tick()
        self._shares.tick()

    def observe(self, digest: Digest) -> None:
        """Cyclon has told of a random node."""
        self._shares.observe(digest)

    def offer(self, topics: Iterable[TopicId]) -> tuple[Report, Shares]:
        """What to send with an exchange to a node that holds these topics. Shares are sent where they are needed."""
        return self._count.offer(), self._shares.offer(sorted(topics) if self._table.is_full else ())

    def answer(self, count: Report | None, shares: Shares) -> tuple[Report | None, Shares]:
        """Take in what came with an exchange; returns what to send with the reply."""
        return None if count is None else self._count.answer(count), self._shares.answer(shares)

    def take(self, count: Report | None, shares: Shares) -> None:
        """Take in what came with a reply."""
        self._count.take(count)
        self._shares.take(shares)
