"""The log of a node on standard error: one line of JSON or text for each record.

Code in `live` logs a sentence, and adds `extra={"facts": {...}}` with the values that a program may look for.
"""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import Literal, TextIO

from gossamer.live.api.node import Node

log = logging.getLogger("gossamer.live")

LogFormat = Literal["json", "text"]
# Chosen: a line that repeats, such as one about a peer that is retried, appears at most this often.
REPEAT_SECONDS = 30.0
# Chosen: the number of different lines that are remembered for that.
REMEMBERED_MAX = 1_000
# Chosen: a node on the same network answers within 3 s. The warning then repeats at intervals that double up to 5 minutes.
FIRST_WARNING_SECONDS = 3.0
WARNING_SECONDS_MAX = 300.0


class LineFormatter(logging.Formatter):
    """Formats a log record as one line, with a traceback below it in the text format."""

    def __init__(self, log_format: LogFormat) -> None:
        super().__init__()
        self._format = log_format

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        milliseconds = f"{record.msecs:03.0f}"
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{milliseconds}Z"
        message = record.getMessage()
        left_out = getattr(record, "left_out", 0)
        facts = dict(getattr(record, "facts", {}))
        if left_out:
            facts["left_out"] = left_out
        if record.exc_info:
            facts["error"] = self.formatException(record.exc_info)
        if self._format == "json":
            return json.dumps({"at": at, "level": record.levelname.lower(), "message": message, **facts}, default=str)
        again = f" ({left_out} repetitions were not logged)" if left_out else ""
        trace = f"\n{facts['error']}" if record.exc_info else ""
        return f"{at} {record.levelname.lower()} {message}{again}{trace}"


class RepeatFilter(logging.Filter):
    """Drops a line that appeared less than `seconds` ago; when it appears again, it tells how often it was dropped."""

    def __init__(self, seconds: float = REPEAT_SECONDS) -> None:
        super().__init__()
        self._seconds = seconds
        # Line -> when it last appeared, and how often it was dropped since.
        self._lines: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter`."""
        line = record.getMessage()
        at, left_out = self._lines.pop(line, (0.0, 0))
        if at and record.created - at < self._seconds:
            self._lines[line] = (at, left_out + 1)
            return False
        record.left_out = left_out
        while len(self._lines) >= REMEMBERED_MAX:
            del self._lines[next(iter(self._lines))]
        self._lines[line] = (record.created, 0)
        return True


def log_to(stream: TextIO, log_format: LogFormat, level: int = logging.INFO) -> logging.Handler:
    """Write the log of `live` to a stream; returns the handler, so that the caller can remove it."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(log_format))
    handler.addFilter(RepeatFilter())
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False
    return handler


async def warn_while_alone(node: Node, join: Sequence[str]) -> None:
    """Log a warning while the node has no link. The node keeps trying the addresses to join through. Never returns."""
    wait = FIRST_WARNING_SECONDS
    while True:
        await asyncio.sleep(wait)
        status = node.status()
        if not join or status.links:
            wait = FIRST_WARNING_SECONDS
            continue
        reasons = [f"{address} ({status.unanswered.get(address, 'no answer')})" for address in join]
        log.warning(
            "none of the nodes to join has accepted a link; still trying %s",
            ", ".join(reasons),
            extra={"facts": {"join": list(join), "unanswered": status.unanswered}},
        )
        wait = min(2 * wait, WARNING_SECONDS_MAX)
