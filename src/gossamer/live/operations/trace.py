"""The telemetry of a running node, kept for those that watch it: the last records, and numbers to ask for the next ones."""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from gossamer.live.operations.status import NodeStatus
from gossamer.live.transport.interface import StepWatcher
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event
from gossamer.protocols.telemetry import AnyRecord, StepTelemetry, power_of_two

# Chosen: several seconds of a busy node. Records that nobody asked for in time are forgotten, and counted.
RECORDS_MAX = 10_000
# Chosen: a node that nobody asks for this long stops tracing.
FORGOTTEN_US = 30_000_000


class NodeWatch(Struct, frozen=True):
    """What a watcher learns of a node at one moment."""

    status: NodeStatus
    # The time of the node's clock.
    clock_us: int
    # The neighbours on each topic, and the id that the topic has in the records.
    neighbours: dict[str, list[str]]
    topics: dict[str, int]
    records: list[AnyRecord]
    # What to give as `after` in the next call, and how many records behind the last `after` are forgotten.
    next: int
    missed: int


class NodeTrace:
    """A watcher of steps (`interface.StepWatcher`) before another one, which still sees every step."""

    def __init__(self, node: NodeId, roles: Mapping[TopicId, int], inner: StepWatcher | None) -> None:
        self.is_over = False
        self._telemetry = StepTelemetry(node, roles=roles)
        self._inner = inner
        self._records: deque[AnyRecord] = deque(maxlen=RECORDS_MAX)
        self._count = 0
        # When somebody last asked; 0: not yet.
        self._asked_us = 0

    def step(self, now_us: int, event: Event, actions: Sequence[Action]) -> None:
        """See `interface.StepWatcher`."""
        if self._inner is not None:
            self._inner.step(now_us, event, actions)
        if self.is_over:
            return
        if now_us - self._asked_us > FORGOTTEN_US:
            self.is_over = True
            self._records.clear()
            return
        found = self._telemetry.records(now_us, event, actions)
        self._count += len(found)
        self._records += found

    def flush(self) -> None:
        """See `interface.StepWatcher`."""
        if self._inner is not None:
            self._inner.flush()

    def since(
        self,
        after: int,
        every: int,
        clock_us: int,
        status: NodeStatus,
        neighbours: dict[str, list[str]],
        topics: dict[str, int],
    ) -> NodeWatch:
        """The records behind number `after`; every `every`-th message, a power of two, is traced from now on."""
        self._asked_us = clock_us
        self._telemetry.every = power_of_two(every)
        oldest = self._count - len(self._records)
        # A number above the count is of an earlier trace, whose records are gone.
        first = oldest if after > self._count else max(after, oldest)
        return NodeWatch(
            status=status,
            clock_us=clock_us,
            neighbours=neighbours,
            topics=topics,
            records=list(islice(self._records, first - oldest, None)),
            next=self._count,
            missed=max(oldest - after, 0),
        )
