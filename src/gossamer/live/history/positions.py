"""The last message of each publisher that the application got, and since when it has followed each topic, over restarts.

An entry is written before the application gets the message, and without waiting for the disk: a killed process leaves
complete entries. After a crash of the whole machine entries may be older, so that messages are delivered again.
"""

import fcntl
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId

MAGIC = b"gossamer positions 1\n"
HEAD_BYTES = 32
# A topic, a publisher, a number, and when the entry was written. Publisher 0: the number is when the topic was first followed.
ENTRY = struct.Struct("<QQQQ")
_NUMBER = struct.Struct("<QQ")
_NAME_BYTES = 16
SINCE: NodeId = 0
# Chosen: as many numbers as recovery remembers of closed topics.
ENTRIES_MAX = 65_536


class Positions:
    """Reads and writes the file; OSError if it cannot, ValueError with a sentence if the file is not one of ours."""

    def __init__(self, path: Path, oldest_us: int) -> None:
        """Entries that were written before `oldest_us` are dropped, except the times since when topics are followed."""
        # The readers of a node without asyncio are other threads.
        self._changing = threading.RLock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._lock(path)
            self._entries = self._read(path, oldest_us)
            self._places = {name: HEAD_BYTES + ENTRY.size * place for place, name in enumerate(self._entries)}
            self._rewrite()
        except BaseException:
            os.close(self._file)
            raise
        self._by_topic: dict[TopicId, dict[NodeId, int]] = {}
        for (topic, publisher), (number, _) in self._entries.items():
            self._by_topic.setdefault(topic, {})[publisher] = number
        # Only the newest numbers are needed from here on.
        self._entries = {}

    def of(self, topic: TopicId) -> dict[NodeId, int]:
        """The last message of each publisher that the application got, and under `SINCE` the time of its subscription."""
        return self._by_topic.get(topic, {})

    def set(self, topic: TopicId, publisher: NodeId, number: int, now_us: int) -> None:
        """Keep the number of a message that the application is about to get; a lower number than before is ignored."""
        with self._changing:
            known = self._by_topic.setdefault(topic, {})
            if number <= known.get(publisher, 0):
                return
            place = self._places.get((topic, publisher))
            if place is not None:
                os.pwrite(self._file, _NUMBER.pack(number, now_us), place + _NAME_BYTES)
            elif len(self._places) < ENTRIES_MAX:
                place = self._places[topic, publisher] = HEAD_BYTES + ENTRY.size * len(self._places)
                os.pwrite(self._file, ENTRY.pack(topic, publisher, number, now_us), place)
            elif publisher != SINCE:
                # No room for this publisher: of publishers without an entry, later messages only are fetched after a restart.
                self.set(topic, SINCE, now_us, now_us)
                return
            known[publisher] = number

    def sync(self) -> None:
        """Wait until the entries are on the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Force the entries to the disk and close the file."""
        try:
            self.sync()
        finally:
            os.close(self._file)

    def _lock(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another node uses the history in {path.parent}; give each node a folder of its own"
            ) from None

    def _read(self, path: Path, oldest_us: int) -> dict[tuple[TopicId, NodeId], tuple[int, int]]:
        found = path.read_bytes()
        if found and not found.startswith(MAGIC):
            raise ValueError(f"{path.name} is damaged or of another version")
        entries = {
            (topic, publisher): (number, at_us)
            for topic, publisher, number, at_us in _whole(found)
            if number and (publisher == SINCE or at_us >= oldest_us)
        }
        # Room for publishers of this run: the entries that were written longest ago go first.
        newest = sorted(entries, key=lambda name: (name[1] == SINCE, entries[name][1]))[-(ENTRIES_MAX // 2) :]
        return {name: entries[name] for name in newest}

    def _rewrite(self) -> None:
        """Write the entries that are kept, shorter than before."""
        packed = b"".join(ENTRY.pack(*name, *values) for name, values in self._entries.items())
        os.pwrite(self._file, MAGIC.ljust(HEAD_BYTES, b"\0") + packed, 0)
        os.ftruncate(self._file, HEAD_BYTES + len(packed))


def _whole(found: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The entries of the file. An entry that was cut off was never complete, so its message was not delivered."""
    end = HEAD_BYTES + max(len(found) - HEAD_BYTES, 0) // ENTRY.size * ENTRY.size
    yield from ENTRY.iter_unpack(found[HEAD_BYTES:end])
