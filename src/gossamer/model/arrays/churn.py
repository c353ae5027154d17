"""Churn: the joins, leaves and crashes of nodes, in order of time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.model.values.errors import InputError

# The codes of churn events in arrays; in tables the `event` column contains the names.
JOIN, LEAVE, CRASH, ABSENT = 0, 1, 2, 3
EVENT_NAMES = ("join", "leave", "crash", "absent")


@dataclass(frozen=True)
class Churn:
    """Changes of presence. A node is present at first unless its first row is `join` or `absent`.

    An `absent` row changes nothing at its time: it marks a node that is never present. A node without rows is always
    present. Rows are sorted by time; among rows of the same time, leaves and crashes come first, by node id, and then
    joins, by node id.
    """

    at_us: NDArray[np.int64]
    nodes: NDArray[np.int32]
    events: NDArray[np.uint8]

    @classmethod
    def from_rows(cls, at_us: NDArray[np.integer], nodes: NDArray[np.integer], events: NDArray[np.integer]) -> "Churn":
        """From rows in any order. The joins and departures of a node must alternate, at different times."""
        order = np.lexsort((nodes, events == JOIN, at_us))
        churn = cls(at_us[order].astype(np.int64), nodes[order].astype(np.int32), events[order].astype(np.uint8))
        churn._check_turns()
        return churn

    @classmethod
    def none(cls) -> "Churn":
        """Churn without rows: every node is always present."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8))

    def present_at_start(self, node_count: int) -> NDArray[np.bool_]:
        """Which nodes are present before the first row: those whose first row is neither `join` nor `absent`."""
        present = np.ones(node_count, np.bool_)
        nodes, first = np.unique(self.nodes, return_index=True)
        present[nodes] = (self.events[first] != JOIN) & (self.events[first] != ABSENT)
        return present

    def _check_turns(self) -> None:
        order = np.lexsort((np.arange(len(self.nodes)), self.nodes))
        nodes, joins, times = self.nodes[order], self.events[order] == JOIN, self.at_us[order]
        same = nodes[1:] == nodes[:-1]
        late = same & (self.events[order][1:] == ABSENT)
        if late.any():
            raise InputError(f"node {nodes[1:][late][0]} has an absent row after other rows; it must be the first")
        again = same & (joins[1:] == joins[:-1])
        if again.any():
            row = int(np.flatnonzero(again)[0]) + 1
            word = "joins" if joins[row] else "leaves or crashes"
            raise InputError(f"node {nodes[row]} {word} twice in a row, the second time at {times[row]} us")
        at_once = same & (times[1:] == times[:-1])
        if at_once.any():
            row = int(np.flatnonzero(at_once)[0]) + 1
            raise InputError(f"node {nodes[row]} has two churn rows at the same time, {times[row]} us")
