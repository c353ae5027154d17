"""A flood on a topic overlay that does not change: the result of `protocols/dissemination/flood.py`, without messages.

If all links have the same latency, a flood reaches a node over a shortest path. Every node that is reached sends to all
its neighbours in the topic except the first sender. Cost: the number of links of the topic overlay.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel


@kernel
def flood(
    publisher: int,
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    hops: NDArray[np.int32],
    copies: NDArray[np.int32],
) -> int:
    """Fill `hops` (-1: not reached) and the `copies` that each node receives; returns the number of messages.

    `holds` marks the nodes that hold the topic.
    """
    hops[:] = -1
    copies[:] = 0
    hops[publisher] = 0
    queue = np.empty(len(hops), np.int32)
    heard_from = np.full(len(hops), -1, np.int32)
    queue[0] = publisher
    reached = 1
    head = 0
    messages = 0
    while head < reached:
        node = queue[head]
        head += 1
        for i in range(starts[node], starts[node + 1]):
            other = neighbours[i]
            if not holds[other] or other == heard_from[node]:
                continue
            messages += 1
            copies[other] += 1
            if hops[other] < 0:
                hops[other] = hops[node] + 1
                heard_from[other] = node
                queue[reached] = other
                reached += 1
    return messages
