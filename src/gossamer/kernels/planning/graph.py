"""A graph in which links can be added and removed, and searches within one topic.

Each link is a pair of half-links h and h ^ 1, kept in linked lists: `first[v]` is the first half-link of node v, and
`after[h]` the next one in its list. Half-link h leads to the node `ends[h]`; the ends of a removed link are -1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


class LinkGraph(NamedTuple):
    """A graph with room for a number of links; `used[0]` is the number of half-links ever added."""

    first: Ids
    after: Ids
    ends: Ids
    degrees: Ids
    used: NDArray[np.int64]


@kernel
def add_link(graph: LinkGraph, u: int, v: int) -> int:
    """Add a link and return its first half-link."""
    half = graph.used[0]
    graph.used[0] += 2
    graph.ends[half] = v
    graph.after[half] = graph.first[u]
    graph.first[u] = half
    graph.ends[half + 1] = u
    graph.after[half + 1] = graph.first[v]
    graph.first[v] = half + 1
    graph.degrees[u] += 1
    graph.degrees[v] += 1
    return half


@kernel
def add_links(graph: LinkGraph, u: Ids, v: Ids) -> None:
    """Add many links."""
    for i in range(len(u)):
        add_link(graph, u[i], v[i])


@kernel
def remove_link(graph: LinkGraph, half: int) -> None:
    """Remove the link of a half-link."""
    graph.degrees[graph.ends[half]] -= 1
    graph.degrees[graph.ends[half ^ 1]] -= 1
    graph.ends[half] = graph.ends[half ^ 1] = -1


@kernel
def are_linked(graph: LinkGraph, u: int, v: int) -> bool:
    """Whether two nodes are neighbours."""
    half = graph.first[u]
    while half >= 0:
        if graph.ends[half] == v:
            return True
        half = graph.after[half]
    return False


@kernel
def set_members(topic_starts: Starts, topic_nodes: Ids, topic: int, depths: Ids, value: int) -> None:
    """Set the depth of every holder of a topic: -1 means not reached yet, -2 not part of the search."""
    for place in range(topic_starts[topic], topic_starts[topic + 1]):
        depths[topic_nodes[place]] = value


@kernel
def reach(graph: LinkGraph, start: int, without: int, depths: Ids, queue: Ids, parents: Ids, beside: int) -> int:
    """Breadth-first search from `start` through nodes of depth -1; returns the number of nodes reached.

    The search ignores the link of half-link `without` (-2: none) and also starts at the node `beside` (-1: none). Nodes
    are in `queue` in the order in which they were reached; `depths` and `parents` are filled.
    """
    depths[start] = 0
    parents[start] = -1
    queue[0] = start
    count = 1
    if beside >= 0:
        depths[beside] = 0
        parents[beside] = -1
        queue[1] = beside
        count = 2
    head = 0
    while head < count:
        node = queue[head]
        head += 1
        half = graph.first[node]
        while half >= 0:
            other = graph.ends[half]
            if other >= 0 and depths[other] == -1 and (half | 1) != (without | 1):
                depths[other] = depths[node] + 1
                parents[other] = node
                queue[count] = other
                count += 1
            half = graph.after[half]
    return count
