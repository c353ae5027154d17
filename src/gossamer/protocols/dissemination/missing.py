"""Messages that neighbours announced and that have not arrived, as spans of consecutive sequence numbers.

Under load a node is always some thousands of messages behind the neighbours that announce to it. Consecutive numbers are
therefore kept together as one span, and a span is compared with the messages seen only when it is due.
"""

from bisect import bisect_right
from collections.abc import Callable

from gossamer.model.values.ids import NodeId, TopicId

# Chosen: spans, and messages in all spans. Recovery fetches messages that are announced beyond these limits.
SPANS_MAX = 1_024
MISSING_MAX = 16_384
# Chosen: how many announcers of one span are remembered.
ANNOUNCERS_MAX = 16

# (publisher, first, count) -> those of the consecutive numbers that have not been seen.
_NotSeen = Callable[[NodeId, int, int], list[int]]


class MissingSpan:
    """Announced messages of one publisher on one topic, first to end - 1; some may have arrived meanwhile."""

    __slots__ = ("announcers", "due_us", "end", "first", "patience", "publisher", "topic")

    def __init__(
        self, topic: TopicId, publisher: NodeId, first: int, end: int, announcer: NodeId, due_us: int, patience: int
    ) -> None:
        self.topic = topic
        self.publisher = publisher
        self.first = first
        self.end = end
        self.announcers = [announcer]
        self.due_us = due_us
        # How many more times the span is given time while the supplier sends other messages.
        self.patience = patience


class Missing:
    """The spans that the node waits for; spans of one publisher on one topic never overlap."""

    __slots__ = ("_count", "_not_seen", "_patience", "_span_count", "_spans", "_swept_us")

    def __init__(self, not_seen: _NotSeen, patience: int) -> None:
        self._not_seen = not_seen
        self._patience = patience
        self._spans: dict[tuple[TopicId, NodeId], list[MissingSpan]] = {}
        self._span_count = 0
        self._count = 0
        self._swept_us = -1

    def __len__(self) -> int:
        """Messages in all spans, including those that arrived since."""
        return self._count

    def announced(
        self, announcer: NodeId, topic: TopicId, publisher: NodeId, first: int, count: int, now_us: int, due_us: int
    ) -> None:
        """A neighbour has these messages. Wait until `due_us` for those not seen; numbers already waited for keep their time."""
        numbers = self._not_seen(publisher, first, count)
        if not numbers:
            return
        at, end = numbers[0], numbers[-1] + 1
        if not self._fits(end - at) and self._swept_us < now_us:
            self._drop_arrived(now_us)
        spans = self._spans.get((topic, publisher), [])
        # Spans do not overlap, so ordering them by first number orders them by end too.
        place = bisect_right(spans, at, key=_first)
        if place and spans[place - 1].end > at:
            place -= 1
        while at < end:
            # Numbers before the next span are new; those inside it gain an announcer.
            until = min(spans[place].first, end) if place < len(spans) else end
            if at < until and self._fits(until - at):
                place = self._insert(spans, place, topic, publisher, at, until, announcer, due_us)
            at = until
            if at < end:
                span = spans[place]
                if announcer not in span.announcers and len(span.announcers) < ANNOUNCERS_MAX:
                    span.announcers.append(announcer)
                at = span.end
                place += 1
        if spans:
            self._spans[topic, publisher] = spans

    def _insert(
        self,
        spans: list[MissingSpan],
        place: int,
        topic: TopicId,
        publisher: NodeId,
        first: int,
        end: int,
        announcer: NodeId,
        due_us: int,
    ) -> int:
        """Add new numbers before the span at `place`; returns the place of that span afterwards."""
        self._count += end - first
        last = spans[place - 1] if place else None
        if last is not None and last.end == first and last.due_us == due_us and last.announcers == [announcer]:
            # Consecutive numbers that were announced one by one, as happens when several publishers publish at once.
            last.end = end
            return place
        spans.insert(place, MissingSpan(topic, publisher, first, end, announcer, due_us, self._patience))
        self._span_count += 1
        return place + 1

    def due(self, now_us: int) -> list[tuple[MissingSpan, list[int]]]:
        """The spans that are due, each with its numbers not seen; a span that has arrived completely is dropped."""
        found = []
        for span in self._all():
            if span.due_us <= now_us:
                numbers = self._not_seen(span.publisher, span.first, span.end - span.first)
                if numbers:
                    self._count -= span.end - span.first
                    span.first, span.end = numbers[0], numbers[-1] + 1
                    self._count += span.end - span.first
                    found.append((span, numbers))
                else:
                    self.drop(span)
        return found

    def drop(self, span: MissingSpan) -> None:
        """Stop waiting for a span."""
        spans = self._spans[span.topic, span.publisher]
        spans.remove(span)
        self._span_count -= 1
        self._count -= span.end - span.first
        if not spans:
            del self._spans[span.topic, span.publisher]

    @property
    def soonest_us(self) -> int | None:
        """When the next span is due."""
        return min((span.due_us for span in self._all()), default=None)

    def _all(self) -> list[MissingSpan]:
        return [span for spans in self._spans.values() for span in spans]

    def _drop_arrived(self, now_us: int) -> None:
        """Drop the spans that have arrived completely, usually most of them; at most once for each moment."""
        self._swept_us = now_us
        for span in self._all():
            if not self._not_seen(span.publisher, span.first, span.end - span.first):
                self.drop(span)

    def _fits(self, count: int) -> bool:
        return self._span_count < SPANS_MAX and self._count + count <= MISSING_MAX


def _first(span: MissingSpan) -> int:
    return span.first
