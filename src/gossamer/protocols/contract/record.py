"""The record of a run: every event that a machine handled and every action that it returned, as bytes.

A record is a header frame followed by one frame for each event. A frame is a 4-byte big-endian length and that many
bytes of msgpack. Drivers choose where to write it. `replay` feeds a record to new machines and compares the actions
byte for byte. Simulated and live nodes write the same format.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from struct import Struct
from typing import Any, BinaryIO

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract import facts
from gossamer.protocols.contract.actions import (
    Action,
    Connect,
    Deliver,
    Disconnect,
    Load,
    Observe,
    Send,
    SetTimer,
    Store,
    Validate,
)
from gossamer.protocols.contract.events import (
    Contacts,
    Event,
    Loaded,
    MessageReceived,
    PeerDown,
    PeerUp,
    Publish,
    PublishBurst,
    Refused,
    Restarted,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Peer, Value
from gossamer.protocols.contract.parts import Machine, Part

FORMAT = "gossamer-record"
VERSION = 4
# Version 3 differs in the event `Restarted` only.
READS = (3, 4)
# Chosen: 16 MiB, larger than any event that we write. A longer frame means that the file is damaged.
FRAME_BYTES_MAX = 16 * 1024 * 1024


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay needs to construct the same machines."""

    format: str = FORMAT
    version: int = VERSION
    system: str
    parameters: dict[str, Any]
    seed: int
    dissemination: str | None = None
    dissemination_parameters: dict[str, Any] = {}
    # None: the stack has no recovery.
    recovery: dict[str, Any] | None = None
    # Whether payloads and secrets are in the record. Without them it can be audited, and not replayed.
    content: bool = True


