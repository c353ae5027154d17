"""Messages between machines, and the values that messages, events and actions consist of."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, get_args

import msgspec
from msgspec.structs import replace

from gossamer.model.values.ids import Meaning, NodeId, TopicId


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The base class of all contract values: immutable, compact on the wire, never part of a reference cycle."""


class WireMessage(Value, frozen=True, array_like=True, gc=False):
    """A message from one machine to another. Every class has its own tag."""


# Bounds of sequence numbers and hop counts: larger than any real value, yet small enough that adding one still fits the
# wire format. A relay adds a hop, so a message that already has HOPS_MAX hops is refused
# (`delivery.intake.Intake.refuses`).
NUMBER_MAX = 2**62
HOPS_MAX = 2**31
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Hops = Annotated[int, msgspec.Meta(ge=0, le=HOPS_MAX)]
# Numbers and times of a publisher's messages. The wire format writes them as differences (`forms.py`).
SequenceNumber = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX), Meaning.SEQUENCE]
PreviousNumber = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX), Meaning.PREVIOUS]
PublishedTime = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX), Meaning.TIME]
# Chosen: at most 63 further topics of one message, so that one message cannot cause thousands of look-ups at its
# receiver.
ALSO_MAX = 63


class Data(WireMessage, frozen=True, array_like=True, gc=False, tag="data"):
    """An application's message, identified by (publisher, sequence). Disseminations carry this class or a subclass.

    `previous` is the publisher's preceding sequence number on the topic, or 0 if there is none or the publisher restarted
    and does not know it; a receiver that lacks the preceding message detects the gap by it. `also` lists further topics of the
    message, each with its own `previous`.
    """

    topic: TopicId
    publisher: NodeId
    sequence: SequenceNumber
    hops: Hops
    published_us: PublishedTime
    payload: bytes
    previous: PreviousNumber = 0
    also: Annotated[tuple[tuple[TopicId, Number], ...], msgspec.Meta(max_length=ALSO_MAX)] = ()

    # The number of messages, as in `Burst`.
    count: ClassVar[int] = 1

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """All topics of the message, in the publisher's order."""
        return (self.topic, *(topic for topic, _ in self.also)) if self.also else (self.topic,)


# Chosen: 512 messages in a burst, as many as a live node that signs publishes in one turn of its loop. A relay spends 0.6 us
# on each message of a large burst, and 3.4 us on a single message.
BURST_MAX = 512


class Burst(WireMessage, frozen=True, array_like=True, gc=False):
    """Messages of one publisher on one topic with consecutive sequence numbers that travel as one message.

    A publisher that is faster than its connections makes bursts (`PublishBurst`). Relays pass a burst on as a whole; a
    relay that already has part of it, or that validates messages, splits it. `sequence` and `previous` belong to the
    first message; the `previous` of every further message is the number before its own.
    """

    topic: TopicId
    publisher: NodeId
    # Low enough that the number of the last message is valid too.
    sequence: Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX - BURST_MAX), Meaning.SEQUENCE]
    hops: Hops
    # The time of publication and the payload of each message.
    items: Annotated[tuple[tuple[int, bytes], ...], msgspec.Meta(min_length=1, max_length=BURST_MAX)]
    previous: PreviousNumber = 0

    # The class of its messages. `also` is empty, because a message with several topics never travels in a burst.
    KIND: ClassVar[type[Data]] = Data
    also: ClassVar[tuple[tuple[TopicId, int], ...]] = ()

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """The one topic of all its messages, as a tuple like that of `Data`."""
        return (self.topic,)

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self.items)

    @property
    def messages(self) -> list[Data]:
        """Its messages as single values."""
        kind, topic, publisher, hops = self.KIND, self.topic, self.publisher, self.hops
        first, previous, also = self.sequence, self.previous, proved((), proof_of(self))
        return [
            kind(
                topic, publisher, number, hops, published_us, payload, number - 1 if number > first else previous, also
            )
            for number, (published_us, payload) in enumerate(self.items, first)
        ]


class Proved(tuple[Any, ...]):
    """The `items` of a burst, or the `also` of a message of it, with what a driver needs to prove them to others.

    Machines pass tuples on as they are, so that the proof stays with its messages for as long as these are kept. It exists
    in memory only: this tuple equals a plain one and is encoded as such.
    """

    proof: Any


def proved(values: tuple[Any, ...], proof: Any) -> tuple[Any, ...]:
    """The same tuple with a proof, if there is one."""
    if proof is None:
        return values
    made = Proved(values)
    made.proof = proof
    return made


def proof_of(message: Data | Burst) -> Any:
    """What a driver needs to prove a message, or the messages of a burst, to others; None if they prove themselves."""
    return getattr(message.items if isinstance(message, Burst) else message.also, "proof", None)


# The result of `_fields_with_data` for each message class. Most classes have no such field and cost one look-up.
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


def with_data(message: Any, change: Callable[[Data], Data]) -> Any:
    """A protocol message with each application message that it carries (`data_in`) changed; it must not contain bursts."""
    if isinstance(message, Data):
        return change(message)
    fields = {name: getattr(message, name) for name in _FIELDS_WITH_DATA.get(type(message), ())}
    return replace(message, **{name: _with_data_in_value(value, change) for name, value in fields.items()})


def _with_data_in_value(value: Any, change: Callable[[Data], Data]) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([_with_data_in_value(item, change) for item in value])
    return with_data(value, change) if isinstance(value, msgspec.Struct) else value


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
    """A wake-up that a machine requested with `SetTimer`. It is never cancelled: the machine ignores a stale one."""


# Chosen: 256 bytes, enough for any host name and port. The decoder refuses a longer address.
Address = Annotated[bytes, msgspec.Meta(max_length=256)]


class Peer(Value, frozen=True, array_like=True, gc=False):
    """Another node and its address. The machine passes the address on and never reads it."""

    node: NodeId
    address: Address = b""


# Chosen: 64 topics, 0.6 kB. A digest contains all topics of an interest up to this size.
DIGEST_TOPICS = 64


class Digest(Value, frozen=True, array_like=True, gc=False):
    """A summary of a node's interest (`interest_exchange.py`): the number of topics, and all of them or a sample."""

    version: int
    count: int
    topics: Annotated[tuple[TopicId, ...], msgspec.Meta(max_length=DIGEST_TOPICS)]
