"""The files of an authority and of a node's keys: PEM, readable by their owner only."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from gossamer.model.values.errors import InputError

AUTHORITY_KEY = "authority.key"
AUTHORITY_CERTIFICATE = "authority.crt"
NODE_KEY = "node.key"
NODE_CERTIFICATE = "node.crt"

# The exceptions of `cryptography` for damaged or unusual keys and certificates; they have no common base class. Some cases
# are warnings, which Python can be told to raise.
UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion, Warning)


def key_pem(key: Ed25519PrivateKey) -> bytes:
    """A private key as it is written to a file."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """A certificate as it is written to a file."""
    return certificate.public_bytes(Encoding.PEM)


def read_key(path: Path, hint: str = "") -> Ed25519PrivateKey:
    """Read a private key; `hint` says how to make the file if it does not exist."""
    content = _read(path, hint)
    try:
        key = load_pem_private_key(content, password=None)
    except UNREADABLE:
        raise InputError(f"{path} is damaged or is not a private key in PEM format without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} is not an Ed25519 key")
    return key


def read_certificates(path: Path) -> list[x509.Certificate]:
    """Read all certificates of a file; there is at least one."""
    content = _read(path)
    try:
        return x509.load_pem_x509_certificates(content)
    except UNREADABLE:
        raise InputError(f"{path} is damaged or is not a certificate in PEM format") from None


def write_files(folder: Path, files: Mapping[str, bytes], force: bool) -> None:
    """Write files that only their owner can read.

    Each file is written under a temporary name first, so that a failed write leaves no incomplete file. Without `force`
    existing files are never replaced.
    """
    folder = Path(folder)
    for name in files:
        if not force and os.path.lexists(folder / name):
            raise InputError(f"{folder / name} exists; choose another folder, or set `force` to replace it")
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


def _read(path: Path, hint: str = "") -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}" + (f"; {hint}" if hint else "")) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
