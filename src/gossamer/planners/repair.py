"""`protocols/repair.py` in compiled form: the same links, for studies with many repairs."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.planners.greedy import Draft, lowoda

# Larger than any real degree, yet small enough that adding links does not overflow 32 bits.
DEGREE_MAX = 2**30


def repair(
    interests: Mapping[int, Collection[int]],
    links: Iterable[tuple[int, int]],
    degrees: Mapping[int, int],
    topics: Collection[int],
    rho: float = 3.0,
) -> list[tuple[int, int]]:
    """See `protocols.repair.repair`."""
    nodes = sorted(interests)
    number = {node: place for place, node in enumerate(nodes)}
    wanted = {topic: place for place, topic in enumerate(sorted(set(topics)))}
    pairs = [(number[node], wanted[topic]) for node in number for topic in set(interests[node]) if topic in wanted]
    ends = [(number[u], number[v]) for u, v in links if u in number and v in number]
    owners, held = np.array(pairs, np.int64).reshape(-1, 2).T
    u, v = np.array(ends, np.int64).reshape(-1, 2).T
    interest = Interest.from_pairs(owners, held, len(nodes), len(wanted))
    counts = np.array([min(degrees.get(node, 0), DEGREE_MAX) for node in nodes], np.int32)
    draft = Draft(interest, Overlay.from_links(u, v, len(nodes)), counts)
    return [(nodes[one], nodes[other]) for one, other in draft.connect(lowoda(rho))]
