"""Plan a whole overlay: what a planner may ask for, and which modules of this room compute it, in which order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.planners.bounds import LowerBounds, lower_bounds
from gossamer.planners.budget import only_topics, plan_within
from gossamer.planners.divide import RunParts, plan_in_parts
from gossamer.planners.greedy import GM, MINMAXODA, Draft, GreedyRule, lowoda
from gossamer.planners.improve import attach, improve, shorten
from gossamer.planners.per_topic import ring_per_topic
from gossamer.planners.zones import links_inside, plan_by_zones

OBJECTIVES = ("average", "maximum", "balanced")


@dataclass(frozen=True)
class PlanRequest:
    """The properties that a plan must have. Options that contradict each other raise an `InputError`.

    >>> PlanRequest(objective="average", diameter=8).diameter
    8
    """

    # average: few links (GM); maximum: a small maximum degree (MinMaxODA); balanced: both (LowODA with `rho`).
    objective: str = "balanced"
    # For `balanced`: how many times better a link must be before it may raise the maximum degree.
    rho: float = 3.0
    # Every topic stays connected when any `redundancy` - 1 nodes fail. Above 1, `objective` has no effect.
    redundancy: int = 1
    # The largest number of links of any node. When it is given, `objective` has no effect.
    degree_budget: int | None = None
    # The largest diameter of any topic's overlay, in hops.
    diameter: int | None = None
    # Whether a local search follows the greedy.
    improve: bool = False
    # The number of parts that the nodes are divided into; each part is planned alone and the parts are then joined.
    parts: int = 1
    # If the workload has zones: links inside zones first, and every topic stays connected without any one zone.
    by_zones: bool = True

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"`objective` must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}")
        for name, least_one in (("redundancy", self.redundancy), ("diameter", self.diameter), ("parts", self.parts)):
            if least_one is not None and least_one < 1:
                raise InputError(f"`{name}` must be at least 1, got {least_one}")
        if self.degree_budget is not None and (self.redundancy > 1 or self.diameter is not None or self.parts > 1):
            raise InputError(
                "`degree_budget` forbids links that `redundancy`, `diameter` and `parts` need; plan without it"
            )
        if self.redundancy > 1 and (self.improve or self.parts > 1):
            raise InputError("`redundancy` cannot be combined with `improve` or `parts`; leave them out")
        self.rule()

    def rule(self) -> GreedyRule:
        """The rule by which the greedy chooses links."""
        return {"average": GM, "maximum": MINMAXODA, "balanced": lowoda(self.rho)}[self.objective]


@dataclass(frozen=True)
class PlannedOverlay:
    """An overlay that a planner computed for a workload, and the bounds that no overlay for it can beat.

    `overlay` numbers nodes by their position in `workload.node_ids`; `peers` and the lists of topics use the
    workload's own ids.
    """

    workload: Workload
    overlay: Overlay
    bounds: LowerBounds
    # Topics that the degree budget leaves disconnected.
    disconnected_topics: list[int]
    # Topics with too few subscribers for the requested redundancy: all their subscribers are linked to each other.
    small_topics: list[int]
    # Links and degrees before and after each optional step.
    facts: Mapping[str, Any] = field(default_factory=dict)

    def peers(self) -> dict[int, list[int]]:
        """The peers of each node, ascending."""
        ids = self.workload.node_ids
        return {int(node): ids[self.overlay.neighbours_of(place)].tolist() for place, node in enumerate(ids)}

    def check(self, components: NDArray[np.int64]) -> None:
        """Raise CheckFailed unless exactly `disconnected_topics` are disconnected; `components` is measured by topic."""
        _check_same(self.workload.topic_ids[np.flatnonzero(components > 1)].tolist(), self.disconnected_topics)


def plan(
    workload: Workload,
    request: PlanRequest | None = None,
    keep: Overlay | None = None,
    progress: Progress = silent,
    run_parts: RunParts = map,
) -> PlannedOverlay:
    """Compute a topic-connected overlay for a workload; links of the overlay `keep` are part of the plan.

    `run_parts` carries out the parts of `PlanRequest.parts`; the default plans them one after another in this process.

    >>> from gossamer.workloads.make import make_workload
    >>> planned = plan(make_workload(nodes=50, topics=5, subscriptions=2, seed=1), PlanRequest(objective="average"))
    >>> planned.overlay.link_count >= planned.bounds.links
    True
    """
    request = request or PlanRequest()
    interest = workload.interest
    if interest.subscription_count == 0:
        raise InputError("the workload is empty: there is nothing to connect")
    if keep is not None and (request.degree_budget is not None or request.parts > 1 or request.improve):
        raise InputError(
            "`keep` can be combined with `redundancy` and `diameter` only: other options would remove kept links"
        )
    zones = None
    if workload.zones is not None and request.by_zones:
        _check_for_zones(request)
        zones = np.unique(workload.zones.astype(str), return_inverse=True)[1].astype(np.int64)
        overlay = plan_by_zones(interest, zones, request.rule(), keep, progress)
        disconnected = np.zeros(0, np.int64)
    else:
        overlay, disconnected = _connect(interest, request, keep, progress, run_parts)
    # The bounds and the local search leave out topics that the budget leaves disconnected: those need no links.
    overlay, facts = _refine(interest, _without(interest, disconnected), overlay, request, progress)
    if len(disconnected):
        # A link that the local search moved may connect a topic that was disconnected before; it must disconnect none.
        after = np.flatnonzero(Draft(interest, overlay).components > 1)
        _check_same(
            workload.topic_ids[after].tolist(), workload.topic_ids[np.intersect1d(after, disconnected)].tolist()
        )
        disconnected = after
    if zones is not None:
        facts |= {"zones": int(zones.max()) + 1, "links_inside_zones": links_inside(overlay, zones)}
    bounds = lower_bounds(_without(interest, disconnected), _within(interest, request.redundancy), progress)
    return PlannedOverlay(
        workload=workload,
        overlay=overlay,
        bounds=bounds,
        disconnected_topics=workload.topic_ids[disconnected].tolist(),
        small_topics=workload.topic_ids[_small_topics(interest, request.redundancy)].tolist(),
        facts=facts,
    )


def _check_for_zones(request: PlanRequest) -> None:
    if request.degree_budget is not None or request.redundancy > 1 or request.parts > 1 or request.improve:
        raise InputError(
            "`degree_budget`, `redundancy`, `parts` and `improve` cannot be combined with zones; leave them out, or plan "
            "without zones"
        )


def _connect(
    interest: Interest, request: PlanRequest, keep: Overlay | None, progress: Progress, run_parts: RunParts
) -> tuple[Overlay, NDArray[np.int64]]:
    """An overlay before local search and shortening, and the topics that it leaves disconnected."""
    none = np.zeros(0, np.int64)
    if request.degree_budget is not None:
        within = plan_within(interest, _within(interest, request.degree_budget), progress)
        return within.overlay, within.disconnected
    if request.redundancy > 1:
        redundancy = _within(interest, request.redundancy)
        overlay = attach(interest, redundancy, keep, progress)
        ring = ring_per_topic(interest)
        # A ring stays connected when any one node fails.
        is_ring_better = redundancy == 2 and keep is None and ring.link_count < overlay.link_count
        return ring if is_ring_better else overlay, none
    if request.parts > 1:
        return plan_in_parts(interest, request.rule(), request.parts, run_parts, progress), none
    draft = Draft(interest, keep)
    draft.connect(request.rule(), progress=progress)
    return draft.overlay(), none


def _refine(
    interest: Interest, connected: Interest, overlay: Overlay, request: PlanRequest, progress: Progress
) -> tuple[Overlay, dict[str, Any]]:
    """Local search and shortening, where they are requested, and what they changed."""
    facts: dict[str, Any] = {}
    if request.improve:
        better = improve(connected, overlay, request.objective != "average", progress)
        facts |= {"greedy_links": overlay.link_count, "greedy_max_degree": int(overlay.degrees.max(initial=0))}
        facts |= {"removed_links": better.removed, "moved_links": better.moved, "improving_rounds": better.rounds}
        overlay = better.overlay
    if request.diameter is not None:
        before = overlay.link_count
        facts["max_degree_before_diameter"] = int(overlay.degrees.max(initial=0))
        overlay = shorten(interest, overlay, _within(interest, request.diameter), progress)
        facts["links_for_diameter"] = overlay.link_count - before
    return overlay, facts


def _check_same(found: list[int], expected: list[int]) -> None:
    """Compare the ids of disconnected topics: equal numbers of them may hide that they are others."""
    wrong = sorted(set(found) - set(expected))
    missing = sorted(set(expected) - set(found))
    if wrong:
        raise CheckFailed(f"topics that must be connected are disconnected: {', '.join(map(str, wrong[:10]))}")
    if missing:
        raise CheckFailed(f"topics stated as disconnected are connected: {', '.join(map(str, missing[:10]))}")


def _without(interest: Interest, topics: NDArray[np.int64]) -> Interest:
    """The same interests without these topics."""
    return only_topics(interest, ~np.isin(np.arange(interest.topic_count), topics)) if len(topics) else interest


def _within(interest: Interest, number: int) -> int:
    """The number, at most the number of nodes: a larger one has the same effect and may overflow in the kernels."""
    return min(number, interest.node_count)


def _small_topics(interest: Interest, redundancy: int) -> NDArray[np.int64]:
    if redundancy <= 1:
        return np.zeros(0, np.int64)
    return np.flatnonzero((interest.popularity > 1) & (interest.popularity < redundancy))
