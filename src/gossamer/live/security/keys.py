"""Keys: a cluster's authority, a certificate for each node, and the TLS that rests on them.

An authority is an Ed25519 key and a certificate for it. It signs one certificate a node, and the certificate's name is
what access rules speak of. A node's id is the hash of its public key, so nobody can take another's id. Both ends of a
link show a certificate of the same authority, over TLS 1.3 and nothing older; host names mean nothing here.

Only what asks for TLS, signatures or a lasting id imports this module: `cryptography` is not free to load.
"""

import os
import re
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, identity

AUTHORITY_KEY = "authority.key"
AUTHORITY_CERTIFICATE = "authority.crt"
NODE_KEY = "node.key"
NODE_CERTIFICATE = "node.crt"

# Chosen: ten years for an authority, one for a node: the former is awkward to replace, the latter is one command.
AUTHORITY_DAYS = 3650
NODE_DAYS = 365
# Certificates begin this much in the past, for machines whose clocks are behind.
_EARLY = timedelta(hours=1)

# Rules match names with "*", so a name holds nothing that a rule, a log or a shell could read as something else.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# What `cryptography` raises on keys and certificates that are damaged or strange; these have no root of their own. It
# warns of some, which is an exception too where Python was told so.
_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion, Warning)


def check_name(name: str) -> str:
    """A node's name, or a sentence on what a name may be."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a node's name must be 1 to 64 letters, digits, '.', '_' or '-' and begin with a letter or digit, got {name!r}"
        )
    return name


def make_authority(
    folder: Path, days: int = AUTHORITY_DAYS, force: bool = False, now: datetime | None = None
) -> x509.Certificate:
    """Make a cluster's authority: FOLDER/authority.key, to be kept to oneself, and FOLDER/authority.crt."""
    key = Ed25519PrivateKey.generate()
    # Each authority has a name of its own, so that two of them in one file are told apart. The spaces make it no node's.
    subject = _subject(f"Gossamer authority {node_of(key.public_key()):016x}")
    start, end = _lifetime(days, now)
    certificate = (
        _builder(subject, subject, key.public_key(), key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, None)
    )
    _write(folder, {AUTHORITY_KEY: _key_pem(key), AUTHORITY_CERTIFICATE: _pem(certificate)}, force)
    return certificate


