"""Which messages the node has seen, and which neighbour sent each first; bounded, the oldest are forgotten first."""

from collections import deque

from gossamer.model.values.ids import NodeId

# Chosen: 65,536 messages. A copy that arrives after its message was forgotten is taken for a new message.
SEEN_MAX = 65_536
# Replaces the first sender if the node fetched the message from a neighbour's history. No node has this id.
FETCHED = -1


class SeenSpan:
    """Consecutive sequence numbers of one publisher, first to end - 1, which were seen one after another."""

    __slots__ = ("end", "first", "publisher")

    def __init__(self, publisher: NodeId, first: int, end: int) -> None:
        self.publisher = publisher
        self.first = first
        self.end = end


class SeenMessages:
    """Message names (publisher, sequence) with the first sender of each, up to `most` of them."""

    __slots__ = ("_count", "_first_senders", "_most", "_spans")

    def __init__(self, most: int = SEEN_MAX) -> None:
        self._most = most
        self._first_senders: dict[NodeId, dict[int, NodeId]] = {}
        self._count = 0
        # The order in which names were added. A queue of its own, because a dictionary that loses its first entries
        # takes ever longer to find the next one.
        self._spans: deque[SeenSpan] = deque()

    def has(self, publisher: NodeId, sequence: int) -> bool:
        """Whether a message was seen and is still remembered."""
        return sequence in self._first_senders.get(publisher, ())

    def first_sender(self, publisher: NodeId, sequence: int) -> NodeId:
        """The first sender of a message that is remembered."""
        return self._first_senders[publisher][sequence]

    def set_first_sender(self, publisher: NodeId, sequence: int, sender: NodeId) -> None:
        """Replace the first sender of a message that is remembered."""
        self._first_senders[publisher][sequence] = sender

    def not_seen(self, publisher: NodeId, first: int, count: int) -> list[int]:
        """Which of these consecutive sequence numbers are not remembered."""
        senders = self._first_senders.get(publisher, ())
        return [number for number in range(first, first + count) if number not in senders]

    def add(self, publisher: NodeId, sequence: int, sender: NodeId = 0) -> bool:
        """Remember a message and its sender; returns whether the message was new."""
        senders = self._first_senders.get(publisher)
        if senders is None:
            senders = self._first_senders[publisher] = {}
        elif sequence in senders:
            return False
        senders[sequence] = sender
        spans = self._spans
        if spans and (span := spans[-1]).end == sequence and span.publisher == publisher:
            span.end = sequence + 1
        else:
            spans.append(SeenSpan(publisher, sequence, sequence + 1))
        self._count += 1
        if self._count > self._most:
            self._forget_oldest()
        return True

    def add_all(self, publisher: NodeId, first: int, count: int, sender: NodeId) -> bool:
        """Remember consecutive messages if all of them are new; returns whether they were."""
        # Measured: 0.94 us for one message, against 0.40 us in `add`; so a single message has its own path.
        end = first + count
        senders = self._first_senders.get(publisher)
        if senders is None:
            senders = self._first_senders[publisher] = {}
        elif not senders.keys().isdisjoint(range(first, end)):
            return False
        senders.update(dict.fromkeys(range(first, end), sender))
        spans = self._spans
        if spans and (span := spans[-1]).end == first and span.publisher == publisher:
            span.end = end
        else:
            spans.append(SeenSpan(publisher, first, end))
        self._count += count
        if self._count > self._most:
            self._forget_oldest()
        return True

    def _forget_oldest(self) -> None:
        while self._count > self._most:
            span = self._spans[0]
            senders = self._first_senders[span.publisher]
            end = min(span.end, span.first + self._count - self._most)
            for number in range(span.first, end):
                del senders[number]
            if not senders:
                del self._first_senders[span.publisher]
            self._count -= end - span.first
            span.first = end
            if end == span.end:
                self._spans.popleft()
