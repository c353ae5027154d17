"""What recovery knows of one publisher on one topic, and of one topic."""

from heapq import heappop, heappush

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.history import EACH_BYTES
from gossamer.protocols.delivery.recovery.catch_up import CatchUp


class Stream:
    """A publisher's messages on a topic: how far they were delivered, what waits, and what is missing in between."""

    __slots__ = (
        "asked",
        "by_word",
        "delivered",
        "due_us",
        "gap_at",
        "gap_us",
        "last",
        "last_us",
        "order",
        "origin",
        "publisher",
        "suspect",
        "timed",
        "told",
        "told_us",
        "topic",
        "turn",
        "untold",
        "waiting",
    )

    def __init__(self, topic: TopicId, publisher: NodeId, origin: NodeId) -> None:
        self.topic = topic
        self.publisher = publisher
        # Who first spoke of it.
        self.origin = origin
        # Everything up to here has been delivered or given up; 0 where nothing is known yet.
        self.delivered = 0
        # The last message that this node has, when it was published, and how often neighbours are still to be told.
        self.last = 0
        self.last_us = 0
        self.untold = 0
        # The last message that a neighbour says it has.
        self.told = 0
        self.told_us = 0
        # Messages behind a gap, and their numbers as a heap.
        self.waiting: dict[int, Arrived] = {}
        self.order: list[int] = []
        # A gap: since when, because of whom, when something is due, who was asked. One timer at a time.
        self.gap_us: int | None = None
        # What had been delivered when it was last looked at, and whether only a neighbour's word says that there is one.
        self.gap_at = 0
        self.by_word = False
        self.suspect: NodeId = origin
        self.due_us = 0
        self.timed = False
        self.turn = 0
        self.asked: dict[NodeId, None] = {}

    @property
    def open(self) -> bool:
        """Whether a gap is being waited for."""
        return self.gap_us is not None

    def lacks(self) -> bool:
        """Whether something is missing."""
        return bool(self.waiting) or self.told > max(self.delivered, self.last)

    def wait(self, fact: Arrived) -> None:
        """Have a message wait its turn."""
        self.waiting[fact.data.sequence] = fact
        heappush(self.order, fact.data.sequence)

    def first(self) -> Arrived | None:
        """The first message that waits."""
        return self.waiting[self.order[0]] if self.order else None

    def take(self) -> None:
        """The first message waits no longer."""
        del self.waiting[heappop(self.order)]


class Gaps:
    """The gaps that are open, counted by the neighbour because of which they are."""

    __slots__ = ("_most", "counts")

    def __init__(self, most: int) -> None:
        self._most = most
        self.counts: dict[NodeId, int] = {}

    def room(self, suspect: NodeId) -> bool:
        """Whether one more may be waited for because of a neighbour."""
        return self.counts.get(suspect, 0) < self._most

    def open(self, stream: Stream, suspect: NodeId, now_us: int) -> None:
        """Something is missing since now."""
        self.counts[suspect] = self.counts.get(suspect, 0) + 1
        stream.gap_us, stream.suspect = now_us, suspect
        stream.gap_at, stream.by_word = stream.delivered, not stream.order

    def close(self, stream: Stream) -> None:
        """Nothing is missing, or it is waited for no longer."""
        if stream.gap_us is not None:
            stream.gap_us = None
            stream.turn, stream.asked = 0, {}
            left = self.counts.pop(stream.suspect) - 1
            if left:
                self.counts[stream.suspect] = left


class Load:
    """The bytes that wait, by the neighbour that they came from."""

    __slots__ = ("_bytes", "_bytes_max", "_bytes_of")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._bytes_of: dict[NodeId, int] = {}

    def add(self, fact: Arrived) -> None:
        """A message waits."""
        size = len(fact.data.payload) + EACH_BYTES
        self._bytes += size
        self._bytes_of[fact.sender] = self._bytes_of.get(fact.sender, 0) + size

    def remove(self, fact: Arrived) -> None:
        """It waits no longer."""
        size = len(fact.data.payload) + EACH_BYTES
        self._bytes -= size
        left = self._bytes_of.pop(fact.sender) - size
        if left:
            self._bytes_of[fact.sender] = left

    def too_much(self, sender: NodeId) -> bool:
        """Whether more waits than may; one neighbour's may be a quarter of all."""
        return self._bytes > self._bytes_max or self._bytes_of.get(sender, 0) > self._bytes_max // 4


class Followed:
    """A topic that the node holds: since when, its publishers, and the past that it waits for."""

    __slots__ = ("catch_up", "floors", "follows", "since_us", "streams")

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self.follows = False
        self.streams: dict[NodeId, Stream] = {}
        # The last messages from before this node subscribed, as neighbours say: nobody needs to be asked for those.
        self.floors: dict[NodeId, int] = {}
        self.catch_up: CatchUp | None = None

    def begin(self, topic: TopicId, fact: Arrived, most: int) -> None:
        """Where a publisher had been let go of while its message waited, and it is delivered: its order begins here anew."""
        publisher = fact.data.publisher
        if publisher not in self.streams and len(self.streams) < most:
            stream = self.streams[publisher] = Stream(topic, publisher, fact.sender)
            stream.delivered = fact.data.sequence


def previous_on(data: Data, topic: TopicId) -> int:
    """What a message follows on one of its topics."""
    if topic == data.topic:
        return data.previous
    return next((previous for also, previous in data.also if also == topic), 0)
