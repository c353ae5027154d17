"""Limits of what one neighbour can make recovery keep: gaps that are waited for, and bytes behind gaps."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.delivery.history import EACH_BYTES
from gossamer.protocols.delivery.recovery.stream import Stream


class Gaps:
    """The open gaps, counted by the neighbour that revealed them."""

    __slots__ = ("_most", "counts", "heard_us")

    def __init__(self, most: int) -> None:
        self._most = most
        self.counts: dict[NodeId, int] = {}
        # While a gap is open: when each neighbour that was asked last sent anything to the dissemination or to recovery.
        self.heard_us: dict[NodeId, int] = {}

    def has_room(self, suspect: NodeId) -> bool:
        """Whether one more gap that this neighbour revealed may be opened."""
        return self.counts.get(suspect, 0) < self._most

    def open(self, stream: Stream, suspect: NodeId, now_us: int) -> None:
        """Begin to wait for the missing messages of a stream."""
        self.counts[suspect] = self.counts.get(suspect, 0) + 1
        stream.has_gap, stream.suspect = True, suspect
        stream.begin_wait(now_us)
        stream.gap_at, stream.is_claim_only = stream.delivered, not stream.order
        stream.askers = {}

    def close(self, stream: Stream) -> None:
        """Stop waiting: nothing is missing any more, or the missing messages are given up."""
        if stream.has_gap:
            stream.has_gap = False
            stream.asked = {}
            left = self.counts.pop(stream.suspect) - 1
            if left:
                self.counts[stream.suspect] = left
            elif not self.counts:
                self.heard_us.clear()


class WaitingBytes:
    """The bytes of all messages that wait behind gaps, counted by the neighbour that sent them."""

    __slots__ = ("_bytes_by_sender", "_bytes_max", "total")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self.total = 0
        self._bytes_by_sender: dict[NodeId, int] = {}

    def add(self, fact: Arrived) -> None:
        """Count a message that begins to wait."""
        size = len(fact.data.payload) + EACH_BYTES
        self.total += size
        self._bytes_by_sender[fact.sender] = self._bytes_by_sender.get(fact.sender, 0) + size

    def remove(self, fact: Arrived) -> None:
        """Stop counting a message that waits no longer."""
        size = len(fact.data.payload) + EACH_BYTES
        self.total -= size
        left = self._bytes_by_sender.pop(fact.sender) - size
        if left:
            self._bytes_by_sender[fact.sender] = left

    def is_too_much(self, sender: NodeId) -> bool:
        """Whether all messages together, or those of this neighbour, exceed their limit; one neighbour may use a quarter."""
        return self.total > self._bytes_max or self._bytes_by_sender.get(sender, 0) > self._bytes_max // 4
