"""Makes a failing scenario smaller: fewer faults, nodes and messages, while it still fails in the same way."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from gossamer.simulator.torture.judge import judge
from gossamer.simulator.torture.scenario import Scenario

Item = TypeVar("Item")
# Chosen: about five minutes of one core.
RUNS_MAX = 300


class Shrinker:
    """Tries smaller scenarios until none fails any more, or until `runs_max` were tried."""

    def __init__(self, scenario: Scenario, runs_max: int = RUNS_MAX) -> None:
        self.best = scenario
        self.runs = 0
        self._runs_max = runs_max
        self._kinds = {problem.kind for problem in judge(scenario).problems}

    def shrink(self) -> Scenario:
        """The smallest scenario found."""
        before = None
        while before != self.best and self.runs < self._runs_max:
            before = self.best
            self._fewer(list(self.best.faults), lambda kept: _with(self.best, faults=tuple(kept)))
            self._fewer(_present(self.best), self._with_nodes)
            self._fewer(list(self.best.messages), lambda kept: _with(self.best, messages=tuple(kept)))
            for place in range(len(self.best.faults)):
                self._fewer(list(self.best.faults[place].nodes), lambda kept, place=place: self._with_hit(place, kept))  # type: ignore[misc]
        return self.best

    def _fewer(self, items: list[Item], made: Callable[[Sequence[Item]], Scenario]) -> None:
        """Leave out runs of items: first halves, then quarters, and so on down to single items."""
        size = max(len(items) // 2, 1)
        while items and self.runs < self._runs_max:
            for start in _starts(len(items), size):
                kept = items[:start] + items[start + size :]
                if self._still_fails(made(kept)):
                    items = kept
            if size == 1:
                return
            size //= 2

    def _still_fails(self, scenario: Scenario) -> bool:
        if self.runs >= self._runs_max:
            return False
        self.runs += 1
        fails = any(problem.kind in self._kinds for problem in judge(scenario).problems)
        if fails:
            self.best = scenario
        return fails

    def _with_nodes(self, kept: Sequence[int]) -> Scenario:
        topics = tuple(each if node in kept else () for node, each in enumerate(self.best.topics))
        return _with(self.best, topics=topics)

    def _with_hit(self, place: int, kept: Sequence[int]) -> Scenario:
        faults = list(self.best.faults)
        faults[place] = msgspec.structs.replace(faults[place], nodes=tuple(kept))
        return _with(self.best, faults=tuple(faults))


def _with(scenario: Scenario, **changes: object) -> Scenario:
    return msgspec.structs.replace(scenario, **changes)


def _present(scenario: Scenario) -> list[int]:
    return [node for node, topics in enumerate(scenario.topics) if topics]


def _starts(count: int, size: int) -> Iterator[int]:
    """Places from the end to the beginning, so that leaving out a run does not move those that come after."""
    yield from range((count - 1) // size * size, -1, -size)
