"""`protocols.repair.connect` in compiled form: the same links, for studies with many repairs."""

from collections.abc import Mapping

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.planners.greedy import Draft, lowoda

# Larger than any real degree, yet small enough that adding links does not overflow 32 bits.
DEGREE_MAX = 2**30


def connect(
    labels: Mapping[int, Mapping[int, int]], degrees: Mapping[int, int], rho: float = 3.0
) -> list[tuple[int, int]]:
    """See `protocols.repair.connect`."""
    nodes = sorted({node for group in labels.values() for node in group}.union(degrees))
    number = {node: place for place, node in enumerate(nodes)}
    rows = [
        (number[node], topic, number[label])
        for topic, group in enumerate(labels.values())
        for node, label in group.items()
    ]
    owners, held, groups = np.array(rows, np.int64).reshape(-1, 3).T
    interest = Interest.from_pairs(owners, held, len(nodes), len(labels))
    counts = np.array([min(degrees.get(node, 0), DEGREE_MAX) for node in nodes], np.int32)
    # In the order of `topic_nodes`: by topic, then by node.
    ordered = groups[np.lexsort((owners, held))].astype(np.int32)
    draft = Draft(interest, degrees=counts, labels=ordered)
    return [(nodes[one], nodes[other]) for one, other in draft.connect(lowoda(rho))]
