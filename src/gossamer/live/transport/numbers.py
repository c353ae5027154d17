"""The sequence numbers of a node's messages, which must increase over restarts also if the clock goes back."""

import logging
import os
from pathlib import Path

from gossamer.model.values.errors import InputError

log = logging.getLogger("gossamer.live")

# Chosen: how many numbers one write of the file reserves. A restart skips those that were not used; they are one second of
# the clock from which the first number is taken.
RESERVED = 2**20


class SequenceNumbers:
    """Counts up from the clock, or from the last number of an earlier run if that is higher.

    `path` is a file beside the node's identity; it contains a number that no message of an earlier run exceeds. Without
    a file the node has a new identity after a restart, so that its numbers may begin anywhere.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._last = 0
        self._reserved = 0
        # A number that no message of an earlier run exceeds.
        self.earlier = 0 if path is None else _read(path)

    def next(self, clock_us: int) -> int:
        """The next number; the first one is higher than the clock."""
        self._last = (self._last or max(clock_us, self.earlier)) + 1
        if self._path is not None and self._last > self._reserved:
            self._reserved = self._last + RESERVED
            try:
                _write(self._path, self._reserved)
            except OSError as error:
                log.warning(
                    "cannot write %s (%s); if the clock goes back before a restart, messages will be ignored",
                    self._path,
                    error.strerror,
                )
        return self._last


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
