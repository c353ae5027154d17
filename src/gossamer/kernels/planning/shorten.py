"""Links that reduce the diameter of topic overlays."""

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.kernels.planning.graph import LinkGraph, add_link, are_linked, reach, set_members
from gossamer.model.arrays.types import Ids, Starts


@kernel
def shorten_topic(
    graph: LinkGraph,
    topic_starts: Starts,
    topic_nodes: Ids,
    topic: int,
    diameter: int,
    depths: Ids,
    queue: Ids,
    parents: Ids,
) -> int:
    """Add links until all holders are within half the diameter of the centre; returns the number of links.

    The centre is the middle of a long path, which two searches find; if the diameter is odd, its neighbour on the path
    is part of the centre. In each step the deepest holder is moved closer together with the subtree below one of its
    ancestors: that ancestor is linked to the node with the fewest links among the nodes near the centre. Nodes within
    half of the radius count as near, so that the new links do not all end at one node. If the radius is too small for
    that, all links end at the centre, which is then the holder with the most links, because other topics have probably
    chosen it too. Stops early when the graph has no room for more links.
    """
    begin, end = topic_starts[topic], topic_starts[topic + 1]
    radius = diameter // 2
    near = (radius - 1) // 2
    if near > 0:
        centre, beside = _middle(graph, topic_starts, topic_nodes, topic, depths, queue, parents)
    else:
        centre, beside = _hub(graph, topic_starts, topic_nodes, topic, depths)
    if diameter % 2 == 0:
        beside = -1
    added = 0
    while graph.used[0] + 2 <= len(graph.ends):
        set_members(topic_starts, topic_nodes, topic, depths, -1)
        count = reach(graph, centre, -2, depths, queue, parents, beside)
        deepest = queue[count - 1]
        best = -1
        if depths[deepest] > radius:
            for _ in range(radius - 1 - near):
                deepest = parents[deepest]
            for place in range(begin, end):
                node = topic_nodes[place]
                if (
                    0 <= depths[node] <= near
                    and (best < 0 or graph.degrees[node] < graph.degrees[best])
                    and not are_linked(graph, node, deepest)
                ):
                    best = node
        set_members(topic_starts, topic_nodes, topic, depths, -2)
        if best < 0:
            break
        add_link(graph, best, deepest)
        added += 1
    return added


@kernel
def _middle(
    graph: LinkGraph, topic_starts: Starts, topic_nodes: Ids, topic: int, depths: Ids, queue: Ids, parents: Ids
) -> tuple[int, int]:
    """Two neighbours in the middle of a long path: from a node far from one holder to the node farthest from it."""
    far = np.int64(topic_nodes[topic_starts[topic]])
    for _ in range(2):
        set_members(topic_starts, topic_nodes, topic, depths, -1)
        count = reach(graph, far, -2, depths, queue, parents, -1)
        far = np.int64(queue[count - 1])
    length = np.int64(depths[far])
    middle = far
    for _ in range(length // 2):
        middle = np.int64(parents[middle])
    beside = np.int64(parents[middle])
    set_members(topic_starts, topic_nodes, topic, depths, -2)
    return middle, beside


@kernel
def _hub(graph: LinkGraph, topic_starts: Starts, topic_nodes: Ids, topic: int, depths: Ids) -> tuple[int, int]:
    """The holder with the most links, and the holder with the most links among its neighbours."""
    hub = np.int64(topic_nodes[topic_starts[topic]])
    for place in range(topic_starts[topic], topic_starts[topic + 1]):
        if graph.degrees[topic_nodes[place]] > graph.degrees[hub]:
            hub = np.int64(topic_nodes[place])
    beside = np.int64(-1)
    set_members(topic_starts, topic_nodes, topic, depths, -1)
    half = graph.first[hub]
    while half >= 0:
        other = np.int64(graph.ends[half])
        if other >= 0 and depths[other] == -1 and (beside < 0 or graph.degrees[other] > graph.degrees[beside]):
            beside = other
        half = graph.after[half]
    set_members(topic_starts, topic_nodes, topic, depths, -2)
    return hub, beside


@kernel
def complete_topic(graph: LinkGraph, topic_starts: Starts, topic_nodes: Ids, topic: int, marks: Ids) -> int:
    """Link all holders of a topic to each other; returns the number of new links."""
    added = 0
    for place in range(topic_starts[topic], topic_starts[topic + 1]):
        node = topic_nodes[place]
        half = graph.first[node]
        while half >= 0:
            if graph.ends[half] >= 0:
                marks[graph.ends[half]] = node
            half = graph.after[half]
        for other_place in range(place + 1, topic_starts[topic + 1]):
            other = topic_nodes[other_place]
            if marks[other] != node and graph.used[0] + 2 <= len(graph.ends):
                add_link(graph, node, other)
                added += 1
    return np.int64(added)