def issue(
    folder: Path, name: str, out: Path, days: int = NODE_DAYS, force: bool = False, now: datetime | None = None
) -> x509.Certificate:
    """Make a node's key and certificate, signed by the authority in `folder`; `out` is all that the node needs."""
    check_name(name)
    folder, out = Path(folder), Path(out)
    if folder.resolve() == out.resolve():
        raise InputError(f"{out} is the authority's own folder; a node must never hold it, so choose another")
    authority_key = _read_key(folder / AUTHORITY_KEY, "an authority is made with: gossamer keys init FOLDER")
    authorities = _read_certificates(folder / AUTHORITY_CERTIFICATE)
    authority = next((one for one in authorities if one.public_key() == authority_key.public_key()), None)
    if authority is None:
        raise InputError(f"{folder / AUTHORITY_KEY} does not match the certificate in {folder / AUTHORITY_CERTIFICATE}")
    start, end = _lifetime(days, now)
    if end > authority.not_valid_after_utc:
        raise InputError(
            f"the authority in {folder} ends on {authority.not_valid_after_utc:%Y-%m-%d}, before {days} days are over; "
            "give fewer days or make a new authority"
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
    trusted = b"".join(map(_pem, authorities))
    _write(out, {NODE_KEY: _key_pem(key), NODE_CERTIFICATE: _pem(certificate), AUTHORITY_CERTIFICATE: trusted}, force)
    return certificate


@dataclass(frozen=True, slots=True)
class Keys:
    """What a node holds: its key, its certificate, and the authorities that it trusts (more than one while they change)."""

    folder: Path
    name: str
    node: NodeId
    private_key: Ed25519PrivateKey
    certificate: x509.Certificate
    authorities: tuple[x509.Certificate, ...]

    @classmethod
    def load(cls, folder: Path, now: datetime | None = None) -> Self:
        """Read a folder that `issue` wrote, and see that its parts belong together and are valid now."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(
                f"there is no folder {folder}; make it with: gossamer keys issue NAME --authority FOLDER --out {folder}"
            )
        key = _read_key(folder / NODE_KEY, "a node's keys are made with: gossamer keys issue")
        certificate = _read_certificates(folder / NODE_CERTIFICATE)[0]
        authorities = _read_certificates(folder / AUTHORITY_CERTIFICATE)
        if certificate.public_key() != key.public_key():
            raise InputError(f"{folder / NODE_KEY} does not match {folder / NODE_CERTIFICATE}; issue both anew")
        reason = fault(certificate, authorities, now or datetime.now(UTC))
        if reason is not None:
            raise InputError(f"{folder / NODE_CERTIFICATE}: {reason}; issue a new one with: gossamer keys issue")
        try:
            node, name = peer_of(certificate.public_bytes(Encoding.DER))
        except PeerError as error:
            raise InputError(f"{folder / NODE_CERTIFICATE}: {error}") from None
        return cls(folder, name, node, key, certificate, tuple(authorities))

    @property
    def certificate_der(self) -> bytes:
        """The certificate as it travels in signed messages."""
        return self.certificate.public_bytes(Encoding.DER)

    def server_context(self) -> ssl.SSLContext:
        """For the end that is called."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        # Links last, so nobody resumes a session; tickets would only be two more records on each new link.
        context.num_tickets = 0
        return context

    def client_context(self) -> ssl.SSLContext:
        """For the end that calls."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Who the other end is stands in its certificate; addresses change and prove nothing.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata="".join(_pem(one).decode() for one in self.authorities))
        try:
            context.load_cert_chain(self.folder / NODE_CERTIFICATE, self.folder / NODE_KEY)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"cannot use the keys in {self.folder}: {error}") from None
        return context


def peer_of(certificate_der: bytes) -> tuple[NodeId, str]:
    """The id and the name of the other end of a link, from the certificate that TLS has checked."""
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        return node_of(certificate.public_key()), _name_in(certificate)
    except _UNREADABLE:
        raise PeerError("its certificate cannot be read") from None


def node_of(public_key: object) -> NodeId:
    """The id of who holds this key: the hash of its DER SubjectPublicKeyInfo."""
    if not isinstance(public_key, Ed25519PublicKey):
        raise PeerError("its certificate is not for an Ed25519 key")
    return identity(public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def identity_file(path: Path) -> tuple[NodeId, Ed25519PrivateKey]:
    """A node's lasting key where there is no TLS: read, or made at the first start."""
    path = Path(path)
    if not path.exists():
        _write(path.parent, {path.name: _key_pem(Ed25519PrivateKey.generate())}, force=False)
    key = _read_key(path, "")
    return node_of(key.public_key()), key


def fault(certificate: x509.Certificate, authorities: list[x509.Certificate], now: datetime) -> str | None:
    """Why a certificate is not to be trusted now, or None."""
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (*_UNREADABLE, InvalidSignature):
            continue
        if not _valid(authority, now):
            return f"its authority's certificate was valid until {authority.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        if now < certificate.not_valid_before_utc:
            return f"the certificate is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC (is the clock right?)"
        if now > certificate.not_valid_after_utc:
            return f"the certificate expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        return None
    return "the certificate was issued by another authority"


@dataclass(frozen=True, slots=True)
class Shown:
    """What `gossamer keys show` tells of a folder."""

    kind: str
    name: str
    id: str
    expires: str
    days_left: int
    fault: str | None


def show(folder: Path) -> Shown:
    """What a folder holds, also where it is no longer valid."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    kind = "node" if (folder / NODE_CERTIFICATE).exists() else "authority"
    certificate = _read_certificates(folder / (NODE_CERTIFICATE if kind == "node" else AUTHORITY_CERTIFICATE))[0]
    authorities = _read_certificates(folder / AUTHORITY_CERTIFICATE)
    now, expires = datetime.now(UTC), certificate.not_valid_after_utc
    return Shown(
        kind=kind,
        name=str(_common_name(certificate)),
        id=f"{node_of(certificate.public_key()):016x}",
        expires=f"{expires:%Y-%m-%d %H:%M} UTC",
        days_left=max(0, (expires - now).days),
        fault=fault(certificate, authorities, now),
    )


# What OpenSSL says when it refuses the other end's certificate (verify codes), and what that means here.
_VERIFY = {
    7: "its certificate's signature is wrong",
    9: "its certificate is not valid yet; are both clocks right?",
    10: "its certificate has expired; issue a new one with: gossamer keys issue",
    **dict.fromkeys(
        (2, 18, 19, 20, 21), "its certificate is of another authority; both ends need keys from the same one"
    ),
    **dict.fromkeys((24, 25, 26, 79), "its certificate is not one for a node"),
}
# What the two ends tell each other while they shake hands (OpenSSL's reasons).
_REASONS = {
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust our authority; both ends need keys from the same one",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it says that our certificate has expired; issue a new one with: gossamer keys issue",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it refuses our certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it refuses our certificate",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it showed no certificate; it needs keys of our authority",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate and we showed none",
    "UNSUPPORTED_PROTOCOL": "it speaks a TLS older than 1.3",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it speaks another version of TLS; TLS 1.3 is needed",
    "WRONG_VERSION_NUMBER": "it does not speak TLS; is TLS off there?",
    "HTTP_REQUEST": "it speaks HTTP, not Gossamer over TLS",
}


def why_refused(error: Exception) -> str:
    """What went wrong between us and the other end of a link, as a sentence about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFY.get(error.verify_code, f"its certificate is refused: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason or "", f"TLS failed: {(error.reason or str(error)).lower().replace('_', ' ')}")
    if isinstance(error, ConnectionError | EOFError):
        # asyncio closes without TLS's own word on why, so this is all that the refused end ever learns.
        return "it ended the connection; it may have no TLS, or refuse our certificate: another authority, or expired"
    return str(error) or type(error).__name__


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _common_name(certificate: x509.Certificate) -> str | bytes:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return names[0].value if len(names) == 1 else ""


def _name_in(certificate: x509.Certificate) -> str:
    name = str(_common_name(certificate))
    if not _NAME.fullmatch(name):
        raise PeerError("its certificate is not one for a node")
    return name


def _lifetime(days: int, now: datetime | None) -> tuple[datetime, datetime]:
    if not 1 <= days <= 36_500:
        raise InputError(f"days must lie between 1 and 36,500, got {days}")
    start = now or datetime.now(UTC)
    return start - _EARLY, start + timedelta(days=days)


def _valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc


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


def _key_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _read(path: Path, hint: str = "") -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}" + (f"; {hint}" if hint else "")) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _read_key(path: Path, hint: str) -> Ed25519PrivateKey:
    content = _read(path, hint)
    try:
        key = load_pem_private_key(content, password=None)
    except _UNREADABLE:
        raise InputError(f"{path} is damaged or is not a private key in PEM without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} is not an Ed25519 key")
    return key


def _read_certificates(path: Path) -> list[x509.Certificate]:
    content = _read(path)
    try:
        return x509.load_pem_x509_certificates(content)
    except _UNREADABLE:
        raise InputError(f"{path} is damaged or is not a certificate in PEM") from None


def _write(folder: Path, files: Mapping[str, bytes], force: bool) -> None:
    """Write files that only their owner can read, each under a temporary name first, so that none is ever half there."""
    folder = Path(folder)
    for name in files:
        if not force and os.path.lexists(folder / name):
            raise InputError(f"{folder / name} exists; choose another folder, or --force to replace it")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made: dict[Path, Path] = {}
    try:
        for name, content in files.items():
            temporary = folder / f".{name}.{secrets.token_hex(8)}"
            made[temporary] = folder / name
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for temporary, final in made.items():
            temporary.replace(final)
    finally:
        for temporary in made:
            temporary.unlink(missing_ok=True)
