"""The membership view as an overlay: what a membership protocol alone provides.

This is the overlay part of the `cyclon` system. It keeps no state and sends nothing; it only reports the peers in the view
as neighbours, so that the same drivers measure a membership protocol and an overlay protocol.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp, ViewChanged
from gossamer.protocols.contract.messages import Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING


class ViewOverlay:
    """The neighbours are exactly the peers in the view."""

    __slots__ = ()

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """No event changes neighbours; only the view does."""
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Report a change of the view as neighbours lost and gained."""
        if not isinstance(fact, ViewChanged):
            return NOTHING
        changes = (*map(NeighbourDown, fact.removed), *map(NeighbourUp, fact.added))
        out.extend(map(Observe, changes))
        return changes
