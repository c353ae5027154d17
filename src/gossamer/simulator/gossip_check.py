"""The simulation beside the theory: random subscribers, random events, over an overlay or a few drawn by a law."""

from statistics import mean
from typing import Any

import numpy as np

from gossamer.kernels.sampling import units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.planners.unstructured import unstructured
from gossamer.protocols.gossip import GossipParameters
from gossamer.simulator.gossip import gossip_events
from gossamer.simulator.measure import Progress, silent

U64 = np.uint64
# Chosen: networks and events of a check; the paper takes 20 and 400 for each of its points.
NETWORKS, EVENTS = 20, 400
# A way no event of the theory is held back by.
_FAR = 1_000_000


def check_gossip(
    law: str | Overlay, node_count: int, subscribers: float, gamma: float, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """The mean figures of `gossip_events` over the networks of seeds seed, seed + 1, ..."""
    parameters = GossipParameters(gamma=gamma, ttl=_FAR)
    found = []
    for number in range(NETWORKS):
        overlay = law if isinstance(law, Overlay) else unstructured(law, node_count, seed + number)
        interest = _random_subscribers(node_count, subscribers, seed + number)
        found.append(gossip_events(overlay, interest, parameters, seed + number, EVENTS))
        progress("simulating", number + 1, NETWORKS)
    return {name: mean(figures[name] for figures in found) for name in found[0] if name != "published"}


def _random_subscribers(node_count: int, share: float, seed: int) -> Interest:
    """One topic that each node follows with this probability."""
    nodes = np.flatnonzero(units(U64(seed), U64(Purpose.WORKLOAD_TOPIC), U64(0), node_count) < share)
    return Interest.from_pairs(nodes, np.zeros(len(nodes), np.int64), node_count, 1)
