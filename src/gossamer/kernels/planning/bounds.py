"""Sums for the lower bounds on links and degrees; `planners/bounds.py` has the proof."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts

Sums = NDArray[np.float64]


@kernel
def least_needs(
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    redundancy: int,
    first: int,
    last: int,
    node_sums: Sums,
    topic_sums: Sums,
    topic_most: Sums,
) -> None:
    """For nodes first .. last - 1: add the smallest share of a link that each topic needs, by node and by topic."""
    counts = np.zeros(len(node_starts) - 1, np.int32)
    for node in range(first, last):
        for i in range(node_starts[node], node_starts[node + 1]):
            for place in range(topic_starts[node_topics[i]], topic_starts[node_topics[i] + 1]):
                counts[topic_nodes[place]] += 1
        counts[node] = 0
        for i in range(node_starts[node], node_starts[node + 1]):
            topic = node_topics[i]
            most = 0
            for place in range(topic_starts[topic], topic_starts[topic + 1]):
                most = max(most, counts[topic_nodes[place]])
            if most > 0:
                others = topic_starts[topic + 1] - topic_starts[topic] - 1
                node_sums[node] += min(redundancy, others) / most
                topic_sums[topic] += 1 / most
                topic_most[topic] = max(topic_most[topic], 1 / most)
        for i in range(node_starts[node], node_starts[node + 1]):
            for place in range(topic_starts[node_topics[i]], topic_starts[node_topics[i] + 1]):
                counts[topic_nodes[place]] = 0
