"""Plans for nodes in zones, such as racks or regions: links inside zones first, and no topic lost with one zone.

First, every topic is connected inside each zone, by links inside that zone. Then, for each zone, the topics are
connected among the nodes outside it, as if the zone were lost; links between two zones are added only here and in a last
step that connects all nodes. Links are never removed, so each condition still holds at the end. Cost: one greedy pass
for each zone, over what earlier passes left apart.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.progress import Progress, silent
from gossamer.planners.greedy import GreedyRule, plan


def plan_by_zones(
    interest: Interest,
    zones: NDArray[np.int64],
    rule: GreedyRule,
    existing: Overlay | None = None,
    progress: Progress = silent,
) -> Overlay:
    """An overlay in which every topic is connected, also without the nodes of any one zone; `zones` by node, from zero."""
    overlay = plan(_inside(interest, zones), rule, existing, progress)
    count = int(zones.max()) + 1
    if count > 1:
        for zone in range(count):
            overlay = plan(interest.among(zones != zone), rule, overlay, progress)
    return plan(interest, rule, overlay, progress)


def _inside(interest: Interest, zones: NDArray[np.int64]) -> Interest:
    """The interests with every topic divided into one topic for each zone."""
    owners = interest.owners
    keys = interest.node_topics * (np.int64(zones.max()) + 1) + zones[owners]
    distinct, topics = np.unique(keys, return_inverse=True)
    return Interest.from_pairs(owners, topics, interest.node_count, len(distinct))


def links_inside(overlay: Overlay, zones: NDArray[np.int64]) -> int:
    """How many links have both ends in the same zone."""
    u, v = overlay.links()
    return int((zones[u] == zones[v]).sum())
