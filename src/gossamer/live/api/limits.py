"""What a peer can make a node keep, and for how long: every bound of the live room, in one place.

Bounds on what a protocol keeps (members, topics of a peer, names, history, requests) stand with the protocol.
"""

from typing import Annotated

from msgspec import Meta, Struct

KIB = 1024
MIB = 1024 * 1024

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No paper names any of these; each says what it was chosen for."""

    # Chosen: a message of the largest payload and its header; a longer frame ends the link.
    payload_bytes: Positive = MIB
    frame_bytes: Positive = MIB + 64 * KIB
    # Chosen: the first frame of a link must come within so long.
    handshake_seconds: Seconds = 5.0
    # Chosen: a dial that has not got through by then has failed.
    dial_seconds: Seconds = 5.0
    # Chosen: links that peers opened and nobody keeps; the one that was quiet for longest goes first.
    strangers: Positive = 512
    # Chosen: short-lived links that this node opened for what goes to non-neighbours, and how long one stays idle.
    pool: Positive = 64
    idle_seconds: Seconds = 10.0
    # Chosen: dials under way, and what waits for one of them.
    dials: Positive = 128
    dial_frames: Positive = 64
    # Chosen: bytes queued towards one peer before publishers wait, and before frames are refused.
    queue_bytes_slow: Positive = 128 * KIB
    queue_bytes: Positive = 8 * MIB
    # Chosen: a slow peer must take at least so many bytes a second; after so long below that, nobody waits for it. One
    # that says nothing at all is no neighbour sooner, by the protocol.
    drain_bytes_per_second: Positive = 64 * KIB
    patience_seconds: Seconds = 10.0
    # Chosen: far above what a peer that behaves sends (200,000 messages a second are our own benchmark); reading pauses beyond. Each
    # message of a burst counts like a frame.
    frames_per_second: Positive = 1_000_000
    # Chosen: messages that wait for a reader of this process, before it is a slow one.
    reader_messages: Positive = 2_000
    # Chosen: messages from peers that could not be read or were not allowed, before the link ends.
    offences: Positive = 100
