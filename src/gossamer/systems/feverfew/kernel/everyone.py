"""Algorithm 3 for a node that knows all interests: the cover of each node among all other nodes."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

COVER = U64(Purpose.COVER_TIE)


@kernel
def cover_among_all(
    seed: U64,
    starts: NDArray[np.int64],
    topics: NDArray[np.int32],
    topic_starts: NDArray[np.int64],
    topic_nodes: NDArray[np.int32],
    needs: NDArray[np.int16],
    first: int,
    last: int,
    chosen_starts: NDArray[np.int64],
    chosen: NDArray[np.int32],
    sizes: NDArray[np.int32],
) -> None:
    """The covers of the nodes from `first` to `last`, by the greatest number of shared uncovered topics.

    `starts` and `topics` are the interests by node, `topic_starts` and `topic_nodes` the same by topic, `needs` the
    neighbours that a subscriber of each topic needs. The cover of a node is written to `chosen` from its place in
    `chosen_starts`, and its size to `sizes`. Cost for a node: the subscribers of its topics, for each node that it chooses.
    """
    node_count = starts.shape[0] - 1
    counts = np.zeros(node_count, np.int32)
    met = np.empty(node_count, np.int32)
    ties = np.empty(node_count, np.uint64)
    missing = np.zeros(needs.shape[0], np.int16)
    for me in range(first, last):
        base = draw_base(seed, U64(me), COVER, U64(0))
        left = 0
        for s in range(starts[me], starts[me + 1]):
            topic = topics[s]
            missing[topic] = needs[topic]
            if missing[topic] <= 0:
                continue
            for i in range(topic_starts[topic], topic_starts[topic + 1]):
                node = topic_nodes[i]
                if counts[node] == 0 and node != me:
                    met[left] = node
                    ties[node] = finish(base + U64(node) * ITEM_FACTOR)
                    left += 1
                counts[node] += 1
        size = 0
        while left > 0:
            best = _best(counts, met, ties, left)
            if best < 0:
                break
            chosen[chosen_starts[me] + size] = best
            size += 1
            counts[best] = 0
            _cover(best, starts, topics, topic_starts, topic_nodes, missing, counts)
            left = _drop_useless(counts, met, left)
        sizes[me] = size
        for s in range(starts[me], starts[me + 1]):
            missing[topics[s]] = 0
        counts[me] = 0


@kernel
def _best(counts: NDArray[np.int32], met: NDArray[np.int32], ties: NDArray[np.uint64], left: int) -> int:
    """The node with the greatest count, then the smallest tie; -1 if no count is above 0."""
    best = -1
    most = 0
    for i in range(left):
        node = met[i]
        if counts[node] > most or (counts[node] == most and best >= 0 and ties[node] < ties[best]):
            best, most = node, counts[node]
    return best


@kernel
def _cover(
    node: int,
    starts: NDArray[np.int64],
    topics: NDArray[np.int32],
    topic_starts: NDArray[np.int64],
    topic_nodes: NDArray[np.int32],
    missing: NDArray[np.int16],
    counts: NDArray[np.int32],
) -> None:
    """A chosen node covers its topics once more; a topic that needs no more neighbours no longer counts for anybody."""
    for s in range(starts[node], starts[node + 1]):
        topic = topics[s]
        if missing[topic] <= 0:
            continue
        missing[topic] -= 1
        if missing[topic] == 0:
            for i in range(topic_starts[topic], topic_starts[topic + 1]):
                if counts[topic_nodes[i]] > 0:
                    counts[topic_nodes[i]] -= 1


@kernel
def _drop_useless(counts: NDArray[np.int32], met: NDArray[np.int32], left: int) -> int:
    kept = 0
    for i in range(left):
        if counts[met[i]] > 0:
            met[kept] = met[i]
            kept += 1
    return kept
