"""Lower bounds on links and maximum degree: how far from the best a plan can be.

Let w(u, v) be the number of topics that u and v share, and m(v, t) = 1 / max w(v, u) over the other holders u of t.

Degree of v: each of its topics that somebody else holds must lie on one of its links (on k of them with redundancy k).
Give topic t the price m(v, t). A link (u, v) carries w(u, v) topics, none dearer than 1 / w(u, v), so it is worth at most
1; v has at least as many links as all its topics are worth.

Links: give topic t the share 1 / w(u, v) of each link (u, v) that carries it. The shares of a link add up to 1, so the
number of links is the sum over topics of the shares in each topic's overlay. That overlay is connected, so it holds a
tree; hang the tree up at any node, and every other node v has a link upwards whose share is at least m(v, t). So topic t
takes at least the sum of m(v, t) over its holders but one. The half of all degrees is a bound too, and so is a forest
over nodes that share topics.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gossamer.kernels.planning.bounds import least_needs
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.progress import Progress, silent

# Sums of shares are rounded up; what is above a whole number by rounding alone is not.
ROUNDING = 1e-6
# Chosen: nodes between two reports of progress.
NODES_AT_ONCE = 4_096


@dataclass(frozen=True)
class LowerBounds:
    """No overlay whose topics are all connected has fewer links, or a smaller maximum degree."""

    links: int
    max_degree: int


def lower_bounds(interest: Interest, redundancy: int = 1, progress: Progress = silent) -> LowerBounds:
    """Cost: four reads for each pair of holders of each topic."""
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
    """Links that hold those together who share topics, directly or through others."""
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
