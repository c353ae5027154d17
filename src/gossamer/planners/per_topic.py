"""A separate overlay for each topic; a link that several topics choose is counted once.

These are baselines: the cost of designs that do not share links between topics on purpose.
Cost: O(s log s) for s subscriptions.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose

U64 = np.uint64


def ring_per_topic(interest: Interest) -> Overlay:
    """A ring through the nodes of each topic, in the order of their ids (SpiderCast, 3.9.2)."""
    nodes, topics = interest.topic_nodes, _topic_of_each(interest)
    together = topics[1:] == topics[:-1]
    closing = np.flatnonzero(interest.popularity > 2)
    first, last = interest.topic_starts[closing], interest.topic_starts[closing + 1] - 1
    u = np.concatenate((nodes[:-1][together], nodes[first]))
    v = np.concatenate((nodes[1:][together], nodes[last]))
    return Overlay.from_links(u, v, interest.node_count)


def mesh_per_topic(interest: Interest, links: int, seed: int) -> Overlay:
    """A random mesh for each topic, in which each node has about `links` links, as in gossipsub.

    Every subscription has `links` stubs, or one for each other holder if there are fewer. The stubs of a topic are
    paired at random. Repeated pairs are merged and self-loops are removed, so degrees are slightly below `links`.
    """
    nodes, topics = interest.topic_nodes, _topic_of_each(interest)
    stubs = np.minimum(links, interest.popularity[topics] - 1)
    owners, pools = np.repeat(nodes, stubs), np.repeat(topics, stubs)
    order = np.lexsort((draws(U64(seed), U64(Purpose.MESH), U64(0), len(owners)), pools))
    owners, pools = owners[order], pools[order]
    place = np.arange(len(pools)) - np.searchsorted(pools, pools, side="left")
    heads = np.flatnonzero((place[:-1] % 2 == 0) & (pools[1:] == pools[:-1]))
    return Overlay.from_links(owners[heads], owners[heads + 1], interest.node_count)


def _topic_of_each(interest: Interest) -> NDArray[np.int64]:
    return np.repeat(np.arange(interest.topic_count), interest.popularity)
