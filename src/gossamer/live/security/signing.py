"""Signed messages: an envelope inside the payload that nobody on the way can open and close again.

A cluster whose `signatures` setting is not "off" puts every payload into an envelope; with "off" payloads travel as they are.

    plain      0  content
    signed     1  public key (32 bytes)  signature (64)  content
    certified  2  length (2)  certificate (DER)  signature (64)  content

The signature (Ed25519) covers all that stands before it in the envelope, the topics, the publisher, the sequence, the
time of publication and the content. The publisher's id is the hash of the key, so a message cannot be passed off as
somebody else's, moved to another topic or given another number. Not covered are `hops`, which every relay changes, and
`previous`, by which gaps are found and which the machine sets later.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gossamer.live.security.keys import fault, node_of, peer_of
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, TopicId

PLAIN, SIGNED, CERTIFIED = 0, 1, 2
MODES = ("off", "accept", "strict")

_KEY_BYTES = 32
_SIGNATURE_BYTES = 64
# Chosen: four times what a certificate of ours takes; what is longer is not one.
CERTIFICATE_BYTES_MAX = 2048
# Chosen: about 2 MB. Publishers whose key or certificate is remembered, so that only their first message costs its check.
REMEMBERED_MAX = 1024
# No other use of the same key (TLS) signs text that begins like this.
_CONTEXT = b"gossamer message 1\0"


class Signer:
    """Puts the messages of one node into envelopes, certified where the node has a certificate."""

    def __init__(self, private_key: Ed25519PrivateKey, certificate_der: bytes | None = None) -> None:
        public = private_key.public_key()
        self.node = node_of(public)
        self._sign = private_key.sign
        if certificate_der is None:
            self._head = bytes((SIGNED,)) + public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        else:
            if peer_of(certificate_der)[0] != self.node:
                raise InputError("the certificate to sign with is not for this key")
            if len(certificate_der) > CERTIFICATE_BYTES_MAX:
                raise InputError(f"a certificate to sign with must be at most {CERTIFICATE_BYTES_MAX} bytes")
            self._head = struct.pack(">BH", CERTIFIED, len(certificate_der)) + certificate_der

    def seal(self, topics: TopicId | Sequence[TopicId], sequence: int, content: bytes, published_us: int) -> bytes:
        """The envelope of a message of this node."""
        text = _signed_text(self._head, self.node, topics, sequence, published_us, content)
        return self._head + self._sign(text) + content


class Policy:
    """What a node asks of the messages of others: "off" (no envelopes), "accept" (check what is signed), "strict".

    With authorities (`Keys.authorities`) certificates are checked by them, and strict wants a certificate: a bare key is
    anybody's. `now` is the time by which certificates expire.
    """

    def __init__(
        self,
        mode: str,
        authorities: Sequence[x509.Certificate] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if mode not in MODES:
            raise InputError(f"signatures must be off, accept or strict, got {mode!r}")
        self.mode = mode
        self.authorities = list(authorities)
        self._now = now
        self._remembered: dict[bytes, tuple[datetime, Ed25519PublicKey, NodeId, str]] = {}

    def certified(self, certificate_der: bytes) -> tuple[Ed25519PublicKey, NodeId, str]:
        """The key, id and name that a certificate stands for; raises PeerError where it is not to be trusted."""
        known = self._remembered.get(certificate_der)
        if known is not None and self._now() <= known[0]:
            return known[1:]
        self._remembered.pop(certificate_der, None)
        node, name = peer_of(certificate_der)
        certificate = x509.load_der_x509_certificate(certificate_der)
        reason = fault(certificate, self.authorities, self._now())
        if reason is not None:
            raise PeerError(reason)
        key = certificate.public_key()
        assert isinstance(key, Ed25519PublicKey)
        ends = [certificate.not_valid_after_utc, *(one.not_valid_after_utc for one in self.authorities)]
        if len(self._remembered) >= REMEMBERED_MAX:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[certificate_der] = (min(ends), key, node, name)
        return key, node, name


def unseal(
    policy: Policy,
    publisher: NodeId,
    topics: TopicId | Sequence[TopicId],
    sequence: int,
    envelope: bytes,
    published_us: int,
) -> tuple[bytes | None, str | None]:
    """The content of a message that may be taken, or why it must be refused."""
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
    """The content of an envelope that `unseal` has passed: nothing is checked a second time."""
    kind, _, start = _parts(envelope)
    return envelope[1:] if kind == PLAIN else envelope[start + _SIGNATURE_BYTES :]


def publisher_name(policy: Policy, envelope: bytes) -> str | None:
    """The certified name of who sealed an envelope that `unseal` has passed; None where it carries no certificate."""
    if policy.mode == "off":
        return None
    kind, proof, _ = _parts(envelope)
    return policy.certified(proof)[2] if kind == CERTIFIED else None


def _parts(envelope: bytes) -> tuple[int, bytes, int]:
    """The kind of an envelope, its key or certificate, and where its signature begins."""
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
        raise PeerError("its envelope is of no known kind")
    if len(envelope) < start + _SIGNATURE_BYTES:
        raise PeerError("its envelope is cut short")
    return kind, proof, start


@lru_cache(maxsize=REMEMBERED_MAX)
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
    """What is signed. Topics are a set: their order says nothing and is not kept by relays.

    `head` is the envelope up to the signature: a certificate can be written down in more ways than one, and only the
    publisher's own passes.
    """
    named = (topics,) if isinstance(topics, int) else sorted(topics)
    numbers = struct.pack(f">QQQI{len(named)}Q", publisher, sequence, published_us, len(named), *named)
    return _CONTEXT + head + numbers + content
