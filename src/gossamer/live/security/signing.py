"""Signed messages: the payload is an envelope that relays can read but cannot change.

Unless the `signatures` setting of a cluster is "off", every payload is an envelope. With "off" payloads have no envelope.

    plain      0  content
    signed     1  public key (32 bytes)  signature (64)  content
    certified  2  length (2)  certificate (DER)  signature (64)  content
    member     3  start of the content (2)  position (2)  count (2)  head  signature (64)  digest (32)  path  content

The signature (Ed25519) covers all bytes before it in the envelope, the topics, the publisher, the sequence number, the
time of publication and the content. The publisher's id is the hash of its key, so nobody can forge the publisher, move a
message to another topic or change its number. The signature does not cover `hops`, which every relay changes, nor
`previous`, which the machine sets after signing to detect gaps.

A member is one message of a burst, which has one signature for all its messages. The head is that of a signed or certified
envelope (its bytes before the signature). The signature covers the head, the publisher, the topic, the number of the first
message, the count, and the digest and the root of all messages; the path leads from this message to the root
(`hash_tree.py`). A burst that is complete travels with one signature and without paths (`signed_bursts.py`).
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from time import time

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gossamer.live.security import SIGNATURE_MODES, hash_tree
from gossamer.live.security.certificates import certificate_fault, node_of, peer_of
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, TopicId

PLAIN, SIGNED, CERTIFIED, MEMBER = 0, 1, 2, 3

_KEY_BYTES = 32
SIGNATURE_BYTES = 64
# Kind, start of the content, position, count.
MEMBER_HEAD = struct.Struct(">BHHH")
# Chosen: four times the size of our certificates; anything longer is refused.
CERTIFICATE_BYTES_MAX = 2048
# Chosen: about 2 MB. Cached keys and certificates of publishers: only the first message of a publisher needs their check.
CACHED_MAX = 1024
# Chosen: about 0.5 MB. Bursts whose signature was found right: a further message of such a burst needs hashes only.
BURSTS_MAX = 4096
# TLS uses the same key, but never signs text that begins like this.
_CONTEXT = b"gossamer message 1\0"
_BURST_CONTEXT = b"gossamer burst 1\0"


class Signer:
    """Signs the messages of one node, with its certificate if it has one."""

    def __init__(self, private_key: Ed25519PrivateKey, certificate_der: bytes | None = None) -> None:
        public = private_key.public_key()
        self.node = node_of(public)
        self.sign = private_key.sign
        if certificate_der is None:
            self.head = bytes((SIGNED,)) + public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        else:
            if peer_of(certificate_der)[0] != self.node:
                raise InputError("the certificate for signing is not for this key")
            if len(certificate_der) > CERTIFICATE_BYTES_MAX:
                raise InputError(f"a certificate for signing must be at most {CERTIFICATE_BYTES_MAX} bytes")
            self.head = struct.pack(">BH", CERTIFIED, len(certificate_der)) + certificate_der

    def seal(self, topics: TopicId | Sequence[TopicId], sequence: int, content: bytes, published_us: int) -> bytes:
        """The signed envelope of one of this node's messages."""
        text = _signed_text(self.head, self.node, topics, sequence, published_us, content)
        return self.head + self.sign(text) + content


class SignaturePolicy:
    """What a node requires of received messages: one of `SIGNATURE_MODES`.

    With authorities (`Keys.authorities`) certificates must be issued by one of them, and "strict" requires a certificate,
    because anybody can make a key without one. `now` gives the time for the expiry of certificates, in seconds since 1970.
    """

    def __init__(
        self,
        mode: str,
        authorities: Sequence[x509.Certificate] = (),
        now: Callable[[], float] = time,
    ) -> None:
        if mode not in SIGNATURE_MODES:
            raise InputError(f"`signatures` must be one of {', '.join(SIGNATURE_MODES)}, got {mode!r}")
        self.mode = mode
        self.authorities = list(authorities)
        self._now = now
        self._cached: dict[bytes, tuple[float, tuple[Ed25519PublicKey, NodeId, str]]] = {}
        # Hashes of signed texts with their signatures, the oldest first.
        self._bursts: dict[bytes, None] = {}

    def certified(self, certificate_der: bytes) -> tuple[Ed25519PublicKey, NodeId, str]:
        """The key, id and name in a certificate; raises PeerError if the certificate cannot be trusted."""
        known = self._cached.get(certificate_der)
        if known is not None and self._now() <= known[0]:
            return known[1]
        self._cached.pop(certificate_der, None)
        node, name = peer_of(certificate_der)
        certificate = x509.load_der_x509_certificate(certificate_der)
        fault = certificate_fault(certificate, self.authorities, datetime.fromtimestamp(self._now(), UTC))
        if fault is not None:
            raise PeerError(fault)
        key = certificate.public_key()
        assert isinstance(key, Ed25519PublicKey)
        ends = [certificate.not_valid_after_utc, *(authority.not_valid_after_utc for authority in self.authorities)]
        if len(self._cached) >= CACHED_MAX:
            del self._cached[next(iter(self._cached))]
        self._cached[certificate_der] = (min(ends).timestamp(), (key, node, name))
        return key, node, name

    def key_of(self, publisher: NodeId, head: bytes) -> Ed25519PublicKey:
        """The key that must have signed a message of this publisher; raises PeerError if the head cannot prove it."""
        if head[0] == CERTIFIED:
            key, node, _ = self.certified(head[3:])
        elif self.mode == "strict" and self.authorities:
            raise PeerError("its key has no certificate")
        else:
            key, node = _bare_key(head[1:])
        if node != publisher:
            raise PeerError("its key is not its publisher's")
        return key

    def check_burst(self, key: Ed25519PublicKey, signature: bytes, text: bytes) -> None:
        """Raise InvalidSignature if the signature of a burst is wrong; only right ones are remembered."""
        name = sha256(signature + text).digest()
        if name in self._bursts:
            return
        key.verify(signature, text)
        if len(self._bursts) >= BURSTS_MAX:
            del self._bursts[next(iter(self._bursts))]
        self._bursts[name] = None


