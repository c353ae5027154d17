"""A hierarchical time wheel: adding an entry has a constant cost, and empty periods cost nothing.

Entries of the current turn of the wheel are in slots of about a millisecond, unsorted. A slot is sorted when the wheel
reaches it: one sort of a few thousand tuples. Entries of later turns wait in one bin for each turn, and move to slots
when the wheel reaches that turn.
"""

from bisect import insort
from heapq import heappop, heappush
from typing import Any

# (at_us, sequence, node, event, owner). The first two are unique, so sorting never compares the others.
Entry = tuple[int, int, int, Any, Any]

SLOT_BITS = 10  # a slot is 1,024 us
WHEEL_BITS = 12  # a turn is 4,096 slots, about 4.2 s
SLOTS = 1 << WHEEL_BITS
SLOT_MASK = SLOTS - 1


class TimeWheel:
    """Gives entries in order of (at_us, sequence). `push` also accepts entries for the slot that is being read."""

    __slots__ = ("_bins", "_current", "_far", "_near", "_slot", "_slots")

    def __init__(self) -> None:
        self._slots: list[list[Entry]] = [[] for _ in range(SLOTS)]
        self._slot = 0  # the slot being read, counted from time zero
        self._near = 0  # entries in slots after it, in this turn of the wheel
        self._bins: dict[int, list[Entry]] = {}  # by turn
        self._far: list[int] = []  # a heap of the turns in _bins
        self._current: list[Entry] = []

    def push(self, entry: Entry) -> None:
        """Add an entry whose time has not passed."""
        slot = entry[0] >> SLOT_BITS
        if slot <= self._slot:
            insort(self._current, entry)
        elif slot >> WHEEL_BITS == self._slot >> WHEEL_BITS:
            self._slots[slot & SLOT_MASK].append(entry)
            self._near += 1
        else:
            self._push_far(slot >> WHEEL_BITS, entry)

    def push_many(self, at_us: int, entries: list[Entry]) -> None:
        """Add entries of one time, in order of sequence."""
        slot = at_us >> SLOT_BITS
        if slot > self._slot and slot >> WHEEL_BITS == self._slot >> WHEEL_BITS:
            self._slots[slot & SLOT_MASK] += entries
            self._near += len(entries)
        else:
            for entry in entries:
                self.push(entry)

    def next_batch(self, until_us: int) -> list[Entry] | None:
        """The sorted entries of the next slot that is not empty; None if that slot begins after `until_us`.

        Entries that are pushed into this slot while it is read appear in the list, in order, so read it by iterating.
        Return entries after `until_us` with `put_back`.
        """
        limit = until_us >> SLOT_BITS
        if self._current:
            return self._current
        while True:
            if not self._near:
                if not self._far or self._far[0] << WHEEL_BITS > limit:
                    return None
                self._deal_out(heappop(self._far))
                if self._current:
                    return self._current
                continue
            slot = self._slot + 1
            while not self._slots[slot & SLOT_MASK]:
                slot += 1
            if slot > limit:
                return None
            batch = self._slots[slot & SLOT_MASK]
            self._slots[slot & SLOT_MASK] = []
            batch.sort()
            self._slot = slot
            self._near -= len(batch)
            self._current = batch
            return batch

    def put_back(self, remaining: list[Entry]) -> None:
        """Return the entries of the batch that were not read."""
        self._current = remaining

    def _push_far(self, turn: int, entry: Entry) -> None:
        if turn not in self._bins:
            self._bins[turn] = []
            heappush(self._far, turn)
        self._bins[turn].append(entry)

    def _deal_out(self, turn: int) -> None:
        # The first slot of the turn becomes the current one; all other slots of the turn are near again.
        self._slot = turn << WHEEL_BITS
        for entry in sorted(self._bins.pop(turn)):
            self.push(entry)
