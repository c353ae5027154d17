"""The compact form of each message class: what version 3 of the wire format writes instead of the message itself.

A form has the fields of its class. Fields that `Meaning` marks are shorter: a topic or a publisher is a number that the
link knows (`compact.py`), a sequence number and a time are differences from the publisher's base, and `previous` is a
difference from the sequence number of the same message. The tag is a number. A topic is numbered where a message is about
it, or where it comes with a publisher and a sequence number. Topics in other lists are written in full: these are
interests and claims, and most of their topics are never used on the link.

Functions that read and write forms are generated from the classes, as `dataclasses` generates `__init__`. A loop over
the fields of each message would take several times as long.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from gossamer.model.values.ids import Meaning
from gossamer.protocols.contract.messages import NUMBER_MAX

# Tags of one byte for messages of the parts that most systems share. A number is never given to another message. 0 and
# 1 are the definitions of `compact.py`.
TAGS = {
    "bye": 2,
    "tree_data": 3,
    "tree_burst": 4,
    "announce": 5,
    "tree_graft": 6,
    "tree_prune": 7,
    "data": 8,
    "recovery_ask": 10,
    "recovery_answer": 11,
    "recovery_ask_history": 12,
    "recovery_past": 13,
    "cyclon_request": 14,
    "cyclon_reply": 15,
    "interest_ask": 16,
    "interest_part": 17,
    "recovery_aged_answer": 18,
}
# All other tags have three bytes, from here up to 2^16.
HASHED_TAGS = 256
# A difference above this does not fit four bytes: the writer chooses a new base.
FAR = 2**32 - 1


def tag_of(text: str) -> int:
    """The number of a text tag."""
    return TAGS.get(text, HASHED_TAGS + zlib.crc32(text.encode()) % (2**16 - HASHED_TAGS))


class Form(NamedTuple):
    """The compact form of a message class or of a value inside messages."""

    # What msgspec decodes.
    wire_type: Any
    # From a message and a `compact.Writer` to what msgspec encodes.
    write: Callable[[Any, Any], tuple[Any, ...]]
    # From `wire_type` and the tables of a `compact.make_reader` to the message. A ValueError: a number is out of bounds.
    read: Callable[[Any, Any, Any], Any]


class _Field(NamedTuple):
    """A field of a struct, or a place in a tuple of fixed length."""

    name: str
    annotation: Any
    default: Any = NODEFAULT

    @property
    def meaning(self) -> Meaning | None:
        return next((each for each in get_args(self.annotation) if isinstance(each, Meaning)), None)


@cache
def form_of(kind: Any) -> Form:
    """The compact form of a struct class or of a tuple type of fixed length."""
    if get_origin(kind) is tuple:
        fields = [_Field(f"at_{place}", each) for place, each in enumerate(get_args(kind))]
        return _Generator(kind, fields, None).form()
    struct = [_Field(each.name, each.type, each.default) for each in msgspec.structs.fields(kind)]
    tag = kind.__struct_config__.tag
    return _Generator(kind, struct, None if tag is None else tag_of(tag)).form()


def is_shortened(annotation: Any) -> bool:
    """Whether values of this type, inside a message, contain something that has a shorter form."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        fields = [_Field(each.name, each.type) for each in msgspec.structs.fields(annotation)]
        return _names_messages(fields) or any(is_shortened(each.annotation) for each in fields)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple and arguments[-1] is not Ellipsis:
        fields = [_Field("", each) for each in arguments]
        return _names_messages(fields) or any(is_shortened(each) for each in arguments)
    return origin in (Annotated, Union, UnionType, tuple) and any(is_shortened(each) for each in arguments)


def _names_messages(fields: list[_Field]) -> bool:
    """Whether these fields contain a publisher and sequence numbers of it."""
    return {Meaning.NODE, Meaning.SEQUENCE} <= {field.meaning for field in fields}


