"""The files of a spool folder: written under a hidden name, renamed when complete, bounded in number of bytes.

A file is a header frame and one frame for each batch of records. A frame is a 4-byte big-endian length and that many bytes of
msgpack. A reader sees complete files only. A process that was killed leaves a hidden file, which the next writer of the same
name completes as far as its frames are whole.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

FORMAT = "gossamer-spool"
VERSION = 1
ENDING = ".telemetry"
# Chosen: a few seconds of a busy node; and two hours of it, or weeks of a quiet one.
FILE_BYTES = 1 << 20
SPOOL_BYTES = 256 << 20
# Chosen: larger than any batch that is written. A longer frame means that the file is damaged.
FRAME_BYTES_MAX = 16 << 20

_encoder = msgspec.msgpack.Encoder()


class SpoolHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a file."""

    format: str = FORMAT
    version: int = VERSION
    name: str
    number: int
    # Whether the nodes are simulated: their ids are small numbers.
    simulated: bool = False
    # Files that the writer deleted so far, to stay within its bound.
    deleted: int = 0


class SpoolWriter:
    """Writes the files of one node, or of one simulation, until the disk is full: `error` then says so."""

    def __init__(
        self,
        folder: Path,
        name: str,
        simulated: bool = False,
        file_bytes: int = FILE_BYTES,
        spool_bytes: int = SPOOL_BYTES,
    ) -> None:
        self.error: OSError | None = None
        self._folder = folder
        self._name = name
        self._simulated = simulated
        self._file_bytes = file_bytes
        self._spool_bytes = spool_bytes
        self._deleted = 0
        self._file: BinaryIO | None = None
        self._size = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._complete_what_is_left()
        self._number = max((_number(path) for path in self._files()), default=-1) + 1

    @property
    def is_open(self) -> bool:
        """Whether there are records that readers do not see yet."""
        return self._file is not None

    def write(self, records: Sequence[msgspec.Struct]) -> None:
        """Append a batch; a file that is long enough is completed."""
        if self.error is not None or not records:
            return
        try:
            if self._file is None:
                self._open()
            self._append(_encoder.encode(records))
            if self._size >= self._file_bytes:
                self.roll()
        except OSError as error:
            self.error = error

    def roll(self) -> None:
        """Complete the file, so that readers see it; delete the oldest files if there are too many bytes."""
        if self._file is None or self.error is not None:
            return
        try:
            self._file.close()
            self._making().replace(self._folder / f"{self._name}-{self._number:08d}{ENDING}")
            self._file = None
            self._number += 1
            self._delete_oldest()
        except OSError as error:
            self.error = error

    def _open(self) -> None:
        # Only its owner can read it: it tells who follows which topic.
        self._file = os.fdopen(os.open(self._making(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._size = 0
        header = SpoolHeader(name=self._name, number=self._number, simulated=self._simulated, deleted=self._deleted)
        self._append(_encoder.encode(header))

    def _append(self, content: bytes) -> None:
        assert self._file is not None
        self._file.write(len(content).to_bytes(4, "big") + content)
        self._size += 4 + len(content)

    def _making(self) -> Path:
        return self._folder / f".{self._name}-{self._number:08d}.making"

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob(f"{self._name}-*{ENDING}"))

    def _delete_oldest(self) -> None:
        files = self._files()
        total = sum(path.stat().st_size for path in files)
        for path in files[:-1]:
            if total <= self._spool_bytes:
                return
            total -= path.stat().st_size
            path.unlink()
            self._deleted += 1

    def _complete_what_is_left(self) -> None:
        """Rename the file that an earlier process of this name left; readers stop where it is cut off."""
        for path in self._folder.glob(f".{self._name}-*.making"):
            os.replace(path, self._folder / f"{path.name[1:].removesuffix('.making')}{ENDING}")


class SpoolFindings(msgspec.Struct):
    """How much was read, and what could not be read."""

    files: int = 0
    batches: int = 0
    # Files of another version or of no spool at all, files whose last frame is cut off or damaged, and files that were deleted
    # before somebody read them.
    other_files: int = 0
    cut_files: int = 0
    deleted_files: int = 0
    simulated: bool = False


def read_spool(folder: Path, kind: Any, findings: SpoolFindings) -> Iterator[Any]:
    """The records of all complete files, by writer in their order; `kind` is their type. What cannot be read is counted."""
    decoder = msgspec.msgpack.Decoder(list[kind])
    for path in sorted(folder.glob(f"*{ENDING}")):
        frames = _frames(path.read_bytes())
        try:
            header = msgspec.msgpack.decode(next(frames, b""), type=SpoolHeader)
        except ValueError:
            findings.other_files += 1
            continue
        if (header.format, header.version) != (FORMAT, VERSION):
            findings.other_files += 1
            continue
        findings.files += 1
        findings.deleted_files = max(findings.deleted_files, header.deleted)
        findings.simulated |= header.simulated
        try:
            for frame in frames:
                batch = decoder.decode(frame)
                findings.batches += 1
                yield from batch
        except ValueError:
            findings.cut_files += 1


def _frames(content: bytes) -> Iterator[bytes]:
    """The frames of a file; ValueError where it is cut off."""
    place = 0
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        place += 4
        if length > FRAME_BYTES_MAX or place + length > len(content):
            raise ValueError("the last frame is cut off")
        yield content[place : place + length]
        place += length


def _number(path: Path) -> int:
    text = path.name.removesuffix(ENDING).rpartition("-")[2]
    return int(text) if text.isdecimal() else -1
