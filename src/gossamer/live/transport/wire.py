"""The wire format: length-prefixed msgpack frames. `docs/wire.md` specifies it, with test vectors.

A frame is a 4-byte big-endian length and that many bytes. The first frame of each end is a `Hello`. In version 2 every
other frame is one protocol message, or a `Bye` with the reason why the link ends. In version 3 it is a list of messages in
their compact form, with definitions of the numbers that stand for topics and publishers.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId
from gossamer.protocols import patterns
from gossamer.protocols.contract import compact
from gossamer.protocols.contract.messages import Address
from gossamer.protocols.contract.parts import Part
from gossamer.protocols.contract.record import union

MAGIC = "gossamer"
# Every version of the format that this code supports, the newest last.
VERSIONS = (2, 3)
# The first version whose frames are lists of messages in their compact form (`protocols/contract/compact.py`).
COMPACT = 3
# Optional features of a version; a link uses those that both ends list.
FEATURES: tuple[str, ...] = ("patterns",)
# The length in front of every frame.
PREFIX = struct.Struct(">I")
PREFIX_BYTES = PREFIX.size
# At most so many bytes are between the length and the messages of a list.
LIST_BYTES = 5
# The length, the mark of a msgpack array, and the number of its elements.
_SHORT_LIST, _LONG_LIST = struct.Struct(">IB"), struct.Struct(">IBI")

# Chosen: the largest first frame, more than a greeting with all its fields at their bounds.
HELLO_BYTES = 16 * 1024

# The first byte of a TLS record, before the version (3 and a minor number).
TLS_ALERT, TLS_HANDSHAKE = b"\x15", b"\x16"

Name = Annotated[str, Meta(max_length=64)]


class Hello(Struct, frozen=True, array_like=True, tag="hello"):
    """The greeting: the first frame of each end."""

    magic: Name
    versions: Annotated[tuple[int, ...], Meta(min_length=1, max_length=16)]
    features: Annotated[tuple[Name, ...], Meta(max_length=32)]
    node: Annotated[int, Meta(ge=0)]
    # The address on which the sender listens.
    address: Address
    # The names of the protocols that the sender runs; both ends must run the same.
    stack: Annotated[tuple[Name, ...], Meta(max_length=8)]


class Bye(Struct, frozen=True, array_like=True, tag="bye"):
    """A goodbye: the sender closes the link for this reason."""

    reason: Annotated[str, Meta(max_length=512)]


# Messages that are not for the machine: the driver gives them to the node.
ASIDE = frozenset(patterns.MESSAGES)

_encoder = msgspec.msgpack.Encoder()
_hello_decoder: msgspec.msgpack.Decoder[Hello | Bye] = msgspec.msgpack.Decoder(Hello | Bye)
encode = _encoder.encode

# Reads a frame after the first: answers its messages, with None for each definition, or raises a ValueError.
Reader = Callable[[bytes], Sequence[Any]]


@cache
def message_decoder(parts: tuple[type[Part], ...]) -> msgspec.msgpack.Decoder[object]:
    """A decoder for one message of the stack with these parts, or a `Bye`."""
    return msgspec.msgpack.Decoder(union(_messages_of(parts)))


def _messages_of(parts: tuple[type[Part], ...]) -> tuple[type, ...]:
    return (*(message for part in parts for message in part.MESSAGES), *patterns.MESSAGES, Bye)


def reader(version: int, parts: tuple[type[Part], ...]) -> Reader:
    """A reader for the frames of one link with this version between nodes with these parts."""
    if version >= COMPACT:
        return compact.make_reader(_messages_of(parts))
    decode = message_decoder(parts).decode
    return lambda body: (decode(body),)


def list_head(count: int, size: int) -> bytes:
    """The bytes of a frame in front of its messages, which have `size` bytes together."""
    if count < 16:
        return _SHORT_LIST.pack(size + 1, 0x90 | count)
    return _LONG_LIST.pack(size + LIST_BYTES, 0xDD, count)


def frame(message: object) -> bytes:
    """A message as a frame."""
    body = encode(message)
    return PREFIX.pack(len(body)) + body


def common_version(one: Hello, other: Hello) -> int:
    """The version of a link between two nodes: the newest that both support."""
    return max(set(one.versions) & set(other.versions))


def hello(node: NodeId, address: bytes, stack: Sequence[str], features: Sequence[str] = FEATURES) -> Hello:
    """This node's greeting."""
    return Hello(MAGIC, VERSIONS, tuple(features), node, address, tuple(stack))


def fault_of_first(content: bytes) -> str:
    """What is wrong with a peer whose first bytes are no frame."""
    if content[:1] in (TLS_HANDSHAKE, TLS_ALERT) and content[1:2] == b"\3":
        return "uses TLS; this node has no `keys`"
    return "speaks another protocol: its first bytes are no frame"


def read_hello(body: bytes, mine: Hello) -> Hello:
    """Decode and check the other end's first frame; a PeerError says what is wrong with it."""
    try:
        first = _hello_decoder.decode(body)
    except ValueError:
        raise PeerError("speaks another protocol: its first frame is no greeting") from None
    if isinstance(first, Bye):
        raise PeerError(f"turned us away: {first.reason}")
    if first.magic != MAGIC:
        raise PeerError(f"speaks another protocol: {first.magic!r}")
    if not set(first.versions) & set(mine.versions):
        raise PeerError(f"speaks another version: {list(first.versions)}; this node speaks {list(mine.versions)}")
    if first.node == mine.node:
        raise PeerError("is this node itself, or has its identity")
    if first.stack != mine.stack:
        raise PeerError(f"runs other protocols: {' / '.join(first.stack)}; this node runs {' / '.join(mine.stack)}")
    return first
