"""The overlay as machines state it: folded from `Observe(NeighbourUp)` and `Observe(NeighbourDown)`."""

from collections.abc import Sequence

import numpy as np

from gossamer.model.arrays.overlay import Overlay
from gossamer.protocols.interface import Action, Event, NeighbourDown, NeighbourUp, Observe


class LinkBook:
    """A watcher that keeps every node's neighbours, and the history of the undirected union.

    A link is up while either end counts the other as a neighbour: directed views so become links, and a
    symmetric protocol's link is up from the first statement to the last.
    """

    def __init__(self, keep_history: bool = False) -> None:
        self.neighbours: dict[int, dict[int, None]] = {}
        self.change_count = 0
        self.history: list[tuple[int, int, int, bool]] = []
        self._keep_history = keep_history
        self._ends: dict[tuple[int, int], int] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if type(action) is Observe:
                fact = action.fact
                if type(fact) is NeighbourUp:
                    self.neighbours.setdefault(node, {})[fact.node] = None
                    self._count(at_us, node, fact.node, 1)
                elif type(fact) is NeighbourDown:
                    self.neighbours[node].pop(fact.node)
                    self._count(at_us, node, fact.node, -1)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: a node that is gone has no neighbours; others may still count it."""
        for other in self.neighbours.pop(node, {}):
            self._count(at_us, node, other, -1)

    def overlay(self, node_count: int, present: Sequence[int] | None = None) -> Overlay:
        """The links as they stand, among those present where that is given."""
        pairs = np.array(list(self._ends), dtype=np.int64).reshape(-1, 2)
        if present is not None:
            up = np.zeros(node_count, np.bool_)
            up[list(present)] = True
            pairs = pairs[up[pairs[:, 0]] & up[pairs[:, 1]]]
        return Overlay.from_links(pairs[:, 0], pairs[:, 1], node_count)

    def _count(self, at_us: int, node: int, other: int, change: int) -> None:
        self.change_count += 1
        pair = (node, other) if node < other else (other, node)
        ends = self._ends.get(pair, 0) + change
        if ends:
            self._ends[pair] = ends
        else:
            del self._ends[pair]
        if self._keep_history and (ends == 0 or (ends == 1 and change == 1)):
            self.history.append((at_us, pair[0], pair[1], ends > 0))
