"""Output folders: made under a temporary name and renamed, so that they are there whole or not at all."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError

MANIFEST = "manifest.json"


@contextmanager
def output_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Yield a new folder to fill; on success it becomes `path`, on any failure nothing remains of it."""
    path = Path(os.path.abspath(path))
    check_output(path, force)
    making = path.with_name(f".{path.name}.making-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        making.mkdir()
    except OSError as error:
        raise InputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        yield making
        _put_in_place(making, path)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def check_output(path: Path, force: bool) -> None:
    """Refuse an output that exists, before any work is done; --force replaces only what Gossamer wrote."""
    if not path.exists() and not path.is_symlink():
        return
    if not force:
        raise InputError(f"{path} exists; choose another folder, or --force to replace it")
    if not path.is_dir() or path.is_symlink():
        raise InputError(f"{path} is not a folder, so --force will not replace it")
    if any(path.iterdir()) and not (path / MANIFEST).is_file():
        raise InputError(f"{path} holds no {MANIFEST}, so Gossamer did not make it and --force will not replace it")


def _sweep(path: Path) -> None:
    """Remove what a killed process left half-made beside `path`."""
    for left in (*path.parent.glob(f".{path.name}.making-*"), *path.parent.glob(f".{path.name}.old-*")):
        owner = left.name.rpartition("-")[2]
        if owner.isdigit() and (int(owner) == os.getpid() or not _is_running(int(owner))):
            shutil.rmtree(left, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _put_in_place(making: Path, path: Path) -> None:
    if not path.exists():
        making.rename(path)
        return
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    path.rename(old)
    try:
        making.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path, content: Any) -> None:
    """Readable JSON, ending in a newline."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """What a folder was made from: inputs with hashes, rows, versions, seeds."""
    write_json(folder / MANIFEST, content)


def file_sha256(path: Path) -> str:
    """The hash by which a manifest names an input."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
