"""The table of systems, upper layer: which kernel or planner stands behind each name.

This is also where a machine's parameters become a kernel's numbers: kernels have no defaults of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gossamer.model.arrays.interest import Interest
from gossamer.protocols.systems import SYSTEMS, System, find_system
from gossamer.simulator.cycle import CyclonPopulation, Population


@dataclass(frozen=True)
class SimulatedSystem:
    """A system as the simulator knows it."""

    system: System
    # (parameters, seed, interest) -> a population that has started; None where there is no kernel.
    population: Callable[[Any, int, Interest], Population] | None
    # How many first contacts each node is given when a population starts together.
    contact_count: Callable[[Any], int]


SIMULATED: Mapping[str, SimulatedSystem] = {
    "cyclon": SimulatedSystem(
        system=SYSTEMS["cyclon"],
        population=lambda parameters, seed, interest: CyclonPopulation(parameters, seed, interest.node_count),
        contact_count=lambda parameters: int(parameters.view_size),
    ),
}


def find_simulated(name: str) -> SimulatedSystem:
    """The system of this name, or an error that lists those there are."""
    return SIMULATED[find_system(name).name]
