"""Messages, receipts and gaps as applications see them, and codecs between payloads and values."""

import json
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from gossamer.model.values.errors import InputError


class Message(Struct, frozen=True, gc=False):
    """A message, as a subscriber receives it."""

    topic: str
    payload: Any
    # The publisher's id, as 16 hexadecimal digits; (publisher, sequence) identifies the message.
    publisher: str
    sequence: int
    # The number of links that it crossed; 0: this node published it.
    hops: int
    # Seconds since 1970, by the publisher's clock.
    published_at: float


class Receipt(Struct, frozen=True, gc=False):
    """The neighbours that a publication was queued for, sent to, or refused by."""

    topic: str
    sequence: int
    # The number of neighbours that the message was queued for, and of those whose copy has left this process.
    queued: int
    sent: int
    # The neighbours that it was not queued for, each with the reason.
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def nobody(self) -> bool:
        """Whether no neighbour was there to take the message: the node knows no other node with the topic yet."""
        return not self.queued and not self.refused


class Gap(Struct, frozen=True, gc=False):
    """Messages of a publisher that are lost: those with after < sequence < before."""

    topic: str
    publisher: str
    after: int
    before: int


class Codec(Protocol):
    """Encodes values as bytes and decodes them. A message that `decode` raises on is dropped, counted and logged."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""
        ...

    def decode(self, payload: bytes) -> Any:
        """The value of the bytes."""
        ...


class _Functions:
    def __init__(self, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]) -> None:
        self.encode = encode
        self.decode = decode


def _same(payload: bytes) -> bytes:
    if not isinstance(payload, bytes):
        raise InputError(f"a payload must be bytes, got {type(payload).__name__}; give a codec, such as codec='json'")
    return payload


def _encoder(name: str, encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """The function with an InputError for a value that has no such encoding."""

    def checked(value: Any) -> bytes:
        try:
            return encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"codec={name!r} cannot encode this payload: {error}") from None

    return checked


def _to_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


CODECS: dict[str, Codec] = {
    "bytes": _Functions(_same, _same),
    "json": _Functions(_encoder("json", _to_json), json.loads),
    "msgpack": _Functions(_encoder("msgpack", msgspec.msgpack.encode), msgspec.msgpack.decode),
}


def find_codec(codec: str | Codec) -> Codec:
    """The codec of this name, or the application's own codec unchanged."""
    if not isinstance(codec, str):
        return codec
    if codec not in CODECS:
        raise InputError(
            f"there is no codec {codec!r}; there are: {', '.join(CODECS)}; or give an object with encode and decode"
        )
    return CODECS[codec]
