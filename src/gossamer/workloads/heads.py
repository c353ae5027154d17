"""Reads the start of an input file and refuses files that are not UTF-8 text, gzip or Parquet."""

import bz2
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gossamer.model.values.errors import InputError

# Chosen: enough lines to find a format, and quick to read.
HEAD_BYTES = 1 << 18
HEAD_LINES = 1_000

PARQUET_MAGIC = b"PAR1"
UTF8_MARK = "\ufeff"
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_PACKED = {b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstandard", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z"}
# Spark chooses the decompressor by the end of the name.
_UNREADABLE = (".zst", ".xz", ".zip", ".7z", ".lz4", ".snappy", ".deflate")


class NamedFile(Protocol):
    """A file on this machine or at a URI; its text is the whole path."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        ...

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on."""
        ...


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, decompressed; of a Parquet file, the names of its columns."""

    start: bytes
    columns: Sequence[str] = ()


def read_head(path: Path) -> Head:
    """The head of a local file."""
    with path.open("rb") as file:
        start = file.read(8)
    is_gzip, is_bzip2 = path.suffix == ".gz", path.suffix == ".bz2"
    if is_gzip != start.startswith(_GZIP):
        if is_gzip:
            raise InputError(f"{path} is not a gzip file; rename it without .gz, or fetch the file again")
        raise InputError(f"{path} is compressed with gzip; its name must end in .gz")
    if is_bzip2 != start.startswith(_BZIP2) and (is_bzip2 or start[3:4].isdigit()):
        raise InputError(f"{path}: a file compressed with bzip2, and no other, must have a name that ends in .bz2")
    packed = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    if packed or path.suffix in _UNREADABLE:
        raise InputError(f"{path} is compressed with {packed or path.suffix[1:]}; decompress it, or use gzip")
    try:
        with gzip.open(path) if is_gzip else bz2.open(path) if is_bzip2 else path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged([path]) from None
    if head.startswith(PARQUET_MAGIC):
        import pyarrow.parquet as pq

        return Head(head, pq.read_schema(path).names)
    _check_text(path, head)
    return Head(head)


def _check_text(path: NamedFile, head: bytes) -> None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8")
    if b"\0" in head:
        raise InputError(f"{path} has NUL bytes, so it is not UTF-8 text; convert it (UTF-16?) or give another file")


def damaged(files: Sequence[NamedFile]) -> InputError:
    """The error for a compressed file that ends too early or has a wrong checksum."""
    names = ", ".join(file.name for file in files if file.suffix in (".gz", ".bz2"))
    which = names if len(files) == 1 else f"one of {names}"
    return InputError(
        f"{which} is damaged: it is cut off, its checksum is wrong, or it is not compressed; fetch it again"
    )


def data_lines(head: bytes, comments: bool = False) -> list[str]:
    """The first lines that are not blank and no comments; a line that the end of the head cuts is left out."""
    lines = re.split(r"\r\n|\r|\n", head.decode(errors="replace").removeprefix(UTF8_MARK))
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines.pop()
    kept = (line for line in lines if line.strip() and (comments or not line.lstrip().startswith(("#", "%"))))
    return [line for line, _ in zip(kept, range(HEAD_LINES), strict=False)]
