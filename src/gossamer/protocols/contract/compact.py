"""Short numbers for topics and publishers on a link: version 3 of the wire format. `docs/wire.md` specifies it.

A node numbers the topics and the publishers that it sends about. The numbers are the node's, not the link's, so that a
message is encoded once for all its receivers. Before a number is first used on a link, the link carries its definition:
the id and, for a publisher, the base of its sequence numbers and of its times.

In place of a number there may be an id: an id of at least NUMBERS as it is, and a smaller id `i` as -1 - i.
"""

from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.forms import form_of, tag_of
from gossamer.protocols.contract.messages import NUMBER_MAX
from gossamer.protocols.contract.record import union

# Chosen: numbers of topics, and as many of publishers. With all of them defined, a link takes 32 kB at its receiver.
NUMBERS = 1_024
# Chosen: a writer whose numbers are used up begins anew after so many messages, so that definitions stay rare.
MESSAGES_BETWEEN = 16 * NUMBERS
# Chosen: definitions of a link that are kept as Python values too, for faster look-ups.
CACHED_MAX = 256

# The length of a frame, and the head of its list: at least so many bytes.
FRAME_HEAD_BYTES = 5

_ShortNumber = Annotated[int, Meta(ge=0, lt=NUMBERS)]
_Id = Annotated[int, Meta(ge=1)]
_Base = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]


class TopicNumber(Struct, frozen=True, array_like=True, gc=False, tag=0):
    """Defines the number of a topic."""

    number: _ShortNumber
    topic: _Id


class PublisherNumber(Struct, frozen=True, array_like=True, gc=False, tag=1):
    """Defines the number of a publisher, and the base of its sequence numbers and of its times of publication."""

    number: _ShortNumber
    publisher: _Id
    sequence: _Base
    time_us: _Base


class UndefinedNumber(ValueError):
    """A peer used a number that it never defined on the link."""


_encode = msgspec.msgpack.Encoder().encode


# Writing.


class Definition:
    """What a writer writes for a topic or a publisher. `body` defines the number; empty: `number` is an id."""

    __slots__ = ("body", "number", "sequence", "time_us")

    def __init__(self, number: int, body: bytes = b"", sequence: int = 0, time_us: int = 0) -> None:
        self.number = number
        self.body = body
        self.sequence = sequence
        self.time_us = time_us


def _in_full(number: int) -> Definition:
    return Definition(number if number >= NUMBERS else -1 - number)


class _TopicsOut(dict[TopicId, Definition]):
    """The definition of each topic, made when it is first looked up."""

    __slots__ = ("room",)

    def __init__(self, room: int) -> None:
        self.room = room

    def __missing__(self, topic: TopicId) -> Definition:
        number = len(self)
        if number >= self.room or not topic:
            return _in_full(topic)
        found = self[topic] = Definition(number, _encode(TopicNumber(number, topic)))
        return found


class _Writes(dict[type, Callable[[Any, "Writer"], tuple[Any, ...]]]):
    """The function that writes the form of each class."""

    def __missing__(self, kind: Any) -> Callable[[Any, "Writer"], tuple[Any, ...]]:
        found = self[kind] = form_of(kind).write
        return found


_WRITES = _Writes()


class Writer:
    """Encodes the messages of one node for all its links. Without `numbered`, all ids are written in full."""

    def __init__(self, numbered: bool = True) -> None:
        self._room = NUMBERS if numbered else 0
        # Numbers have another meaning in each era.
        self.era = 0
        # Used by the functions that `forms.py` generates.
        self.topics = _TopicsOut(self._room)
        self.publishers: dict[NodeId, Definition] = {}
        self.use: Callable[[Definition], None] = set[Definition]().add
        self._publisher_count = 0
        self._count = 0
        self._latest_us = 0

    def encode(self, messages: Sequence[Any]) -> tuple[list[bytes], set[Definition]]:
        """Each message as bytes, and the definitions that a link must have carried before."""
        self._count += len(messages)
        if self._count >= MESSAGES_BETWEEN and self._is_full:
            self._begin_anew()
        used: set[Definition] = set()
        self.use = used.add
        if len(messages) == 1:
            # Measured: without a loop, a single message takes a third less.
            (message,) = messages
            return [_encode(_WRITES[type(message)](message, self))], used
        return [_encode(_WRITES[type(message)](message, self)) for message in messages], used

    def define_publisher(self, publisher: NodeId, sequence: int, time_us: int) -> Definition:
        """A number for a publisher that has none, or whose base is too far away."""
        self._latest_us = max(self._latest_us, time_us)
        if self._publisher_count >= self._room or not publisher:
            return _in_full(publisher)
        number = self._publisher_count
        self._publisher_count += 1
        base_us = time_us or self._latest_us
        body = _encode(PublisherNumber(number, publisher, sequence, base_us))
        found = self.publishers[publisher] = Definition(number, body, sequence, base_us)
        return found

    @property
    def _is_full(self) -> bool:
        return 0 < self._room <= max(len(self.topics), self._publisher_count)

    def _begin_anew(self) -> None:
        self.era += 1
        self.topics = _TopicsOut(self._room)
        self.publishers = {}
        self._publisher_count = self._count = 0


