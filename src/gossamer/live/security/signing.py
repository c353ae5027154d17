"""Signed messages: the payload is an envelope that relays can read but cannot change.

Unless the `signatures` setting of a cluster is "off", every payload is an envelope. With "off" payloads have no envelope.

    plain      0  content
    signed     1  public key (32 bytes)  signature (64)  content
    certified  2  length (2)  certificate (DER)  signature (64)  content

The signature (Ed25519) covers all bytes before it in the envelope, the topics, the publisher, the sequence number, the
time of publication and the content. The publisher's id is the hash of its key, so nobody can forge the publisher, move a
message to another topic or change its number. The signature does not cover `hops`, which every relay changes, nor
`previous`, which the machine sets after signing to detect gaps.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gossamer.live.security import SIGNATURE_MODES
from gossamer.live.security.certificates import certificate_fault, node_of, peer_of
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, TopicId

PLAIN, SIGNED, CERTIFIED = 0, 1, 2

_KEY_BYTES = 32
_SIGNATURE_BYTES = 64
# Chosen: four times the size of our certificates; anything longer is refused.
CERTIFICATE_BYTES_MAX = 2048
# Chosen: about 2 MB. Cached keys and certificates of publishers: only the first message of a publisher needs their check.
CACHED_MAX = 1024
# TLS uses the same key, but never signs text that begins like this.
_CONTEXT = b"gossamer message 1\0"


class Signer:
    """Signs the messages of one node, with its certificate if it has one."""

    def __init__(self, private_key: Ed25519PrivateKey, certificate_der: bytes | None = None) -> None:
        public = private_key.public_key()
        self.node = node_of(public)
        self._sign = private_key.sign
        if certificate_der is None:
            self._head = bytes((SIGNED,)) + public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        else:
            if peer_of(certificate_der)[0] != self.node:
                raise InputError("the certificate for signing is not for this key")
            if len(certificate_der) > CERTIFICATE_BYTES_MAX:
                raise InputError(f"a certificate for signing must be at most {CERTIFICATE_BYTES_MAX} bytes")
            self._head = struct.pack(">BH", CERTIFIED, len(certificate_der)) + certificate_der

    def seal(self, topics: TopicId | Sequence[TopicId], sequence: int, content: bytes, published_us: int) -> bytes:
        """The signed envelope of one of this node's messages."""
        text = _signed_text(self._head, self.node, topics, sequence, published_us, content)
        return self._head + self._sign(text) + content


class SignaturePolicy:
    """What a node requires of received messages: one of `SIGNATURE_MODES`.

    With authorities (`Keys.authorities`) certificates must be issued by one of them, and "strict" requires a certificate,
    because anybody can make a key without one. `now` gives the time for the expiry of certificates.
    """

    def __init__(
        self,
        mode: str,
        authorities: Sequence[x509.Certificate] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if mode not in SIGNATURE_MODES:
            raise InputError(f"`signatures` must be one of {', '.join(SIGNATURE_MODES)}, got {mode!r}")
        self.mode = mode
        self.authorities = list(authorities)
        self._now = now
        self._cached: dict[bytes, tuple[datetime, Ed25519PublicKey, NodeId, str]] = {}

    def certified(self, certificate_der: bytes) -> tuple[Ed25519PublicKey, NodeId, str]:
        """The key, id and name in a certificate; raises PeerError if the certificate cannot be trusted."""
        known = self._cached.get(certificate_der)
        if known is not None and self._now() <= known[0]:
            return known[1:]
        self._cached.pop(certificate_der, None)
        node, name = peer_of(certificate_der)
        certificate = x509.load_der_x509_certificate(certificate_der)
        fault = certificate_fault(certificate, self.authorities, self._now())
        if fault is not None:
            raise PeerError(fault)
        key = certificate.public_key()
        assert isinstance(key, Ed25519PublicKey)
        ends = [certificate.not_valid_after_utc, *(authority.not_valid_after_utc for authority in self.authorities)]
        if len(self._cached) >= CACHED_MAX:
            del self._cached[next(iter(self._cached))]
        self._cached[certificate_der] = (min(ends), key, node, name)
        return key, node, name


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
        kind, proof, start = _parts(envelope)
        if kind == PLAIN:
            return (None, "it is not signed") if policy.mode == "strict" else (envelope[1:], None)
        if kind == CERTIFIED:
            key, node, _ = policy.certified(proof)
        elif policy.mode == "strict" and policy.authorities:
            return None, "its key has no certificate"
        else:
            key, node = _bare_key(proof)
        if node != publisher:
            return None, "its key is not its publisher's"
        content = envelope[start + _SIGNATURE_BYTES :]
        text = _signed_text(envelope[:start], publisher, topics, sequence, published_us, content)
        key.verify(envelope[start : start + _SIGNATURE_BYTES], text)
    except PeerError as error:
        return None, str(error)
    except InvalidSignature:
        return None, "its signature is wrong"
    except (ValueError, struct.error):
        return None, "its signature cannot be read"
    return content, None


def content_of(envelope: bytes) -> bytes:
    """The content of an envelope that `unseal` has accepted; this checks nothing again."""
    kind, _, start = _parts(envelope)
    return envelope[1:] if kind == PLAIN else envelope[start + _SIGNATURE_BYTES :]


def publisher_name(policy: SignaturePolicy, envelope: bytes) -> str | None:
    """The certified name of the publisher of an envelope that `unseal` has accepted; None without a certificate."""
    if policy.mode == "off":
        return None
    kind, proof, _ = _parts(envelope)
    return policy.certified(proof)[2] if kind == CERTIFIED else None


def _parts(envelope: bytes) -> tuple[int, bytes, int]:
    """The kind of an envelope, its key or certificate, and the position of its signature."""
    kind = envelope[0] if envelope else -1
    if kind == PLAIN:
        return PLAIN, b"", 1
    if kind == SIGNED:
        start, proof = 1 + _KEY_BYTES, envelope[1 : 1 + _KEY_BYTES]
    elif kind == CERTIFIED and len(envelope) >= 3:
        (length,) = struct.unpack_from(">H", envelope, 1)
        if length > CERTIFICATE_BYTES_MAX:
            raise PeerError("its certificate is too long")
        start, proof = 3 + length, envelope[3 : 3 + length]
    else:
        raise PeerError("its envelope has an unknown kind")
    if len(envelope) < start + _SIGNATURE_BYTES:
        raise PeerError("its envelope is too short")
    return kind, proof, start


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
