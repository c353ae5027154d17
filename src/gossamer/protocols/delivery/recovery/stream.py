"""The state of recovery for one publisher on one topic, and for one topic."""

from dataclasses import dataclass
from heapq import heappop, heappush

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.recovery.catch_up import CatchUp
from gossamer.protocols.delivery.recovery.messages import Ask

# What a neighbour that was asked has said so far: nothing yet, or it sent messages and may have more; it misses messages
# itself and is looking for them; it has no further message.
UNANSWERED, STILL_LOOKING, NOTHING_MORE = range(3)


@dataclass(slots=True)
class Asked:
    """A neighbour that was asked for missing messages: what it answered, and how long it was waited for.

    Times are this node's running time since it began to wait (`Stream.waited_us`).
    """

    # The messages that it was asked for are those before this number.
    before: int
    # How long to wait before it is asked again; longer after each request, because a busy neighbour has all of them in
    # its queue.
    pause_us: int
    answer: int = UNANSWERED
    # Whether it said that it will answer later (`AgedAnswer`).
    is_promised: bool = False
    # How long this node waited while the neighbour showed that it runs.
    running_us: int = 0
    # When to ask it again.
    again_us: int = 0

    def note_request(self, waited_us: int) -> None:
        """The neighbour is asked now."""
        self.pause_us *= 2
        self.again_us = waited_us + self.pause_us


