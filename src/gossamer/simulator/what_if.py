"""What happens to an overlay when nodes are lost: topics that fall apart, subscribers that are cut off, and mending.

A *case* is one loss: a random draw, a list of nodes, a zone, or a moment of a churn trace. Every case is measured, and
the worst one in detail: before the loss, after it, and after mending.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import units
from gossamer.model.arrays.churn import ABSENT, JOIN, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.model.values.time import SECOND_US
from gossamer.planners.greedy import Draft, lowoda
from gossamer.planners.greedy import plan as connect
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import Network, read_latency
from gossamer.simulator.single_points import single_points
from gossamer.systems import find_live, find_system

# Chosen: distances in a topic with more nodes are measured from this many of them, spread evenly over the ids.
SOURCES_MAX = 1_000
# Chosen: of a longer trace, this many moments are measured, spread evenly.
MOMENTS_MAX = 500
# Chosen: LowODA's default.
RHO = 3.0
# Chosen: mending by nodes is simulated with this latency; the nodes have this time to find their links, and this time
# after the loss.
LATENCY = "20ms"
SETTLE_US = 20 * SECOND_US
MEND_US = 60 * SECOND_US

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Loss:
    """One case: its name, and the nodes that are left."""

    name: str
    left: Flags


@dataclass(frozen=True)
class WhatIf:
    """The figures of all cases, and those of the worst one before the loss, after it and after mending.

    Nodes and topics are positions in the workload. `single_points` has (node, topic, nodes that are cut off without it)
    of the overlay before any loss.
    """

    cases: list[dict[str, Any]]
    worst: str
    before: dict[str, Any]
    after: dict[str, Any]
    mended: dict[str, Any]
    new_links: int
    lost_nodes: list[int]
    disconnected_topics: list[int]
    cut_off_nodes: list[int]
    single_points: list[tuple[int, int, int]]


def random_losses(node_count: int, share: float, draws: int, seed: int) -> list[Loss]:
    """`draws` random choices of this share of the nodes."""
    if not 0.0 < share < 1.0:
        raise InputError(f"`fail` must lie between 0 and 1, got {share:g}")
    count = max(1, round(node_count * share))
    losses = []
    for number in range(draws):
        order = np.argsort(units(np.uint64(seed), np.uint64(Purpose.FAILED), np.uint64(number), node_count))
        left = np.ones(node_count, np.bool_)
        left[order[:count]] = False
        losses.append(Loss(f"draw {number + 1}", left))
    return losses


def zone_losses(zones: Sequence[str], numbers: NDArray[np.int64]) -> list[Loss]:
    """The loss of each zone."""
    return [Loss(name, numbers != number) for number, name in enumerate(zones)]


def trace_losses(churn: Churn, node_count: int) -> list[Loss]:
    """The nodes that are present at each moment of a trace; a node that returns has its links again."""
    present = churn.present_at_start(node_count)
    moments = [Loss("0 s", present.copy())]
    for at_us in np.unique(churn.at_us[churn.events != ABSENT]).tolist():
        rows = (churn.at_us == at_us) & (churn.events != ABSENT)
        present[churn.nodes[rows]] = churn.events[rows] == JOIN
        moments.append(Loss(f"{at_us / 1e6:g} s", present.copy()))
    if len(moments) <= MOMENTS_MAX:
        return moments
    return [moments[place] for place in np.linspace(0, len(moments) - 1, MOMENTS_MAX).astype(int)]


# From the overlay, the nodes that are present before the loss, and those that are left, to the mended overlay.
Mend = Callable[[Overlay, Interest, Flags, Flags], Overlay]


def mend_by_plan(overlay: Overlay, interest: Interest, before: Flags, left: Flags) -> Overlay:
    """Mend centrally: keep the links that are left, and add LowODA's links until every topic is connected."""
    return connect(interest.among(left), lowoda(RHO), links_among(overlay, left))


def mend_by_nodes(system: str, seed: int) -> Mend:
    """Mend as live nodes of this live name would, which start with the overlay's links, in the event engine."""
    start = find_live(system)
    if not start.takes_plan:
        raise InputError(f"{system} does not start from given links; choose a system that takes a plan")
    found = find_system(start.system)
    parameters = read_parameters(found, start.settings)

    def mend(overlay: Overlay, interest: Interest, before: Flags, left: Flags) -> Overlay:
        links = LinkBook()
        network = Network(read_latency(LATENCY, seed))
        population = EventPopulation(found, parameters, seed, interest, network, [links], links=overlay)
        population.start_together(np.flatnonzero(before).tolist())
        population.engine.run(SETTLE_US)
        for node in np.flatnonzero(before & ~left).tolist():
            population.crash(node)
        population.engine.run(SETTLE_US + MEND_US)
        return links_among(links.overlay(overlay.node_count), left)

    return mend


