"""Connect as many topics as possible under a hard limit on the degree of every node.

Choosing the topics is a hard problem: to connect one topic with degree 2 is to find a path through its holders, and
topics compete for the same nodes. This is a heuristic. Topics with few holders need the fewest links, so topics are
sorted by their number of holders. A binary search finds a number n such that MinMaxODA connects the first n topics
under the limit; the greedy may fail for n and succeed for a larger number, so n need not be the largest. Then each of
the remaining topics is tried alone with the degree that is left.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.planners.greedy import MINMAXODA, Draft

# Chosen: a second round connected more topics in our measurements, a fourth never did.
ROUNDS_MAX = 4


@dataclass(frozen=True)
class WithinBudget:
    """An overlay within a degree budget, and the topics that it leaves disconnected."""

    overlay: Overlay
    disconnected: NDArray[np.int64]


def plan_within(interest: Interest, degree_budget: int, progress: Progress = silent) -> WithinBudget:
    """The best overlay found in which every node has at most `degree_budget` links."""
    if degree_budget < 1:
        raise InputError(f"`degree_budget` must be at least 1, got {degree_budget}")
    capacities = np.full(interest.node_count, degree_budget, np.int32)
    order = np.argsort(interest.popularity, kind="stable")

    def connect(count: int) -> Draft:
        kept = np.zeros(interest.topic_count, np.bool_)
        kept[order[:count]] = True
        draft = Draft(only_topics(interest, kept))
        draft.connect(MINMAXODA, capacities)
        return draft

    # Try all topics first, because often all fit; then search between a number that fits and one that does not.
    fits, fails = 0, interest.topic_count + 1
    best, trial = connect(0), interest.topic_count
    while fits + 1 < fails:
        draft = connect(trial)
        if (draft.components > 1).any():
            fails = trial
        else:
            best, fits = draft, trial
        trial = (fits + fails) // 2
        progress("finding topics that fit", interest.topic_count - (fails - fits - 1), interest.topic_count)
    is_parted = np.zeros(interest.topic_count, np.bool_)
    is_parted[order[fits:]] = True
    is_parted &= interest.popularity > 1
    overlay = best.overlay()
    for _ in range(ROUNDS_MAX):
        before = int(is_parted.sum())
        overlay = _try_each(interest, overlay, is_parted, degree_budget)
        if int(is_parted.sum()) == before:
            break
    several = interest.popularity > 1
    if several.any() and is_parted[several].all():
        raise InputError(
            f"a degree budget of {degree_budget} connects none of the {int(several.sum())} topics that have more than "
            "one holder; allow more links"
        )
    return WithinBudget(overlay, np.flatnonzero(is_parted))


def _try_each(interest: Interest, overlay: Overlay, is_parted: NDArray[np.bool_], degree_budget: int) -> Overlay:
    """Try to connect each disconnected topic by itself, and update `is_parted`."""
    degrees = overlay.degrees.astype(np.int32).copy()
    new_u: list[int] = []
    new_v: list[int] = []
    components = Draft(interest, overlay).components
    for topic in sorted(np.flatnonzero(is_parted).tolist(), key=lambda topic: (components[topic], topic)):
        nodes = interest.nodes_of(topic)
        alone = Interest.from_pairs(np.arange(len(nodes)), np.zeros(len(nodes), np.int64), len(nodes), 1)
        draft = Draft(alone, _among(overlay, nodes), degrees[nodes])
        added = draft.connect(MINMAXODA, np.full(len(nodes), degree_budget, np.int32))
        if draft.components[0] > 1:
            continue
        is_parted[topic] = False
        for one, other in added:
            u, v = int(nodes[one]), int(nodes[other])
            degrees[u] += 1
            degrees[v] += 1
            new_u.append(u)
            new_v.append(v)
        old_u, old_v = overlay.links()
        overlay = Overlay.from_links(
            np.concatenate((old_u, np.array(new_u, np.int32))),
            np.concatenate((old_v, np.array(new_v, np.int32))),
            interest.node_count,
        )
        new_u, new_v = [], []
    return overlay


def only_topics(interest: Interest, kept: NDArray[np.bool_]) -> Interest:
    """The same nodes with these topics only; ids do not change."""
    rows = kept[interest.node_topics]
    return Interest.from_pairs(
        interest.owners[rows], interest.node_topics[rows], interest.node_count, interest.topic_count
    )


def _among(overlay: Overlay, nodes: NDArray[np.int32]) -> Overlay:
    """The links between some nodes, which are renumbered by their position; `nodes` is ascending."""
    u, v = [], []
    for place, node in enumerate(nodes.tolist()):
        others = overlay.neighbours_of(node)
        others = others[others > node]
        places = np.searchsorted(nodes, others)
        found = places[(places < len(nodes)) & (nodes[np.minimum(places, len(nodes) - 1)] == others)]
        u.append(np.full(len(found), place))
        v.append(found)
    return Overlay.from_links(np.concatenate(u), np.concatenate(v), len(nodes))