class _Generator:
    """Writes the source of one form's functions, and compiles it."""

    def __init__(self, kind: Any, fields: list[_Field], tag: int | None) -> None:
        self._kind = kind
        self._is_struct = get_origin(kind) is not tuple
        self._fields = fields
        self._tag = tag
        self._names: dict[str, Any] = {"KIND": kind, "NUMBER_MAX": NUMBER_MAX, "FAR": FAR, "OutOfBounds": OutOfBounds}
        meanings = [field.meaning for field in fields]
        # A node in a value with a sequence number is the publisher whose number it is.
        self._has_publisher = _names_messages(fields)
        self._publisher = meanings.index(Meaning.NODE) if self._has_publisher else -1
        self._sequence = meanings.index(Meaning.SEQUENCE) if self._has_publisher else -1
        self._nested: dict[int, str] = dict(self._find_nested())

    def form(self) -> Form:
        """The form, with compiled functions."""
        source = "\n".join([*self._write_lines(), *self._read_lines()])
        # The source consists of the names of fields and of constants of this module only.
        exec(source, self._names)
        return Form(self._wire_type(), self._names["write"], self._names["read"])

    def _find_nested(self) -> Iterator[tuple[int, str]]:
        """Fields that contain values with forms of their own: their position, and a template that converts them."""
        for position, field in enumerate(self._fields):
            if position == self._publisher or not is_shortened(field.annotation):
                continue
            inner, template = field.annotation, "{call}({value}{rest})"
            while get_origin(inner) is Annotated:
                inner = get_args(inner)[0]
            if get_origin(inner) in (Union, UnionType):
                inner = next(each for each in get_args(inner) if each is not type(None))
                template = f"(None if {{value}} is None else {template})"
            elif get_origin(inner) is tuple and get_args(inner)[-1] is Ellipsis:
                inner, template = get_args(inner)[0], "tuple([{call}(each{rest}) for each in {value}])"
            nested = form_of(inner)
            self._names |= {f"write_{position}": nested.write, f"read_{position}": nested.read}
            yield position, template

    def _meaning(self, position: int) -> Meaning | None:
        """The meaning of a field if its form is shorter."""
        meaning = self._fields[position].meaning
        if meaning is Meaning.NODE:
            return meaning if position == self._publisher else None
        is_message = self._tag is not None
        return meaning if self._has_publisher or (is_message and meaning is Meaning.TOPIC) else None

    # Writing.

    def _write_lines(self) -> Iterator[str]:
        yield "def write(message, writer):"
        values = [f"message.{field.name}" for field in self._fields]
        if not self._is_struct:
            values = [f"message[{position}]" for position in range(len(self._fields))]
        if self._has_publisher:
            yield from self._write_publisher(values)
        for position, value in enumerate(values):
            if self._meaning(position) is Meaning.TOPIC:
                yield f"    topic_{position} = writer.topics[{value}]"
                yield f"    writer.use(topic_{position})"
        written = [self._written(position, values) for position in range(len(values))]
        if self._tag is not None:
            written.insert(0, str(self._tag))
        last = self._fields[-1] if self._fields else None
        if last is not None and last.default is not NODEFAULT and self._meaning(len(self._fields) - 1) is None:
            # A last field with its default value is left out.
            self._names["DEFAULT"] = last.default
            yield f"    if {values[-1]} == DEFAULT:"
            yield f"        return ({' '.join(each + ',' for each in written[:-1])})"
        yield f"    return ({' '.join(each + ',' for each in written)})"

    def _write_publisher(self, values: list[str]) -> Iterator[str]:
        publisher, sequence = values[self._publisher], values[self._sequence]
        times = [value for at, value in enumerate(values) if self._meaning(at) is Meaning.TIME]
        far = [f"{sequence} - publisher.sequence > FAR", *(f"{time} - publisher.time_us > FAR" for time in times)]
        yield f"    publisher = writer.publishers.get({publisher})"
        yield f"    if publisher is None or {' or '.join(far)}:"
        yield f"        publisher = writer.define_publisher({publisher}, {sequence}, {times[0] if times else 0})"
        yield "    writer.use(publisher)"

    def _written(self, position: int, values: list[str]) -> str:
        value = values[position]
        if position in self._nested:
            return self._nested[position].format(call=f"write_{position}", value=value, rest=", writer")
        match self._meaning(position):
            case Meaning.TOPIC:
                return f"topic_{position}.number"
            case Meaning.NODE:
                return "publisher.number"
            case Meaning.SEQUENCE:
                return f"{value} - publisher.sequence"
            case Meaning.TIME:
                return f"{value} - publisher.time_us"
            case Meaning.PREVIOUS:
                # 0 stands for 0. A number that is not smaller, which no honest node sends, is shifted to make room for it.
                sequence = values[self._sequence]
                return f"({value} and {sequence} - {value} - ({value} >= {sequence}))"
        return value

    # Reading.

    def _read_lines(self) -> Iterator[str]:
        yield "def read(form, topics, publishers):"
        values = [f"form.{field.name}" for field in self._fields]
        if not self._is_struct:
            values = [f"form[{position}]" for position in range(len(self._fields))]
        if self._has_publisher:
            yield f"    publisher, base, base_us = publishers[{values[self._publisher]}]"
        bounds = []
        # `previous` depends on the sequence number.
        for position in sorted(range(len(values)), key=lambda each: self._meaning(each) is Meaning.PREVIOUS):
            line = self._read_number(position, values[position])
            if line:
                yield from line
                bounds.append(f"0 <= number_{position} <= {self._upper_bound(position)}")
        if bounds:
            yield f"    if not ({' and '.join(bounds)}):"
            yield "        raise OutOfBounds"
        built = [self._built(position, value) for position, value in enumerate(values)]
        yield f"    return {'KIND' if self._is_struct else ''}({' '.join(each + ',' for each in built)})"

    def _read_number(self, position: int, value: str) -> list[str]:
        match self._meaning(position):
            case Meaning.SEQUENCE:
                return [f"    number_{position} = {value} + base"]
            case Meaning.TIME:
                return [f"    number_{position} = {value} + base_us"]
            case Meaning.PREVIOUS:
                sequence = f"number_{self._sequence}"
                return [
                    f"    number_{position} = {value}",
                    f"    if number_{position}:",
                    f"        number_{position} = {sequence} - number_{position} - (number_{position} < 0)",
                ]
        return []

    def _built(self, position: int, value: str) -> str:
        if position in self._nested:
            return self._nested[position].format(call=f"read_{position}", value=value, rest=", topics, publishers")
        match self._meaning(position):
            case Meaning.TOPIC:
                return f"topics[{value}]"
            case Meaning.NODE:
                return "publisher"
            case None:
                return value
        return f"number_{position}"

    def _upper_bound(self, position: int) -> int:
        metas = [each for each in get_args(self._fields[position].annotation) if isinstance(each, msgspec.Meta)]
        return int(next((each.le for each in metas if each.le is not None), NUMBER_MAX))

    # What msgspec decodes.

    def _wire_type(self) -> Any:
        types = [self._field_type(position) for position in range(len(self._fields))]
        if not self._is_struct:
            return tuple[tuple(types)]  # type: ignore[misc]
        # A difference has no default, and neither has a field before it.
        required = max((at for at in range(len(types)) if self._meaning(at) is Meaning.SEQUENCE), default=-1)
        fields: list[Any] = []
        for position, field in enumerate(self._fields):
            has_default = field.default is not NODEFAULT and position > required
            given = (field.name, types[position])
            fields.append((*given, field.default) if has_default else given)
        name = f"{self._kind.__name__}Form"
        return msgspec.defstruct(name, fields, array_like=True, gc=False, frozen=True, tag=self._tag)

    def _field_type(self, position: int) -> Any:
        if self._meaning(position) is not None:
            return int
        annotation = self._fields[position].annotation
        return _translated(annotation) if position in self._nested else annotation


def _translated(annotation: Any) -> Any:
    """A type with the forms of the values that it contains."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Annotated[(_translated(arguments[0]), *arguments[1:])]
    if origin in (Union, UnionType):
        return Union[tuple(each if each is type(None) else _translated(each) for each in arguments)]  # noqa: UP007
    if origin is tuple and arguments[-1] is Ellipsis:
        return tuple[_translated(arguments[0]), ...]  # type: ignore[misc]
    return form_of(annotation).wire_type


class OutOfBounds(ValueError):
    """A peer sent a difference that leads to a number out of bounds."""
