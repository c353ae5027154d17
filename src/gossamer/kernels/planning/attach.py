"""Overlays that survive failures: every node is attached, in each of its topics, to k nodes that came before."""

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


@kernel
def attach_nodes(
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    places: Starts,
    redundancy: int,
    first: int,
    last: int,
    kept_starts: Starts,
    kept_nodes: Ids,
    degrees: Ids,
    links_u: Ids,
    links_v: Ids,
) -> int:
    """Attach nodes first .. last - 1, which stand in this order in every topic; returns how many links that took.

    Links that are kept (by node, compressed rows) serve first. The next neighbour is the earlier node that serves most topics which want one; among equals the one with fewest links,
    then the first. Afterwards a neighbour that every topic can spare is let go again.
    """
    node_count = len(node_starts) - 1
    counts = np.zeros(node_count, np.int32)
    reached = np.empty(node_count, np.int32)
    wants = np.zeros(len(topic_starts) - 1, np.int32)
    is_chosen = np.zeros(node_count, np.bool_)
    chosen = np.empty(node_count, np.int32)
    taken = 0
    for node in range(first, last):
        found = 0
        for i in range(node_starts[node], node_starts[node + 1]):
            wants[node_topics[i]] = min(redundancy, places[i] - topic_starts[node_topics[i]])
        for k in range(kept_starts[node], kept_starts[node + 1]):
            if kept_nodes[k] < node:
                is_chosen[kept_nodes[k]] = True
                _count_served(node_starts, node_topics, node, kept_nodes[k], wants, -1)
        for i in range(node_starts[node], node_starts[node + 1]):
            topic = node_topics[i]
            if wants[topic] <= 0:
                wants[topic] = 0
                continue
            for place in range(topic_starts[topic], places[i]):
                other = topic_nodes[place]
                if counts[other] == 0:
                    reached[found] = other
                    found += 1
                counts[other] += 1
        chosen_count = 0
        while True:
            best = -1
            kept = 0
            for k in range(found):
                other = reached[k]
                if counts[other] == 0:
                    continue
                reached[kept] = other
                kept += 1
                if is_chosen[other]:
                    continue
                if (
                    best < 0
                    or counts[other] > counts[best]
                    or (
                        counts[other] == counts[best]
                        and (degrees[other] < degrees[best] or (degrees[other] == degrees[best] and other < best))
                    )
                ):
                    best = other
            found = kept
            if best < 0:
                break
            is_chosen[best] = True
            chosen[chosen_count] = best
            chosen_count += 1
            _serve(node_starts, node_topics, topic_starts, topic_nodes, places, node, best, wants, counts)
        for k in range(chosen_count):
            is_chosen[chosen[k]] = False
        for k in range(kept_starts[node], kept_starts[node + 1]):
            if kept_nodes[k] < node:
                is_chosen[kept_nodes[k]] = False
                _count_served(node_starts, node_topics, node, kept_nodes[k], wants, 1)
        # A topic wants no more than there are who may serve it, so all wants are met and all counts are zero now.
        kept = _spare(node_starts, node_topics, topic_starts, places, redundancy, node, chosen, chosen_count, wants)
        for k in range(kept):
            links_u[taken] = chosen[k]
            links_v[taken] = node
            taken += 1
            degrees[chosen[k]] += 1
            degrees[node] += 1
    return taken


@kernel
def _count_served(node_starts: Starts, node_topics: Ids, node: int, other: int, counts: Ids, change: int) -> None:
    """Change the count of every topic that two nodes share."""
    i, j = node_starts[node], node_starts[other]
    while i < node_starts[node + 1] and j < node_starts[other + 1]:
        a, b = node_topics[i], node_topics[j]
        if a == b:
            counts[a] += change
        i += a <= b
        j += b <= a


@kernel
def _serve(
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    topic_nodes: Ids,
    places: Starts,
    node: int,
    other: int,
    wants: Ids,
    counts: Ids,
) -> None:
    """`other` serves what it shares; a topic that wants nobody any more no longer counts for anybody."""
    i, j = node_starts[node], node_starts[other]
    while i < node_starts[node + 1] and j < node_starts[other + 1]:
        a, b = node_topics[i], node_topics[j]
        if a == b and wants[a] > 0:
            wants[a] -= 1
            if wants[a] == 0:
                for place in range(topic_starts[a], places[i]):
                    counts[topic_nodes[place]] -= 1
        i += a <= b
        j += b <= a


@kernel
def _spare(
    node_starts: Starts,
    node_topics: Ids,
    topic_starts: Starts,
    places: Starts,
    redundancy: int,
    node: int,
    chosen: Ids,
    chosen_count: int,
    served: Ids,
) -> int:
    """Let go of the first chosen that all topics can spare; `served` counts kept links already, and is zero after."""
    for k in range(chosen_count):
        _count_served(node_starts, node_topics, node, chosen[k], served, 1)
    kept = 0
    for k in range(chosen_count):
        other = chosen[k]
        can_spare = True
        i, j = node_starts[node], node_starts[other]
        while i < node_starts[node + 1] and j < node_starts[other + 1]:
            a, b = node_topics[i], node_topics[j]
            if a == b:
                can_spare = can_spare and served[a] > min(redundancy, places[i] - topic_starts[a])
            i += a <= b
            j += b <= a
        if can_spare:
            _count_served(node_starts, node_topics, node, other, served, -1)
        else:
            chosen[kept] = other
            kept += 1
    for i in range(node_starts[node], node_starts[node + 1]):
        served[node_topics[i]] = 0
    return kept
