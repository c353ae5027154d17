"""`model.values.draw` for compiled code: the same keys give the same numbers.

Every argument must be np.uint64, because numba computes the sum of a signed and an unsigned integer as a float.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.model.values import draw as values

U64 = np.uint64

SEED_FACTOR = U64(values.SEED_FACTOR)
NODE_FACTOR = U64(values.NODE_FACTOR)
PURPOSE_FACTOR = U64(values.PURPOSE_FACTOR)
COUNTER_FACTOR = U64(values.COUNTER_FACTOR)
ITEM_FACTOR = U64(values.ITEM_FACTOR)
FIRST_MULTIPLIER = U64(values.FIRST_MULTIPLIER)
SECOND_MULTIPLIER = U64(values.SECOND_MULTIPLIER)
STEPS = U64(values.STEPS)


@kernel
def draw_base(seed: U64, node: U64, purpose: U64, counter: U64) -> U64:
    """The part of a draw's sum that does not depend on the item; add `step * COUNTER_FACTOR` for later steps."""
    return seed * SEED_FACTOR + node * NODE_FACTOR + purpose * PURPOSE_FACTOR + counter * COUNTER_FACTOR


@kernel
def finish(total: U64) -> U64:
    """The finalizer of splitmix64."""
    total = (total ^ (total >> U64(30))) * FIRST_MULTIPLIER
    total = (total ^ (total >> U64(27))) * SECOND_MULTIPLIER
    return total ^ (total >> U64(31))


def finish_all(totals: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`finish` for each number of an array, outside compiled code."""
    totals = (totals ^ (totals >> U64(30))) * FIRST_MULTIPLIER
    totals = (totals ^ (totals >> U64(27))) * SECOND_MULTIPLIER
    return totals ^ (totals >> U64(31))


@kernel
def draw(seed: U64, node: U64, purpose: U64, counter: U64, item: U64) -> U64:
    """64 random bits for this seed, node, purpose, counter and item."""
    return finish(draw_base(seed, node, purpose, counter) + item * ITEM_FACTOR)


@kernel
def below(bits: U64, bound: int) -> int:
    """A whole number in [0, bound); bound must be below 2**32."""
    return np.int64(((bits >> U64(32)) * U64(bound)) >> U64(32))


@kernel
def unit(bits: U64) -> float:
    """A float in [0, 1)."""
    return np.float64(bits >> U64(11)) * 2.0**-53
