"""A few nodes that hold, between them, every topic of many."""

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


@kernel
def cover_topics(node_starts: Starts, node_topics: Ids, nodes: Ids, wants: Ids, chosen: Ids) -> int:
    """Greedy cover: who of `nodes` holds most topics that still want a holder, again and again; returns how many.

    `wants[t]` is how many holders topic t wants; what cannot be had is left there. A node's worth only falls, so a bound
    on it is enough until it is the best: nodes are kept by their bounds, and moved down when looked at in vain.
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
