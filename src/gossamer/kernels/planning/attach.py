"""Overlays that survive failures: in each of its topics every node is linked to k earlier nodes."""

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
    """Attach nodes first .. last - 1, in the order in which every topic lists them; returns the number of new links.

    Kept links (in compressed rows by node) count first. The next neighbour is the earlier node that serves the most
    topics which still need a neighbour; ties go to the node with the fewest links, then to the lowest number.
    Afterwards chosen neighbours that no topic needs are dropped again.
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
        # No topic needs more neighbours than it has earlier holders, so all needs are met and all counts are zero now.
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
    """Add `change` to the count of every topic that two nodes share."""
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
    """`other` serves the topics that it shares with `node`; a topic that needs no more neighbours stops counting."""
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
    """Drop chosen neighbours that no topic needs, the first ones first; returns how many stay.

    `served` counts the kept links of each topic before the call and is zero after it.
    """
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
