"""`feverfew-global`: every node knows all interests and covers its topics among all nodes (section 4.2, "Global")."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import U64
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.progress import Progress, silent
from gossamer.systems.feverfew.kernel.everyone import cover_among_all
from gossamer.systems.feverfew.sizes import needed

# Chosen: nodes between two reports of progress.
BATCH = 500


def plan_global(parameters: Any, seed: int, interest: Interest, progress: Progress) -> Overlay:
    """The undirected union of all covers (`System.planner`)."""
    owners, nodes = global_covers(seed, interest, progress)
    return Overlay.from_links(np.minimum(owners, nodes), np.maximum(owners, nodes), interest.node_count)


def global_covers(
    seed: int, interest: Interest, progress: Progress = silent
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ln-covered views of nodes that know all interests, as columns of owners and of chosen nodes."""
    node_count = interest.node_count
    by_size = np.array([needed(size) for size in range(int(interest.popularity.max(initial=0)) + 1)], np.int16)
    needs = by_size[interest.popularity]
    # A node chooses at most one neighbour for each that a subscription needs.
    rooms = np.bincount(interest.owners, weights=needs[interest.node_topics], minlength=node_count).astype(np.int64)
    places = np.concatenate(([0], np.cumsum(np.minimum(rooms, node_count))))
    chosen, sizes = np.zeros(int(places[-1]), np.int32), np.zeros(node_count, np.int32)
    for first in range(0, node_count, BATCH):
        last = min(first + BATCH, node_count)
        cover_among_all(
            U64(seed),
            interest.node_starts,
            interest.node_topics,
            interest.topic_starts,
            interest.topic_nodes,
            needs,
            first,
            last,
            places,
            chosen,
            sizes,
        )
        progress("covers", last, node_count)
    used = np.arange(len(chosen)) - np.repeat(places[:-1], np.diff(places)) < np.repeat(sizes, np.diff(places))
    return np.repeat(np.arange(node_count, dtype=np.int32), sizes), chosen[used]
