"""When SpiderCast's nodes send heartbeats, and when they take a silent neighbour for dead.

Differs: the paper does not say how often heartbeats are sent. With `keep_alive_us` a neighbour gets one only if this node sent
it nothing else for so long. A neighbour that has been silent for most of the time after which it counts as dead is asked
for an answer, twice. Any message is a sign of life.
"""

from typing import NamedTuple

from gossamer.model.values.ids import NodeId
from gossamer.systems.spidercast.parameters import Timing
from gossamer.systems.spidercast.task import LATE_TURNS, Neighbour, NeighbourTask

# Chosen: a heartbeat is due after four times `keep_alive_us` also if other messages were sent: it repeats the degree, the target
# and the version of the interest, which may have been lost.
REPEAT = 4


class Turn(NamedTuple):
    """What a heartbeat turn does with the neighbours of one task."""

    dead: list[NodeId]
    told: list[NodeId]
    asked: list[NodeId]


class KeepAlive:
    """Decides about heartbeats. The node machine fills `heard` and `spoken`; every turn empties them.

    Silence is counted in turns, not in time: a node that was busy itself has not listened meanwhile. A late turn counts for less.
    """

    __slots__ = ("_is_late", "_timing", "due_us", "heard", "period_us", "spoken")

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self.heard: dict[NodeId, int] = {}
        self.spoken: dict[NodeId, int] = {}
        # The time between two turns: half a heartbeat where neighbours are asked for an answer.
        self.period_us = timing.heartbeat_us // 2 if timing.keep_alive_us else timing.heartbeat_us
        # When the next turn is due, and whether the last one was late.
        self.due_us = 0
        self._is_late = False

    def start(self, now_us: int) -> int:
        """The time of the first turn."""
        self.due_us = now_us + self.period_us
        return self.due_us

    def begin_turn(self, now_us: int) -> int:
        """Begin a turn; returns how late it is."""
        late_us = now_us - self.due_us
        self._is_late = late_us > self.period_us // 2
        self.due_us = now_us + self.period_us
        return late_us

    def turn(self, task: NeighbourTask, now_us: int) -> Turn:
        """The neighbours that count as dead, those that get a heartbeat, and those that are asked for an answer."""
        weight = 1 if self._is_late else LATE_TURNS
        for node, neighbour in task.neighbours.items():
            neighbour.silence = 0 if node in self.heard else neighbour.silence + weight
            neighbour.spoken_us = max(neighbour.spoken_us, self.spoken.get(node, 0))
        asks = self._timing.keep_alive_us > 0
        turns = self._timing.suspect_after * (self._timing.heartbeat_us // self.period_us)
        # A neighbour that falls silent between two turns is removed in time too.
        dead = (turns - 1 if asks else turns) * LATE_TURNS
        found = Turn([], [], [])
        for node, neighbour in task.neighbours.items():
            if neighbour.silence >= dead:
                found.dead.append(node)
            elif asks and neighbour.silence >= dead - 2 * LATE_TURNS:
                found.asked.append(node)
            elif self._is_due(neighbour, now_us):
                found.told.append(node)
        return found

    def _is_due(self, neighbour: Neighbour, now_us: int) -> bool:
        every_us = self._timing.keep_alive_us
        return now_us - neighbour.spoken_us >= every_us or now_us - neighbour.told_us >= REPEAT * every_us

    def end_turn(self) -> None:
        """Forget the times that have been noted at the neighbours."""
        self.heard.clear()
        self.spoken.clear()