# Reading.


class _TopicsIn(dict[int, TopicId]):
    """From what a peer writes for a topic to its id. Looked up by `[]`; keys are cached here, the rest is in `known`."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known = array("Q")

    def __missing__(self, number: int) -> TopicId:
        if number < 0:
            return -1 - number
        if number >= NUMBERS:
            return number
        topic = self.known[number] if number < len(self.known) else 0
        if not topic:
            raise UndefinedNumber("the number of a topic was never defined")
        if len(self) >= CACHED_MAX:
            self.clear()
        self[number] = topic
        return topic

    def define(self, form: TopicNumber) -> None:
        """Remember a definition."""
        _put(self.known, form.number, form.topic)
        self.pop(form.number, None)


class _PublishersIn(dict[int, tuple[NodeId, int, int]]):
    """The same for publishers: id, base of sequence numbers, base of times."""

    __slots__ = ("known", "sequences", "times_us")

    def __init__(self) -> None:
        self.known, self.sequences, self.times_us = array("Q"), array("Q"), array("Q")

    def __missing__(self, number: int) -> tuple[NodeId, int, int]:
        if number < 0:
            return -1 - number, 0, 0
        if number >= NUMBERS:
            return number, 0, 0
        publisher = self.known[number] if number < len(self.known) else 0
        if not publisher:
            raise UndefinedNumber("the number of a publisher was never defined")
        if len(self) >= CACHED_MAX:
            self.clear()
        found = self[number] = (publisher, self.sequences[number], self.times_us[number])
        return found

    def define(self, form: PublisherNumber) -> None:
        """Remember a definition."""
        _put(self.known, form.number, form.publisher)
        _put(self.sequences, form.number, form.sequence)
        _put(self.times_us, form.number, form.time_us)
        self.pop(form.number, None)


def _put(values: "array[int]", position: int, value: int) -> None:
    if position >= len(values):
        values.extend([0] * (position + 1 - len(values)))
    values[position] = value


def make_reader(classes: tuple[type, ...]) -> Callable[[bytes], Sequence[Any]]:
    """A function that reads the frames of one link between nodes whose stacks have these message classes.

    It returns the messages of a frame, with None for each definition. A ValueError says why a frame cannot be read.
    """
    decode, reads = _decoder_of(classes)
    topics, publishers = _TopicsIn(), _PublishersIn()

    def read(body: bytes) -> Sequence[Any]:
        forms = decode(body)
        if len(forms) == 1:
            (form,) = forms
            return (reads[type(form)](form, topics, publishers),)
        return [reads[type(form)](form, topics, publishers) for form in forms]

    return read


def _define_topic(form: TopicNumber, topics: _TopicsIn, publishers: _PublishersIn) -> None:
    topics.define(form)


def _define_publisher(form: PublisherNumber, topics: _TopicsIn, publishers: _PublishersIn) -> None:
    publishers.define(form)


@cache
def _decoder_of(classes: tuple[type, ...]) -> tuple[Callable[[bytes], list[Any]], dict[type, Callable[..., Any]]]:
    """A decoder for the forms of these classes and for definitions, and what turns each form into its message."""
    forms = [form_of(each) for each in classes]
    tags: dict[int, type] = {}
    for each in classes:
        tag = tag_of(each.__struct_config__.tag)  # type: ignore[attr-defined]
        if tags.setdefault(tag, each) is not each:
            raise MachineMisuse(f"{each.__name__} and {tags[tag].__name__} have the same tag number: rename a tag")
    reads: dict[type, Callable[..., Any]] = {form.wire_type: form.read for form in forms}
    reads |= {TopicNumber: _define_topic, PublisherNumber: _define_publisher}
    # A frame without messages is refused, so that every frame costs its sender something.
    return msgspec.msgpack.Decoder(Annotated[list[union(list(reads))], Meta(min_length=1)]).decode, reads  # type: ignore[misc]
