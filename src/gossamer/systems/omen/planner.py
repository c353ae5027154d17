"""The overlay before the first churn event: LowODA's plan (section 6.5)."""

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.progress import Progress
from gossamer.planners.greedy import lowoda, plan
from gossamer.systems.omen.parameters import OmenGParameters, OmenParameters


def plan_start(parameters: OmenGParameters, seed: int, interest: Interest, progress: Progress) -> Overlay | None:
    """See `System.planner`."""
    if isinstance(parameters, OmenParameters) and parameters.start == "joins":
        return None
    return plan(interest, lowoda(parameters.rho), progress=progress)
