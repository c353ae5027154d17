"""Calls every compiled function of push and pull once, with the argument types that its population uses."""

import numpy as np

from gossamer.model.arrays.overlay import Overlay
from gossamer.systems.push_pull import kernel

U64 = np.uint64


def warm_up() -> None:
    """See `Dissemination.warm_up`."""
    overlay = Overlay.from_links(np.array([0, 1]), np.array([1, 2]), 3)
    links = overlay.starts, overlay.neighbours
    one = np.zeros(1, np.int64)
    holders = np.array([0, 3]), np.arange(3, dtype=np.int32)
    kernel.spread_many(U64(1), 100_000, False, one, one, one + 2, one, *holders, *links)
    holds, places = np.ones(3, np.bool_), np.empty(3, np.int64)
    heard, hops, knows = np.full(3, -1, np.int32), np.full(3, -1, np.int32), np.zeros(4, np.bool_)
    kernel.publish(U64(1), 0, 0, 0, holds, *links, heard, hops, knows)
    kernel.choose_partners(U64(1), 1, 0, holders[1], holds, *links, places)
    kernel.exchange(1, True, holders[1], places, *links, heard, hops, knows)
