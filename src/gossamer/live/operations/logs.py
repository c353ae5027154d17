"""What a node's log looks like on standard error: a line of JSON or of text for each event.

Code of this room logs a sentence, and `extra={"facts": {...}}` for what a program would look for.
"""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import Literal, TextIO

from gossamer.live.api.node import Node

log = logging.getLogger("gossamer.live")

Format = Literal["json", "text"]
# Chosen: the same line of a peer that is tried again and again is said so often, and then with how often it was left out.
REPEAT_SECONDS = 30.0
# Chosen: lines that are remembered for that.
REMEMBERED_MAX = 1_000
# Chosen: a seed on the same network answers within this; from then on it is said less and less often.
FIRST_COMPLAINT_SECONDS = 3.0
COMPLAINT_SECONDS_MAX = 300.0


class Lines(logging.Formatter):
    """A record as one line."""

    def __init__(self, shape: Format) -> None:
        super().__init__()
        self._shape = shape

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        milliseconds = f"{record.msecs:03.0f}"
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{milliseconds}Z"
        message = record.getMessage()
        left_out = getattr(record, "left_out", 0)
        facts = dict(getattr(record, "facts", {}))
        if left_out:
            facts["left_out"] = left_out
        if record.exc_info:
            facts["error"] = self.formatException(record.exc_info)
        if self._shape == "json":
            return json.dumps({"at": at, "level": record.levelname.lower(), "message": message, **facts}, default=str)
        again = f" (and {left_out} times before)" if left_out else ""
        trace = f"\n{facts['error']}" if record.exc_info else ""
        return f"{at} {record.levelname.lower()} {message}{again}{trace}"


class Seldom(logging.Filter):
    """Lets the same line through once in a while, and says how often it was left out."""

    def __init__(self, seconds: float = REPEAT_SECONDS) -> None:
        super().__init__()
        self._seconds = seconds
        # Line -> when it was let through last, and how often it was left out since.
        self._said: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging."""
        line = record.getMessage()
        at, left_out = self._said.pop(line, (0.0, 0))
        if at and record.created - at < self._seconds:
            self._said[line] = (at, left_out + 1)
            return False
        record.left_out = left_out
        while len(self._said) >= REMEMBERED_MAX:
            del self._said[next(iter(self._said))]
        self._said[line] = (record.created, 0)
        return True


def log_to(stream: TextIO, shape: Format, level: int = logging.INFO) -> logging.Handler:
    """Send this room's log to a stream; answers the handler, for who wants to take it away again."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Lines(shape))
    handler.addFilter(Seldom())
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False
    return handler


async def complain_while_alone(node: Node, seeds: Sequence[str]) -> None:
    """Say so while no seed answers; the node tries them for as long as it takes. Never ends by itself."""
    wait = FIRST_COMPLAINT_SECONDS
    while True:
        await asyncio.sleep(wait)
        if not seeds or node.status().links:
            wait = FIRST_COMPLAINT_SECONDS
            continue
        where = ", ".join(seeds)
        log.warning("no seed has answered; still trying %s", where, extra={"facts": {"seeds": list(seeds)}})
        wait = min(2 * wait, COMPLAINT_SECONDS_MAX)
