"""Cyclon as a system: random views by shuffling, which ignore interests.

Paper: Voulgaris, Gavidia, van Steen: CYCLON: inexpensive membership management for unstructured P2P overlays (2005).

The part is a building block that other systems use too (`protocols/membership/cyclon.py`). Here its view is the
overlay, so that the drivers and measures for overlay protocols also work for a membership protocol.
"""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import LockstepTimer, System
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.protocols.membership.cyclon_messages import ShuffleDue
from gossamer.systems.cyclon.machine import ViewOverlay


def _parts(parameters: CyclonParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    return (Cyclon(parameters, seed, node), ViewOverlay())


def _cycle_us(parameters: CyclonParameters) -> int:
    return parameters.period_us


def _contact_count(parameters: CyclonParameters) -> int:
    return parameters.view_size


SYSTEMS: tuple[System, ...] = (
    System(
        name="cyclon",
        summary="Random views by shuffling; ignores interests. The membership below other systems.",
        paper="Voulgaris, Gavidia, van Steen: CYCLON (2005)",
        parameters=CyclonParameters,
        parts=_parts,
        connects_topics=False,
        timers=(LockstepTimer(ShuffleDue()),),
        cycle_us=_cycle_us,
        contact_count=_contact_count,
        population="gossamer.systems.cyclon.population:cyclon_population",
    ),
)
