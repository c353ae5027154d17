"""The messages that a simulation publishes: their times, publishers and topics, and how many nodes should get each."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose, below, draw, unit
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Publish
from gossamer.simulator.event_population import EventPopulation

# Chosen: publishing starts after half of the time, when the overlay has settled, and stops a little before the end, so
# that the last messages can arrive.
FIRST_SHARE, LAST_SHARE = 0.5, 0.95
PAYLOAD = bytes(100)


class Publications:
    """Publishes messages at random times.

    Each comes from a random subscription of a node that is present, so popular topics get more messages. If the workload
    names publishers, only subscriptions whose role is to publish count; otherwise every subscriber may publish.
    """

    def __init__(self, population: EventPopulation, interest: Interest, seed: int) -> None:
        self._population = population
        self._interest = interest
        self._seed = seed
        publishes = (interest.roles & int(Role.PUBLISHES)) != 0
        self._may_publish = publishes if publishes.any() else np.ones_like(publishes)
        self._follows = (interest.roles & int(Role.FOLLOWS)) != 0
        # (time, node, topic, number of other followers present) of each message, in order.
        self._rows: list[tuple[int, int, int, int]] = []
        # The number of each message and each follower that was absent, and had been present before.
        self._missed: list[tuple[int, int]] = []

    def schedule(self, count: int, until_us: int) -> None:
        """Schedule `count` messages."""
        for number in range(count):
            share = FIRST_SHARE + (LAST_SHARE - FIRST_SHARE) * unit(draw(self._seed, 0, Purpose.PUBLISH_TIME, number))
            self._population.engine.call_at(int(until_us * share), lambda number=number: self._publish(number))  # type: ignore[misc]

    def facts(self) -> dict[str, Any]:
        """The metrics of publishing."""
        return {"published": len(self._rows), "expected_deliveries": self.expected}

    def missed_by(self, nodes: Collection[int]) -> list[tuple[int, int]]:
        """The messages that were published while one of these nodes was away: (number of the message, node)."""
        return [pair for pair in self._missed if pair[1] in nodes]

    @property
    def expected(self) -> int:
        """The number of deliveries if every message reached every follower that was present."""
        return sum(row[3] for row in self._rows)

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """The columns of the `publications` table; `event` is the number that `DeliveryLog` gives the message."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        return {
            "event": np.arange(len(rows)),
            "topic": rows[:, 2],
            "node": rows[:, 1],
            "at_us": rows[:, 0],
            "expected": rows[:, 3],
        }

    def _publish(self, number: int) -> None:
        interest = self._interest
        present = self._population.engine.present_flags(interest.node_count)
        candidates = np.flatnonzero(np.repeat(present, interest.sizes) & self._may_publish)
        if not len(candidates):
            return
        place = candidates[below(draw(self._seed, 0, Purpose.PUBLISH_TOPIC, number), len(candidates))]
        node, topic = int(interest.owners[place]), int(interest.node_topics[place])
        holders = interest.node_topics == topic
        expected = int((holders & self._follows & present[interest.owners] & (interest.owners != node)).sum())
        away = holders & self._follows & (self._population.known & ~present)[interest.owners]
        self._missed += [(len(self._rows), int(other)) for other in interest.owners[away]]
        self._rows.append((self._population.engine.now_us, node, topic, expected))
        self._population.engine.give(node, Publish(topic, PAYLOAD))
