"""The disks of simulated nodes: what a node keeps over a crash, bounded by size and age. A read takes virtual time.

They follow the same rules as the disk of a live node (`live/history`): the message that arrived first is dropped first.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Any

from msgspec.structs import replace

from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Deliver, Load, Store
from gossamer.protocols.contract.events import Loaded, Subscribe
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.intake import recast

# Measured: the bytes that a message takes on a live node's disk besides its payload (docs/benchmarks.md, "History on disk").
ROW_BYTES = 195
# Chosen: 5 ms for a read, a seek of a slow disk.
READ_US = 5 * MILLISECOND_US


class _Row:
    """One message, and when it was published by its node's clock."""

    __slots__ = ("at_us", "data", "topic")

    def __init__(self, topic: int, data: Data, at_us: int) -> None:
        self.topic = topic
        self.data = data
        self.at_us = at_us


class _Disk:
    """The disk of one node."""

    def __init__(self) -> None:
        self.bytes = 0
        # In the order of arrival.
        self.arrived: deque[_Row] = deque()
        # By topic and publisher: the numbers in order, and the messages.
        self.numbers: dict[tuple[int, int], list[int]] = {}
        self.rows: dict[tuple[int, int], dict[int, _Row]] = {}
        # When the node first followed each topic, and by topic the last message of each publisher that it delivered.
        self.since_us: dict[int, int] = {}
        self.positions: dict[int, dict[int, int]] = {}


class SimulatedDisks:
    """The disks of all nodes."""

    def __init__(self, size_bytes: int, age_us: int, read_us: int = READ_US) -> None:
        self.read_us = read_us
        self._size_bytes = size_bytes
        self._age_us = age_us
        self._disks: dict[int, _Disk] = {}

    def store(self, node: int, action: Store, now_us: int) -> None:
        """Keep messages, and drop the oldest ones beyond the bounds."""
        disk = self._disk(node)
        for data in action.messages:
            key = (action.topic, data.publisher)
            rows = disk.rows.setdefault(key, {})
            if data.sequence not in rows:
                row = rows[data.sequence] = _Row(action.topic, recast(data, Data), action.at_us)
                insort(disk.numbers.setdefault(key, []), data.sequence)
                disk.arrived.append(row)
                disk.bytes += _size(row)
        self._drop_oldest(disk, now_us)

    def load(self, node: int, action: Load, now_us: int) -> Loaded:
        """Read a page of messages."""
        disk = self._disk(node)
        self._drop_oldest(disk, now_us)
        key = (action.topic, action.publisher)
        numbers, rows = disk.numbers.get(key, []), disk.rows.get(key, {})
        since_us = max(action.since_us, now_us - self._age_us)
        floor = (0, 0)
        page: list[tuple[int, Data]] = []
        size = 0
        for number in numbers[bisect_right(numbers, action.after) : bisect_left(numbers, action.before)]:
            row = rows[number]
            if row.at_us < since_us:
                floor = floor if page else (number, row.at_us)
                continue
            size += len(row.data.payload)
            if len(page) >= action.count or (page and size > action.size_bytes):
                return Loaded(action.ticket, action.topic, tuple(page), True, floor)
            page.append((row.at_us, row.data))
        return Loaded(action.ticket, action.topic, tuple(page), False, floor)

    def note(self, node: int, action: Deliver) -> None:
        """The application got a message."""
        positions = self._disk(node).positions
        for topic in (action.topic, *action.also):
            positions.setdefault(topic, {})[action.publisher] = action.sequence

    def resume(self, node: int, event: Subscribe, now_us: int) -> Subscribe:
        """A subscription with what the disk has about the topic."""
        disk, topic = self._disk(node), event.topic
        if topic not in disk.since_us:
            disk.since_us[topic] = now_us
            return event
        self._drop_oldest(disk, now_us)
        known = disk.positions.get(topic, {})
        stored = {publisher: numbers[-1] for (of, publisher), numbers in disk.numbers.items() if of == topic}
        ages_us = {each: now_us - disk.rows[topic, each][last].at_us for each, last in stored.items()}
        publishers = sorted({*known, *stored} - {node})
        positions = [(each, known.get(each, 0), stored.get(each, 0), ages_us.get(each, 0)) for each in publishers]
        fields: dict[str, Any] = {"own_last": stored.get(node, 0), "own_last_age_us": ages_us.get(node, 0)}
        held_us = min(now_us - disk.since_us[topic], self._age_us)
        return replace(event, held_us=held_us, positions=tuple(positions), **fields)

    def _disk(self, node: int) -> _Disk:
        return self._disks.get(node) or self._disks.setdefault(node, _Disk())

    def _drop_oldest(self, disk: _Disk, now_us: int) -> None:
        arrived = disk.arrived
        while arrived and (disk.bytes > self._size_bytes or arrived[0].at_us < now_us - self._age_us):
            row = arrived.popleft()
            disk.bytes -= _size(row)
            key = (row.topic, row.data.publisher)
            numbers = disk.numbers[key]
            del numbers[bisect_left(numbers, row.data.sequence)]
            del disk.rows[key][row.data.sequence]
            if not numbers:
                del disk.numbers[key], disk.rows[key]


def _size(row: _Row) -> int:
    return len(row.data.payload) + ROW_BYTES
