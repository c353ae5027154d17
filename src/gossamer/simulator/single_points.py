"""Single points of failure: the nodes without which a topic falls apart.

A node is one for a topic if it is an articulation point of the topic's overlay. One depth-first search for each topic
(Tarjan) finds all of them, with the number of other nodes that each cuts off. Plain Python: about two seconds for a
million links of topics.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay


def single_points(overlay: Overlay, interest: Interest) -> Iterator[tuple[int, int, int]]:
    """(node, topic, nodes that are cut off without it) of every single point of failure, by topic and then by node.

    When the node is removed, its component of the topic falls into parts; all but the largest part are cut off.
    """
    places = np.full(overlay.node_count, -1)
    for topic in np.flatnonzero(interest.popularity > 2).tolist():
        nodes = interest.nodes_of(topic)
        places[nodes] = np.arange(len(nodes))
        links = [[int(place) for place in places[overlay.neighbours_of(node)] if place >= 0] for node in nodes]
        places[nodes] = -1
        for place, cut in sorted(_cut_off(links)):
            yield int(nodes[place]), topic, cut


def _cut_off(links: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """(node, nodes cut off) of every articulation point of a graph, which is given by the neighbours of each node."""
    count = len(links)
    entered, lowest, sizes = [-1] * count, [0] * count, [1] * count
    # The sizes of the parts below a node that hang on it alone.
    parts: list[list[int]] = [[] for _ in range(count)]
    for root in range(count):
        if entered[root] >= 0:
            continue
        clock = entered[root] = lowest[root] = 0
        found, trail = [root], [(root, -1, iter(links[root]))]
        while trail:
            node, above, left = trail[-1]
            other = next(left, None)
            if other is not None:
                if entered[other] < 0:
                    clock += 1
                    entered[other] = lowest[other] = clock
                    found.append(other)
                    trail.append((other, node, iter(links[other])))
                elif other != above:
                    lowest[node] = min(lowest[node], entered[other])
                continue
            trail.pop()
            if above >= 0:
                lowest[above] = min(lowest[above], lowest[node])
                sizes[above] += sizes[node]
                if lowest[node] >= entered[above]:
                    parts[above].append(sizes[node])
        for node in found:
            rest = len(found) - 1 - sum(parts[node])
            pieces = [*parts[node], rest] if rest else parts[node]
            if len(pieces) > 1:
                yield node, sum(pieces) - max(pieces)
