"""Messages that neighbours announced and that have not come, as spans of numbers.

Under load a node is always a little behind those who announce to it, by thousands of messages. So numbers that follow each
other are kept together: a span is looked at when it is due, and what has come by then is known by name.
"""

from bisect import bisect_right
from collections.abc import Callable

from gossamer.model.values.ids import NodeId, TopicId

# Chosen: spans, and messages in all of them; what is announced beyond that is recovery's.
SPANS_MAX = 1_024
MISSING_MAX = 16_384
# Chosen: how many announcers of one span are remembered.
ANNOUNCERS_MAX = 16

# The numbers that have not come of a publisher's run: (publisher, first, count).
Lacking = Callable[[NodeId, int, int], list[int]]


class Span:
    """Announced messages of one publisher on one topic: first to end - 1; some may have come."""

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
        # How often more it is waited for while the supplier brings other messages.
        self.patience = patience


class Missing:
    """The spans that are waited for; those of one publisher on one topic never overlap."""

    __slots__ = ("_count", "_lacking", "_patience", "_span_count", "_spans", "_swept_us")

    def __init__(self, lacking: Lacking, patience: int) -> None:
        self._lacking = lacking
        self._patience = patience
        self._spans: dict[tuple[TopicId, NodeId], list[Span]] = {}
        self._span_count = 0
        self._count = 0
        self._swept_us = -1

    def __len__(self) -> int:
        """Messages in all spans, come or not."""
        return self._count

    def announced(
        self, announcer: NodeId, topic: TopicId, publisher: NodeId, first: int, count: int, now_us: int, due_us: int
    ) -> None:
        """A neighbour has these messages: what has not come is due then, unless it is waited for already."""
        numbers = self._lacking(publisher, first, count)
        if not numbers:
            return
        at, end = numbers[0], numbers[-1] + 1
        if not self._fits(end - at) and self._swept_us < now_us:
            self._sweep(now_us)
        spans = self._spans.get((topic, publisher), [])
        # They do not overlap, so that in the order of their beginnings they are in that of their ends.
        place = bisect_right(spans, at, key=_first)
        if place and spans[place - 1].end > at:
            place -= 1
        while at < end:
            until = min(spans[place].first, end) if place < len(spans) else end
            if at < until and self._fits(until - at):
                self._count += until - at
                last = spans[place - 1] if place else None
                if last is not None and last.end == at and last.due_us == due_us and last.announcers == [announcer]:
                    # They follow each other and were named apart, as where several publish at once.
                    last.end = until
                else:
                    spans.insert(place, Span(topic, publisher, at, until, announcer, due_us, self._patience))
                    self._span_count += 1
                    place += 1
            at = until
            if at < end:
                span = spans[place]
                if announcer not in span.announcers and len(span.announcers) < ANNOUNCERS_MAX:
                    span.announcers.append(announcer)
                at = span.end
                place += 1
        if spans:
            self._spans[topic, publisher] = spans

    def due(self, now_us: int) -> list[tuple[Span, list[int]]]:
        """The spans that are due, with the numbers that have not come; those of which all have come are let go of."""
        found = []
        for span in self._all():
            if span.due_us <= now_us:
                numbers = self._lacking(span.publisher, span.first, span.end - span.first)
                if numbers:
                    self._count -= span.end - span.first
                    span.first, span.end = numbers[0], numbers[-1] + 1
                    self._count += span.end - span.first
                    found.append((span, numbers))
                else:
                    self.drop(span)
        return found

    def drop(self, span: Span) -> None:
        """Wait for a span no longer."""
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

    def _all(self) -> list[Span]:
        return [span for spans in self._spans.values() for span in spans]

    def _sweep(self, now_us: int) -> None:
        """Most of what was announced has come since; looked for once for all that is announced at a time."""
        self._swept_us = now_us
        for span in self._all():
            if not self._lacking(span.publisher, span.first, span.end - span.first):
                self.drop(span)

    def _fits(self, count: int) -> bool:
        return self._span_count < SPANS_MAX and self._count + count <= MISSING_MAX


def _first(span: Span) -> int:
    return span.first
