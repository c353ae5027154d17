"""Unstructured overlays with a degree law: random links that do not depend on topics.

The configuration model (Bender and Canfield 1978) gives every node as many stubs as its degree and pairs stubs at
random. Repeated links and self-loops are dropped, so degrees are slightly below the law where it has hubs. Scale-free
networks follow Aiello, Chung and Lu: floor(e^a / x^b) nodes have degree x, and stubs are paired in the same way. If the
number of stubs is odd (as with the paper's b = 1.1 and 1.5), one stub stays without a partner. Cost: O(m log m) for m
links.
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
    """The links with which nodes start (`System.planner`)."""
    return unstructured(parameters.degree, interest.node_count, seed)


def unstructured(law: str, node_count: int, seed: int) -> Overlay:
    """An overlay of `node_count` nodes whose degrees follow a law such as `poisson:5`."""
    degrees = _scale_free(law, node_count, seed) if law.startswith("scale-free:") else _drawn(law, node_count, seed)
    return Overlay.from_links(*pair_stubs(U64(seed), degrees), node_count)


def _scale_free(law: str, node_count: int, seed: int) -> Integers:
    degrees, nodes = read_scale_free(law)
    total = int(nodes.sum())
    if total != node_count:
        raise InputError(
            f"{law} is a network of {total} nodes; the workload has {node_count}, so make a workload with {total}"
        )
    return np.asarray(spread_degrees(U64(seed), degrees, nodes))


def _drawn(law: str, node_count: int, seed: int) -> Integers:
    found = degree_law(law)
    named = law.startswith(("regular:", "given:"))
    if named and found.degrees.max() >= node_count:
        raise InputError(
            f"{law} asks for {found.degrees.max():.0f} neighbours, and there are {node_count - 1} other nodes"
        )
    # The tail of a law can exceed the number of other nodes.
    degrees = np.minimum(found.degrees, node_count - 1).astype(np.int64)
    cumulative = np.cumsum(found.shares)
    cumulative[-1] = 1.0
    drawn = np.asarray(draw_degrees(U64(seed), degrees, cumulative, node_count))
    if drawn.sum() % 2:
        raise InputError(
            f"{law} gives {node_count} nodes {drawn.sum()} ends of links, an odd number, but every link has two ends; "
            "use one node more or less, or another law"
        )
    return drawn