def unseal(
    policy: SignaturePolicy,
    publisher: NodeId,
    topics: TopicId | Sequence[TopicId],
    sequence: int,
    envelope: bytes,
    published_us: int,
) -> tuple[bytes | None, str | None]:
    """The content of a message and None, or None and why the message must be refused."""
    if policy.mode == "off":
        return envelope, None
    try:
        if envelope[:1] == b"\0":
            return (None, "it is not signed") if policy.mode == "strict" else (envelope[1:], None)
        if envelope[:1] == b"\3":
            return _unseal_member(policy, publisher, topics, sequence, envelope, published_us), None
        head = read_head(envelope, 0)
        key, start = policy.key_of(publisher, head), len(head)
        content = envelope[start + SIGNATURE_BYTES :]
        text = _signed_text(head, publisher, topics, sequence, published_us, content)
        key.verify(envelope[start : start + SIGNATURE_BYTES], text)
    except PeerError as error:
        return None, str(error)
    except InvalidSignature:
        return None, "its signature is wrong"
    except (ValueError, struct.error):
        return None, "its signature cannot be read"
    return content, None


def _unseal_member(
    policy: SignaturePolicy,
    publisher: NodeId,
    topics: TopicId | Sequence[TopicId],
    sequence: int,
    envelope: bytes,
    published_us: int,
) -> bytes:
    (topic,) = (topics,) if isinstance(topics, int) else topics
    _, start, position, count = MEMBER_HEAD.unpack_from(envelope)
    head = read_head(envelope, MEMBER_HEAD.size)
    key = policy.key_of(publisher, head)
    signed = MEMBER_HEAD.size + len(head)
    digest = signed + SIGNATURE_BYTES
    path = digest + hash_tree.DIGEST_BYTES
    content = envelope[start:]
    leaf = hash_tree.leaf_of(published_us, content)
    root = None if position >= count else hash_tree.root_of(leaf, position, count, envelope[path:start])
    if root is None:
        raise InvalidSignature
    text = burst_text(head, publisher, topic, sequence - position, count, envelope[digest:path] + root)
    policy.check_burst(key, envelope[signed:digest], text)
    return content


def content_of(envelope: bytes) -> bytes:
    """The content of an envelope that `unseal` has accepted; this checks nothing again."""
    kind = envelope[0]
    if kind == MEMBER:
        return envelope[envelope[1] << 8 | envelope[2] :]
    return envelope[1:] if kind == PLAIN else envelope[len(read_head(envelope, 0)) + SIGNATURE_BYTES :]


def publisher_name(policy: SignaturePolicy, envelope: bytes) -> str | None:
    """The certified name of the publisher of an envelope, or of a head, that was accepted; None without a certificate."""
    if policy.mode == "off" or envelope[0] == PLAIN:
        return None
    head = read_head(envelope, MEMBER_HEAD.size if envelope[0] == MEMBER else 0, 0)
    return policy.certified(head[3:])[2] if head[0] == CERTIFIED else None


def read_head(text: bytes, start: int, behind: int = SIGNATURE_BYTES) -> bytes:
    """The head that begins at `start`, with enough bytes behind it for a signature: its kind, and a key or a certificate."""
    kind = text[start] if len(text) > start else -1
    if kind == SIGNED:
        end = start + 1 + _KEY_BYTES
    elif kind == CERTIFIED and len(text) >= start + 3:
        (length,) = struct.unpack_from(">H", text, start + 1)
        if length > CERTIFICATE_BYTES_MAX:
            raise PeerError("its certificate is too long")
        end = start + 3 + length
    else:
        raise PeerError("its envelope has an unknown kind")
    if len(text) < end + behind:
        raise PeerError("its envelope is too short")
    return text[start:end]


def burst_text(head: bytes, publisher: NodeId, topic: TopicId, first: int, count: int, hashes: bytes) -> bytes:
    """The bytes that are signed for a burst; `hashes` are its digest and its root."""
    return _BURST_CONTEXT + head + struct.pack(">QQQQ", publisher, topic, first, count) + hashes


@lru_cache(maxsize=CACHED_MAX)
def _bare_key(raw: bytes) -> tuple[Ed25519PublicKey, NodeId]:
    key = Ed25519PublicKey.from_public_bytes(raw)
    return key, node_of(key)


def _signed_text(
    head: bytes,
    publisher: NodeId,
    topics: TopicId | Sequence[TopicId],
    sequence: int,
    published_us: int,
    content: bytes,
) -> bytes:
    """The bytes that are signed. Topics are sorted, because relays may change their order.

    `head` is the envelope up to the signature. It is signed because one certificate can be encoded in several ways, and
    only the publisher's own encoding must be accepted.
    """
    named = (topics,) if isinstance(topics, int) else sorted(topics)
    numbers = struct.pack(f">QQQI{len(named)}Q", publisher, sequence, published_us, len(named), *named)
    return _CONTEXT + head + numbers + content
