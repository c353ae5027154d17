"""What recovery remembers of topics that the node has closed, so that order holds if a topic is opened again."""

from collections.abc import Iterable

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.delivery.recovery.stream import Stream

# Chosen: 65,536 numbers, as many as names of messages are remembered.
NUMBERS_MAX = 65_536


class ClosedTopics:
    """The last message of each publisher that was delivered on a closed topic; the topics closed first are forgotten first."""

    __slots__ = ("count", "most", "numbers")

    def __init__(self, most: int = NUMBERS_MAX) -> None:
        self.most = most
        self.count = 0
        self.numbers: dict[TopicId, dict[NodeId, int]] = {}

    def close(self, topic: TopicId, before: dict[NodeId, int], streams: Iterable[Stream]) -> None:
        """Remember the streams of a topic; `before` are the numbers that were remembered when it was opened."""
        numbers = {**before, **{stream.publisher: stream.delivered for stream in streams if stream.delivered}}
        if numbers:
            self.numbers[topic] = numbers
            self.count += len(numbers)
        while self.count > self.most:
            oldest = next(iter(self.numbers))
            self.count -= len(self.numbers.pop(oldest))

    def open(self, topic: TopicId) -> dict[NodeId, int]:
        """Remove and return the numbers of a topic."""
        numbers = self.numbers.pop(topic, {})
        self.count -= len(numbers)
        return numbers
