"""The sequence numbers of a node's messages, which must increase over restarts also if the clock goes back."""

import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import TopicId

log = logging.getLogger("gossamer.live")

# Chosen: how many numbers one write of the file reserves. A restart skips those that were not used; they are one second of
# the clock from which the first number is taken.
RESERVED = 2**20


class SequenceNumbers:
    """Counts up from the clock, or from the last number of an earlier run if that is higher.

    `path` is a file beside the node's identity; it contains a number that no message of an earlier run exceeds. Without
    a file the node has a new identity after a restart, so that its numbers may begin anywhere.

    With `base`, each topic has numbers of its own: the numbers on one topic do not show what was published on others. `base`
    says by how much those of a topic are higher, so that numbers of two topics do not meet; it must not change over restarts.
    """

    def __init__(self, path: Path | None = None, base: Callable[[TopicId], int] | None = None) -> None:
        self._path = path
        # A base is computed once for each topic: it takes as long as the rest of a publication.
        self._base = None if base is None else cache(base)
        # By topic, without its base; None: what counts for all topics.
        self._last: dict[TopicId | None, int] = {}
        self._reserved = 0
        # A number that no message of an earlier run exceeds, without its base.
        self.earlier = 0 if path is None else _read(path)

    def was_used(self, topic: TopicId, number: int) -> bool:
        """Whether an earlier run may have used a number on a topic."""
        return 0 < number - (0 if self._base is None else self._base(topic)) <= self.earlier

    def next(self, clock_us: int, topic: TopicId | None = None) -> int:
        """The next number; the first one is higher than the clock. None: a number that is not for a message."""
        if self._base is None:
            topic = None
        number = self._last[topic] = (self._last.get(topic, 0) or max(clock_us, self.earlier)) + 1
        if self._path is not None and number > self._reserved:
            self._reserved = number + RESERVED
            try:
                _write(self._path, self._reserved)
            except OSError as error:
                log.warning(
                    "cannot write %s (%s); if the clock goes back before a restart, messages will be ignored",
                    self._path,
                    error.strerror,
                )
        return number if topic is None or self._base is None else self._base(topic) + number


def _read(path: Path) -> int:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return 0
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    # Larger numbers do not fit the wire format.
    if not text.strip().isdecimal() or int(text) >= 2**62:
        raise InputError(f"{path} must contain the last sequence number of this node; delete the file to start anew")
    return int(text)


def _write(path: Path, number: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w") as file:
        file.write(f"{number}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
