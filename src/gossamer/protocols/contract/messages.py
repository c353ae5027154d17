"""What machines send to each other, and the values that messages, events and actions are made of."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, get_args

import msgspec

from gossamer.model.values.ids import NodeId, TopicId


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The root of all contract values: immutable, compact on the wire, never part of a cycle."""


class WireMessage(Value, frozen=True, array_like=True, gc=False):
    """What one machine sends to another. Each class has a tag that no other message has."""


# A message's number, and its hops: far above any real one, and far below what a wire can no longer carry a step further. Who
# passes a message on must send what others can read: a message with so many hops is refused (`delivery.intake.Intake.refuses`).
NUMBER_MAX = 2**62
HOPS_MAX = 2**31
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Hops = Annotated[int, msgspec.Meta(ge=0, le=HOPS_MAX)]
# Chosen: 63 further topics of one message. A message that names thousands is how one peer costs another dearly.
ALSO_MAX = 63


class Data(WireMessage, frozen=True, array_like=True, gc=False, tag="data"):
    """An application's message on its way; (publisher, sequence) names it. Every dissemination carries this.

    `previous` is the publisher's last sequence on the topic before this message, 0 where there was none since it started:
    who has not got that one knows that it lacks something. `also` are further topics of the message, each with its own
    `previous`.
    """

    topic: TopicId
    publisher: NodeId
    sequence: Number
    hops: Hops
    published_us: int
    payload: bytes
    previous: Number = 0
    also: Annotated[tuple[tuple[TopicId, Number], ...], msgspec.Meta(max_length=ALSO_MAX)] = ()

    # How many messages it is: see `Burst`.
    count: ClassVar[int] = 1

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """All topics of the message, the first first."""
        return (self.topic, *(topic for topic, _ in self.also)) if self.also else (self.topic,)


# Chosen: messages that travel as one, twice as many as a live node publishes in a turn of its loop. A relay takes 0.6 us for each
# of 256, and 3.4 us for one alone.
BURST_MAX = 256


class Burst(WireMessage, frozen=True, array_like=True, gc=False):
    """Messages of one publisher on one topic whose numbers follow each other, on their way as one.

    What is published faster than it leaves becomes one (`PublishBurst`), and stays one from hop to hop, unless somebody on
    the way has part of it or judges each message.
    `sequence` and `previous` are those of the first; each further message follows the one before it.
    """

    topic: TopicId
    publisher: NodeId
    # The number of the last is one too.
    sequence: Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX - BURST_MAX)]
    hops: Hops
    # When each was published, and what it says.
    items: Annotated[tuple[tuple[int, bytes], ...], msgspec.Meta(min_length=1, max_length=BURST_MAX)]
    previous: Number = 0

    # What its messages are; and as for `Data`.
    KIND: ClassVar[type[Data]] = Data
    also: ClassVar[tuple[tuple[TopicId, int], ...]] = ()

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """As for `Data`."""
        return (self.topic,)

    @property
    def count(self) -> int:
        """How many messages it is."""
        return len(self.items)

    @property
    def messages(self) -> list[Data]:
        """Its messages, one by one."""
        kind, topic, publisher, hops = self.KIND, self.topic, self.publisher, self.hops
        first, previous = self.sequence, self.previous
        return [
            kind(topic, publisher, number, hops, published_us, payload, number - 1 if number > first else previous)
            for number, (published_us, payload) in enumerate(self.items, first)
        ]


# WireMessage class -> what `_fields_with_data` answers for it. Most classes have no such field and cost one look-up.
_FIELDS_WITH_DATA: dict[type, tuple[str, ...]] = {}


def data_in(message: Any) -> Sequence[Data]:
    """The application messages that a protocol message carries, in order, whatever the class of the protocol message.

    Checkers, the audit, access rules and signature checks all use this function, so a new message class that carries
    `Data` in any of its fields cannot bypass one of them.
    """
    if isinstance(message, Data):
        return (message,)
    if isinstance(message, Burst):
        return message.messages
    names = _FIELDS_WITH_DATA.get(type(message))
    if names is None:
        names = _FIELDS_WITH_DATA[type(message)] = _fields_with_data(type(message))
    return () if not names else [data for name in names for data in _data_in_value(getattr(message, name))]


def _data_in_value(value: Any) -> Sequence[Data]:
    if isinstance(value, msgspec.Struct):
        return data_in(value)
    if isinstance(value, dict):
        return [data for pair in value.items() for item in pair for data in _data_in_value(item)]
    if isinstance(value, tuple | list | set | frozenset):
        return [data for item in value for data in _data_in_value(item)]
    return ()


def _fields_with_data(kind: type) -> tuple[str, ...]:
    """The fields of a class whose annotations allow `Data` or `Burst`."""
    if not issubclass(kind, msgspec.Struct):
        return ()
    return tuple(field.name for field in msgspec.structs.fields(kind) if _allows_data(field.type, (kind,)))


def _allows_data(annotation: Any, enclosing: tuple[type, ...]) -> bool:
    if annotation is Any:
        return True
    if not isinstance(annotation, type):
        return any(_allows_data(argument, enclosing) for argument in get_args(annotation))
    if issubclass(annotation, Data | Burst) or issubclass(Data, annotation) or issubclass(Burst, annotation):
        return True
    if not issubclass(annotation, msgspec.Struct) or annotation in enclosing:
        return False
    fields = msgspec.structs.fields(annotation)
    return any(_allows_data(field.type, (*enclosing, annotation)) for field in fields)


class Timer(Value, frozen=True, array_like=True, gc=False):
    """A wake-up that a machine asked for. Never cancelled: the machine ignores a stale one."""


# Chosen: 256 bytes, enough for any host name and port; a longer one is refused where it is decoded.
Address = Annotated[bytes, msgspec.Meta(max_length=256)]


class Peer(Value, frozen=True, array_like=True, gc=False):
    """Another node and where it can be reached; the machine passes the address on and never reads it."""

    node: NodeId
    address: Address = b""


# Chosen: 64 topics, 0.6 kB; interests up to this size travel whole.
DIGEST_TOPICS = 64


class Digest(Value, frozen=True, array_like=True, gc=False):
    """What a node holds, in short (`interest_exchange.py`): how many topics, and all of them or a sample."""

    version: int
    count: int
    topics: Annotated[tuple[TopicId, ...], msgspec.Meta(max_length=DIGEST_TOPICS)]
