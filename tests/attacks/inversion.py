"""An attacker that inverts `draw`: from one number and its other keys to the seed."""

from gossamer.model.values.draw import (
    COUNTER_FACTOR,
    FIRST_MULTIPLIER,
    ITEM_FACTOR,
    MASK,
    NODE_FACTOR,
    PURPOSE_FACTOR,
    SECOND_MULTIPLIER,
    SEED_FACTOR,
    Purpose,
)


def _unshift(value, bits):
    found = value
    for _ in range(64 // bits):
        found = value ^ (found >> bits)
    return found


def _inverse(factor):
    return pow(factor, -1, 2**64)


def unfinish(value):
    """The number that `draw.finish` turned into `value`."""
    value = _unshift(value, 31) * _inverse(SECOND_MULTIPLIER) & MASK
    value = _unshift(value, 27) * _inverse(FIRST_MULTIPLIER) & MASK
    return _unshift(value, 30)


def seeds_behind(number, node, counters, items=(0, 1)):
    """Every seed from which a draw of this node, with any purpose and one of these counters and items, gives `number`."""
    base = unfinish(number)
    return {
        (base - node * NODE_FACTOR - purpose * PURPOSE_FACTOR - counter * COUNTER_FACTOR - item * ITEM_FACTOR)
        * _inverse(SEED_FACTOR)
        & MASK
        for purpose in Purpose
        for counter in counters
        for item in items
    }
