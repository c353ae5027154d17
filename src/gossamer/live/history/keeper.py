"""Carries out a machine's `Store` and `Load` on a disk, in a thread of its own, so that the node never waits for the disk.

Messages are written together, a tenth of a second after the first of them, or before the next read. If the disk fails, one
sentence is logged and the node goes on without a history: nothing more is kept, and reads find nothing.
"""

import asyncio
import logging
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from gossamer.live.api.options import DiskHistory
from gossamer.live.history.disk import HistoryDisk, Kept, Last
from gossamer.live.history.positions import ENTRIES_MAX, SINCE, Positions
from gossamer.live.transport.addresses import words_of
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import Deliver, Load, Store
from gossamer.protocols.contract.events import Event, Loaded, Subscribe
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.intake import recast

log = logging.getLogger("gossamer.live")

# Chosen: how long messages wait to be written together.
WRITE_SECONDS = 0.1
# Chosen: how often the positions of readers are forced to the disk.
SYNC_SECONDS = 1.0
# Chosen: reads wait this long while the node's own readers are behind.
PAUSE_SECONDS = 0.05
# Chosen: bytes that wait for a slow disk; further messages are not kept.
WAITING_BYTES_MAX = 64 * 2**20
# Chosen: publishers of a topic that a subscription continues, as many as recovery keeps in order.
PUBLISHERS_MAX = 1_024
# Chosen: publishers of a topic whose last message is known; the half that published longest ago is forgotten first.
LASTS_MAX = 4 * PUBLISHERS_MAX
_FAILURES = (sqlite3.Error, OSError, ValueError)


class HistoryDriver(Protocol):
    """What the keeper needs from the node's driver."""

    counts: Counter[str]

    def clock_us(self) -> int:
        """Microseconds since 1970."""
        ...

    def give(self, event: Event) -> None:
        """Give the machine an event."""
        ...


