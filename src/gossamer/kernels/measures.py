"""Measures of an overlay, topic by topic.

A topic overlay is the subgraph induced by the nodes that hold the topic. Each function takes a range of topics, so that
a caller can report progress or distribute the work, and finds the subgraph with an array of positions (one int32 for
each node). Cost: for components and links, O(sum over nodes of degree * interest); for clustering, that plus the sum of
squared degrees; for diameters, see `topic_diameters`.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


@kernel
def _find(parents: Ids, item: int) -> int:
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


@kernel
def topic_components(
    topic_starts: Starts, topic_nodes: Ids, starts: Starts, neighbours: Ids, first: int, last: int
) -> tuple[Starts, Starts]:
    """For topics first..last-1: the number of components and the number of links of each topic overlay."""
    places = np.full(len(starts) - 1, -1, np.int32)
    parents = np.empty(_largest(topic_starts, first, last), np.int32)
    components = np.zeros(last - first, np.int64)
    links = np.zeros(last - first, np.int64)
    for topic in range(first, last):
        members = topic_nodes[topic_starts[topic] : topic_starts[topic + 1]]
        for i in range(len(members)):
            places[members[i]] = i
            parents[i] = i
        count = len(members)
        for i in range(len(members)):
            node = members[i]
            for j in range(starts[node], starts[node + 1]):
                place = places[neighbours[j]]
                if place <= i:
                    continue
                links[topic - first] += 1
                a = _find(parents, i)
                b = _find(parents, place)
                if a != b:
                    # The lower root wins; path halving alone keeps the paths short enough.
                    parents[max(a, b)] = min(a, b)
                    count -= 1
        components[topic - first] = count
        for i in range(len(members)):
            places[members[i]] = -1
    return components, links


@kernel
def _largest(topic_starts: Starts, first: int, last: int) -> int:
    largest = 0
    for topic in range(first, last):
        largest = max(largest, topic_starts[topic + 1] - topic_starts[topic])
    return largest


@kernel
def _subgraph(members: Ids, starts: Starts, neighbours: Ids, places: Ids, local_starts: Starts) -> Ids:
    """The subgraph induced by k members, renumbered 0..k-1: fills `local_starts` and returns the neighbours."""
    for i in range(len(members)):
        places[members[i]] = i
    room = 0
    for i in range(len(members)):
        room += starts[members[i] + 1] - starts[members[i]]
    local = np.empty(room, np.int32)
    filled = 0
    local_starts[0] = 0
    for i in range(len(members)):
        for j in range(starts[members[i]], starts[members[i] + 1]):
            place = places[neighbours[j]]
            if place >= 0:
                local[filled] = place
                filled += 1
        local_starts[i + 1] = filled
    for i in range(len(members)):
        places[members[i]] = -1
    return local[:filled]


@kernel
def local_clustering(starts: Starts, neighbours: Ids, out: NDArray[np.float64]) -> None:
    """The clustering coefficient of each node: links between its neighbours over pairs of neighbours (0 below two).

    Every triangle is found once, from its lowest node: rows are ascending, so higher neighbours are at the end.
    """
    marks = np.full(len(starts) - 1, -1, np.int32)
    out[:] = 0.0
    for node in range(len(starts) - 1):
        i = starts[node + 1] - 1
        while i >= starts[node] and neighbours[i] > node:
            marks[neighbours[i]] = node
            i -= 1
        for k in range(i + 1, starts[node + 1]):
            other = neighbours[k]
            j = starts[other + 1] - 1
            while j >= starts[other] and neighbours[j] > other:
                if marks[neighbours[j]] == node:
                    out[node] += 1.0
                    out[other] += 1.0
                    out[neighbours[j]] += 1.0
                j -= 1
    for node in range(len(starts) - 1):
        degree = starts[node + 1] - starts[node]
        if degree > 1:
            out[node] /= degree * (degree - 1) / 2


@kernel
def topic_clustering(
    topic_starts: Starts, topic_nodes: Ids, starts: Starts, neighbours: Ids, first: int, last: int
) -> NDArray[np.float64]:
    """For topics first..last-1: the mean clustering coefficient of the topic overlay's nodes."""
    places = np.full(len(starts) - 1, -1, np.int32)
    local_starts = np.empty(_largest(topic_starts, first, last) + 1, np.int64)
    means = np.zeros(last - first, np.float64)
    for topic in range(first, last):
        members = topic_nodes[topic_starts[topic] : topic_starts[topic + 1]]
        if len(members) == 0:
            continue
        local = _subgraph(members, starts, neighbours, places, local_starts)
        out = np.empty(len(members), np.float64)
        local_clustering(local_starts[: len(members) + 1], local, out)
        means[topic - first] = out.mean()
    return means


