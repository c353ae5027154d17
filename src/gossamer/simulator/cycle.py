"""The cycle engine: compiled kernels over arrays, one population of one system at a time."""

from typing import Protocol

from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.simulator.population import CycleChanges


class Population(Protocol):
    """What every kernel offers the cycle engine."""

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """One cycle."""
        ...

    def fingerprint(self) -> int:
        """A number that is the same for the same set of links, and all but surely another for another."""
        ...

    def overlay(self) -> Overlay:
        """The links among those present."""
        ...

    def views(self) -> TopicViews | None:
        """Directed views by topic, where the system keeps any."""
        ...

    def messages(self) -> dict[str, int]:
        """Messages sent so far, by kind."""
        ...
