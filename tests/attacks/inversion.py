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


# Odd factors can be divided by.
UNSEED, UNFIRST, UNSECOND = (pow(factor, -1, 2**64) for factor in (SEED_FACTOR, FIRST_MULTIPLIER, SECOND_MULTIPLIER))


def unfinish(value):
    """The number that `draw.finish` turned into `value`."""
    value = _unshift(value, 31) * UNSECOND & MASK
    value = _unshift(value, 27) * UNFIRST & MASK
    return _unshift(value, 30)


def seeds_behind(number, node, counters, items=(0, 1)):
    """Every seed from which a draw of this node, with any purpose and one of these counters and items, gives `number`."""
    base = unfinish(number)
    return {
        (base - node * NODE_FACTOR - purpose * PURPOSE_FACTOR - counter * COUNTER_FACTOR - item * ITEM_FACTOR) * UNSEED
        & MASK
        for purpose in Purpose
        for counter in counters
        for item in items
    }