def what_if(
    overlay: Overlay,
    workload: Workload,
    losses: Sequence[Loss],
    present: Flags | None = None,
    mend: Mend = mend_by_plan,
    progress: Progress = silent,
) -> WhatIf:
    """Measure each loss, and mend the worst one.

    The worst case is the one that cuts off most subscriptions; `present` leaves out nodes that are absent from the start.
    """
    if not losses:
        raise InputError("there is no loss to study")
    here = np.ones(overlay.node_count, np.bool_) if present is None else present
    cases, worst = [], 0
    for number, loss in enumerate(losses):
        progress("losses", number, len(losses))
        cases.append({"case": loss.name, **connectivity(overlay, workload.interest.among(loss.left & here))[0]})
        cases[-1]["nodes"] = int((loss.left & here).sum())
        if _badness(cases[number]) > _badness(cases[worst]):
            worst = number
    left = losses[worst].left & here
    interest = workload.interest.among(left)
    _, apart = connectivity(overlay, interest)
    rest = links_among(overlay, left)
    mended = mend(overlay, workload.interest, here, left)
    progress("losses", len(losses), len(losses))
    topics = np.repeat(np.arange(interest.topic_count), interest.popularity)
    whole = workload.interest.among(here)
    return WhatIf(
        cases=cases,
        worst=losses[worst].name,
        before=state(links_among(overlay, here), whole, here),
        after=state(rest, interest, left),
        mended=state(mended, interest, left),
        new_links=_new_links(mended, rest),
        lost_nodes=np.flatnonzero(here & ~left).tolist(),
        disconnected_topics=np.unique(topics[apart]).tolist(),
        cut_off_nodes=np.unique(interest.topic_nodes[apart]).tolist(),
        single_points=list(single_points(overlay, whole)),
    )


def _new_links(mended: Overlay, rest: Overlay) -> int:
    """The links that mending added."""
    count = rest.node_count
    new, old = (u.astype(np.int64) * count + v for u, v in (mended.links(), rest.links()))
    return len(np.setdiff1d(new, old))


def _badness(case: dict[str, Any]) -> tuple[int, int]:
    return case["subscriptions_cut_off"], case["topics_disconnected"]


def state(overlay: Overlay, interest: Interest, present: Flags) -> dict[str, Any]:
    """The figures of an overlay among the nodes that are present: connectivity, degrees and path lengths in topics."""
    degrees = overlay.degrees[present]
    return {
        "nodes": int(present.sum()),
        "links": overlay.link_count,
        "average_degree": float(degrees.mean()) if len(degrees) else 0.0,
        "max_degree": int(degrees.max(initial=0)),
        **connectivity(overlay, interest)[0],
        **path_lengths(overlay, interest),
    }


def connectivity(overlay: Overlay, interest: Interest) -> tuple[dict[str, int], Flags]:
    """Topics that are disconnected and subscriptions that are cut off; and, by place in `topic_nodes`, which are.

    A subscription is cut off if its node is outside the largest component of its topic.
    """
    members = Draft(interest, overlay).first_members().astype(np.int64)
    topics = np.repeat(np.arange(interest.topic_count), interest.popularity)
    keys, places, sizes = np.unique(topics * interest.node_count + members, return_inverse=True, return_counts=True)
    # Of equally large components, the one with the smallest node counts as the largest.
    order = np.lexsort((keys, -sizes, keys // max(interest.node_count, 1)))
    first = np.unique((keys // max(interest.node_count, 1))[order], return_index=True)[1]
    is_largest = np.zeros(len(keys), np.bool_)
    is_largest[order[first]] = True
    apart = ~is_largest[places]
    return {
        "topics": int((interest.popularity > 1).sum()),
        "topics_disconnected": len(np.unique(topics[apart])),
        "subscriptions_cut_off": int(apart.sum()),
        "nodes_cut_off": len(np.unique(interest.topic_nodes[apart])),
    }, apart


def path_lengths(overlay: Overlay, interest: Interest) -> dict[str, Any]:
    """The mean and the largest number of hops between two connected nodes of a topic, over all pairs of all topics."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    shape = (overlay.node_count, overlay.node_count)
    graph = csr_array((np.ones(len(overlay.neighbours)), overlay.neighbours, overlay.starts), shape)
    total, pairs, most, is_exact = 0.0, 0, 0, True
    for topic in np.flatnonzero(interest.popularity > 1).tolist():
        nodes = interest.nodes_of(topic)
        inside = graph[nodes][:, nodes]
        sources = np.arange(len(nodes))
        if len(nodes) > SOURCES_MAX:
            sources, is_exact = np.linspace(0, len(nodes) - 1, SOURCES_MAX).astype(int), False
        hops = dijkstra(inside, directed=True, indices=sources, unweighted=True)
        reached = hops[np.isfinite(hops) & (hops > 0)]
        total, pairs, most = total + float(reached.sum()), pairs + len(reached), max(most, int(reached.max(initial=0)))
    return {"mean_hops": total / max(pairs, 1), "max_hops": most, "hops_are_exact": is_exact}


def links_among(overlay: Overlay, present: Flags) -> Overlay:
    """The links whose two ends are present."""
    u, v = overlay.links()
    kept = present[u] & present[v]
    return Overlay.from_links(u[kept], v[kept], overlay.node_count)
