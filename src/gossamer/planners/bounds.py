"""Lower bounds on the number of links and on the maximum degree of every topic-connected overlay.

Let w(u, v) be the number of topics that u and v share, and m(v, t) = 1 / max w(v, u) over the other holders u of t.

Degree of node v: each topic of v that another node holds must be carried by one of v's links (by k of them with
redundancy k). Give topic t the price m(v, t). A link (u, v) carries w(u, v) topics, each with a price of at most
1 / w(u, v), so the prices on one link add up to at most 1. The degree of v is therefore at least the sum of the prices
of its topics.

Number of links: give topic t the share 1 / w(u, v) of each link (u, v) that carries it. The shares of a link add up to
1, so the number of links is the sum, over all topics, of the shares in the topic's overlay. That overlay is connected
and contains a spanning tree. Root the tree at any node: every other node v has a link to its parent, whose share is at
least m(v, t). Topic t therefore needs at least the sum of m(v, t) over all its holders except one. Two more bounds:
half the sum of all degree bounds, and the size of a spanning forest over nodes that share topics.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gossamer.kernels.planning.bounds import least_needs
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.progress import Progress, silent

# Sums of shares are rounded up, but not if they exceed a whole number by no more than this rounding error.
ROUNDING = 1e-6
# Chosen: nodes between two reports of progress.
NODES_AT_ONCE = 4_096


@dataclass(frozen=True)
class LowerBounds:
    """No topic-connected overlay has fewer links or a smaller maximum degree than these."""

    links: int
    max_degree: int


def lower_bounds(interest: Interest, redundancy: int = 1, progress: Progress = silent) -> LowerBounds:
    """Bounds for all overlays with this redundancy. Cost: four reads for each pair of holders of each topic."""
    node_count = interest.node_count
    node_sums = np.zeros(node_count)
    topic_sums, topic_most = np.zeros(interest.topic_count), np.zeros(interest.topic_count)
    for first in range(0, node_count, NODES_AT_ONCE):
        last = min(first + NODES_AT_ONCE, node_count)
        rows = interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes
        least_needs(*rows, redundancy, first, last, node_sums, topic_sums, topic_most)
        progress("bounding from below", last, node_count)
    degrees = np.ceil(node_sums - ROUNDING).astype(np.int64)
    trees = ceil(float((topic_sums - topic_most).sum()) - ROUNDING)
    links = max(trees, -(-int(degrees.sum()) // 2), _forest(interest))
    active = int((degrees > 0).sum())
    return LowerBounds(links, max(int(degrees.max(initial=0)), -(-2 * links // active) if active else 0))


def _forest(interest: Interest) -> int:
    """The number of links of a spanning forest of the graph in which nodes that share a topic are linked."""
    first = (
        np.repeat(
            interest.topic_nodes[np.minimum(interest.topic_starts[:-1], max(interest.subscription_count - 1, 0))],
            interest.popularity,
        )
        if interest.subscription_count
        else np.zeros(0, np.int32)
    )
    graph = coo_array((np.ones(len(first), np.bool_), (first, interest.topic_nodes)), shape=(interest.node_count,) * 2)
    parts = connected_components(graph, directed=False, return_labels=False) if interest.node_count else 0
    return interest.node_count - int(parts)
