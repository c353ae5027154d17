"""Output folders: written under a temporary name and renamed, so that no reader ever sees a half-written one."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError

MANIFEST = "manifest.json"


@contextmanager
def output_folder(path: Path, force: bool = False, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """Yield a new folder to write into; on success it is renamed to `path`, on failure it is removed."""
    path = Path(os.path.abspath(path))
    check_output(path, force, inputs)
    making = path.with_name(f".{path.name}.making-{os.getpid()}")
    new_parents = _make_parents(path)
    try:
        _sweep(path)
        making.mkdir()
        yield making
        # Another process may have created `path` in the meantime.
        check_output(path, force, inputs)
        _put_in_place(making, path)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        for parent in new_parents:
            with suppress(OSError):
                parent.rmdir()
        raise


def check_output(path: Path, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse an output that exists, before any work is done; `force` replaces only folders that Gossamer wrote."""
    out = Path(os.path.realpath(path))
    for source in inputs:
        given = Path(os.path.realpath(source))
        if out == given or out in given.parents:
            raise InputError(f"{path} is or contains the input {source}; choose another folder to write to")
    if not path.exists() and not path.is_symlink():
        return
    if not force:
        raise InputError(f"{path} exists; choose another folder, or force=True to replace it")
    if not path.is_dir() or path.is_symlink():
        raise InputError(f"{path} is not a folder, so `force` does not replace it")
    if any(path.iterdir()) and not _is_ours(path / MANIFEST):
        raise InputError(f"{path} has no {MANIFEST} written by Gossamer, so `force` does not replace it")


def _is_ours(manifest: Path) -> bool:
    try:
        content = msgspec.json.decode(manifest.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "gossamer" in content


def _make_parents(path: Path) -> list[Path]:
    """Make the folders above `path`; returns the new ones, innermost first."""
    new = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {path.parent}: {error.strerror}") from None
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write to {path.parent}: no permission")
    return new


def _sweep(path: Path) -> None:
    """Clean up after a killed process: remove half-written folders, and restore the result that it was replacing."""
    for old in _left_over(path, "old"):
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)
    for made in _left_over(path, "making"):
        shutil.rmtree(made, ignore_errors=True)


def _left_over(path: Path, what: str) -> list[Path]:
    found = []
    for left in path.parent.glob(f".{path.name}.{what}-*"):
        owner = left.name.rpartition("-")[2]
        if owner.isdigit() and (int(owner) == os.getpid() or not _is_running(int(owner))):
            found.append(left)
    return found


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
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
    """Write indented JSON that ends in a newline."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write how a folder was made: its inputs with hashes, numbers of rows, versions and seeds."""
    write_json(folder / MANIFEST, content)


def file_sha256(path: Path) -> str:
    """The hash of an input in a manifest; for a folder of part files, the hash of their names and hashes."""
    if path.is_dir():
        parts = sorted(part for part in path.iterdir() if part.is_file())
        return hashlib.sha256("".join(part.name + file_sha256(part) for part in parts).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
