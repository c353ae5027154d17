"""The wire format: length-prefixed msgpack frames. `docs/wire.md` specifies it, with test vectors.

A frame is a 4-byte big-endian length and that many bytes. The first frame of each end is a `Hello`. Every other frame
is one protocol message, or a `Bye` with the reason why the link ends.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Address
from gossamer.protocols.contract.parts import Part
from gossamer.protocols.contract.record import union

MAGIC = "gossamer"
# Every version of the format that this code supports, the newest last.
VERSIONS = (2,)
# Optional features of a version; a link uses those that both ends list.
FEATURES: tuple[str, ...] = ()
# The length in front of every frame.
PREFIX = struct.Struct(">I")
PREFIX_BYTES = PREFIX.size

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


_encoder = msgspec.msgpack.Encoder()
_hello_decoder: msgspec.msgpack.Decoder[Hello | Bye] = msgspec.msgpack.Decoder(Hello | Bye)
encode = _encoder.encode
_bye_decoder: msgspec.msgpack.Decoder[Bye] = msgspec.msgpack.Decoder(Bye)


@cache
def message_decoder(parts: tuple[type[Part], ...]) -> msgspec.msgpack.Decoder[object]:
    """A decoder for every frame after the first: a `Bye`, or a message of the stack with these parts."""
    return msgspec.msgpack.Decoder(union([*(message for part in parts for message in part.MESSAGES), Bye]))


def read_bye(body: bytes) -> str | None:
    """The reason why the other end closes the link, or None if this frame is no `Bye`."""
    try:
        return _bye_decoder.decode(body).reason
    except ValueError:
        return None


def frame(message: object) -> bytes:
    """A message as a frame."""
    body = encode(message)
    return PREFIX.pack(len(body)) + body


def hello(node: NodeId, address: bytes, stack: Sequence[str]) -> Hello:
    """This node's greeting."""
    return Hello(MAGIC, VERSIONS, FEATURES, node, address, tuple(stack))


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
