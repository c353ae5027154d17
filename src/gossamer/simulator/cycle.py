"""The interface between the cycle engine and the compiled kernel of a system."""

from typing import Protocol

from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.simulator.population import CycleChanges


class Population(Protocol):
    """All nodes of one system, run by its kernel."""

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """Run one cycle, after applying the changes."""
        ...

    def fingerprint(self) -> int:
        """A hash of the set of links: equal for equal sets, and almost certainly different for different ones."""
        ...

    def overlay(self) -> Overlay:
        """The links between nodes that are present."""
        ...

    def views(self) -> TopicViews | None:
        """Directed views by topic; None where the system keeps none."""
        ...

    def messages(self) -> dict[str, int]:
        """The number of messages sent so far, by kind."""
        ...
