"""Plan in rounds of independent parts, for workloads whose links and subscriptions never meet in one memory.

Only links that join components in two or more topics save links: a link for one topic can be chosen at the end, topic
by topic. The first round divides the nodes and takes such links among the nodes of each part. Later rounds divide the
topics, each time differently: a part has all holders of its topics, with their components so far, and takes links among
nodes that were apart before. No two parts of a round join the same components. In the end a tree joins the components
that are left in each topic.

A component is named by its smallest node. Each function takes the rows (topic, node, component) of one part in any
order, so results depend on the division only, and not on where or in which order parts are planned.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import COUNTER_FACTOR, ITEM_FACTOR, NODE_FACTOR, PURPOSE_FACTOR, U64, finish_all
from gossamer.kernels.planning.bounds import most_shared
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.types import Integers
from gossamer.model.values.draw import Purpose
from gossamer.planners.greedy import GM, Draft

# Links of a part contribute to at least this many topics; trees take care of the rest.
LEAST_CONTRIBUTION = 2


def link_part(topics: Integers, nodes: Integers, components: Integers) -> tuple[Integers, Integers, Integers]:
    """The new links (u, v) of one part, and the new component of each row. No (topic, node) row may occur twice.

    Links are chosen by GM, but a node gets at most as many links in a part as it has topics there: without this limit
    a few nodes get hundreds of links.
    """
    order = np.lexsort((nodes, topics))
    node_ids, node_places = np.unique(nodes[order], return_inverse=True)
    topic_ids, topic_places = np.unique(topics[order], return_inverse=True)
    interest = Interest.from_pairs(node_places, topic_places, len(node_ids), len(topic_ids))
    labels = np.searchsorted(node_ids, components[order]).astype(np.int32)
    draft = Draft(interest, labels=labels)
    found = draft.connect(GM, capacities=interest.sizes.astype(np.int32), least=LEAST_CONTRIBUTION)
    links = node_ids[np.array(found, np.int64).reshape(-1, 2)]
    joined = np.empty_like(components)
    joined[order] = node_ids[draft.first_members()]
    return links[:, 0], links[:, 1], joined


def tree_links(topics: Integers, nodes: Integers, components: Integers, degrees: Integers) -> tuple[Integers, Integers]:
    """Links that join the components of each topic in a binary tree, so that paths stay short.

    The largest components are at the top of the tree, others in a random order. A component's up to three links go to
    its members with the fewest links so far; ties are broken at random.
    """
    ties = _draws(nodes, topics)
    order = np.lexsort((ties, degrees, components, topics))
    topics, nodes, components = topics[order], nodes[order], components[order]
    changes = (topics[1:] != topics[:-1]) | (components[1:] != components[:-1])
    starts = np.flatnonzero(np.concatenate((np.ones(min(len(topics), 1), np.bool_), changes)))
    sizes = np.diff(np.append(starts, len(topics)))
    ranked = np.lexsort((_draws(components[starts], topics[starts]), -sizes, topics[starts]))
    tops = np.searchsorted(topics[starts][ranked], topics[starts][ranked])
    places = np.arange(len(ranked)) - tops
    below = places > 0
    parents = ranked[tops[below] + (places[below] - 1) // 2]
    # Member 0 has the link upwards, members 1 and 2 those downwards, if there are as many.
    member = (2 - places[below] % 2) % sizes[parents]
    u, v = nodes[starts[ranked[below]]], nodes[starts[parents] + member]
    return np.minimum(u, v), np.maximum(u, v)


def count_needs(
    topics: Integers, sizes: Integers, list_starts: Integers, lists: Integers, has_list: NDArray[np.bool_]
) -> tuple[Integers, Integers]:
    """The sums of the lower bound on links (`bounds.py`), for all holders of some topics: (n, how many shares of 1/n).

    One row for each holder of each topic, with the number of its topics and the list of them. If a holder of a topic
    has no list, the number of topics of each holder stands for the most that it shares: the bound is then lower.
    """
    order = np.argsort(topics, kind="stable")
    lengths = np.diff(list_starts)[order]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.repeat(list_starts[:-1][order] - starts[:-1], lengths) + np.arange(starts[-1])
    ids, places = np.unique(np.concatenate((topics[order], lists[entries])), return_inverse=True)
    own, row_starts = np.unique(places[: len(topics)], return_index=True)
    most = np.zeros(len(topics), np.int64)
    row_starts = np.append(row_starts, len(topics)).astype(np.int64)
    if not len(topics):
        return most, most
    with_lists: NDArray[np.bool_] = np.logical_and.reduceat(has_list[order], row_starts[:-1])
    most_shared(
        row_starts,
        own.astype(np.int32),
        starts.astype(np.int64),
        places[len(topics) :].astype(np.int32),
        sizes[order].astype(np.int64),
        with_lists,
        len(ids),
        most,
    )
    # A tree has one link less than nodes: the holder with the largest share is left out. Topics of one holder need none.
    left_out = np.minimum.reduceat(most, row_starts[:-1])
    counts = np.bincount(most) - np.bincount(left_out, minlength=int(most.max()) + 1)
    counts[0] = 0
    shared = np.flatnonzero(counts)
    return shared, counts[shared]


def _draws(nodes: Integers, topics: Integers) -> NDArray[np.uint64]:
    """`draw(0, node, PARTS, 1, item=topic)` for each row."""
    keys = nodes.astype(np.uint64) * NODE_FACTOR + topics.astype(np.uint64) * ITEM_FACTOR
    # Python's integers, because numpy warns when the product of two numbers overflows.
    constant = (int(Purpose.PARTS) * int(PURPOSE_FACTOR) + int(COUNTER_FACTOR)) % 2**64
    return finish_all(keys + U64(constant))
