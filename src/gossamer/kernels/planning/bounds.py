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


@kernel
def most_shared(
    row_starts: Starts,
    own_topics: Ids,
    list_starts: Starts,
    lists: Ids,
    sizes: Starts,
    has_lists: NDArray[np.bool_],
    list_topics: int,
    most: Starts,
) -> None:
    """For each holder of each topic: the largest number of topics that it shares with another holder of the topic.

    Rows row_starts[t] .. row_starts[t + 1] - 1 are the holders of topic t, which is `own_topics[t]` in the lists. A row
    has the list of all topics of its node and their number. Where `has_lists` is false, the answer is the number of
    topics of each node, which is never too small. A topic of one holder leaves `most` as it is. Only shared topics other than t are read, so that the cost grows with
    the links that carry more than one topic, and not with all pairs of holders.
    """
    heads = np.full(list_topics, -1, np.int64)
    following = np.empty(len(lists), np.int64)
    owners = np.empty(len(lists), np.int64)
    counts = np.zeros(len(sizes), np.int32)
    for topic in range(len(row_starts) - 1):
        first, last = row_starts[topic], row_starts[topic + 1]
        if last - first < 2:
            continue
        if not has_lists[topic]:
            most[first:last] = sizes[first:last]
            continue
        own = own_topics[topic]
        for row in range(first, last):
            for i in range(list_starts[row], list_starts[row + 1]):
                owners[i] = row
                following[i] = heads[lists[i]]
                heads[lists[i]] = i
        for row in range(first, last):
            best = 0
            for i in range(list_starts[row], list_starts[row + 1]):
                j = heads[lists[i]] if lists[i] != own else -1
                while j >= 0:
                    if owners[j] != row:
                        counts[owners[j]] += 1
                        best = max(best, counts[owners[j]])
                    j = following[j]
            most[row] = best + 1
            for i in range(list_starts[row], list_starts[row + 1]):
                j = heads[lists[i]] if lists[i] != own else -1
                while j >= 0:
                    counts[owners[j]] = 0
                    j = following[j]
        for i in range(list_starts[first], list_starts[last]):
            heads[lists[i]] = -1
