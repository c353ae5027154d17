"""A small set of nodes that together hold all topics of a larger set."""

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


@kernel
def cover_topics(node_starts: Starts, node_topics: Ids, nodes: Ids, wants: Ids, chosen: Ids) -> int:
    """Greedy cover: repeatedly choose the node that holds the most topics which still need a holder; returns how many.

    `wants[t]` is the number of holders that topic t needs; needs that cannot be met stay in it. The worth of a node
    never grows, so an old value is an upper bound: a node is recomputed only when its bound reaches the current level.
    """
    worth = np.zeros(len(nodes), np.int64)
    most = np.int64(0)
    for k in range(len(nodes)):
        for i in range(node_starts[nodes[k]], node_starts[nodes[k] + 1]):
            worth[k] += wants[node_topics[i]] > 0
        most = max(most, worth[k])
    count = 0
    for level in range(most, 0, -1):
        for k in range(len(nodes)):
            if worth[k] < level:
                continue
            now = 0
            for i in range(node_starts[nodes[k]], node_starts[nodes[k] + 1]):
                now += wants[node_topics[i]] > 0
            worth[k] = now
            if now < level:
                continue
            chosen[count] = nodes[k]
            count += 1
            worth[k] = 0
            for i in range(node_starts[nodes[k]], node_starts[nodes[k] + 1]):
                if wants[node_topics[i]] > 0:
                    wants[node_topics[i]] -= 1
    return count
