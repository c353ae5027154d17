"""Parameters, messages, timers and facts of recovery."""

from typing import Annotated

from msgspec import Meta, Struct, structs

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import (
    Data,
    SequenceNumber,
    Timer,
    WireMessage,
)
from gossamer.protocols.delivery.history import BYTES_MAX, PER_TOPIC

# Chosen: how much one frame may hold. Messages are limited by their bytes too, so that a frame stays far below the
# limit of every wire; one message always fits.
ANSWER_MAX = 256
ANSWER_BYTES_MAX = 256 * 1024


class RecoveryParameters(Struct, frozen=True, kw_only=True):
    """How long recovery waits for missing messages, and how much it keeps."""

    history: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Chosen: 8,192. Messages of a topic kept for neighbours that ask")
    ] = PER_TOPIC
    history_bytes: Annotated[
        int, Meta(ge=1, description="Chosen: 4 MiB. Bytes of all messages kept for neighbours that ask")
    ] = BYTES_MAX
    gap_after_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Chosen: 100 ms. The wait before a request for a missing message: messages overtake each other",
        ),
    ] = 100 * MILLISECOND_US
    tail_after_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Chosen: 600 ms. The same if only an announcement shows the gap; a tree repairs itself sooner",
        ),
    ] = 600 * MILLISECOND_US
    ask_again_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 300 ms, a round trip of a slow network. The time before the next neighbour is asked",
        ),
    ] = 300 * MILLISECOND_US
    give_up_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 4 s, longer than a tree takes to mend. The wait for a neighbour that runs and does not send missing messages",
        ),
    ] = 4 * SECOND_US
    answer_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 60 s. The wait for connected neighbours that are silent; then missing messages are reported as lost",
        ),
    ] = 60 * SECOND_US
    waiting: Annotated[
        int, Meta(ge=1, description="Chosen: 8,192. Messages of one publisher on one topic that wait behind a gap")
    ] = 8_192
    waiting_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 8 MiB. All messages that wait behind gaps; those of one neighbour may use a quarter",
        ),
    ] = 8 * 2**20
    publishers: Annotated[
        int,
        Meta(
            ge=1, description="Chosen: 1,024. Publishers of a topic whose order is kept; the oldest are evicted first"
        ),
    ] = 1_024
    gaps: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 1,024. Open gaps that one neighbour revealed; further ones are given up at once",
        ),
    ] = 1_024
    answer_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 4 MiB. Bytes sent to one neighbour that asks, in a second; it may ask again later",
        ),
    ] = 4 * 2**20
    catch_up_wait_us: Annotated[
        int,
        Meta(ge=1, description="Chosen: 30 s. How long a late subscriber looks for a neighbour to ask for the history"),
    ] = 30 * SECOND_US
    catch_up_hold_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 2 s. How long a late subscriber waits for the history before it delivers new messages",
        ),
    ] = 2 * SECOND_US
    stores: Annotated[
        bool,
        Meta(description="Chosen: off. Also keep messages on the node's disk, for neighbours that were away"),
    ] = False


# Chosen: a topic whose parts are kept apart has a quarter of the bytes that all topics share elsewhere.
APART_SHARE = 4


def for_one_topic(parameters: RecoveryParameters) -> RecoveryParameters:
    """The limits of each topic, where topics are kept apart."""
    return structs.replace(
        parameters,
        history_bytes=max(parameters.history_bytes // APART_SHARE, 1),
        waiting_bytes=max(parameters.waiting_bytes // APART_SHARE, 1),
    )


class Ask(WireMessage, frozen=True, array_like=True, gc=False, tag="recovery_ask"):
    """A request for a publisher's messages with after < sequence < before that are at most `age_us` old (0: any age)."""

    topic: TopicId
    publisher: NodeId
    after: SequenceNumber
    before: SequenceNumber
    age_us: int = 0


class Answer(WireMessage, frozen=True, array_like=True, gc=False, tag="recovery_answer"):
    """The requested messages, in order.

    `floor`: the last message in the range that the sender knows of and does not send, because it is older than requested
    or because the sender no longer has it; `floor_age_us`: its age, or 0 from a node that sends a floor only if it is older
    than requested and no age. `more`: the receiver must ask again for the rest. `before`: that of the request; 0 from a
    node that does not send it.
    """

    topic: TopicId
    publisher: NodeId
    messages: Annotated[tuple[Data, ...], Meta(max_length=ANSWER_MAX)]
    floor: SequenceNumber = 0
    more: bool = False
    floor_age_us: int = 0
    before: SequenceNumber = 0


class AgedAnswer(Answer, frozen=True, array_like=True, gc=False, tag="recovery_aged_answer"):
    """The answer of a node with a disk, whose messages may be old; `ages_us`: how old each of them is.

    `later`: there are no messages yet, because the sender must read its disk and has no time for it; it must be asked again.
    """

    ages_us: Annotated[tuple[int, ...], Meta(max_length=ANSWER_MAX)] = ()
    later: bool = False


class AskHistory(WireMessage, frozen=True, array_like=True, gc=False, tag="recovery_ask_history"):
    """A request for the last `count` messages of a topic, and all that are at most `age_us` old (0: none for their age)."""

    topic: TopicId
    count: int
    age_us: int


class Past(WireMessage, frozen=True, array_like=True, gc=False, tag="recovery_past"):
    """A part of the requested history, with the age of each message; `more`: the next part follows at once."""

    topic: TopicId
    messages: Annotated[tuple[Data, ...], Meta(max_length=ANSWER_MAX)]
    more: bool
    ages_us: Annotated[tuple[int, ...], Meta(max_length=ANSWER_MAX)] = ()


class GapDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_gap"):
    """Look at the gap of a stream: ask the next neighbour, or give up."""

    topic: TopicId
    publisher: NodeId


class WelcomeDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_welcome"):
    """Announce the last messages of all streams to new neighbours."""


class CatchUpDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_catch_up"):
    """Look for neighbours to ask for the history, or stop waiting for it."""

    topic: TopicId


class Late(Fact, frozen=True, array_like=True, gc=False, tag="late"):
    """A message arrived after later ones of its publisher had been delivered; it was dropped."""

    topic: TopicId
    publisher: NodeId
    sequence: int
