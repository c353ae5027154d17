"""The keys of a node: its private key, its certificate, the authorities that it trusts, and TLS with all of these.

A cluster has one authority (`authority.py`), which signs one certificate for each node. Access rules refer to the name in
the certificate. The id of a node is the hash of its public key, so no node can take the id of another. Both ends of a link
show a certificate of the same authority over TLS 1.3; older versions are refused, and host names are not checked.

A node imports this module only if it uses TLS, signatures or a lasting id, because `cryptography` takes long to load.
"""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from gossamer.live.security.certificates import certificate_fault, common_name, node_of, peer_of
from gossamer.live.security.key_files import (
    AUTHORITY_CERTIFICATE,
    NODE_CERTIFICATE,
    NODE_KEY,
    certificate_pem,
    key_pem,
    read_certificates,
    read_key,
    write_files,
)
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId


@dataclass(frozen=True, slots=True)
class Keys:
    """The content of a node's folder of keys. It has several authorities while a cluster changes its authority."""

    folder: Path
    name: str
    node: NodeId
    private_key: Ed25519PrivateKey
    certificate: x509.Certificate
    authorities: tuple[x509.Certificate, ...]

    @classmethod
    def load(cls, folder: Path, now: datetime | None = None) -> Self:
        """Read a folder that `authority.issue` wrote; its files must belong together and be valid now."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}; `gossamer keys issue` makes a folder of keys")
        key = read_key(folder / NODE_KEY, "`gossamer keys issue` makes a node's keys")
        certificate = read_certificates(folder / NODE_CERTIFICATE)[0]
        authorities = read_certificates(folder / AUTHORITY_CERTIFICATE)
        if certificate.public_key() != key.public_key():
            raise InputError(f"{folder / NODE_KEY} does not match {folder / NODE_CERTIFICATE}; issue both again")
        fault = certificate_fault(certificate, authorities, now or datetime.now(UTC))
        if fault is not None:
            raise InputError(f"{folder / NODE_CERTIFICATE}: {fault}; issue a new one with `gossamer keys issue`")
        try:
            node, name = peer_of(certificate.public_bytes(Encoding.DER))
        except PeerError as error:
            raise InputError(f"{folder / NODE_CERTIFICATE}: {error}") from None
        return cls(folder, name, node, key, certificate, tuple(authorities))

    @property
    def certificate_der(self) -> bytes:
        """The certificate as signed messages carry it."""
        return self.certificate.public_bytes(Encoding.DER)

    def server_context(self) -> ssl.SSLContext:
        """TLS for connections that others open."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        # Links last long, so no node resumes a session: tickets would be two useless records on each new link.
        context.num_tickets = 0
        return context

    def client_context(self) -> ssl.SSLContext:
        """TLS for connections that this node opens."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # The certificate identifies the peer; its address may change and proves nothing.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata="".join(certificate_pem(each).decode() for each in self.authorities))
        try:
            context.load_cert_chain(self.folder / NODE_CERTIFICATE, self.folder / NODE_KEY)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"cannot use the keys in {self.folder}: {error}") from None
        return context


def identity_file(path: Path) -> tuple[NodeId, Ed25519PrivateKey]:
    """The id and the lasting key of a node without TLS; the file is made at the first start."""
    path = Path(path)
    if not path.exists():
        write_files(path.parent, {path.name: key_pem(Ed25519PrivateKey.generate())}, force=False)
    key = read_key(path)
    return node_of(key.public_key()), key


@dataclass(frozen=True, slots=True)
class KeysSummary:
    """What `gossamer keys show` prints about a folder."""

    kind: str
    name: str
    id: str
    expires: str
    days_left: int
    fault: str | None


def show(folder: Path) -> KeysSummary:
    """Describe a folder of keys, also if the keys are no longer valid."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    kind = "node" if (folder / NODE_CERTIFICATE).exists() else "authority"
    certificate = read_certificates(folder / (NODE_CERTIFICATE if kind == "node" else AUTHORITY_CERTIFICATE))[0]
    authorities = read_certificates(folder / AUTHORITY_CERTIFICATE)
    now, expires = datetime.now(UTC), certificate.not_valid_after_utc
    return KeysSummary(
        kind=kind,
        name=common_name(certificate),
        id=f"{node_of(certificate.public_key()):016x}",
        expires=f"{expires:%Y-%m-%d %H:%M} UTC",
        days_left=max(0, (expires - now).days),
        fault=certificate_fault(certificate, authorities, now),
    )
