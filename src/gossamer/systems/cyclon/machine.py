"""The membership view taken as the overlay: what a membership protocol alone gives.

This is the overlay part of the `cyclon` system. It keeps nothing and sends nothing; it only says which
peers the view holds, so that the same drivers measure a membership protocol and an overlay protocol.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp, ViewChanged
from gossamer.protocols.contract.messages import Message, Timer
from gossamer.protocols.contract.parts import NOTHING


class ViewOverlay:
    """Neighbours are exactly the peers in the view."""

    __slots__ = ()

    MESSAGES: ClassVar[tuple[type[Message], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Nothing happens here but through the view."""
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Turn a change of the view into neighbours lost and gained."""
        if not isinstance(fact, ViewChanged):
            return NOTHING
        changes = (*map(NeighbourDown, fact.removed), *map(NeighbourUp, fact.added))
        out.extend(map(Observe, changes))
        return changes