class HistoryKeeper:
    """The history of one running node."""

    def __init__(self, options: DiskHistory, now_us: int, pack: Callable[[Any], Any] | None) -> None:
        """`pack` makes the form of a message in which it proves its publisher to others; None if messages are not signed."""
        self._folder = Path(options.path)
        self._age_us = int(options.age_seconds * 1_000_000)
        self._pack = pack
        self._driver: HistoryDriver | None = None
        self._is_paused: Callable[[], bool] = lambda: False
        self._positions: Positions | None = None
        self._disk: HistoryDisk | None = None
        # The last stored message of each publisher on each topic.
        self._lasts: dict[TopicId, dict[NodeId, Last]] = {}
        self._batch: list[Kept] = []
        self._batch_bytes = self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._synced_us = 0
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, "gossamer-history")
        _make_folder(self._folder)
        try:
            self._positions = Positions(self._folder / "positions", now_us - self._age_us)
            self._disk = HistoryDisk(self._folder / "messages.sqlite", options.size_bytes, self._age_us)
            for (topic, publisher), last in self._disk.lasts(ENTRIES_MAX).items():
                self._lasts.setdefault(topic, {})[publisher] = last
        except InputError:
            raise
        except PermissionError as error:
            self.release()
            raise InputError(f"cannot open the history in {self._folder}: {words_of(error)}") from None
        except _FAILURES as error:
            self._fail(error)

    def attach(self, driver: HistoryDriver, is_paused: Callable[[], bool]) -> None:
        """Called before the driver starts. While `is_paused`, this node's readers are behind and the disk is not read."""
        self._driver = driver
        self._is_paused = is_paused

    # Called by the driver.

    def store(self, action: Store) -> None:
        """Keep messages."""
        if self._disk is None:
            return
        size = sum([len(data.payload) for data in action.messages])
        if self._waiting_bytes + self._batch_bytes + size > WAITING_BYTES_MAX:
            self._require_driver().counts["messages not kept: the disk is too slow"] += len(action.messages)
            return
        self._batch_bytes += size
        lasts = self._lasts.setdefault(action.topic, {})
        for message in action.messages:
            data = message if self._pack is None else self._pack(message)
            if data is None:
                continue
            self._batch.append((action.topic, recast(data, Data), action.at_us))
            if data.sequence > lasts.get(data.publisher, (0, 0))[0]:
                lasts[data.publisher] = (data.sequence, action.at_us)
        if len(lasts) > LASTS_MAX:
            self._lasts[action.topic] = dict(sorted(lasts.items(), key=lambda item: item[1][1])[LASTS_MAX // 2 :])
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_SECONDS, self._write)

    def load(self, action: Load) -> None:
        """Read messages; the machine gets `Loaded`, also if there is no disk any more."""
        loop = asyncio.get_running_loop()
        if self._is_closed:
            return
        if self._disk is None:
            loop.call_soon(self._give, Loaded(action.ticket, action.topic))
        elif self._is_paused():
            loop.call_later(PAUSE_SECONDS, self.load, action)
        else:
            self._write(action)

    # Called by the node.

    def resume(self, event: Subscribe) -> Subscribe:
        """A subscription that continues where the last one on the topic ended, in this run or in an earlier one."""
        if self._positions is None:
            return event
        topic, now_us = event.topic, self._require_driver().clock_us()
        numbers = dict(self._positions.of(topic))
        since_us = numbers.pop(SINCE, 0)
        held_us = 0
        follows = bool(event.role & Role.FOLLOWS)
        if follows and since_us:
            held_us = min(max(now_us - since_us, 1), self._age_us)
        elif follows:
            self._set(topic, SINCE, now_us)
        stored = {each: last for each, last in self._lasts.get(topic, {}).items() if last[1] >= now_us - self._age_us}
        newest = sorted({*numbers, *stored}, key=lambda each: stored.get(each, (0, 0))[1], reverse=True)
        positions = []
        for publisher in newest[:PUBLISHERS_MAX]:
            last, at_us = stored.get(publisher, (0, now_us))
            # A new subscription begins behind what this node relayed before.
            position = numbers.get(publisher, 0) if held_us else max(last, numbers.get(publisher, 0))
            positions.append((publisher, position, last, max(now_us - at_us, 0)))
        return replace(event, held_us=max(held_us, event.held_us), positions=tuple(positions))

    def begin(self, deliveries: Sequence[Deliver]) -> None:
        """Messages are about to wait for their readers. The position of a new publisher is just before its first message."""
        if self._positions is None:
            return
        for delivery in deliveries:
            for topic in (delivery.topic, *delivery.also):
                if delivery.publisher not in self._positions.of(topic):
                    self._set(topic, delivery.publisher, delivery.sequence - 1)

    def note(self, topic: TopicId, publisher: NodeId, sequence: int) -> None:
        """The application is about to get a message."""
        self._set(topic, publisher, sequence)

    async def close(self) -> None:
        """Write what waits, and close the files."""
        self._is_closed = True
        self._write()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, lambda: None)
        # The result of the last write is handled in a later turn of the loop.
        await asyncio.sleep(0)
        self.release()

    def release(self) -> None:
        """Close the files."""
        self._close_files()
        self._thread.shutdown()

    # Within.

    def _set(self, topic: TopicId, publisher: NodeId, number: int) -> None:
        if self._positions is not None:
            try:
                self._positions.set(topic, publisher, number, self._require_driver().clock_us())
            except OSError as error:
                self._fail(error)

    def _write(self, load: Load | None = None) -> None:
        """Write all messages that wait, and then read."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._disk is None:
            return
        batch, size, self._batch, self._batch_bytes = self._batch, self._batch_bytes, [], 0
        if not batch and load is None:
            return
        self._waiting_bytes += size
        now_us = self._require_driver().clock_us()
        synced = None
        if now_us - self._synced_us >= SYNC_SECONDS * 1_000_000:
            self._synced_us, synced = now_us, self._positions
        work = partial(_use, self._disk, batch, load, now_us, synced)
        done = asyncio.get_running_loop().run_in_executor(self._thread, work)
        done.add_done_callback(partial(self._on_done, size, load))

    def _on_done(self, size: int, load: Load | None, done: "asyncio.Future[Loaded | None]") -> None:
        self._waiting_bytes -= size
        error = done.exception()
        if isinstance(error, _FAILURES):
            self._fail(error)
        elif error is not None:
            raise error
        if load is not None:
            found = None if error is not None else done.result()
            self._give(found or Loaded(load.ticket, load.topic))

    def _give(self, event: Loaded) -> None:
        if not self._is_closed:
            self._require_driver().give(event)

    def _require_driver(self) -> HistoryDriver:
        assert self._driver is not None
        return self._driver

    def _fail(self, error: BaseException) -> None:
        if self._disk is not None or self._positions is not None or self._driver is None:
            reason = words_of(error) if isinstance(error, OSError) else str(error)
            log.error(
                "the history in %s cannot be used (%s); the node goes on without it; delete the folder to begin a new one",
                self._folder,
                reason,
            )
            if self._driver is not None:
                self._driver.counts["history stopped"] += 1
        self._batch, self._lasts = [], {}
        self._close_files()

    def _close_files(self) -> None:
        disk, self._disk = self._disk, None
        positions, self._positions = self._positions, None
        # In the thread: it may still use them.
        for each in (disk, positions):
            if each is not None:
                self._thread.submit(self._close, each)

    def _close(self, file: HistoryDisk | Positions) -> None:
        try:
            file.close()
        except _FAILURES as error:
            log.error("the history in %s could not be closed: %s", self._folder, error)


def _use(
    disk: HistoryDisk, batch: list[Kept], load: Load | None, now_us: int, synced: Positions | None
) -> Loaded | None:
    """The work of the thread."""
    if batch:
        disk.write(batch, now_us)
    if synced is not None:
        synced.sync()
    return None if load is None else disk.read(load, now_us)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot make the folder of the history, {folder}: {words_of(error)}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to the folder of the history, {folder}: permission denied")
