"""The record of a live node: a file of every event and its actions (`protocols/contract/record.py`)."""

import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from gossamer.live.transport.addresses import words_of
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.record import Header, encode_header, encode_step

log = logging.getLogger("gossamer.live")

# Fields with the application's own bytes (`items` are those of a burst), and fields that nobody else may know.
PAYLOADS, SECRETS = ("payload", "items"), ("secret",)


class RecordWriter:
    """Writes a record until the disk is full: then recording stops and the node goes on."""

    def __init__(self, file: BinaryIO, header: Header, node: NodeId, counts: Counter[str]) -> None:
        self._file: BinaryIO | None = file
        self._node = node
        self._counts = counts
        self._has_content = header.content
        self._write(encode_header(header))

    def step(self, now_us: int, event: Event, actions: Sequence[Action]) -> None:
        """Write an event and the machine's answer to it."""
        if self._file is None:
            return
        if not self._has_content:
            event, actions = without_content(event), without_content(tuple(actions))
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


def without_content(value: Any, name: str = "") -> Any:
    """A value with zeros instead of payloads, and without secrets."""
    if isinstance(value, msgspec.Struct):
        return type(value)(*(without_content(getattr(value, each), each) for each in value.__struct_fields__))
    if isinstance(value, tuple | list):
        return tuple(without_content(item, name) for item in value)
    if isinstance(value, bytes) and name in SECRETS:
        return b""
    if isinstance(value, bytes) and name in PAYLOADS:
        return bytes(len(value))
    return value


def open_record(path: Path) -> BinaryIO:
    """A new record, which only its owner can read: it contains payloads, and the secrets of topics."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        # The file may have been there before.
        os.fchmod(file, 0o600)
        return open(file, "wb")
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise InputError(f"cannot write the record {path}: {words_of(error)}") from None
