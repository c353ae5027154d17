"""The messages that a node keeps for neighbours that ask for them: a bounded store, the oldest dropped first.

Messages are kept in pages, one topic to a page, in the order in which they arrived, and whole pages are dropped.
Keeping a message costs one append; a request costs a search through the pages that may hold the messages asked for.
"""

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Store
from gossamer.protocols.contract.messages import Data

# Chosen: 8,192 messages of a topic (0.4 s at 20,000 a second, 50 ms at 160,000), and 4 MiB in all.
PER_TOPIC = 8_192
BYTES_MAX = 4 * 2**20
# Chosen: messages of one page, which are dropped together.
PAGE_MAX = 64
# What a message costs in memory besides its payload.
EACH_BYTES = 200

Name = tuple[NodeId, int]
# A message, and when it was published by this node's clock.
Timed = tuple[int, Any]


class Page:
    """Messages of one topic that arrived one after another."""

    __slots__ = ("_numbers", "messages", "size_bytes", "times_us", "topic")

    def __init__(self, topic: TopicId) -> None:
        self.topic = topic
        self.messages: list[Any] = []
        # When each message was published, by this node's clock.
        self.times_us: list[int] = []
        self.size_bytes = 0
        self._numbers: tuple[int, int, int] = (0, 0, 0)

    def may_hold(self, lowest: int, highest: int) -> bool:
        """Whether the range of its sequence numbers overlaps this range. Cached until a message is added."""
        count, first, last = self._numbers
        if count != len(self.messages):
            numbers = [data.sequence for data in self.messages]
            count, first, last = self._numbers = (len(numbers), min(numbers), max(numbers))
        return bool(count) and first <= highest and last >= lowest


class History:
    """The last messages of the topics that a node holds, limited by a count for each topic and by bytes for all."""

    __slots__ = ("_bytes", "_bytes_max", "_page_max", "_pages", "_pages_max", "_topics", "_used")

    def __init__(self, per_topic: int = PER_TOPIC, bytes_max: int = BYTES_MAX) -> None:
        # The page being filled counts too, so that a topic never exceeds its limit.
        self._page_max = max(1, min(PAGE_MAX, per_topic // 4))
        self._pages_max = per_topic // self._page_max
        self._bytes_max = bytes_max
        self._bytes = 0
        # The number of pages with messages.
        self._used = 0
        self._topics: dict[TopicId, deque[Page]] = {}
        # All pages, the oldest first; a page that its topic dropped stays here empty for a while.
        self._pages: deque[Page] = deque()

    @property
    def size_bytes(self) -> int:
        """The bytes of all messages kept."""
        return self._bytes

    def put(self, topic: TopicId, messages: Sequence[Data], at_us: int) -> None:
        """Keep messages, in this order, under one of their topics.

        `at_us`: when they were published, by this node's clock: the time of their arrival, or an earlier one if another
        node said how old they are. `published_us` of a message is of no use for this: it is the time of another clock.
        """
        done = 0
        while done < len(messages):
            pages = self._topics.get(topic)
            if pages is None:
                pages = self._topics[topic] = deque()
            page = pages[-1] if pages else None
            if page is None or len(page.messages) >= self._page_max:
                page = self._new_page(topic, pages)
            some = messages[done : done + self._page_max - len(page.messages)]
            page.messages += some
            page.times_us += [at_us] * len(some)
            size = EACH_BYTES * len(some)
            for data in some:
                size += len(data.payload)
            page.size_bytes += size
            self._bytes += size
            if self._bytes > self._bytes_max:
                self._make_room()
            done += len(some)

    def drop(self, topic: TopicId) -> None:
        """Drop all messages of a topic."""
        for page in self._topics.pop(topic, ()):
            self._empty(page)

    def count(self, topic: TopicId) -> int:
        """How many messages of a topic are kept."""
        return sum(len(page.messages) for page in self._topics.get(topic, ()))

    def named(self, topic: TopicId, names: Collection[Name]) -> list[Any]:
        """The messages with these names that are kept, in the order in which they arrived."""
        if not names:
            return []
        numbers = [sequence for _, sequence in names]
        among = self._among(topic, min(numbers), max(numbers))
        return [data for data in among if (data.publisher, data.sequence) in names]

    def between(self, topic: TopicId, publisher: NodeId, after: int, before: int) -> list[Timed]:
        """A publisher's messages with after < sequence < before, in the publisher's order, each with its time."""
        found = [
            (at_us, data)
            for page in self._pages_with(topic, after + 1, before - 1)
            for at_us, data in zip(page.times_us, page.messages, strict=True)
            if data.publisher == publisher and after < data.sequence < before
        ]
        return sorted(found, key=_sequence)

    def latest(self, topic: TopicId, count: int, since_us: int) -> list[Timed]:
        """The last `count` messages and all with a time of `since_us` or later, the oldest first, each with its time."""
        pages = self._topics.get(topic, ())
        kept = [row for page in pages for row in zip(page.times_us, page.messages, strict=True)]
        kept.sort(key=_time)
        first = max(len(kept) - count, 0)
        return [row for place, row in enumerate(kept) if place >= first or row[0] >= since_us]

    def _among(self, topic: TopicId, lowest: int, highest: int) -> list[Any]:
        """The messages of all pages that may hold numbers of this range."""
        return [data for page in self._pages_with(topic, lowest, highest) for data in page.messages]

    def _pages_with(self, topic: TopicId, lowest: int, highest: int) -> list[Page]:
        return [page for page in self._topics.get(topic, ()) if page.may_hold(lowest, highest)]

    def _new_page(self, topic: TopicId, pages: deque[Page]) -> Page:
        if len(pages) >= self._pages_max:
            self._empty(pages.popleft())
        page = Page(topic)
        pages.append(page)
        self._pages.append(page)
        # Remove empty pages at the front now; those in the middle when there are too many of them.
        while self._pages and not self._pages[0].messages and self._pages[0] is not page:
            self._pages.popleft()
        self._used += 1
        if len(self._pages) > 2 * self._used + PAGE_MAX:
            self._pages = deque(kept for kept in self._pages if kept.messages or kept is page)
        return page

    def _make_room(self) -> None:
        while self._bytes > self._bytes_max and self._pages:
            page = self._pages.popleft()
            if page.messages:
                pages = self._topics[page.topic]
                pages.popleft()
                if not pages:
                    del self._topics[page.topic]
                self._empty(page)

    def _empty(self, page: Page) -> None:
        self._used -= 1
        self._bytes -= page.size_bytes
        page.size_bytes = 0
        page.messages = []
        page.times_us = []


class StoredHistory(History):
    """A history whose messages are also kept on the node's disk; recovery takes the actions from `unsaved`."""

    __slots__ = ("unsaved",)

    def __init__(self, per_topic: int = PER_TOPIC, bytes_max: int = BYTES_MAX) -> None:
        super().__init__(per_topic, bytes_max)
        self.unsaved: list[Store] = []

    def put(self, topic: TopicId, messages: Sequence[Data], at_us: int) -> None:
        """See `History.put`."""
        super().put(topic, messages, at_us)
        self.unsaved.append(Store(topic, tuple(messages), at_us))


def _sequence(row: Timed) -> int:
    number: int = row[1].sequence
    return number


def _time(row: Timed) -> int:
    return row[0]
