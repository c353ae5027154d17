"""What a certificate says: the id and the name of its node, and whether it can be trusted now."""

import re
from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from gossamer.live.security.key_files import UNREADABLE
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, identity

# Access rules match names with "*". A name has no character that a rule, a log or a shell could interpret.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: str) -> str:
    """Return the name of a node, or raise an InputError that says which names are valid."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a node's name must be 1 to 64 letters, digits, '.', '_' or '-' and begin with a letter or digit, got {name!r}"
        )
    return name


def node_of(public_key: object) -> NodeId:
    """The id of the node with this key: the hash of the key's DER SubjectPublicKeyInfo."""
    if not isinstance(public_key, Ed25519PublicKey):
        raise PeerError("its certificate is not for an Ed25519 key")
    return identity(public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def peer_of(certificate_der: bytes) -> tuple[NodeId, str]:
    """The id and the name in a peer's certificate. This does not check whether the certificate can be trusted."""
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        node, name = node_of(certificate.public_key()), common_name(certificate)
    except UNREADABLE:
        raise PeerError("its certificate cannot be read") from None
    if not _NAME.fullmatch(name):
        raise PeerError("its certificate is not a node certificate")
    return node, name


def common_name(certificate: x509.Certificate) -> str:
    """The name in a certificate; an empty string if there is none or more than one."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""


def certificate_fault(
    certificate: x509.Certificate, authorities: Sequence[x509.Certificate], now: datetime
) -> str | None:
    """Why a certificate cannot be trusted now, or None if it can."""
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (*UNREADABLE, InvalidSignature):
            continue
        if not authority.not_valid_before_utc <= now <= authority.not_valid_after_utc:
            return f"its authority's certificate was valid until {_minute(authority.not_valid_after_utc)}"
        if now < certificate.not_valid_before_utc:
            start = _minute(certificate.not_valid_before_utc)
            return f"the certificate is not valid before {start} (is the clock right?)"
        if now > certificate.not_valid_after_utc:
            return f"the certificate expired on {_minute(certificate.not_valid_after_utc)}"
        return None
    return "the certificate was issued by another authority"


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
