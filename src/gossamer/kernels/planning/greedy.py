"""The exact greedy of GM, LowODA and MinMaxODA, without storing pairs of nodes.

The contribution of a link never grows as components merge, and while the maximum degree does not change, a link that is
not allowed stays so. One pass over decreasing contributions, and within each over ascending nodes and ascending other
ends, therefore chooses the same links as comparing all pairs before each choice. A node stores only an upper bound on
the contribution of its best link to a higher node. When the pass reaches that bound, the node's links are counted
(`_count`: one read for each other holder of each of its disconnected topics), and the bound becomes exact. Memory is
proportional to the number of subscriptions.

If degrees matter, nodes of maximum degree are set aside with their links. When the maximum rises, each node that is
allowed again is counted once and raises the bounds of the nodes that it could link to (if there are many such nodes,
all bounds are reset instead). In total this is at most one count for each end of each link.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.kernels.planning.state import PlanState, contribution, link
from gossamer.model.arrays.types import Ids

# Indices of `Pass.numbers`: the contribution of the current level, the node whose links are examined, how many
# candidates it has and which is next, the maximum degree, a bound on the contribution of links that are set aside, the
# number of components that are left to join, the number of places read, whether the greedy has finished, and the
# smallest contribution for which a link is added.
LEVEL, ROW, CANDIDATES, NEXT, DEGREE_MAX, ASIDE, LEFT, READ, IS_DONE, LEAST, NUMBERS = range(11)
# Chosen: a call returns after about this many reads, a fraction of a second, so that progress can be reported and the
# program can be interrupted.
READ_AT_ONCE = 200_000_000


class Pass(NamedTuple):
    """The progress of the greedy; it can stop after any link and continue later."""

    numbers: NDArray[np.int64]
    # By node: an upper bound on the contribution of an allowed link to a higher node.
    bounds: Ids
    # By node: an upper bound on the contribution of any of its links if the node is set aside; otherwise -1.
    aside: Ids
    # By node: the largest number of links that it may have.
    capacities: Ids
    # Other ends of the current node that reach the level, and scratch space of the same size.
    candidates: Ids
    counts: Ids
    reached: Ids


@kernel
def _count(state: PlanState, work: Pass, node: int, forward: bool) -> int:
    """Count the contribution of the node's links to higher nodes, or to all nodes; returns the number of other ends."""
    found = 0
    for i in range(state.node_starts[node], state.node_starts[node + 1]):
        topic = state.node_topics[i]
        if state.components[topic] < 2:
            continue
        place = state.places[i]
        own = state.labels[place]
        begin = place + 1 if forward else state.topic_starts[topic]
        work.numbers[READ] += state.topic_starts[topic + 1] - begin
        for other_place in range(begin, state.topic_starts[topic + 1]):
            if state.labels[other_place] != own:
                other = state.topic_nodes[other_place]
                if work.counts[other] == 0:
                    work.reached[found] = other
                    found += 1
                work.counts[other] += 1
    return found


@kernel
def _parted_topics(state: PlanState, node: int) -> int:
    found = 0
    for i in range(state.node_starts[node], state.node_starts[node + 1]):
        found += state.components[state.node_topics[i]] > 1
    return found


@kernel
def _is_open(state: PlanState, work: Pass, node: int) -> bool:
    """Whether the node can get another link without raising the maximum degree."""
    return state.degrees[node] < work.capacities[node] and work.aside[node] < 0


@kernel
def _look_at_row(state: PlanState, work: Pass, u: int, level: int) -> None:
    """Find the candidates of a node, ascending, and the bound on its other links."""
    bound = 0
    candidates = 0
    found = _count(state, work, u, True)
    for k in range(found):
        v = work.reached[k]
        value = work.counts[v]
        work.counts[v] = 0
        if not _is_open(state, work, v):
            continue
        if value >= level:
            work.candidates[candidates] = v
            candidates += 1
        else:
            bound = max(bound, value)
    work.candidates[:candidates].sort()
    work.bounds[u] = bound
    work.numbers[ROW] = u
    work.numbers[CANDIDATES] = candidates
    work.numbers[NEXT] = 0


@kernel
def _best_open(state: PlanState, work: Pass) -> tuple[int, int, int]:
    """(contribution, u, v) of the best link that does not raise the maximum degree; (0, -1, -1) if there is none.

    (-1, -1, -1) if this call has read enough places.
    """
    numbers = work.numbers
    while True:
        level = numbers[LEVEL]
        u = numbers[ROW]
        while numbers[NEXT] < numbers[CANDIDATES] and _is_open(state, work, u):
            v = np.int64(work.candidates[numbers[NEXT]])
            if _is_open(state, work, v):
                value = contribution(state, u, v)
                if value == level:
                    return level, u, v
                work.bounds[u] = max(np.int64(work.bounds[u]), value)
            numbers[NEXT] += 1
        numbers[CANDIDATES] = numbers[NEXT] = 0
        u += 1
        while u < len(work.bounds) and (work.bounds[u] < level or not _is_open(state, work, u)):
            u += 1
        if u < len(work.bounds) and level > 0:
            parted = _parted_topics(state, u)
            if parted < level:
                work.bounds[u] = parted
                numbers[ROW] = u
            else:
                _look_at_row(state, work, u, level)
                if numbers[READ] > READ_AT_ONCE:
                    return -1, -1, -1
            continue
        _start_pass(state, work)
        if numbers[LEVEL] == 0:
            return 0, -1, -1


