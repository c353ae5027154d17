"""A hierarchical time wheel: constant cost for what comes soon, and no cost for empty time.

Near entries lie in slots of about a millisecond, unsorted; a slot is sorted when its turn comes (one
C-level sort of a few thousand tuples). Entries beyond the horizon wait in coarse bins, one for each
turn of the wheel, which are dealt out when the wheel gets there.
"""

from bisect import insort
from heapq import heappop, heappush
from typing import Any

# (at_us, sequence, node, event, owner): unique in its first two, so that sorting never looks further.
Entry = tuple[int, int, int, Any, Any]

SLOT_BITS = 10  # a slot is 1,024 us
WHEEL_BITS = 12  # a turn is 4,096 slots, about 4.2 s
SLOTS = 1 << WHEEL_BITS
SLOT_MASK = SLOTS - 1


class TimeWheel:
    """Entries in order of (at_us, sequence). `push` also takes what belongs to the slot being read."""

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
        """The entries of the next slot that has any, sorted; None when none comes by `until_us`.

        The list stays open: what is pushed into the same slot while it is read appears in it, in order. Read it
        by iterating; entries after `until_us` must be handed back with `put_back`.
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
        """What of the open batch was not read."""
        self._current = remaining

    def _push_far(self, turn: int, entry: Entry) -> None:
        if turn not in self._bins:
            self._bins[turn] = []
            heappush(self._far, turn)
        self._bins[turn].append(entry)

    def _deal_out(self, turn: int) -> None:
        # The first slot of the turn becomes the open one, so that later slots are "near" again.
        self._slot = turn << WHEEL_BITS
        for entry in sorted(self._bins.pop(turn)):
            self.push(entry)
