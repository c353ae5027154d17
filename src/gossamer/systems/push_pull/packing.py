"""Puts many messages into few frames: consecutive messages as bursts, and names as spans."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import BURST_MAX, Data, proof_of, proved
from gossamer.systems.push_pull.messages import SPAN_MAX, SPANS_MAX, HeldSpan, PushPullBurst, PushPullData
from gossamer.systems.push_pull.spreading import Name, SpreadingMessage

# Chosen: payload bytes of one burst, far below the limit of a frame on every wire.
BURST_BYTES_MAX = 64 * 1024


def frames_of(messages: Sequence[SpreadingMessage], now_us: int) -> list[PushPullData | PushPullBurst]:
    """These messages, which all have data, as they are sent now."""
    frames: list[PushPullData | PushPullBurst] = []
    first = 0
    size = 0
    for place, message in enumerate(messages):
        assert message.data is not None
        size += len(message.data.payload)
        if place > first and (
            place - first >= BURST_MAX or size > BURST_BYTES_MAX or not _follows(message, messages[place - 1])
        ):
            frames.append(_frame(messages[first:place], now_us))
            first, size = place, len(message.data.payload)
    if messages:
        frames.append(_frame(messages[first:], now_us))
    return frames


def _follows(message: SpreadingMessage, before: SpreadingMessage) -> bool:
    """Whether two messages may stand one after the other in a burst."""
    one, other = before.data, message.data
    assert one is not None
    assert other is not None
    return (
        other.sequence == one.sequence + 1
        and other.previous == one.sequence
        and other.publisher == one.publisher
        and other.topic == one.topic
        and other.hops == one.hops
        and message.born_us == before.born_us
        and proof_of(one) is proof_of(other)
        and not one.also
        and not other.also
    )


def _frame(messages: Sequence[SpreadingMessage], now_us: int) -> PushPullData | PushPullBurst:
    data: list[Data] = [message.data for message in messages if message.data is not None]
    one, age_us = data[0], now_us - messages[0].born_us
    if len(data) > 1:
        items = proved(tuple([(each.published_us, each.payload) for each in data]), proof_of(one))
        return PushPullBurst(one.topic, one.publisher, one.sequence, one.hops, items, one.previous, age_us)
    return PushPullData(
        one.topic,
        one.publisher,
        one.sequence,
        one.hops,
        one.published_us,
        one.payload,
        one.previous,
        one.also,
        age_us,
    )


def spans_of(names: Iterable[Name]) -> tuple[HeldSpan, ...]:
    """These names as spans; if there are too many spans, the last ones."""
    spans: list[list[int]] = []
    # The last span of each publisher, which its next message extends: messages of several publishers are interleaved.
    last: dict[NodeId, list[int]] = {}
    for publisher, sequence in names:
        span = last.get(publisher)
        if span is not None and span[1] + span[2] == sequence and span[2] < SPAN_MAX:
            span[2] += 1
        else:
            span = last[publisher] = [publisher, sequence, 1]
            spans.append(span)
    return tuple([HeldSpan(*span) for span in spans[-SPANS_MAX:]])


class NameSet:
    """The names that a call contains. A look-up costs a binary search, however many names a peer claims to have."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Sequence[HeldSpan]) -> None:
        # For each publisher, where its spans start in ascending order, and the furthest end of all spans up to there.
        self._starts: dict[NodeId, list[int]] = {}
        self._ends: dict[NodeId, list[int]] = {}
        for span in sorted(spans, key=lambda each: each.sequence):
            starts = self._starts.setdefault(span.publisher, [])
            ends = self._ends.setdefault(span.publisher, [])
            starts.append(span.sequence)
            ends.append(max(span.sequence + span.count, ends[-1] if ends else 0))

    def __contains__(self, name: Any) -> bool:
        """Whether one of the spans covers this name."""
        publisher, sequence = name
        starts = self._starts.get(publisher)
        if starts is None:
            return False
        place = bisect_right(starts, sequence) - 1
        return place >= 0 and sequence < self._ends[publisher][place]