@kernel
def _start_pass(state: PlanState, work: Pass) -> None:
    """Begin again with the first node, at the highest bound on a contribution."""
    numbers = work.numbers
    if numbers[NEXT] < numbers[CANDIDATES]:
        # The last pass stopped in the middle of a node's candidates.
        u = numbers[ROW]
        work.bounds[u] = max(np.int64(work.bounds[u]), numbers[LEVEL])
    numbers[ROW] = -1
    numbers[CANDIDATES] = numbers[NEXT] = 0
    numbers[LEVEL] = 0
    for node in range(len(work.bounds)):
        if _is_open(state, work, node):
            numbers[LEVEL] = max(numbers[LEVEL], np.int64(work.bounds[node]))
    if numbers[LEVEL] < numbers[LEAST]:
        numbers[LEVEL] = 0


@kernel
def _best_aside(state: PlanState, work: Pass, least: int) -> tuple[int, int, int]:
    """The best link of a node that is set aside, if it contributes at least `least`; ties go to the lowest numbers."""
    best, best_u, best_v = 0, -1, -1
    top = 0
    for node in range(len(work.aside)):
        if state.degrees[node] >= work.capacities[node]:
            work.aside[node] = min(work.aside[node], 0)
        if work.aside[node] >= max(best, least):
            bound = 0
            found = _count(state, work, node, False)
            for k in range(found):
                other = np.int64(work.reached[k])
                value = np.int64(work.counts[other])
                work.counts[other] = 0
                if state.degrees[other] >= work.capacities[other]:
                    continue
                bound = max(bound, value)
                u, v = min(node, other), max(node, other)
                if value >= least and (
                    value > best or (value == best and (u < best_u or (u == best_u and v < best_v)))
                ):
                    best, best_u, best_v = value, u, v
            work.aside[node] = bound
        top = max(top, np.int64(work.aside[node]))
    work.numbers[ASIDE] = top
    return best, best_u, best_v


@kernel
def _set_aside(state: PlanState, work: Pass, node: int) -> None:
    work.aside[node] = _parted_topics(state, node)
    if work.aside[node] > work.numbers[ASIDE]:
        # With a loose bound, all nodes that are set aside would be counted after every link.
        bound = 0
        found = _count(state, work, node, False)
        for k in range(found):
            bound = max(bound, np.int64(work.counts[work.reached[k]]))
            work.counts[work.reached[k]] = 0
        work.aside[node] = bound
        work.numbers[ASIDE] = max(work.numbers[ASIDE], bound)


@kernel
def _raise_degree_max(state: PlanState, work: Pass, best: int) -> None:
    """Allow nodes with fewer links than the new maximum again and begin a new pass; no link contributes over `best`."""
    work.numbers[DEGREE_MAX] += 1
    freed = 0
    for node in range(len(work.aside)):
        freed += work.aside[node] >= 0 and state.degrees[node] < work.numbers[DEGREE_MAX]
    # Counting the links of so many nodes to all others costs more than counting every node's links to higher nodes.
    many = 8 * freed > len(work.aside)
    for node in range(len(work.aside)):
        if many:
            work.bounds[node] = min(best, _parted_topics(state, node))
        if work.aside[node] >= 0 and state.degrees[node] < work.numbers[DEGREE_MAX]:
            work.aside[node] = -1
            if many:
                continue
            found = _count(state, work, node, False)
            for k in range(found):
                other = np.int64(work.reached[k])
                low = min(node, other)
                work.bounds[low] = max(work.bounds[low], work.counts[other])
                work.counts[other] = 0
    _start_pass(state, work)


@kernel
def begin_pass(state: PlanState, work: Pass, counts_degrees: bool) -> None:
    """Before the first link: set bounds from the number of disconnected topics of each node."""
    for node in range(len(work.bounds)):
        work.numbers[DEGREE_MAX] = max(work.numbers[DEGREE_MAX], np.int64(state.degrees[node]))
    for topic in range(len(state.components)):
        work.numbers[LEFT] += max(0, np.int64(state.components[topic]) - 1)
    for node in range(len(work.bounds)):
        work.bounds[node] = _parted_topics(state, node)
        if counts_degrees and state.degrees[node] >= work.numbers[DEGREE_MAX]:
            work.aside[node] = work.bounds[node]
            work.numbers[ASIDE] = max(work.numbers[ASIDE], np.int64(work.bounds[node]))
    _start_pass(state, work)


@kernel
def take_greedily(state: PlanState, work: Pass, counts_degrees: bool, rho: float, links_u: Ids, links_v: Ids) -> int:
    """Add links until all topics are connected, no link is allowed, or it is time to pause; returns how many.

    If degrees do not matter, each link is the one with the largest contribution (GM). Otherwise it is the one with the
    largest contribution among links that do not raise the maximum degree, unless a link that raises it contributes more
    than rho times as much (LowODA; MinMaxODA is LowODA with an infinite rho). Ties go to the lowest u, then the lowest
    v.
    """
    work.numbers[READ] = 0
    for taken in range(len(links_u)):
        value, u, v = _best_open(state, work)
        if value < 0:
            return taken
        raises = False
        if counts_degrees:
            # The smallest whole number above rho * value; only links that are set aside can contribute so much.
            least = max(np.int64(1), work.numbers[LEAST])
            if value > 0:
                least = 2**31 if rho * value >= 2**31 else int(np.floor(rho * value)) + 1
            if work.numbers[ASIDE] >= least:
                best, best_u, best_v = _best_aside(state, work, least)
                if best > 0:
                    value, u, v = best, best_u, best_v
                    raises = True
        if value == 0:
            work.numbers[IS_DONE] = 1
            return taken
        links_u[taken] = u
        links_v[taken] = v
        work.numbers[LEFT] -= link(state, u, v)
        if raises:
            _raise_degree_max(state, work, value)
        if counts_degrees:
            for end in (u, v):
                if work.aside[end] < 0 and state.degrees[end] >= work.numbers[DEGREE_MAX]:
                    _set_aside(state, work, end)
    return len(links_u)