@kernel
def distances_from(source: int, starts: Starts, neighbours: Ids, distances: Ids, queue: Ids) -> int:
    """Write breadth-first distances from `source` into `distances`; `queue` keeps the order of the nodes.

    Returns the number of nodes reached, including the source. Nodes with a distance of at least 0 count as visited, so
    the caller fills `distances` with -1 first; other components keep -1.
    """
    queue[0] = source
    distances[source] = 0
    reached = 1
    head = 0
    while head < reached:
        node = queue[head]
        head += 1
        for j in range(starts[node], starts[node + 1]):
            other = neighbours[j]
            if distances[other] < 0:
                distances[other] = distances[node] + 1
                queue[reached] = other
                reached += 1
    return reached


@kernel
def _batch_eccentricity(sources: Ids, component: Ids, starts: Starts, neighbours: Ids, bits: NDArray[np.uint64]) -> int:
    """The largest distance from any of up to 64 sources, searched together: each source has one bit of each word."""
    seen, frontier, further = bits[0], bits[1], bits[2]
    for node in component:
        seen[node] = 0
        frontier[node] = 0
        further[node] = 0
    for i in range(len(sources)):
        seen[sources[i]] |= np.uint64(1) << np.uint64(i)
        frontier[sources[i]] = seen[sources[i]]
    level = 0
    moving = True
    while moving:
        moving = False
        for node in component:
            word = frontier[node]
            if word:
                for j in range(starts[node], starts[node + 1]):
                    further[neighbours[j]] |= word
        for node in component:
            word = further[node] & ~seen[node]
            further[node] = 0
            frontier[node] = word
            if word:
                seen[node] |= word
                moving = True
        if moving:
            level += 1
    return level


