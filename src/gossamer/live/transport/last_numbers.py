"""The number of a node's last message on each topic, kept over restarts.

After a restart the first message on a topic names the last one of the earlier run, so that subscribers notice that they
miss it. The file is written before a message leaves. A killed process therefore leaves a complete file. After a crash of
the whole machine the newest numbers may be missing, because they are not forced to the disk; such a file is not used.
"""

import logging
import os
import struct
from contextlib import suppress
from pathlib import Path

from gossamer.model.values.ids import TopicId

log = logging.getLogger("gossamer.live")

MAGIC = b"gossamer topics 1\n"
# After the magic: whether the node was stopped in an orderly way, and the boot of the machine in which it was started.
HEAD = struct.Struct("<18sB45s")
# A topic, the number of the node's last message on it, and its time in microseconds since 1970.
ENTRY = struct.Struct("<QQQ")
# Chosen: more topics than a node is expected to hold at once. On further topics the first message names no previous one.
TOPICS_MAX = 131_072
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")


class LastNumbers:
    """Reads and writes the file. If it cannot be written, nothing is kept."""

    def __init__(self, path: Path, boot: bytes | None = None) -> None:
        self._path = path
        self._boot = _boot() if boot is None else boot
        self._places: dict[TopicId, int] = {}
        self._earlier: dict[TopicId, tuple[int, int]] = {}
        self._file: int | None = None
        try:
            self._open()
        except OSError as error:
            self._fail(error)

    def get(self, topic: TopicId) -> tuple[int, int]:
        """The number and the time of the last message of an earlier run on a topic; zeros if there was none."""
        return self._earlier.get(topic, (0, 0))

    def set(self, topic: TopicId, number: int, at_us: int) -> None:
        """Keep the number of a message that is about to leave."""
        if self._file is None:
            return
        place = self._places.get(topic)
        if place is None:
            if len(self._places) >= TOPICS_MAX:
                return
            place = self._places[topic] = HEAD.size + ENTRY.size * len(self._places)
        try:
            os.pwrite(self._file, ENTRY.pack(topic, number, at_us), place)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Force the file to the disk and mark it as complete."""
        if self._file is None:
            return
        try:
            os.fsync(self._file)
            self._write_head(is_complete=True)
            os.fsync(self._file)
        except OSError as error:
            self._fail(error)
            return
        os.close(self._file)
        self._file = None

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        found = self._path.read_bytes()
        if len(found) >= HEAD.size:
            magic, is_complete, boot = HEAD.unpack_from(found)
            same_boot = bool(self._boot) and boot.rstrip(b"\0") == self._boot
            if magic == MAGIC and (is_complete or same_boot):
                # An entry that was cut off was never complete, so its message never left.
                whole = (len(found) - HEAD.size) // ENTRY.size * ENTRY.size
                for topic, number, at_us in ENTRY.iter_unpack(found[HEAD.size : HEAD.size + whole]):
                    self._places[topic] = HEAD.size + ENTRY.size * len(self._places)
                    self._earlier[topic] = (number, at_us)
        if not self._places:
            os.ftruncate(self._file, 0)
        self._write_head(is_complete=False)

    def _write_head(self, is_complete: bool) -> None:
        assert self._file is not None
        os.pwrite(self._file, HEAD.pack(MAGIC, is_complete, self._boot), 0)

    def _fail(self, error: OSError) -> None:
        """Keep nothing from now on: a file with old numbers would hide missing messages, so it is removed."""
        log.warning(
            "cannot write %s (%s); after a restart, subscribers may not notice messages that they missed before it",
            self._path,
            error.strerror,
        )
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._places, self._earlier = {}, {}
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _boot() -> bytes:
    """What identifies the present boot of the machine; empty where the system does not tell."""
    try:
        return BOOT_FILE.read_bytes().strip()[:45]
    except OSError:
        return b""
