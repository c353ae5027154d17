"""The kernel and its population: the same decisions for all nodes at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer import plugin

U64 = np.uint64
HUB, FACTOR = U64(plugin.third_party_purpose("star-per-topic/hub")), U64(plugin.ITEM_FACTOR)
draw_base, finish = plugin.kernel_draw_base, plugin.kernel_finish


@plugin.kernel
def star_cycle(
    seed: Any, starts: Any, topics: Any, topic_starts: Any, topic_nodes: Any, present: Any, hubs: Any, told: Any
) -> int:
    """Every present node looks for a lower hub in each topic; returns how many Attach messages were sent."""
    sent = 0
    for node in range(len(present)):
        if not present[node]:
            continue
        first, last = starts[node], starts[node + 1]
        for place in range(first, last):
            topic, least, lowest = topics[place], U64(0), hubs[place]
            base = draw_base(seed, U64(node), HUB, U64(topic))
            for other in topic_nodes[topic_starts[topic] : topic_starts[topic + 1]]:
                bits = finish(base + U64(other) * FACTOR)
                if other < hubs[place] and present[other] and (lowest == hubs[place] or bits < least):
                    least, lowest = bits, other
            hubs[place] = lowest
        receivers = set(hubs[first:last]) | set(told[first:last])
        receivers.discard(np.int32(node))
        sent += len(receivers)
        told[first:last] = hubs[first:last]
    return sent


class StarPopulation:
    """Nodes that started together (`System.population`)."""

    def __init__(self, parameters: Any, seed: int, interest: plugin.Interest, absent: Sequence[int], room: int) -> None:
        self._seed, self._interest, self._sent = U64(seed), interest, 0
        self.present = np.ones(interest.node_count, np.bool_)
        self.present[list(absent)] = False
        self.hubs = interest.owners.astype(np.int32)
        self._told = self.hubs.copy()

    def cycle(self, changes: plugin.CycleChanges | None = None) -> None:
        """One turn of every node, after the nodes that leave and join."""
        if changes is not None:
            self._apply(changes)
        interest = self._interest
        rows = interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes
        self._sent += star_cycle(self._seed, *rows, self.present, self.hubs, self._told)

    def fingerprint(self) -> int:
        """Equal for equal links."""
        return hash(self._told.tobytes())

    def overlay(self) -> plugin.Overlay:
        """The links among present nodes."""
        owners = self._interest.owners
        linked = (self._told != owners) & self.present[owners]
        return plugin.Overlay.from_links(owners[linked], self._told[linked], self._interest.node_count)

    def views(self) -> None:
        """It keeps no views."""

    def messages(self) -> dict[str, int]:
        """Messages sent so far, by kind."""
        return {"Attach": self._sent}

    def _apply(self, changes: plugin.CycleChanges) -> None:
        if changes.interests:
            raise plugin.InputError("the kernel of star-per-topic cannot change interests; use engine='event'")
        for node in sorted((*changes.leavers, *changes.crashes)):
            if node in changes.leavers:
                self._sent += int(self.overlay().degrees[node])
            self.present[node] = False
            lost = (self._told == node) | (self._interest.owners == node)
            self._told[lost] = self.hubs[lost] = self._interest.owners[lost]
        self.present[list(changes.joiners)] = True


def warm_up() -> None:
    """Compile the kernel (`System.warm_up`)."""
    StarPopulation(None, 1, plugin.Interest.from_pairs(np.array([0, 1]), np.array([0, 0]), 2, 1), (), 0).cycle()
