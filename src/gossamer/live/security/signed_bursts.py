"""Signed bursts: one signature for all messages, and what a node keeps to prove one of them alone.

A burst that is complete travels with its signature in front of the first message. A message that travels alone, because a
neighbour asked for it or a relay split the burst, is in the envelope of a member (`signing.py`). A node makes this envelope
when it sends the message; until then a `SignedBurst` is the message's proof.

    first message     4  head  signature (64)  digest (32)  root (16)  0  content
    further messages  0  content
"""

import struct
from typing import Any

from cryptography.exceptions import InvalidSignature
from msgspec.structs import replace

from gossamer.live.security import hash_tree
from gossamer.live.security.hash_tree import DIGEST_BYTES, HASH_BYTES, Items
from gossamer.live.security.signing import (
    MEMBER,
    MEMBER_HEAD,
    SIGNATURE_BYTES,
    SignaturePolicy,
    Signer,
    burst_text,
    read_head,
)
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import TopicId
from gossamer.protocols.contract.messages import Burst, Data, data_in, proof_of, proved, with_data

# What precedes the first message.
COMPLETE = b"\4"
_PLAIN = b"\0"
# Chosen: a message kept of a burst keeps the whole burst. Beyond 16 MiB of kept bursts, messages of further bursts are kept in
# envelopes of their own, which the limits of the history and of other stores count. A history of 4 MiB never gets there by
# itself; a publisher might, with bursts of which others need one message only.
PROOFS_BYTES_MAX = 16 * 2**20
# What a burst and a message of it cost in memory besides payloads and the proof.
BURST_BYTES, ITEM_BYTES = 400, 100
_PROOF_BYTES = SIGNATURE_BYTES + DIGEST_BYTES + HASH_BYTES


class KeptProofs:
    """Counts the bytes of all signed bursts that a node keeps."""

    __slots__ = ("size_bytes",)

    def __init__(self) -> None:
        self.size_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the messages of further bursts must prove themselves."""
        return self.size_bytes >= PROOFS_BYTES_MAX


class SignedBurst:
    """The messages of a burst and their signature: the proof of each of them, kept for as long as one of them is kept."""

    __slots__ = ("_kept", "_paths", "_proof", "_size_bytes", "first", "items")

    def __init__(self, first: int, items: tuple[tuple[int, bytes], ...], proof: bytes, kept: KeptProofs) -> None:
        # The number of the first message; the time and the payload of each message.
        self.first = first
        self.items = items
        # Head, signature, digest and root.
        self._proof = proof
        # One for four messages, made when the first of them is sent alone; empty if the root is wrong.
        self._paths: list[bytes] | None = None
        self._kept = kept
        self._size_bytes = len(proof) + BURST_BYTES + sum([len(payload) + ITEM_BYTES for _, payload in items])
        kept.size_bytes += self._size_bytes

    def __del__(self) -> None:
        """The last of its messages was dropped."""
        self._kept.size_bytes -= self._size_bytes

    @property
    def packed(self) -> tuple[tuple[int, bytes], ...]:
        """The messages as they travel together."""
        published_us, payload = self.items[0]
        return ((published_us, COMPLETE + self._proof + payload), *self.items[1:])

    def member(self, sequence: int) -> bytes:
        """The envelope of a message that travels alone; raises InvalidSignature if its publisher signed a wrong root."""
        if self._paths is None:
            root, paths = hash_tree.grow([(published_us, payload[1:]) for published_us, payload in self.items])
            self._paths = paths if root == self._proof[-HASH_BYTES:] else []
        if not self._paths:
            raise InvalidSignature
        position = sequence - self.first
        shared = self._proof[:-HASH_BYTES] + self._paths[position // hash_tree.GROUP]
        start = MEMBER_HEAD.size + len(shared)
        return MEMBER_HEAD.pack(MEMBER, start, position, len(self.items)) + shared + self.items[position][1][1:]

    def alone(self, part: Burst) -> tuple[tuple[int, bytes], ...]:
        """Messages of this burst, each in the envelope of a member."""
        numbered = enumerate(part.items, part.sequence)
        return tuple([(published_us, self.member(number)) for number, (published_us, _) in numbered])


def proof_bytes(signer: Signer) -> int:
    """What a signature adds to the frame of a burst."""
    return len(COMPLETE) + len(signer.head) + _PROOF_BYTES


def seal_burst(signer: Signer, topic: TopicId, first: int, items: Items, kept: KeptProofs) -> SignedBurst:
    """Sign messages (the time and the content of each) of this node, numbered from `first` on."""
    payloads = tuple([(published_us, _PLAIN + content) for published_us, content in items])
    hashes = hash_tree.digest_of(payloads) + hash_tree.grow(items)[0]
    text = burst_text(signer.head, signer.node, topic, first, len(items), hashes)
    return SignedBurst(first, payloads, signer.head + signer.sign(text) + hashes, kept)


def is_complete(burst: Burst) -> bool:
    """Whether a received burst has one signature for all its messages, which is not checked yet."""
    return burst.items[0][1][:1] == COMPLETE


def open_burst(policy: SignaturePolicy, burst: Burst, kept: KeptProofs) -> tuple[Burst | None, bytes, str | None]:
    """A complete burst for the machine, its head, and None; or None and why the burst must be refused."""
    try:
        (published_us, packed), *further = burst.items
        head = read_head(packed, 1)
        key = policy.key_of(burst.publisher, head)
        signed = 1 + len(head)
        end = signed + _PROOF_BYTES
        items = ((published_us, packed[end:]), *further)
        if {payload[:1] for _, payload in items} != {_PLAIN}:
            raise PeerError("its envelope has an unknown kind")
        hashes = packed[signed + SIGNATURE_BYTES : end]
        if hash_tree.digest_of(items) != hashes[:DIGEST_BYTES]:
            raise InvalidSignature
        text = burst_text(head, burst.publisher, burst.topic, burst.sequence, len(items), hashes)
        policy.check_burst(key, packed[signed : signed + SIGNATURE_BYTES], text)
        whole = SignedBurst(burst.sequence, items, packed[1:end], kept)
        payloads = whole.alone(burst) if kept.is_full else proved(items, whole)
    except PeerError as error:
        return None, b"", str(error)
    except InvalidSignature:
        return None, b"", "its signature is wrong"
    except (ValueError, struct.error):
        return None, b"", "its signature cannot be read"
    return replace(burst, items=payloads), head, None


def pack(message: Any) -> Any:
    """A message of the machine as it travels; None if it carries a message that nobody can check alone."""
    try:
        if isinstance(message, Burst):
            return _pack_burst(message)
        return with_data(message, _alone) if any(map(proof_of, data_in(message))) else message
    except InvalidSignature:
        return None


def _pack_burst(burst: Burst) -> Burst:
    whole: SignedBurst | None = proof_of(burst)
    if whole is None:
        return burst
    if burst.sequence == whole.first and burst.count == len(whole.items):
        return replace(burst, items=whole.packed)
    # A part of a signed burst.
    return replace(burst, items=whole.alone(burst))


def _alone(data: Data) -> Data:
    whole: SignedBurst | None = proof_of(data)
    return data if whole is None else replace(data, payload=whole.member(data.sequence), also=())
