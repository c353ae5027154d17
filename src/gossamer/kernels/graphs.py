"""Unstructured overlays: the configuration model, and the degrees of Aiello, Chung and Lu's scale-free networks."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import COUNTER_FACTOR as NEXT
from gossamer.kernels.draw import U64, below, draw_base, finish, unit
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

DEGREE = U64(Purpose.GRAPH_DEGREE)
STUB = U64(Purpose.GRAPH_STUB)


@kernel
def draw_degrees(
    seed: U64, degrees: NDArray[np.int64], cumulative: NDArray[np.float64], node_count: int
) -> NDArray[np.int64]:
    """Draw a degree for each node; `cumulative` are the cumulative probabilities of `degrees`.

    If the sum is odd, the last node draws again until the sum is even, because every link has two ends. After 1000
    attempts (for example if all degrees of the law are odd) the sum stays odd.
    """
    drawn = np.empty(node_count, np.int64)
    total = 0
    for node in range(node_count):
        base = draw_base(seed, U64(node), DEGREE, U64(0))
        drawn[node] = degrees[np.searchsorted(cumulative, unit(finish(base)), side="right")]
        total += drawn[node]
    base = draw_base(seed, U64(node_count - 1), DEGREE, U64(0))
    for _ in range(1000):
        if total % 2 == 0:
            break
        base += NEXT
        total -= drawn[node_count - 1]
        drawn[node_count - 1] = degrees[np.searchsorted(cumulative, unit(finish(base)), side="right")]
        total += drawn[node_count - 1]
    return drawn


@kernel
def spread_degrees(seed: U64, degrees: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Degrees with the given number of nodes for each, in random order, so that ids do not depend on degrees."""
    dealt = np.repeat(degrees, nodes)
    _shuffle(seed, DEGREE, dealt)
    return dealt


@kernel
def pair_stubs(seed: U64, degrees: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The configuration model: every node has as many stubs as its degree, and stubs are paired at random.

    Returns both ends of each pair, including self-loops and repeated pairs; an odd stub is left over. Cost: the number
    of stubs.
    """
    stubs = np.repeat(np.arange(len(degrees)), degrees)
    _shuffle(seed, STUB, stubs)
    even = len(stubs) // 2 * 2
    return stubs[0:even:2].copy(), stubs[1:even:2].copy()


@kernel
def _shuffle(seed: U64, purpose: U64, values: NDArray[np.int64]) -> None:
    """The Fisher-Yates shuffle."""
    base = draw_base(seed, U64(0), purpose, U64(0))
    for place in range(len(values) - 1, 0, -1):
        base += NEXT
        other = below(finish(base), place + 1)
        values[place], values[other] = values[other], values[place]
