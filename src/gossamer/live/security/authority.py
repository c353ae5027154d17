"""A cluster's authority: an Ed25519 key and its certificate, which sign the certificates of nodes.

The operator keeps the authority's key off the nodes, because its owner can add nodes to the cluster.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gossamer.live.security.certificates import check_name, node_of
from gossamer.live.security.key_files import (
    AUTHORITY_CERTIFICATE,
    AUTHORITY_KEY,
    NODE_CERTIFICATE,
    NODE_KEY,
    certificate_pem,
    key_pem,
    read_certificates,
    read_key,
    write_files,
)
from gossamer.model.values.errors import InputError

# Chosen: ten years for an authority, because every node must be given a new one; a year for a node, because one command
# issues a new certificate.
AUTHORITY_DAYS = 3650
NODE_DAYS = 365
# Certificates are valid from an hour before they are made, for machines whose clocks are behind.
_EARLY = timedelta(hours=1)


def make_authority(
    folder: Path, days: int = AUTHORITY_DAYS, force: bool = False, now: datetime | None = None
) -> x509.Certificate:
    """Make a cluster's authority: its private key in FOLDER/authority.key, its certificate in FOLDER/authority.crt."""
    key = Ed25519PrivateKey.generate()
    # Each authority has its own name, so that two authorities in one file can be told apart. No node's name has spaces.
    subject = _subject(f"Gossamer authority {node_of(key.public_key()):016x}")
    start, end = _lifetime(days, now)
    certificate = (
        _builder(subject, subject, key.public_key(), key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, None)
    )
    write_files(folder, {AUTHORITY_KEY: key_pem(key), AUTHORITY_CERTIFICATE: certificate_pem(certificate)}, force)
    return certificate


def issue(
    folder: Path, name: str, out: Path, days: int = NODE_DAYS, force: bool = False, now: datetime | None = None
) -> x509.Certificate:
    """Make a node's key and certificate, signed by the authority in `folder`; the node needs the folder `out` only."""
    check_name(name)
    folder, out = Path(folder), Path(out)
    if folder.resolve() == out.resolve():
        raise InputError(f"{out} is the authority's own folder, which no node may have; choose another")
    authority_key, authority, trusted = _read_authority(folder)
    start, end = _lifetime(days, now)
    if end > authority.not_valid_after_utc:
        raise InputError(
            f"the authority in {folder} ends on {authority.not_valid_after_utc:%Y-%m-%d}, before {days} days are over; "
            "choose fewer `days` or make a new authority"
        )
    key = Ed25519PrivateKey.generate()
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    certificate = (
        _builder(_subject(name), authority.subject, key.public_key(), authority_key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .sign(authority_key, None)
    )
    files = {NODE_KEY: key_pem(key), NODE_CERTIFICATE: certificate_pem(certificate), AUTHORITY_CERTIFICATE: trusted}
    write_files(out, files, force)
    return certificate


def _read_authority(folder: Path) -> tuple[Ed25519PrivateKey, x509.Certificate, bytes]:
    """The key and the certificate of an authority, and in PEM all authorities that its nodes trust."""
    key = read_key(folder / AUTHORITY_KEY, "`gossamer keys init` makes an authority")
    authorities = read_certificates(folder / AUTHORITY_CERTIFICATE)
    for certificate in authorities:
        if certificate.public_key() == key.public_key():
            return key, certificate, b"".join(map(certificate_pem, authorities))
    raise InputError(f"{folder / AUTHORITY_KEY} does not match the certificate in {folder / AUTHORITY_CERTIFICATE}")


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _lifetime(days: int, now: datetime | None) -> tuple[datetime, datetime]:
    if not 1 <= days <= 36_500:
        raise InputError(f"`days` must lie between 1 and 36,500, got {days}")
    start = now or datetime.now(UTC)
    return start - _EARLY, start + timedelta(days=days)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: Ed25519PublicKey,
    issuer_key: Ed25519PublicKey,
    start: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), start, end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
