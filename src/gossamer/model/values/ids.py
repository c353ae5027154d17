"""Node and topic ids: opaque unsigned 64-bit integers.

A machine compares and hashes ids and never uses them as indices. Simulated ids are 0..n-1; live ids
are computed by `identity`.
"""

from enum import Enum, IntFlag
from hashlib import sha256
from typing import Annotated

from msgspec import Meta


class Meaning(Enum):
    """Marks the type of an integer field of a message, so that the wire format can shorten it (`contract/forms.py`)."""

    NODE = "the id of a node"
    TOPIC = "the id of a topic"
    SEQUENCE = "a sequence number of the publisher that the same value names"
    PREVIOUS = "an earlier sequence number of the same publisher, or 0"
    TIME = "a time of publication"


NodeId = Annotated[int, Meta(ge=0), Meaning.NODE]
TopicId = Annotated[int, Meta(ge=0), Meaning.TOPIC]

ID_BITS = 64


def identity(name: bytes) -> int:
    """The id of a public key or of a topic name: the first 8 bytes of its SHA-256 hash."""
    return int.from_bytes(sha256(name).digest()[: ID_BITS // 8], "big")


class Role(IntFlag):
    """What a node does with a topic. Publishers are part of the topic's overlay and relay; only followers deliver."""

    FOLLOWS = 1
    PUBLISHES = 2
    BOTH = 3
