"""When SpiderCast's nodes send heartbeats, and when they take a silent neighbour for dead.

Differs: the paper does not say how often heartbeats are sent. With `keep_alive_us` a neighbour gets one only if this node sent
it nothing else for so long. A neighbour that has been silent for most of the time after which it counts as dead is asked
for an answer, twice, because a heartbeat may be lost. Any message is a sign of life.
"""

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.model.values.ids import NodeId
from gossamer.systems.spidercast.parameters import Timing
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask

# Chosen: a heartbeat is due after four times `keep_alive_us` also if other messages were sent: it repeats the degree, the target
# and the version of the interest, which may have been lost.
REPEAT = 4


class Turn(NamedTuple):
    """What a heartbeat turn does with the neighbours of one task."""

    dead: tuple[NodeId, ...]
    told: tuple[NodeId, ...]
    asked: tuple[NodeId, ...]


class KeepAlive:
    """Decides about heartbeats. The node machine fills `heard` and `spoken`; every turn empties them."""

    __slots__ = ("_timing", "heard", "spoken")

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self.heard: dict[NodeId, int] = {}
        self.spoken: dict[NodeId, int] = {}

    @property
    def period_us(self) -> int:
        """The time between two turns: half a heartbeat where neighbours are asked for an answer."""
        return self._timing.heartbeat_us // 2 if self._timing.keep_alive_us else self._timing.heartbeat_us

    def turn(self, task: NeighbourTask, now_us: int) -> Turn:
        """The neighbours that count as dead, those that get a heartbeat, and those that are asked for an answer."""
        _note(task.neighbours, self.heard, self.spoken)
        asks = self._timing.keep_alive_us > 0
        dead_us = self._timing.suspect_after * self._timing.heartbeat_us
        if asks:
            # A neighbour that falls silent between two turns is removed in time too.
            dead_us -= self.period_us
        dead, told, asked = [], [], []
        for node, neighbour in task.neighbours.items():
            silent_us = now_us - neighbour.heard_us
            if silent_us > dead_us:
                dead.append(node)
            elif asks and silent_us > dead_us - 2 * self.period_us:
                asked.append(node)
            elif self._is_due(neighbour, now_us):
                told.append(node)
        return Turn(tuple(dead), tuple(told), tuple(asked))

    def _is_due(self, neighbour: Neighbour, now_us: int) -> bool:
        every_us = self._timing.keep_alive_us
        return now_us - neighbour.spoken_us >= every_us or now_us - neighbour.told_us >= REPEAT * every_us

    def end_turn(self) -> None:
        """Forget the times that have been noted at the neighbours."""
        self.heard.clear()
        self.spoken.clear()


def _note(neighbours: Mapping[NodeId, Neighbour], heard: Mapping[NodeId, int], spoken: Mapping[NodeId, int]) -> None:
    for node, neighbour in neighbours.items():
        neighbour.heard_us = max(neighbour.heard_us, heard.get(node, 0))
        neighbour.spoken_us = max(neighbour.spoken_us, spoken.get(node, 0))
