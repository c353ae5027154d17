"""The record of a live node: a file of every event and its actions (`protocols/contract/record.py`)."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.record import Header, encode_header, encode_step

log = logging.getLogger("gossamer.live")


class RecordWriter:
    """Writes a record until the disk is full: then recording stops and the node goes on."""

    def __init__(self, file: BinaryIO, header: Header, node: NodeId, counts: Counter[str]) -> None:
        self._file: BinaryIO | None = file
        self._node = node
        self._counts = counts
        self._write(encode_header(header))

    def step(self, now_us: int, event: Event, actions: Sequence[Action]) -> None:
        """Write an event and the machine's answer to it."""
        if self._file is not None:
            self._write(encode_step(now_us, self._node, event, actions))

    def flush(self) -> None:
        """Write everything that is still in memory."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            self._stop(error)

    def _write(self, content: bytes) -> None:
        assert self._file is not None
        try:
            self._file.write(content)
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        # The record stays readable up to the last frame that was written.
        log.error("recording stopped: %s", error.strerror or error)
        self._counts["recording stopped"] += 1
        self._file = None