@kernel
def _component_diameter(
    root: int,
    exact: bool,
    starts: Starts,
    neighbours: Ids,
    distances: Ids,
    queue: Ids,
    spare: Ids,
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """(lower, upper) bound on the diameter of root's component, equal if `exact`; fills its distances.

    iFUB (Crescenzi et al. 2013): two nodes at a distance below i from a centre are at most 2(i - 1) apart, so only
    nodes of the outer shells need a search of their own; 64 of those searches run together.
    """
    reached = distances_from(root, starts, neighbours, distances, queue)
    component = queue[:reached].copy()
    # The centre is the middle of a long path, which two searches find.
    far = component[reached - 1]
    for node in component:
        distances[node] = -1
    distances_from(far, starts, neighbours, distances, queue)
    lower = distances[queue[reached - 1]]
    centre = queue[reached - 1]
    while distances[centre] > lower // 2:
        for j in range(starts[centre], starts[centre + 1]):
            if distances[neighbours[j]] == distances[centre] - 1:
                centre = neighbours[j]
                break
    for node in component:
        distances[node] = -1
    distances_from(centre, starts, neighbours, distances, queue)
    shell = distances[queue[reached - 1]]
    lower = max(lower, shell)
    upper = 2 * shell
    last = reached
    while exact and lower < upper:
        start = last
        while start > 0 and distances[queue[start - 1]] == shell:
            start -= 1
        for i in range(start, last, 64):
            count = min(64, last - i)
            for k in range(count):
                spare[k] = queue[i + k]
            lower = max(lower, _batch_eccentricity(spare[:count], component, starts, neighbours, bits))
            if lower >= upper:
                break
        last = start
        shell -= 1
        upper = max(lower, 2 * shell)
    return lower, upper


@kernel
def graph_diameter(starts: Starts, neighbours: Ids, exact: bool) -> tuple[int, int]:
    """(lower, upper) bound on the largest finite distance, over all components."""
    count = len(starts) - 1
    distances = np.full(count, -1, np.int32)
    queue = np.empty(max(count, 64), np.int32)
    spare = np.empty(64, np.int32)
    bits = np.zeros((3, count), np.uint64)
    lower = 0
    upper = 0
    for root in range(count):
        if distances[root] >= 0:
            continue
        found = _component_diameter(root, exact, starts, neighbours, distances, queue, spare, bits)
        lower = max(lower, found[0])
        upper = max(upper, found[1])
    return lower, upper


@kernel
def topic_diameters(
    topic_starts: Starts, topic_nodes: Ids, starts: Starts, neighbours: Ids, first: int, last: int, exact: bool
) -> tuple[Starts, Starts]:
    """For topics first..last-1: lower and upper bounds on the diameter, equal if `exact`.

    The diameter of a disconnected topic is the largest diameter of its components. Cost with `exact`: a few searches,
    plus one search for each 64 nodes in the shells that the bounds cannot exclude. Without `exact`: three searches for
    each component, and the upper bound is at most twice the lower bound.
    """
    places = np.full(len(starts) - 1, -1, np.int32)
    local_starts = np.empty(_largest(topic_starts, first, last) + 1, np.int64)
    lower = np.zeros(last - first, np.int64)
    upper = np.zeros(last - first, np.int64)
    for topic in range(first, last):
        members = topic_nodes[topic_starts[topic] : topic_starts[topic + 1]]
        local = _subgraph(members, starts, neighbours, places, local_starts)
        found = graph_diameter(local_starts[: len(members) + 1], local, exact)
        lower[topic - first] = found[0]
        upper[topic - first] = found[1]
    return lower, upper


@kernel
def _count_shared(
    node: int, node_starts: Starts, node_topics: Ids, topic_starts: Starts, topic_nodes: Ids, shared: Ids
) -> None:
    """Write the number of topics that each node shares with `node` into `shared`."""
    shared[:] = 0
    for i in range(node_starts[node], node_starts[node + 1]):
        topic = node_topics[i]
        for j in range(topic_starts[topic], topic_starts[topic + 1]):
            shared[topic_nodes[j]] += 1


@kernel
def top_intersections(
    node_starts: Starts, node_topics: Ids, topic_starts: Starts, topic_nodes: Ids, depth: int, first: int, last: int
) -> NDArray[np.float64]:
    """tdi_n(d) for nodes first..last-1: the mean of the d largest intersections with other nodes, in %.

    The intersection of n and m is |n ∩ m| divided by the size of the smaller interest (SpiderCast, 3.4). Cost for each
    node: the number of nodes plus the sizes of the node's topics.
    """
    node_count = len(node_starts) - 1
    shared = np.zeros(node_count, np.int32)
    values = np.zeros(max(node_count - 1, 1), np.float64)
    means = np.zeros(last - first, np.float64)
    depth = min(depth, node_count - 1)
    if depth < 1:
        return means
    for node in range(first, last):
        _count_shared(node, node_starts, node_topics, topic_starts, topic_nodes, shared)
        own = node_starts[node + 1] - node_starts[node]
        filled = 0
        for other in range(node_count):
            if other == node:
                continue
            smaller = min(own, node_starts[other + 1] - node_starts[other])
            values[filled] = 100.0 * shared[other] / smaller if smaller else 0.0
            filled += 1
        highest = np.partition(values, filled - depth)[filled - depth :]
        means[node - first] = highest.mean()
    return means


@kernel
def correlated_pairs(
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    critical: float,
    first: int,
    last: int,
) -> int:
    """The number of pairs (first <= v < last, w > v) whose interests correlate: |phi| * sqrt(T) > `critical`.

    phi is the correlation of two rows of zeros and ones over all topics. A row without variance correlates with none.
    """
    node_count = len(node_starts) - 1
    topic_count = len(topic_starts) - 1
    shared = np.zeros(node_count, np.int32)
    found = 0
    for node in range(first, last):
        _count_shared(node, node_starts, node_topics, topic_starts, topic_nodes, shared)
        a = node_starts[node + 1] - node_starts[node]
        for other in range(node + 1, node_count):
            b = node_starts[other + 1] - node_starts[other]
            spread = float(a) * (topic_count - a) * b * (topic_count - b)
            if spread <= 0.0:
                continue
            phi = (float(topic_count) * shared[other] - float(a) * b) / np.sqrt(spread)
            if abs(phi) * np.sqrt(topic_count) > critical:
                found += 1
    return found
