"""Links that make topic overlays shallow."""

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.kernels.planning.graph import Graph, add_link, reach, set_members
from gossamer.kernels.planning.state import Ids, Starts


@kernel
def shorten_topic(
    graph: Graph, topic_starts: Starts, topic_nodes: Ids, topic: int, radius: int, depths: Ids, queue: Ids, parents: Ids
) -> int:
    """Add links from one node of a topic until all others are within `radius` of it; returns how many.

    The node is the one with most links among the holders. Whoever is deepest is brought near by a link to its ancestor
    `radius` - 1 steps up, with all that hangs below that one. Stops early when the graph is full.
    """
    if topic_starts[topic + 1] - topic_starts[topic] < 2:
        return 0
    centre = topic_nodes[topic_starts[topic]]
    for place in range(topic_starts[topic], topic_starts[topic + 1]):
        if graph.degrees[topic_nodes[place]] > graph.degrees[centre]:
            centre = topic_nodes[place]
    added = 0
    while graph.used[0] + 2 <= len(graph.ends):
        set_members(topic_starts, topic_nodes, topic, depths, -1)
        count = reach(graph, centre, -2, depths, queue, parents)
        deepest = queue[count - 1]
        is_shallow = depths[deepest] <= radius
        if not is_shallow:
            for _ in range(radius - 1):
                deepest = parents[deepest]
        set_members(topic_starts, topic_nodes, topic, depths, -2)
        if is_shallow:
            break
        add_link(graph, centre, deepest)
        added += 1
    return added


@kernel
def complete_topic(graph: Graph, topic_starts: Starts, topic_nodes: Ids, topic: int, marks: Ids) -> int:
    """Link all holders of a topic to each other; returns how many links that took."""
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
