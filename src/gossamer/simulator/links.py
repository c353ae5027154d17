"""Watchers that keep the overlay and the views, as machines report them in `Observe` actions."""

from collections.abc import Sequence

import numpy as np

from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.values.draw import finish
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.events import Event, Started
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, TopicViewChanged


class LinkBook:
    """A watcher that keeps the neighbours of every node, and the history of the undirected links.

    A link is up while both ends are present and at least one of them has reported the other as its neighbour. This
    turns directed views into links. The link of a symmetric protocol is up from the first report of either end to the
    last.
    """

    def __init__(self, keep_history: bool = False) -> None:
        self.neighbours: dict[int, dict[int, None]] = {}
        self.history: list[tuple[int, int, int, bool]] = []
        # Equal for equal sets of links: each change of a link changes it, and the reverse change restores it.
        self.fingerprint = 0
        self._counted_by: dict[int, dict[int, None]] = {}
        self._keep_history = keep_history
        self._up: dict[tuple[int, int], None] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is Started:
            self.neighbours[node] = {}
            for other in self._counted_by.get(node, ()):
                self._check(at_us, node, other)
        for action in actions:
            if type(action) is Observe:
                fact = action.fact
                if type(fact) is NeighbourUp:
                    self.neighbours[node][fact.node] = None
                    self._counted_by.setdefault(fact.node, {})[node] = None
                    self._check(at_us, node, fact.node)
                elif type(fact) is NeighbourDown:
                    del self.neighbours[node][fact.node]
                    del self._counted_by[fact.node][node]
                    self._check(at_us, node, fact.node)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`. The node has no links now; nodes that still report it as a neighbour are remembered."""
        mine = self.neighbours.pop(node, {})
        for other in mine:
            del self._counted_by[other][node]
        for other in {**mine, **self._counted_by.get(node, {})}:
            self._check(at_us, node, other)

    def overlay(self, node_count: int) -> Overlay:
        """The links that are up now."""
        pairs = np.array(list(self._up), dtype=np.int64).reshape(-1, 2)
        return Overlay.from_links(pairs[:, 0], pairs[:, 1], node_count)

    def _check(self, at_us: int, node: int, other: int) -> None:
        """Bring the link between two nodes up to date."""
        mine, theirs = self.neighbours.get(node), self.neighbours.get(other)
        is_up = mine is not None and theirs is not None and (other in mine or node in theirs)
        pair = (node, other) if node < other else (other, node)
        if is_up == (pair in self._up):
            return
        if is_up:
            self._up[pair] = None
        else:
            del self._up[pair]
        self.fingerprint ^= finish((pair[0] << 32) + pair[1])
        if self._keep_history:
            self.history.append((at_us, *pair, is_up))


class ViewBook:
    """A watcher that keeps every node's view of every topic, for systems whose machines report views."""

    def __init__(self) -> None:
        self._views: dict[int, dict[int, dict[int, None]]] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if type(action) is Observe and type(action.fact) is TopicViewChanged:
                fact = action.fact
                view = self._views.setdefault(node, {}).setdefault(fact.topic, {})
                for peer in fact.removed:
                    del view[peer]
                view.update(dict.fromkeys(fact.added))

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._views.pop(node, None)

    def views(self) -> TopicViews:
        """The current views, ordered by topic and node."""
        rows = [
            (topic, node, peer)
            for node, topics in self._views.items()
            for topic, view in topics.items()
            for peer in view
        ]
        columns = np.array(sorted(rows), dtype=np.int32).reshape(-1, 3)
        return TopicViews(columns[:, 0], columns[:, 1], columns[:, 2])
