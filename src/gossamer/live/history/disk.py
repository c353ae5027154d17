"""Messages in an SQLite file, bounded by size and age: the message that arrived first is dropped first.

SQLite's log makes writes atomic: a killed process or a crashed machine leaves a readable file, which may lack the last messages.
One thread at a time uses a disk. All errors are `sqlite3.Error`, or ValueError with a sentence.
"""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Load
from gossamer.protocols.contract.events import Loaded
from gossamer.protocols.contract.messages import Data

# "goss" as SQLite's application id, and the version of the tables.
APPLICATION, VERSION = 0x676F7373, 1
# Chosen: messages that are deleted together when the file is too large.
DELETED_TOGETHER = 256
# Chosen: the log, which comes on top of the bound, is cut to this size.
LOG_BYTES = 4 * 2**20

_TABLES = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, topic INTEGER, publisher INTEGER, sequence INTEGER, at_us INTEGER, content BLOB
) STRICT;
CREATE UNIQUE INDEX by_number ON messages (topic, publisher, sequence);
CREATE INDEX by_time ON messages (topic, publisher, at_us, sequence);
"""
_STREAM = "topic = ? AND publisher = ?"
_RANGE = f"{_STREAM} AND sequence > ? AND sequence < ?"

# A topic, a message, and when it was published by this node's clock.
Kept = tuple[TopicId, Data, int]
# The last message of a publisher on a topic, and its time.
Last = tuple[int, int]

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Data)


class HistoryDisk:
    """The messages of one node."""

    def __init__(self, path: Path, size_bytes: int, age_us: int) -> None:
        self._size_bytes = size_bytes
        self._age_us = age_us
        is_new = not path.exists()
        if is_new:
            # Only the owner may read the messages.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        # In the mode None every statement outside BEGIN is a transaction of its own.
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            self._open(is_new or not path.stat().st_size)
        except BaseException:
            self._database.close()
            raise

    def _open(self, is_new: bool) -> None:
        run = self._database.execute
        if is_new:
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {VERSION}")
        if run("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise ValueError("messages.sqlite is not a history of Gossamer")
        version = run("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise ValueError(f"messages.sqlite has version {version}, and this program reads version {VERSION}")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        if not run("SELECT 1 FROM sqlite_schema WHERE name = 'by_time'").fetchone():
            self._database.executescript(f"BEGIN; {_TABLES} COMMIT;")
        self._page_bytes = run("PRAGMA page_size").fetchone()[0]

    def lasts(self, most: int) -> dict[tuple[TopicId, NodeId], Last]:
        """The last message of each publisher on each topic, of at most this many publishers."""
        found: dict[tuple[TopicId, NodeId], Last] = {}
        run = self._database.execute
        row = run("SELECT topic, publisher FROM messages ORDER BY topic, publisher LIMIT 1").fetchone()
        while row is not None and len(found) < most:
            last = run(f"SELECT sequence, at_us FROM messages WHERE {_STREAM} ORDER BY sequence DESC LIMIT 1", row)
            found[_unsigned(row[0]), _unsigned(row[1])] = last.fetchone()
            after = "(topic, publisher) > (?, ?) ORDER BY topic, publisher LIMIT 1"
            row = run(f"SELECT topic, publisher FROM messages WHERE {after}", row).fetchone()
        return found

    def write(self, kept: Iterable[Kept], now_us: int) -> None:
        """Keep messages, and drop the oldest ones beyond the bounds."""
        rows = [
            (_signed(topic), _signed(data.publisher), data.sequence, at_us, _encoder.encode(data))
            for topic, data, at_us in kept
        ]
        insert = "INSERT OR IGNORE INTO messages (topic, publisher, sequence, at_us, content) VALUES (?, ?, ?, ?, ?)"
        self._database.execute("BEGIN")
        try:
            self._database.executemany(insert, rows)
            self._drop_old(now_us)
            while self.used_bytes > self._size_bytes and self._drop_first(DELETED_TOGETHER):
                pass
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def read(self, load: Load, now_us: int) -> Loaded:
        """Read a page of messages; its cost does not depend on how many are kept."""
        self._drop_old(now_us)
        run = self._database.execute
        stream = (_signed(load.topic), _signed(load.publisher))
        after, floor = load.after, (0, 0)
        if load.since_us > 0:
            by_time = f"SELECT sequence FROM messages WHERE {_STREAM} AND at_us >= ? ORDER BY at_us, sequence LIMIT 1"
            first = run(by_time, (*stream, load.since_us)).fetchone()
            start = load.before if first is None else min(first[0], load.before)
            older = f"SELECT sequence, at_us FROM messages WHERE {_RANGE} ORDER BY sequence DESC LIMIT 1"
            floor = run(older, (*stream, after, start)).fetchone() or floor
            after = max(after, start - 1)
        page: list[tuple[int, Data]] = []
        size, more = 0, False
        wanted = f"SELECT at_us, content FROM messages WHERE {_RANGE} ORDER BY sequence LIMIT ?"
        for at_us, content in run(wanted, (*stream, after, load.before, load.count + 1)):
            size += len(content)
            if len(page) >= load.count or (page and size > load.size_bytes):
                more = True
                break
            page.append((at_us, _decoder.decode(content)))
        return Loaded(load.ticket, load.topic, tuple(page), more, floor)

    @property
    def used_bytes(self) -> int:
        """The bytes of the file that are in use; the file never shrinks, and its free pages are used again."""
        pages, free = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
        )
        used: int = (pages - free) * self._page_bytes
        return used

    def count(self) -> int:
        """How many messages are kept, each once for each of its topics."""
        counted: int = self._database.execute("SELECT count(*) FROM messages").fetchone()[0]
        return counted

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _drop_old(self, now_us: int) -> None:
        oldest_us = now_us - self._age_us
        while True:
            rows = self._database.execute(
                "SELECT at_us FROM messages ORDER BY id LIMIT ?", (DELETED_TOGETHER,)
            ).fetchall()
            old = next((place for place, (at_us,) in enumerate(rows) if at_us >= oldest_us), len(rows))
            if old:
                self._drop_first(old)
            if old < DELETED_TOGETHER:
                return

    def _drop_first(self, count: int) -> bool:
        oldest = "SELECT id FROM messages ORDER BY id LIMIT ?"
        return self._database.execute(f"DELETE FROM messages WHERE id IN ({oldest})", (count,)).rowcount > 0


def _signed(number: int) -> int:
    """An unsigned 64-bit number as SQLite's signed one."""
    return number - 2**64 if number >= 2**63 else number


def _unsigned(number: int) -> int:
    return number + 2**64 if number < 0 else number
