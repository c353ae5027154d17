"""Gossip on an overlay that does not change: the result of `systems/gossip/machine.py`, for many events.

Each random decision is keyed by event, node and neighbour, so the nodes that an event reaches do not depend on the
order of processing. If all links have the same latency, an event spreads hop by hop, so a breadth-first search gives
the same result. Cost: the number of links of the nodes reached.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import STEPS, Purpose

GOSSIP = U64(Purpose.GOSSIP)
NAMES = U64(STEPS)


@kernel
def disseminate(
    seed: U64,
    publisher: int,
    sequence: int,
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    gossip: float,
    ttl: int,
    hops: NDArray[np.int32],
    heard_from: NDArray[np.int32],
    queue: NDArray[np.int32],
    coins: NDArray[np.bool_],
) -> tuple[int, int]:
    """One event: fill `queue` with the nodes reached, in order; returns their number and the number of messages.

    `hops` must be -1 everywhere before the call; afterwards it has the distances of the nodes reached. `holds` marks
    the subscribers. The last four arrays have an entry for each node.
    """
    # The condition unit(bits) < gossip, as a comparison of whole numbers.
    below = U64(np.ceil(gossip * 2.0**53))
    counter = U64(publisher) * NAMES + U64(sequence)
    hops[publisher] = 0
    heard_from[publisher] = -1
    queue[0] = publisher
    reached = 1
    head = 0
    messages = 0
    while head < reached:
        node = queue[head]
        head += 1
        if hops[node] >= ttl:
            break
        base = draw_base(seed, U64(node), GOSSIP, counter)
        row = neighbours[starts[node] : starts[node + 1]]
        parent = heard_from[node]
        # Draw all decisions first: this loop can be vectorised.
        for i in range(len(row)):
            coins[i] = (finish(base + U64(row[i]) * ITEM_FACTOR) >> U64(11)) < below
        for i in range(len(row)):
            other = row[i]
            # No branch on the random decision, because the processor cannot predict it.
            sent = (holds[other] | coins[i]) & (other != parent)
            messages += sent
            if sent & (hops[other] < 0):
                hops[other] = hops[node] + 1
                heard_from[other] = node
                queue[reached] = other
                reached += 1
    return reached, messages


@kernel
def disseminate_many(
    seed: U64,
    publishers: NDArray[np.int64],
    sequences: NDArray[np.int64],
    topics: NDArray[np.int64],
    topic_starts: NDArray[np.int64],
    topic_nodes: NDArray[np.int32],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    gossip: float,
    ttl: int,
) -> NDArray[np.int64]:
    """A row for each event: nodes reached (with the publisher), subscribers among them, messages, most hops."""
    node_count = len(starts) - 1
    hops = np.full(node_count, -1, np.int32)
    heard_from = np.empty(node_count, np.int32)
    queue = np.empty(node_count, np.int32)
    coins = np.empty(node_count, np.bool_)
    holds = np.zeros(node_count, np.bool_)
    rows = np.zeros((len(publishers), 4), np.int64)
    for event in range(len(publishers)):
        holders = topic_nodes[topic_starts[topics[event]] : topic_starts[topics[event] + 1]]
        for node in holders:
            holds[node] = True
        reached, messages = disseminate(
            seed,
            publishers[event],
            sequences[event],
            holds,
            starts,
            neighbours,
            gossip,
            ttl,
            hops,
            heard_from,
            queue,
            coins,
        )
        row = rows[event]
        row[0], row[2], row[3] = reached, messages, hops[queue[reached - 1]]
        for i in range(reached):
            row[1] += holds[queue[i]]
            hops[queue[i]] = -1
        for node in holders:
            holds[node] = False
    return rows
