"""A whole plan, from what a planner asks for to links: which of this room's parts do what, in which order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.planners.bounds import LowerBounds, lower_bounds
from gossamer.planners.budget import only_topics, plan_within
from gossamer.planners.divide import RunParts, plan_in_parts
from gossamer.planners.greedy import GM, MINMAXODA, Draft, GreedyRule, lowoda
from gossamer.planners.improve import attach, improve, shorten
from gossamer.planners.per_topic import ring_per_topic

OBJECTIVES = ("average", "maximum", "balanced")


@dataclass(frozen=True)
class PlanRequest:
    """What a plan shall be like; what cannot go together is refused when this is made."""

    # average: few links (GM); maximum: a small maximum degree (MinMaxODA); balanced: both (LowODA with rho).
    objective: str = "balanced"
    rho: float = 3.0
    # Every topic survives the loss of any `redundancy` - 1 nodes; the objective does not apply then.
    redundancy: int = 1
    # No node has more links; the objective does not apply then.
    degree_budget: int | None = None
    # No topic overlay is longer.
    diameter: int | None = None
    # Local search after the greedy.
    improve: bool = False
    # How many parts are planned on their own.
    parts: int = 1

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"`objective` must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}")
        if self.redundancy < 1:
            raise InputError(f"`redundancy` must be at least 1, got {self.redundancy}")
        if self.diameter is not None and self.diameter < 1:
            raise InputError(f"`diameter` must be at least 1, got {self.diameter}")
        if self.parts < 1:
            raise InputError(f"`parts` must be at least 1, got {self.parts}")
        if self.degree_budget is not None and (self.redundancy > 1 or self.diameter is not None or self.parts > 1):
            raise InputError(
                "`degree_budget` forbids links that `redundancy`, `diameter` and `parts` need; plan without it"
            )
        if self.redundancy > 1 and (self.improve or self.parts > 1):
            raise InputError("`redundancy` cannot be combined with `improve` or `parts`; leave them out")
        self.rule()

    def rule(self) -> GreedyRule:
        """The greedy's rule."""
        return {"average": GM, "maximum": MINMAXODA, "balanced": lowoda(self.rho)}[self.objective]


@dataclass(frozen=True)
class PlannedOverlay:
    """Links, what no plan could do without, and what happened on the way."""

    overlay: Overlay
    bounds: LowerBounds
    # Topics that the degree budget leaves in parts.
    parted: NDArray[np.int64]
    # Topics with too few holders to survive as many losses as asked: all their holders are linked to each other.
    too_small: NDArray[np.int64]
    facts: Mapping[str, Any] = field(default_factory=dict)


def make_plan(
    interest: Interest,
    wanted: PlanRequest,
    existing: Overlay | None = None,
    progress: Progress = silent,
    run_parts: RunParts = map,
) -> PlannedOverlay:
    """Plan, join, improve, shorten, bound: whatever is wanted, with the existing links kept."""
    if interest.subscription_count == 0:
        raise InputError("the workload is empty: there is nothing to connect")
    if existing is not None and (wanted.degree_budget is not None or wanted.parts > 1 or wanted.improve):
        raise InputError(
            "`keep` can be combined with `redundancy` and `diameter` only: other options would remove kept links"
        )
    # Numbers beyond these ask for nothing more, and would not fit in what the kernels count with.
    most = interest.node_count
    redundancy = min(wanted.redundancy, most)
    nothing = np.zeros(0, np.int64)
    facts: dict[str, Any] = {}
    parted = too_small = nothing
    if wanted.degree_budget is not None:
        within = plan_within(interest, min(wanted.degree_budget, most), progress)
        overlay, parted = within.overlay, within.parted
    elif wanted.redundancy > 1:
        overlay = attach(interest, redundancy, existing, progress)
        ring = ring_per_topic(interest)
        if redundancy == 2 and existing is None and ring.link_count < overlay.link_count:
            # A ring survives any one loss.
            overlay = ring
        too_small = np.flatnonzero((interest.popularity > 1) & (interest.popularity < wanted.redundancy))
    elif wanted.parts > 1:
        overlay = plan_in_parts(interest, wanted.rule(), wanted.parts, run_parts, progress)
    else:
        draft = Draft(interest, existing)
        draft.connect(wanted.rule(), progress=progress)
        overlay = draft.overlay()
    # Topics that the budget gave up need no links, and no bound is about them.
    connected = only_topics(interest, ~np.isin(np.arange(interest.topic_count), parted)) if len(parted) else interest
    if wanted.improve:
        better = improve(connected, overlay, wanted.objective != "average", progress)
        facts |= {"greedy_links": overlay.link_count, "greedy_max_degree": int(overlay.degrees.max(initial=0))}
        facts |= {"removed_links": better.removed, "moved_links": better.moved, "improving_rounds": better.rounds}
        overlay = better.overlay
    if wanted.diameter is not None:
        before = overlay.link_count
        facts["max_degree_before_diameter"] = int(overlay.degrees.max(initial=0))
        overlay = shorten(interest, overlay, min(wanted.diameter, most), progress)
        facts["links_for_diameter"] = overlay.link_count - before
    bounds = lower_bounds(connected, redundancy, progress)
    return PlannedOverlay(overlay, bounds, parted, too_small, facts)
