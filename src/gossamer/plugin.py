"""For your own systems: everything that a package with a system imports. `examples/star_per_topic` is such a package.

    from gossamer import plugin

    class Attach(plugin.WireMessage, frozen=True, array_like=True, gc=False, tag="star_attach"): ...

A package exports `SYSTEMS`, a tuple of `plugin.System`, and declares an entry point in the group `gossamer.systems`;
then every command knows the system. Files that a live node loads (parameters, messages, machine) must not use the names
in `_LATER`, which import numpy or numba; populations, kernels and exhibits may use every name. CONTRIBUTING.md, "Add a
system", describes each file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gossamer.model.values.draw import ITEM_FACTOR, below, draw, draw_base, third_party_purpose, unit
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    PeerUp,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Address, Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, InterestView, Part
from gossamer.protocols.contract.system import (
    Dissemination,
    Knows,
    LiveStart,
    LockstepTimer,
    NoParameters,
    StudyEntry,
    System,
    read_parameters,
)
from gossamer.protocols.membership import interest_parts

if TYPE_CHECKING:
    from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point
    from gossamer.kernels.draw import draw_base as kernel_draw_base
    from gossamer.kernels.draw import finish as kernel_finish
    from gossamer.kernels.jit import kernel
    from gossamer.model.arrays.interest import Interest
    from gossamer.model.arrays.overlay import Overlay
    from gossamer.model.values.run import Run, WorkloadLaw
    from gossamer.simulator.lockstep import Lockstep
    from gossamer.simulator.population import CycleChanges

# Names that need numpy or numba, with their module and their name there; imported on first use.
_LATER = {
    "Claim": ("gossamer.analysis.exhibits.harness", "Claim"),
    "CycleChanges": ("gossamer.simulator.population", "CycleChanges"),
    "Exhibit": ("gossamer.analysis.exhibits.harness", "Exhibit"),
    "Interest": ("gossamer.model.arrays.interest", "Interest"),
    "Lockstep": ("gossamer.simulator.lockstep", "Lockstep"),
    "Overlay": ("gossamer.model.arrays.overlay", "Overlay"),
    "Point": ("gossamer.analysis.exhibits.harness", "Point"),
    "Run": ("gossamer.model.values.run", "Run"),
    "WorkloadLaw": ("gossamer.model.values.run", "WorkloadLaw"),
    "kernel": ("gossamer.kernels.jit", "kernel"),
    "kernel_draw_base": ("gossamer.kernels.draw", "draw_base"),
    "kernel_finish": ("gossamer.kernels.draw", "finish"),
}

__all__ = [
    "ITEM_FACTOR",
    "NOTHING",
    "Action",
    "Address",
    "Claim",
    "Connect",
    "CycleChanges",
    "Disconnect",
    "Dissemination",
    "Event",
    "Exhibit",
    "Fact",
    "InputError",
    "Interest",
    "InterestView",
    "Knows",
    "LiveStart",
    "Lockstep",
    "LockstepTimer",
    "WireMessage",
    "MessageReceived",
    "NeighbourDown",
    "NeighbourUp",
    "NoParameters",
    "NodeId",
    "Observe",
    "Overlay",
    "Part",
    "Peer",
    "PeerDown",
    "PeerMisbehaved",
    "PeerUp",
    "Point",
    "Role",
    "Run",
    "Send",
    "SetTimer",
    "Started",
    "Stopping",
    "StudyEntry",
    "Subscribe",
    "System",
    "Timer",
    "TimerFired",
    "TopicId",
    "Unsubscribe",
    "WorkloadLaw",
    "below",
    "draw",
    "draw_base",
    "interest_parts",
    "kernel",
    "kernel_draw_base",
    "kernel_finish",
    "read_parameters",
    "third_party_purpose",
    "unit",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'gossamer.plugin' has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(import_module(module), attribute)