class Stream:
    """One publisher's messages on one topic: the last delivered, those that wait behind a gap, and the gap itself."""

    __slots__ = (
        "asked",
        "askers",
        "began_us",
        "claimed",
        "claimed_us",
        "delivered",
        "due_us",
        "gap_at",
        "has_backlog",
        "has_gap",
        "is_claim_only",
        "last",
        "last_us",
        "looked_us",
        "order",
        "origin",
        "publisher",
        "put_off",
        "reported",
        "searched",
        "suspect",
        "timer_is_set",
        "topic",
        "waited_us",
        "waiting",
    )

    def __init__(self, topic: TopicId, publisher: NodeId, origin: NodeId) -> None:
        self.topic = topic
        self.publisher = publisher
        # The neighbour that first sent or named a message of this publisher.
        self.origin = origin
        # Every message up to this number was delivered or given up; 0 if nothing is known yet.
        self.delivered = 0
        # The last message that this node has, and when it arrived.
        self.last = 0
        self.last_us = 0
        # The last message that a neighbour claims to have, and when it said so.
        self.claimed = 0
        self.claimed_us = 0
        # The last claimed message that was reported as lost.
        self.reported = 0
        # Messages that wait behind a gap, and their numbers as a heap.
        self.waiting: dict[int, Arrived] = {}
        self.order: list[int] = []
        # Whether the node was away and may miss more messages than it has room for; and the lowest number of a message that
        # arrived meanwhile and found no room, 0 if there is none.
        self.has_backlog = False
        self.put_off = 0
        # Whether recovery waits for missing messages, since when (or since the last of them arrived), when it last looked
        # at them, and how long it has waited in this node's running time.
        self.has_gap = False
        self.began_us = 0
        self.looked_us = 0
        self.waited_us = 0
        # The last delivered message when the gap was last checked, and whether only a neighbour's claim shows the gap.
        self.gap_at = 0
        self.is_claim_only = False
        # The neighbour that revealed the gap, when to act next, and the neighbours asked. One timer at a time.
        self.suspect: NodeId = origin
        self.due_us = 0
        self.timer_is_set = False
        self.asked: dict[NodeId, Asked] = {}
        # Neighbours that asked this node while it looked for the same messages, and their requests.
        self.askers: dict[NodeId, Ask] = {}
        # The last message without a previous one for which the search for earlier messages has ended.
        self.searched = 0

    @property
    def before(self) -> int:
        """The missing messages are those before this number: before the first waiting message, or up to the last claimed one."""
        return self.order[0] if self.order else self.claimed + 1

    def begin_wait(self, now_us: int) -> None:
        """Count the wait for missing messages, and for each neighbour, from now on."""
        self.waited_us, self.looked_us, self.began_us = 0, now_us, now_us
        for asked in self.asked.values():
            asked.running_us = asked.again_us = 0

    @property
    def is_behind(self) -> bool:
        """Whether messages still arrive, so that the missing ones, which only a claim shows, are probably under way."""
        return not self.order and self.delivered > self.gap_at

    def lacks(self) -> bool:
        """Whether messages are missing, by a message that waits or by a neighbour's claim."""
        return bool(self.waiting) or self.claimed > max(self.delivered, self.last)

    def must_search(self, data: Data) -> bool:
        """Whether neighbours must be asked for earlier messages before this one is delivered.

        A publisher that restarted does not know its previous message and names none. Messages that it published before
        may be missing here, and only the neighbours can tell.
        """
        if previous_on(data, self.topic) or self.searched == data.sequence:
            return False
        return 0 < (self.delivered or self.claimed) < data.sequence

    @property
    def is_searching(self) -> bool:
        """Whether the first waiting message waits for such a search."""
        first = self.first()
        return first is not None and self.must_search(first.data)

    def wait(self, fact: Arrived) -> None:
        """Keep a message until those before it are delivered."""
        self.waiting[fact.data.sequence] = fact
        heappush(self.order, fact.data.sequence)

    def put_off_upper_half(self) -> list[Arrived]:
        """Remove the higher half of the waiting messages, which are fetched again when those before them are delivered.

        Messages of several topics stay, because other streams wait for them too.
        """
        numbers = sorted(self.order)
        off = [number for number in numbers[len(numbers) // 2 :] if not self.waiting[number].data.also]
        if off:
            self.put_off = min(self.put_off or off[0], off[0])
            self.claimed = max(self.claimed, off[-1])
            self.order = sorted(self.waiting.keys() - set(off))
            self.last = max([self.delivered, *self.order])
        return [self.waiting.pop(number) for number in off]

    def was_put_off(self, sequence: int) -> bool:
        """Whether a message may have been put off; it is not new, and the node needs it nevertheless."""
        return 0 < self.put_off <= sequence and sequence not in self.waiting

    def first(self) -> Arrived | None:
        """The waiting message with the lowest number."""
        return self.waiting[self.order[0]] if self.order else None

    def pop_first(self) -> None:
        """Remove the waiting message with the lowest number."""
        del self.waiting[heappop(self.order)]


class HeldTopic:
    """The state of recovery for one topic: since when the node holds it, its publishers, and a catch-up in progress."""

    __slots__ = ("before", "catch_up", "floors", "follows", "resumes", "since_us", "streams")

    def __init__(self, since_us: int, before: dict[NodeId, int]) -> None:
        self.since_us = since_us
        # Each publisher's last message that was delivered before the topic was last closed. Older messages, which a slow
        # neighbour may still send, are dropped.
        self.before = before
        self.follows = False
        # Whether the subscription wants messages from before this node opened the topic (`Subscribe.held_us`).
        self.resumes = False
        self.streams: dict[NodeId, Stream] = {}
        # A message of each publisher that neighbours know of and did not send, and when it was published by this node's
        # clock. If it is older than the subscription, messages up to it are not fetched.
        self.floors: dict[NodeId, tuple[int, int]] = {}
        self.catch_up: CatchUp | None = None

    def floor(self, publisher: NodeId) -> int:
        """The number of a publisher's last message from before this node subscribed; 0 if it is not known."""
        number, at_us = self.floors.get(publisher, (0, 0))
        return number if at_us < self.since_us else 0

    def set_floor(self, publisher: NodeId, number: int, at_us: int, most: int) -> bool:
        """A neighbour knows of a message and did not send it. Other neighbours may ask this node for the same message.

        Returns whether the message is later than the one known before.
        """
        before, _ = self.floors.get(publisher, (0, 0))
        if publisher in self.floors or len(self.floors) < most:
            self.floors[publisher] = (number, at_us)
            return number > before
        return False

    def begin_again(self, topic: TopicId, fact: Arrived, most: int) -> None:
        """Start the stream of a publisher that was evicted while this message waited, and that is now delivered."""
        publisher = fact.data.publisher
        if publisher not in self.streams and len(self.streams) < most:
            stream = self.streams[publisher] = Stream(topic, publisher, fact.sender)
            stream.delivered = fact.data.sequence


def previous_on(data: Data, topic: TopicId) -> int:
    """The number of the publisher's message before this one, on one of its topics."""
    if topic == data.topic:
        return data.previous
    return next((previous for also, previous in data.also if also == topic), 0)
