"""Every bound on what a peer can make a live node store or wait for.

The bounds of a protocol (members, topics of a peer, names, history, requests) are parameters of the protocol.
"""

from typing import Annotated

from msgspec import Meta, Struct

KIB = 1024
MIB = 1024 * 1024

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of a live node. No paper states values for these."""

    # Chosen: a frame has room for the largest payload and its header; a longer frame closes the link.
    payload_bytes: Positive = MIB
    frame_bytes: Positive = MIB + 64 * KIB
    # Chosen: the first frame of a link must arrive within this time. It and the times of dials and slow peers are times in
    # which this process ran: a process without CPU reads answers late.
    handshake_seconds: Seconds = 5.0
    # Chosen: a dial fails after this time.
    dial_seconds: Seconds = 5.0
    # Chosen: links that peers opened and no overlay keeps; beyond, the one that was quiet for longest is closed. At most
    # half of the descriptors that the system allows this process.
    strangers: Positive = 512
    # Chosen: bytes of unfinished frames on all of these links together; beyond, the link closes whose frame began first.
    unfinished_bytes: Positive = 16 * MIB
    # Chosen: short-lived links that this node opened to nodes that are no neighbours, and how long one may stay open while nothing arrives.
    pool: Positive = 64
    idle_seconds: Seconds = 10.0
    # Chosen: the number of concurrent dials, and of frames that wait for one dial.
    dials: Positive = 128
    dial_frames: Positive = 64
    # Chosen: dials a second to addresses where no node has answered yet, and as many at once. Peers name such addresses.
    new_dials: Positive = 32
    # Chosen: bytes queued towards one peer before publishers wait, and before frames are refused.
    queue_bytes_slow: Positive = 128 * KIB
    queue_bytes: Positive = 8 * MIB
    # Chosen: a slow peer must take at least this many bytes a second; after this time below that rate, publishers and
    # relays no longer wait for it, and after the longer time its link closes.
    drain_bytes_per_second: Positive = 64 * KIB
    patience_seconds: Seconds = 0.5
    stuck_seconds: Seconds = 30.0
    # Chosen: far above the rate of a well-behaved peer (our own benchmark sends 200,000 messages a second); beyond,
    # reading pauses. Each message of a burst counts as a frame.
    frames_per_second: Positive = 1_000_000
    # Chosen: messages and payload bytes in the queue of a subscription before its reader counts as slow.
    reader_messages: Positive = 100_000
    reader_bytes: Positive = 64 * MIB
    # Chosen: frames of a peer that cannot be decoded or are not allowed, before the link is closed.
    offences: Positive = 100
