"""Messages and timers of push and pull."""

from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import (
    Burst,
    Data,
    Hops,
    Number,
    SequenceNumber,
    Timer,
    Value,
    WireMessage,
    proof_of,
    proved,
)

# Chosen: spans of names in one call, and consecutive messages that one span may stand for. If a node has more, it leaves
# the oldest out and may receive them again.
SPANS_MAX = 256
SPAN_MAX = 4_096


class PushPullData(Data, frozen=True, array_like=True, gc=False, tag="push_pull_data"):
    """A message that a node pushes, or sends as the answer to a call, and the time since its publication."""

    age_us: Number = 0


class PushPullBurst(Burst, frozen=True, array_like=True, gc=False, tag="push_pull_burst"):
    """Consecutive messages of one publisher that have the same age, as one message."""

    age_us: Number = 0

    KIND: ClassVar[type[Data]] = PushPullData

    @property
    def messages(self) -> list[Data]:
        """See `Burst`. Each message has the age of the burst."""
        topic, publisher, hops, age_us = self.topic, self.publisher, self.hops, self.age_us
        first, previous, also = self.sequence, self.previous, proved((), proof_of(self))
        return [
            PushPullData(
                topic,
                publisher,
                number,
                hops,
                published_us,
                payload,
                number - 1 if number > first else previous,
                also,
                age_us,
            )
            for number, (published_us, payload) in enumerate(self.items, first)
        ]


class HeldSpan(Value, frozen=True, array_like=True, gc=False):
    """The names of `count` messages of one publisher with consecutive numbers from `sequence` on."""

    publisher: NodeId
    sequence: SequenceNumber
    count: Annotated[int, Meta(ge=1, le=SPAN_MAX)] = 1


class Call(WireMessage, frozen=True, array_like=True, gc=False, tag="push_pull_call"):
    """A request for the young messages of a topic, except these, which the sender has."""

    topic: TopicId
    names: Annotated[tuple[HeldSpan, ...], Meta(max_length=SPANS_MAX)] = ()


class Wake(WireMessage, frozen=True, array_like=True, gc=False, tag="push_pull_wake"):
    """There is a message of this age on a topic: call on it for as long as that message is passed on."""

    topic: TopicId
    age_us: Number
    hops: Hops


class RoundDue(Timer, frozen=True, array_like=True, gc=False, tag="push_pull_round"):
    """The next round begins."""