# An answer of an interest view: a peer, a set of topics, or a number.
Answer = Peer | bytes | int | None
_TOPIC = Struct(">Q")


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One call of `handle`. A `Started` event means that its node gets a new machine."""

    at_us: int
    node: NodeId
    event: msgspec.Raw
    actions: msgspec.Raw
    # The answers of an interest view outside the machine (the simulator's oracle) during this event, in order. A set of
    # topics is recorded as bytes, eight for each topic.
    answers: tuple[Answer, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """The first step for which a replayed machine returned other actions than the recorded machine."""

    step: int
    at_us: int
    node: NodeId
    event: str
    recorded: str
    replayed: str


# Events that contain a message or a timer of any class, in their recorded form. `StackDecoder` decodes the content
# separately: converting an already decoded value takes a hundred times as long, because msgspec inspects the union
# anew.


class _Received(Value, frozen=True, array_like=True, gc=False, tag="message"):
    sender: NodeId
    message: msgspec.Raw


class _Fired(Value, frozen=True, array_like=True, gc=False, tag="timer"):
    timer: msgspec.Raw


class _Refused(Value, frozen=True, array_like=True, gc=False, tag="refused"):
    node: NodeId
    message: msgspec.Raw


class _Sent(Value, frozen=True, array_like=True, gc=False, tag="send"):
    to: tuple[NodeId, ...]
    message: msgspec.Raw
    addresses: tuple[bytes, ...] = ()


_RawAction = _Sent | Connect | Disconnect | SetTimer | Deliver | Validate | Store | Load | Observe
_RawEvent = (
    Started
    | Restarted
    | Contacts
    | Subscribe
    | Unsubscribe
    | Publish
    | PublishBurst
    | _Received
    | PeerUp
    | PeerDown
    | _Fired
    | Validated
    | Loaded
    | _Refused
    | Stopping
)

_encoder = msgspec.msgpack.Encoder()
_event_decoder = msgspec.msgpack.Decoder(_RawEvent)
_actions_decoder = msgspec.msgpack.Decoder(tuple[_RawAction, ...])
# The facts that every stack shares, by tag. Records hold facts as plain lists.
_FACTS: dict[str, type[facts.Fact]] = {
    str(each.__struct_config__.tag): each for each in facts.Fact.__subclasses__() if each.__module__ == facts.__name__
}
_step_decoder = msgspec.msgpack.Decoder(Step)
_header_decoder = msgspec.msgpack.Decoder(Header)


def frame(content: bytes) -> bytes:
    """A length-prefixed frame."""
    return len(content).to_bytes(4, "big") + content


def encode_header(header: Header) -> bytes:
    """The first frame of a record."""
    return frame(_encoder.encode(header))


def encode_step(
    at_us: int, node: NodeId, event: Event, actions: Sequence[Action], answers: Sequence[Answer] = ()
) -> bytes:
    """The frame of one call of `handle`."""
    recorded = msgspec.Raw(_encoder.encode(event)), msgspec.Raw(_encoder.encode(tuple(actions)))
    return frame(_encoder.encode(Step(at_us, node, *recorded, tuple(answers))))


class RecordedView:
    """An interest view that returns the recorded answers in order, whatever the question."""

    def __init__(self) -> None:
        self.answers: Iterator[Any] = iter(())

    def best_cover(self, topics: Sequence[int], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return next(self.answers, None)

    def random_cover(self, topics: Sequence[int], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return next(self.answers, None)

    def random_peer(self, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return next(self.answers, None)

    def holder_below(self, topic: int, node: NodeId, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return next(self.answers, None)

    def topics_of(self, node: NodeId) -> frozenset[TopicId]:
        """See `InterestLookup`."""
        packed: bytes = next(self.answers, b"")
        return frozenset(each for (each,) in _TOPIC.iter_unpack(packed))

    def digest_of(self, node: NodeId) -> None:
        """See `InterestLookup`."""

    def note(self, heard: Heard) -> None:
        """See `InterestLookup`."""

    def topic_size(self, topic: TopicId) -> int:
        """See `InterestLookup`."""
        size: int = next(self.answers, 1)
        return size

    def network_size(self) -> int:
        """See `InterestLookup`."""
        size: int = next(self.answers, 1)
        return size


def packed_topics(topics: Iterable[TopicId]) -> bytes:
    """A set of topics as a recorded answer."""
    return b"".join(map(_TOPIC.pack, sorted(topics)))


class StackDecoder:
    """Decodes the events and messages of one stack: the classes that its parts own, and no others."""

    def __init__(self, parts: Sequence[type[Part]]) -> None:
        messages = [message for part in parts for message in part.MESSAGES]
        timers = [timer for part in parts for timer in part.TIMERS]
        # Typed as Any: the unions are built at run time.
        self._messages: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(union(messages))
        self._timers: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(union(timers))

    def message(self, content: bytes | msgspec.Raw) -> Any:
        """Decode a message into its class."""
        return self._messages.decode(content)

    def event(self, content: bytes) -> Event:
        """Decode an event, with its message or timer, into their classes."""
        event: Any = _event_decoder.decode(content)
        if isinstance(event, _Received):
            return MessageReceived(event.sender, self.message(event.message))
        if isinstance(event, _Fired):
            return TimerFired(self._timers.decode(event.timer))
        if isinstance(event, _Refused):
            return Refused(event.node, self.message(event.message))
        plain: Event = event
        return plain

    def actions(self, content: bytes | msgspec.Raw) -> list[Action]:
        """Decode actions with their messages and facts. Timers, and facts that only one system has, stay plain lists."""
        found: list[Action] = []
        for action in _actions_decoder.decode(content):
            if isinstance(action, _Sent):
                found.append(Send(action.to, self.message(action.message), action.addresses))
            elif isinstance(action, Observe) and action.fact[0] in _FACTS:
                found.append(Observe(msgspec.convert(action.fact, _FACTS[action.fact[0]])))
            else:
                found.append(action)
        return found


def union(classes: Sequence[type]) -> Any:
    """The union of these classes; without classes, a type that matches no message."""
    found: Any = None
    for each in classes:
        found = each if found is None else found | each
    return _Nothing if found is None else found


class _Nothing(Value, frozen=True, array_like=True, gc=False, tag="nothing"):
    """No message and no timer has this tag."""


class CutOff(InputError):
    """The last frame of a record is incomplete."""


def read_frames(source: BinaryIO) -> Iterator[bytes]:
    """The contents of each frame. A damaged or truncated file is an InputError that names the frame."""
    index = 0
    while prefix := source.read(4):
        length = int.from_bytes(prefix, "big")
        if len(prefix) < 4:
            raise CutOff(f"frame {index} of the record is cut off: its length is incomplete")
        if length > FRAME_BYTES_MAX:
            raise InputError(f"frame {index} of the record is damaged: its length is not readable")
        content = source.read(length)
        if len(content) < length:
            raise CutOff(f"frame {index} of the record is cut off: expected {length} bytes, got {len(content)}")
        yield content
        index += 1


def read_record(source: BinaryIO) -> tuple[Header, Iterator[Step]]:
    """The header, and an iterator that reads the steps."""
    frames = read_frames(source)
    first = next(frames, b"")
    try:
        header = _header_decoder.decode(first)
    except ValueError:  # msgspec's own errors, and UnicodeDecodeError where a name is not text
        raise InputError("this is not a Gossamer record: it does not begin with a header") from None
    if header.format != FORMAT or header.version not in READS:
        raise InputError(f"the record has format {header.format} {header.version}; this reads {FORMAT} {VERSION}")
    return header, _steps(frames)


def _steps(frames: Iterable[bytes]) -> Iterator[Step]:
    for index, content in enumerate(frames, start=1):
        try:
            yield _step_decoder.decode(content)
        except ValueError as error:
            raise InputError(f"frame {index} of the record is damaged: {error}") from None


class WholeSteps:
    """The complete steps of a record whose end may be missing because its node was killed.

    After the iteration, `is_cut` says whether the end is missing.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self.is_cut = False
        self._steps = steps

    def __iter__(self) -> Iterator[Step]:
        """The steps."""
        try:
            yield from self._steps
        except CutOff:
            self.is_cut = True


def replay(
    steps: Iterable[Step], machine: Callable[[NodeId, RecordedView], Machine], decoder: StackDecoder
) -> tuple[int, Difference | None]:
    """Feed the steps to new machines; return the number of steps that agree, and the first difference."""
    machines: dict[NodeId, Machine] = {}
    view = RecordedView()
    count = 0
    for count, step in enumerate(steps, start=1):
        try:
            event = decoder.event(bytes(step.event))
        except ValueError as error:
            raise InputError(f"step {count} of the record holds an event that cannot be read: {error}") from None
        if isinstance(event, Started) or step.node not in machines:
            machines[step.node] = machine(step.node, view)
        view.answers = iter(step.answers)
        replayed = _encoder.encode(tuple(machines[step.node].handle(event, step.at_us)))
        if replayed != bytes(step.actions):
            found = Difference(
                step=count,
                at_us=step.at_us,
                node=step.node,
                event=str(event),
                recorded=_text(step.actions),
                replayed=_text(replayed),
            )
            return count - 1, found
    return count, None


def _text(actions: bytes | msgspec.Raw) -> str:
    try:
        return str(msgspec.msgpack.decode(actions))
    except ValueError:
        return f"unreadable: {bytes(actions)[:60]!r}"
