"""Calls every compiled function of gossip once, with the argument types that its population uses."""

import numpy as np

from gossamer.kernels import graphs
from gossamer.model.arrays.overlay import Overlay
from gossamer.systems.gossip import kernel as gossip

U64 = np.uint64


def warm_up() -> None:
    """See `System.warm_up`."""
    degrees = graphs.draw_degrees(U64(1), np.array([1, 2]), np.array([0.5, 1.0]), 4)
    overlay = Overlay.from_links(*graphs.pair_stubs(U64(1), degrees), 4)
    events = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    holders = np.array([0, 1]), np.zeros(1, np.int32)
    gossip.disseminate_many(U64(1), *events, *holders, overlay.starts, overlay.neighbours, 0.5, 2)
