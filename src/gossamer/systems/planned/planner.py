"""The planners behind the registered names: (parameters, seed, interest, progress) -> overlay."""

from typing import Any

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.progress import Progress
from gossamer.planners.greedy import GM, MINMAXODA, lowoda, plan
from gossamer.planners.per_topic import mesh_per_topic, ring_per_topic
from gossamer.systems.planned.parameters import LowodaParameters, MeshParameters


def plan_ring_per_topic(parameters: Any, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """A ring through the nodes of each topic."""
    return ring_per_topic(interest)


def plan_mesh_per_topic(parameters: MeshParameters, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """A random mesh among the nodes of each topic."""
    return mesh_per_topic(interest, parameters.links, seed)


def plan_gm(parameters: Any, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """GM: fewest links."""
    return plan(interest, GM, progress=progress)


def plan_lowoda(parameters: LowodaParameters, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """LowODA: low average and low maximum degree."""
    return plan(interest, lowoda(parameters.rho), progress=progress)


def plan_minmaxoda(parameters: Any, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """MinMaxODA: low maximum degree."""
    return plan(interest, MINMAXODA, progress=progress)
