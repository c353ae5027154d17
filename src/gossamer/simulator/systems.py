"""The table of systems, upper layer: which kernel or planner stands behind each name.

This is also where a machine's parameters become a kernel's numbers: kernels have no defaults of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.planners.greedy import GM, MINMAXODA, Progress, lowoda, plan
from gossamer.planners.per_topic import mesh_per_topic, ring_per_topic
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.cycle import Population
from gossamer.systems import (
    SYSTEMS,
    System,
    check_dissemination,
    find_system,
    read_parameters,
)
from gossamer.systems.cyclon.population import CyclonPopulation
from gossamer.systems.gossip.wiring import unstructured
from gossamer.systems.spidercast.parameters import RandomParameters, SimilarityParameters, SpiderCastParameters, Timing
from gossamer.systems.spidercast.population import SpiderCastNumbers, SpiderCastPopulation
from gossamer.systems.spidercast.task import Rule
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.population import StanPopulation


@dataclass(frozen=True)
class SimulatedSystem:
    """A system as the simulator knows it."""

    system: System
    # (parameters, seed, interest, who is away, room for topics) -> a population that has started together; None
    # where there is no kernel.
    population: Callable[[Any, int, Interest, Sequence[int], int], Population] | None = None
    # How many first contacts each node is given when a population starts together.
    contact_count: Callable[[Any], int] = lambda parameters: 0
    # (parameters, seed, interest, progress) -> the overlay, for systems that are planned centrally, and the links that
    # nodes are started with where they only keep those.
    planner: Callable[[Any, int, Interest, Progress], Overlay] | None = None


def spidercast_numbers(parameters: SpiderCastParameters) -> SpiderCastNumbers:
    """SpiderCast's parameters for its kernel."""
    if parameters.part_uncovered:
        raise InputError("part_uncovered has no kernel; use --engine event")
    if parameters.ties == "near":
        raise InputError("ties=near needs links with latencies; use --engine event")
    return SpiderCastNumbers(
        rules=(Rule.COVER_GREEDILY, Rule.COVER_AT_RANDOM),
        coverage=(parameters.greedy_coverage, parameters.random_coverage),
        margin=parameters.margin,
        adaptive=parameters.adaptive,
        drop_when_stuck=parameters.drop_when_stuck,
        scan=parameters.ties == "scan",
        view=parameters.view,
        mend_us=parameters.mend_us,
        **_timing(parameters),
    )


def similarity_numbers(parameters: SimilarityParameters) -> SpiderCastNumbers:
    """similarity(x, y) for SpiderCast's kernel."""
    return _rival(parameters, (parameters.similar, parameters.random))


def random_numbers(parameters: RandomParameters) -> SpiderCastNumbers:
    """random(y) for SpiderCast's kernel."""
    return _rival(parameters, (0, parameters.links))


def _rival(parameters: SimilarityParameters | RandomParameters, coverage: tuple[int, int]) -> SpiderCastNumbers:
    return SpiderCastNumbers(
        rules=(Rule.COUNT_SIMILAR, Rule.COUNT_RANDOM),
        coverage=coverage,
        margin=parameters.margin,
        adaptive=False,
        drop_when_stuck=True,
        scan=False,
        view=parameters.view,
        **_timing(parameters),
    )


def _timing(parameters: Timing) -> dict[str, int]:
    cycle_us = parameters.heartbeat_us
    return {"cycle_us": cycle_us, "quarantine_cycles": -(-parameters.quarantine_us // cycle_us)}


def _spidercast_kernel(
    numbers: Callable[[Any], SpiderCastNumbers],
) -> Callable[[Any, int, Interest, Sequence[int], int], Population]:
    def population(
        parameters: Any, seed: int, interest: Interest, absent: Sequence[int], room: int
    ) -> SpiderCastPopulation:
        if parameters.membership != "oracle":
            raise InputError("membership=cyclon has no kernel; use --engine event")
        return SpiderCastPopulation(numbers(parameters), seed, interest, absent, room)

    return population


def _stan_kernel(
    parameters: StanParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    if parameters.membership != "oracle":
        raise InputError("stan with membership=cyclon has no kernel; use --engine event")
    return StanPopulation(parameters, seed, interest, absent)


def _cyclon_kernel(
    parameters: CyclonParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    if parameters.rejoin_us:
        raise InputError("cyclon with rejoin_us has no kernel; use --engine event")
    return CyclonPopulation(parameters, seed, interest.node_count, absent)


def _contacts_below(parameters: Any) -> int:
    """First contacts of a system that stands on Cyclon, where it does."""
    return CyclonParameters().view_size if parameters.membership == "cyclon" else 0


SIMULATED: Mapping[str, SimulatedSystem] = {
    "spidercast": SimulatedSystem(
        SYSTEMS["spidercast"],
        _spidercast_kernel(spidercast_numbers),
        contact_count=_contacts_below,
    ),
    "similarity": SimulatedSystem(
        SYSTEMS["similarity"], _spidercast_kernel(similarity_numbers), contact_count=_contacts_below
    ),
    "random": SimulatedSystem(SYSTEMS["random"], _spidercast_kernel(random_numbers), contact_count=_contacts_below),
    "stan": SimulatedSystem(
        SYSTEMS["stan"],
        _stan_kernel,
        contact_count=_contacts_below,
    ),
    "ring-per-topic": SimulatedSystem(
        SYSTEMS["ring-per-topic"], planner=lambda parameters, seed, interest, progress: ring_per_topic(interest)
    ),
    "mesh-per-topic": SimulatedSystem(
        SYSTEMS["mesh-per-topic"],
        planner=lambda parameters, seed, interest, progress: mesh_per_topic(interest, parameters.links, seed),
    ),
    "gm": SimulatedSystem(
        SYSTEMS["gm"], planner=lambda parameters, seed, interest, progress: plan(interest, GM, progress=progress)
    ),
    "lowoda": SimulatedSystem(
        SYSTEMS["lowoda"],
        planner=lambda parameters, seed, interest, progress: plan(interest, lowoda(parameters.rho), progress=progress),
    ),
    "minmaxoda": SimulatedSystem(
        SYSTEMS["minmaxoda"],
        planner=lambda parameters, seed, interest, progress: plan(interest, MINMAXODA, progress=progress),
    ),
    "unstructured": SimulatedSystem(
        SYSTEMS["unstructured"],
        planner=lambda parameters, seed, interest, progress: unstructured(parameters.degree, interest.node_count, seed),
    ),
    "cyclon": SimulatedSystem(
        system=SYSTEMS["cyclon"],
        population=_cyclon_kernel,
        contact_count=lambda parameters: int(parameters.view_size),
    ),
}


def find_simulated(name: str) -> SimulatedSystem:
    """The system of this name, or an error that lists those there are."""
    return SIMULATED[find_system(name).name]


def check_wish(
    name: str,
    parameters: Mapping[str, object],
    dissemination: str | None = None,
    carried_with: Mapping[str, object] | None = None,
) -> SimulatedSystem:
    """The system of this name, if it is known, its parameters are right and it carries the dissemination."""
    simulated = find_simulated(name)
    read_parameters(simulated.system, parameters)
    if dissemination is not None:
        check_dissemination(simulated.system, dissemination, carried_with or {})
    return simulated
