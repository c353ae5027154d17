"""The telemetry of a running node as files in a spool folder."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gossamer.live.transport.addresses import words_of
from gossamer.live.transport.interface import StepWatcher
from gossamer.model.spool.files import SpoolWriter
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event, Subscribe
from gossamer.protocols.telemetry import AnyRecord, QueueMeasured, ReasonCounted, StepTelemetry, TopicNamed

log = logging.getLogger("gossamer.live")

# Chosen: records wait this long in memory, and a file is completed after this time, so that readers see records in seconds.
BATCH_RECORDS = 1_000
BATCH_US = 1_000_000
FILE_US = 5_000_000

# The bytes that wait for peers, and how often something was dropped, refused or failed, by reason.
Counts = Callable[[], tuple[int, Mapping[str, int]]]


class NodeSpool:
    """A watcher of steps (`interface.StepWatcher`) before another one, which still sees every step."""

    def __init__(
        self,
        folder: Path,
        node: NodeId,
        telemetry: StepTelemetry,
        name_of: Callable[[TopicId], str | None],
        inner: StepWatcher | None,
    ) -> None:
        self._node = node
        self._telemetry = telemetry
        self._inner = inner
        self._name_of = name_of
        # Set before the node starts.
        self.counts: Counts = lambda: (0, {})
        self._counted: Mapping[str, int] = {}
        self._queued = 0
        self._batch: list[AnyRecord] = []
        self._batch_us = 0
        self._file_us = 0
        try:
            self._writer = SpoolWriter(folder, f"{node:016x}")
        except OSError as error:
            raise InputError(f"cannot write telemetry to {folder}: {words_of(error)}") from None

    def step(self, now_us: int, event: Event, actions: Sequence[Action]) -> None:
        """See `interface.StepWatcher`."""
        if self._inner is not None:
            self._inner.step(now_us, event, actions)
        if self._writer.error is not None:
            return
        if type(event) is Subscribe:
            # Records name topics by id; nobody else knows the name.
            name = self._name_of(event.topic)
            self._batch.append(TopicNamed(now_us, self._node, event.topic, name or ""))
        self._batch += self._telemetry.records(now_us, event, actions)
        if len(self._batch) >= BATCH_RECORDS or now_us - self._batch_us >= BATCH_US:
            self._write(now_us)

    def flush(self) -> None:
        """See `interface.StepWatcher`."""
        if self._inner is not None:
            self._inner.flush()
        self._writer.write(self._batch)
        self._batch.clear()
        self._writer.roll()

    def _write(self, now_us: int) -> None:
        self._count(now_us)
        if not self._writer.is_open:
            self._file_us = now_us
        self._writer.write(self._batch)
        self._batch.clear()
        self._batch_us = now_us
        if now_us - self._file_us >= FILE_US:
            self._writer.roll()
        if self._writer.error is not None:
            log.error("telemetry stopped: %s", words_of(self._writer.error))

    def _count(self, now_us: int) -> None:
        queued, counts = self.counts()
        if queued != self._queued:
            self._queued = queued
            self._batch.append(QueueMeasured(now_us, self._node, queued))
        for reason, count in counts.items():
            more = count - self._counted.get(reason, 0)
            if more:
                self._batch.append(ReasonCounted(now_us, self._node, reason, more))
        self._counted = counts
