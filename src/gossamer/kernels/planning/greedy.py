"""The greedy of GM, LowODA and MinMaxODA, exact, without ever keeping a pair of nodes.

A link's contribution only falls as components merge, and while the maximum degree stays, links only cease to be
allowed. So one pass from the highest contribution down, over nodes ascending and others ascending, takes the very links
that looking at all pairs before each choice would take. A node keeps only a bound on its best link to a higher node. It
is looked at (`_count`: one read for each other holder of those of its topics that are in parts) when the pass comes down
to its bound, and the bound is exact then. Memory is in proportion to subscriptions.

Where degrees count, nodes of maximum degree are set aside with their links. When the maximum rises, whoever that sets
free is looked at once and raises the bounds of those it could link to (or, if they are many, every bound is lost): over
all, at most one look for each end of each link.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.kernels.planning.state import PlanState, contribution, link
from gossamer.model.arrays.types import Ids

# Places in `Pass.numbers`: the contribution looked for now, whose links are looked at, how many of them and which is
# next, the maximum degree, a bound on what any link that is set aside contributes, what is left to join, how many places
# were read, and whether there is nothing left to take.
LEVEL, ROW, CANDIDATES, NEXT, DEGREE_MAX, ASIDE, LEFT, READ, IS_DONE, NUMBERS = range(10)
# Chosen: a call reads about so many places, a fraction of a second, so that somebody who waits can be told or can stop it.
READ_AT_ONCE = 200_000_000


class Pass(NamedTuple):
    """How far the greedy has come; it can stop after any link and go on."""

    numbers: NDArray[np.int64]
    # By node: the most that a link to a higher node contributes, both allowed; at most.
    bounds: Ids
    # By node: the most that any of its links contributes, at most, if it is set aside; else -1.
    aside: Ids
    # By node: how many links it may have at all.
    capacities: Ids
    # Others of the row that have the level, and scratch of that size.
    candidates: Ids
    counts: Ids
    reached: Ids


@kernel
def _count(state: PlanState, work: Pass, node: int, forward: bool) -> int:
    """What each of the node's links contributes, to higher nodes or to all; returns how many others there are."""
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
    """Whether the node may have another link without raising the maximum degree."""
    return state.degrees[node] < work.capacities[node] and work.aside[node] < 0


@kernel
def _look_at_row(state: PlanState, work: Pass, u: int, level: int) -> None:
    """Find the candidates of a row, ascending, and the bound of the others."""
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

    (-1, -1, -1) if enough was read for one call.
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
    """Begin with the first node again, at the highest contribution that there may be."""
    numbers = work.numbers
    if numbers[NEXT] < numbers[CANDIDATES]:
        # Left in the middle of a row.
        u = numbers[ROW]
        work.bounds[u] = max(np.int64(work.bounds[u]), numbers[LEVEL])
    numbers[ROW] = -1
    numbers[CANDIDATES] = numbers[NEXT] = 0
    numbers[LEVEL] = 0
    for node in range(len(work.bounds)):
        if _is_open(state, work, node):
            numbers[LEVEL] = max(numbers[LEVEL], np.int64(work.bounds[node]))


@kernel
def _best_aside(state: PlanState, work: Pass, least: int) -> tuple[int, int, int]:
    """The best link at a node that is set aside, if it contributes `least` or more; lowest ids first among equals."""
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
        # Too mild a bound would have everybody looked at after every link.
        bound = 0
        found = _count(state, work, node, False)
        for k in range(found):
            bound = max(bound, np.int64(work.counts[work.reached[k]]))
            work.counts[work.reached[k]] = 0
        work.aside[node] = bound
        work.numbers[ASIDE] = max(work.numbers[ASIDE], bound)


@kernel
def _raise_degree_max(state: PlanState, work: Pass, best: int) -> None:
    """Set free whoever has fewer links than the new maximum, and begin a new pass; no link contributes over `best`."""
    work.numbers[DEGREE_MAX] += 1
    freed = 0
    for node in range(len(work.aside)):
        freed += work.aside[node] >= 0 and state.degrees[node] < work.numbers[DEGREE_MAX]
    # Looking at so many of them both ways costs more than looking at every row again.
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
    """Before the first link: bounds from the topics that are in parts."""
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
    """Take links until every topic is connected, none may be taken, or it is time to stop for a moment; returns how many.

    Without counting degrees: the link that contributes most (GM). Else the one that contributes most among those that do
    not raise the maximum degree, unless one that does contributes more than rho times as much (LowODA; with an infinite
    rho MinMaxODA). Among equals the lowest u, then the lowest v.
    """
    work.numbers[READ] = 0
    for taken in range(len(links_u)):
        value, u, v = _best_open(state, work)
        if value < 0:
            return taken
        raises = False
        if counts_degrees:
            # The least whole number above rho times the value; if anything has it, it is set aside.
            least = 1
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
