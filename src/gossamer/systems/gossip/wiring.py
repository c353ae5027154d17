"""Unstructured overlays by a degree law: random links, blind to what nodes follow.

The configuration model (Bender and Canfield 1978): every node has as many stubs as its degree, and stubs are paired at
random; pairs that repeat or meet themselves are dropped, so degrees lie a little below the law where it has hubs.
Scale-free networks as Aiello, Chung and Lu make them: floor(e^a / x^b) nodes of degree x, stubs paired the same way; where the
formula's sum is odd (the paper's own b = 1.1 and 1.5) one stub is left over.
Cost: O(m log m) for m links.
"""

import numpy as np

from gossamer.kernels.graphs import draw_degrees, pair_stubs, spread_degrees
from gossamer.model.arrays.degrees import degree_law, read_scale_free
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.arrays.types import Integers
from gossamer.model.values.errors import InputError
from gossamer.systems.gossip.parameters import UnstructuredParameters

U64 = np.uint64


def unstructured_planner(
    parameters: UnstructuredParameters, seed: int, interest: Interest, progress: object
) -> Overlay:
    """The links that nodes start with (`System.planner`)."""
    return unstructured(parameters.degree, interest.node_count, seed)


def unstructured(law: str, node_count: int, seed: int) -> Overlay:
    """An overlay of so many nodes with degrees by a law such as `poisson:5`."""
    degrees = _scale_free(law, node_count, seed) if law.startswith("scale-free:") else _drawn(law, node_count, seed)
    return Overlay.from_links(*pair_stubs(U64(seed), degrees), node_count)


def _scale_free(law: str, node_count: int, seed: int) -> Integers:
    degrees, nodes = read_scale_free(law)
    total = int(nodes.sum())
    if total != node_count:
        raise InputError(f"{law} is a network of {total} nodes; the workload has {node_count}: make one with as many")
    return np.asarray(spread_degrees(U64(seed), degrees, nodes))


def _drawn(law: str, node_count: int, seed: int) -> Integers:
    found = degree_law(law)
    named = law.startswith(("regular:", "given:"))
    if named and found.degrees.max() >= node_count:
        raise InputError(
            f"{law} asks for {found.degrees.max():.0f} neighbours, and there are {node_count - 1} other nodes"
        )
    # Nobody has more neighbours than there are others, whatever the tail of a law says.
    degrees = np.minimum(found.degrees, node_count - 1).astype(np.int64)
    cumulative = np.cumsum(found.shares)
    cumulative[-1] = 1.0
    drawn = np.asarray(draw_degrees(U64(seed), degrees, cumulative, node_count))
    if drawn.sum() % 2:
        raise InputError(
            f"{law} gives {node_count} nodes {drawn.sum()} ends of links, an odd number, and every link has two; "
            "take one node more or less, or another law"
        )
    return drawn
