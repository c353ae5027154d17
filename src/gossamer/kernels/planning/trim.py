"""Local search on an overlay: remove links and move links while every topic stays connected."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.kernels.planning.graph import LinkGraph, add_link, are_linked, reach, remove_link, set_members
from gossamer.model.arrays.types import Ids, Starts


@kernel
def shared_topics(node_starts: Starts, node_topics: Ids, u: int, v: int, found: Ids) -> int:
    """Write the topics that two nodes share into `found`; returns their number."""
    count = 0
    i, j = node_starts[u], node_starts[v]
    while i < node_starts[u + 1] and j < node_starts[v + 1]:
        a, b = node_topics[i], node_topics[j]
        if a == b:
            found[count] = a
            count += 1
        i += a <= b
        j += b <= a
    return count


@kernel
def _smallest_first(topic_starts: Starts, topics: Ids, count: int) -> None:
    """Sort a few topics by their number of holders."""
    for i in range(1, count):
        topic = topics[i]
        size = topic_starts[topic + 1] - topic_starts[topic]
        j = i
        while j > 0 and topic_starts[topics[j - 1] + 1] - topic_starts[topics[j - 1]] > size:
            topics[j] = topics[j - 1]
            j -= 1
        topics[j] = topic


@kernel
def count_bridges(graph: LinkGraph, topic_starts: Starts, topic_nodes: Ids, needs: Ids) -> None:
    """Count the topics in which each link (half-link / 2) is a bridge, by depth-first search with low-link numbers."""
    node_count = len(graph.first)
    numbers = np.full(node_count, -2, np.int32)
    lowest = np.zeros(node_count, np.int32)
    path = np.empty(node_count, np.int32)
    ways = np.empty(node_count, np.int32)
    came_by = np.empty(node_count, np.int32)
    for topic in range(len(topic_starts) - 1):
        set_members(topic_starts, topic_nodes, topic, numbers, -1)
        counter = 0
        for place in range(topic_starts[topic], topic_starts[topic + 1]):
            root = topic_nodes[place]
            if numbers[root] >= 0:
                continue
            path[0], ways[0], came_by[0] = root, graph.first[root], -2
            numbers[root] = lowest[root] = counter
            counter += 1
            depth = 0
            while depth >= 0:
                node = path[depth]
                half = ways[depth]
                if half < 0:
                    depth -= 1
                    if depth >= 0:
                        above = path[depth]
                        lowest[above] = min(lowest[above], lowest[node])
                        if lowest[node] > numbers[above]:
                            needs[came_by[depth + 1] >> 1] += 1
                    continue
                ways[depth] = graph.after[half]
                other = graph.ends[half]
                if other < 0 or numbers[other] == -2 or (half >> 1) == (came_by[depth] >> 1):
                    continue
                if numbers[other] == -1:
                    numbers[other] = lowest[other] = counter
                    counter += 1
                    depth += 1
                    path[depth], ways[depth], came_by[depth] = other, graph.first[other], half
                else:
                    lowest[node] = min(lowest[node], numbers[other])
        set_members(topic_starts, topic_nodes, topic, numbers, -2)


@kernel
def remove_spare(
    graph: LinkGraph,
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    order: NDArray[np.int64],
) -> int:
    """Remove links that no topic needs, in this order; returns how many were removed."""
    node_count = len(graph.first)
    needs = np.zeros(len(graph.ends) // 2, np.int32)
    count_bridges(graph, topic_starts, topic_nodes, needs)
    depths = np.full(node_count, -2, np.int32)
    queue, parents = np.empty(node_count, np.int32), np.empty(node_count, np.int32)
    shared = np.empty(len(topic_starts) - 1, np.int32)
    removed = 0
    for number in order:
        half = 2 * number
        # A link that is needed now is still needed after others have been removed.
        if graph.ends[half] < 0 or needs[number] > 0:
            continue
        v, u = graph.ends[half], graph.ends[half + 1]
        is_spare = True
        for i in range(shared_topics(node_starts, node_topics, u, v, shared)):
            set_members(topic_starts, topic_nodes, shared[i], depths, -1)
            reach(graph, u, half, depths, queue, parents, -1)
            is_spare = depths[v] >= 0
            set_members(topic_starts, topic_nodes, shared[i], depths, -2)
            if not is_spare:
                break
        if is_spare:
            remove_link(graph, half)
            removed += 1
    return removed


@kernel
def move_links(
    graph: LinkGraph,
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    order: NDArray[np.int64],
    richer: bool,
) -> int:
    """Move one end of each link, in this order, to a better node if there is one; returns how many links moved.

    Without the link, each topic that needs it splits in two. Any node that is on the same side as an end in all these
    topics can replace that end. With `richer` the new link must carry more topics, or as many with a new end that has
    fewer links. Otherwise the new end must have at least two links fewer, so that a move never just swaps two degrees.
    """
    node_count = len(graph.first)
    depths = np.full(node_count, -2, np.int32)
    queue, parents = np.empty(node_count, np.int32), np.empty(node_count, np.int32)
    side = np.empty(node_count, np.int32)
    shared = np.empty(len(topic_starts) - 1, np.int32)
    scratch = np.empty(len(topic_starts) - 1, np.int32)
    moved = 0
    for number in order:
        if graph.used[0] + 2 > len(graph.ends):
            break
        half = 2 * number
        if graph.ends[half] < 0:
            continue
        for half_too in (half, half + 1):
            stays, goes = graph.ends[half_too], graph.ends[half_too ^ 1]
            carried = shared_topics(node_starts, node_topics, stays, goes, shared)
            _smallest_first(topic_starts, shared, carried)
            needed = 0
            side_count = 0
            for i in range(carried):
                if needed > 0 and side_count < 2:
                    break  # only the end itself is on this side in all topics
                set_members(topic_starts, topic_nodes, shared[i], depths, -1)
                count = reach(graph, goes, half, depths, queue, parents, -1)
                if depths[stays] < 0:
                    needed += 1
                    if needed == 1:
                        side_count = count
                        side[:count] = queue[:count]
                    kept = 0
                    for k in range(side_count):
                        if depths[side[k]] >= 0:
                            side[kept] = side[k]
                            kept += 1
                    side_count = kept
                set_members(topic_starts, topic_nodes, shared[i], depths, -2)
            best, best_carried = -1, 0
            for k in range(side_count):
                other = side[k]
                if other == goes or graph.degrees[other] + 1 > graph.degrees[goes] - (not richer):
                    continue
                carries = 0
                if richer:
                    carries = shared_topics(node_starts, node_topics, other, stays, scratch)
                    if carries < carried or (carries == carried and graph.degrees[other] + 1 >= graph.degrees[goes]):
                        continue
                if best >= 0 and (
                    carries < best_carried or (carries == best_carried and graph.degrees[other] >= graph.degrees[best])
                ):
                    continue
                if not are_linked(graph, other, stays):
                    best, best_carried = other, carries
            if best >= 0:
                remove_link(graph, half)
                add_link(graph, best, stays)
                moved += 1
                break
    return moved
