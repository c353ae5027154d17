"""Parameters, messages, timers and facts of recovery."""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import (
    Data,
    Message,
    Number,
    Timer,
    Value,
)
from gossamer.protocols.delivery.history import BYTES_MAX, PER_TOPIC

# Chosen: what one frame may hold. Payloads are cut by bytes as well, so that a frame stays far below any wire's limit; one
# message always fits.
TAILS_MAX = 1_024
ANSWER_MAX = 256
ANSWER_BYTES_MAX = 256 * 1024


class RecoveryParameters(Struct, frozen=True, kw_only=True):
    """How long gaps are waited for, and how much is kept."""

    history: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Chosen: 8,192. Messages of a topic kept for those who ask")
    ] = PER_TOPIC
    history_bytes: Annotated[
        int, Meta(ge=1, description="Chosen: 4 MiB. Messages of all topics kept for those who ask, in bytes")
    ] = BYTES_MAX
    gap_after_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Chosen: 100 ms. How long a gap may be messages that overtook each other, before it is asked for",
        ),
    ] = 100 * MILLISECOND_US
    tail_after_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Chosen: 1 s. The same where only a neighbour's word says so; a tree mends itself in less",
        ),
    ] = SECOND_US
    ask_again_us: Annotated[
        int,
        Meta(ge=1, description="Chosen: 300 ms, a round trip of a slow network. Before the next neighbour is asked"),
    ] = 300 * MILLISECOND_US
    give_up_us: Annotated[
        int,
        Meta(ge=1, description="Chosen: 4 s, twelve asks. After this a gap is reported, and what waits is delivered"),
    ] = 4 * SECOND_US
    have_every_us: Annotated[
        int, Meta(ge=1, description="Chosen: 1 s. How often neighbours are told the last messages that are new here")
    ] = SECOND_US
    have_rounds: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="Chosen: 6. They are told twice, and again after so many rounds: a link may break seconds before it shows",
        ),
    ] = 6
    waiting: Annotated[
        int, Meta(ge=1, description="Chosen: 8,192. Messages of one publisher on one topic that wait behind a gap")
    ] = 8_192
    waiting_bytes: Annotated[
        int,
        Meta(ge=1, description="Chosen: 8 MiB. All messages that wait behind gaps; one neighbour's may be a quarter"),
    ] = 8 * 2**20
    publishers: Annotated[
        int, Meta(ge=1, description="Chosen: 1,024. Publishers of a topic whose order is kept; the oldest go first")
    ] = 1_024
    gaps: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 1,024. Gaps waited for because of one neighbour; further ones are given up at once",
        ),
    ] = 1_024
    answer_bytes: Annotated[
        int, Meta(ge=1, description="Chosen: 4 MiB. What one neighbour is answered in a second; it may ask again later")
    ] = 4 * 2**20
    catch_up_wait_us: Annotated[
        int,
        Meta(ge=1, description="Chosen: 30 s. How long a late subscriber looks for a neighbour to ask for the past"),
    ] = 30 * SECOND_US
    catch_up_hold_us: Annotated[
        int, Meta(ge=1, description="Chosen: 2 s. How long it then holds what is new back, for the past to come first")
    ] = 2 * SECOND_US


class Tail(Value, frozen=True, array_like=True, gc=False):
    """The last message of a publisher on a topic that somebody has."""

    topic: TopicId
    publisher: NodeId
    sequence: Number
    published_us: int


class Have(Message, frozen=True, array_like=True, gc=False, tag="recovery_have"):
    """These are the last messages that I have, on topics that we share."""

    tails: Annotated[tuple[Tail, ...], Meta(max_length=TAILS_MAX)]


class Ask(Message, frozen=True, array_like=True, gc=False, tag="recovery_ask"):
    """Send me what you have of this publisher with after < sequence < before, published since then."""

    topic: TopicId
    publisher: NodeId
    after: Number
    before: Number
    since_us: int = 0


class Answer(Message, frozen=True, array_like=True, gc=False, tag="recovery_answer"):
    """Here they are, in order. `floor` is the last one from before the time that was asked for; `more`: ask for the rest."""

    topic: TopicId
    publisher: NodeId
    messages: Annotated[tuple[Data, ...], Meta(max_length=ANSWER_MAX)]
    floor: Number = 0
    more: bool = False


class AskHistory(Message, frozen=True, array_like=True, gc=False, tag="recovery_ask_history"):
    """Send me the last so many messages of a topic, and those published since."""

    topic: TopicId
    count: int
    since_us: int


class Past(Message, frozen=True, array_like=True, gc=False, tag="recovery_past"):
    """Some of the history that was asked for; `more` of it follows at once."""

    topic: TopicId
    messages: Annotated[tuple[Data, ...], Meta(max_length=ANSWER_MAX)]
    more: bool


class GapDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_gap"):
    """Something is to be done about a gap."""

    topic: TopicId
    publisher: NodeId


class HaveDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_have_due"):
    """Neighbours are to be told what is new."""


class CatchUpDue(Timer, frozen=True, array_like=True, gc=False, tag="recovery_catch_up"):
    """Look for somebody to ask for the past, or wait for it no longer."""

    topic: TopicId


class Late(Fact, frozen=True, array_like=True, gc=False, tag="late"):
    """A message came after later ones of its publisher had been delivered; it was dropped."""

    topic: TopicId
    publisher: NodeId
    sequence: int
