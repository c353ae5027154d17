"""The journal of a process: what it published and received, one JSON list a line, each line in one unbuffered write.

A line that was written survives SIGKILL; the last line may be cut off. The first field is the kind, the second the time in
seconds of the monotonic clock, which all processes of a machine share.
"""

import json
import time
from pathlib import Path

# Kinds of lines, with the fields after the time.
STARTED = "started"  # node id
SUBSCRIBED = "subscribed"  # topic, number of the subscription
UNSUBSCRIBING = "unsubscribing"  # topic, number of the subscription: the last line before it closes
OPENED = "opened"  # topic: a publisher
CLOSING = "closing"  # topic: a publisher, or the last line before the node stops
PUBLISHED = (
    "published"  # topic, sequence, place in the order of the publisher, neighbours it was queued for, time before
)
DELIVERED = "delivered"  # topic, subscription, publisher, sequence, place in the order, time of publication
GAP = "gap"  # topic, subscription, publisher, after, before
SLOW = "slow"  # topic, until when the reader sleeps
STOPPED = "stopped"  # why the process ends, counts of drops
# Lines of the process that causes the faults.
PAUSED, RESUMED, KILLED, CLEANLY_STOPPED = "paused", "resumed", "killed", "cleanly stopped"  # node
DIED = "died"  # node, exit code


class Journal:
    """Appends lines to a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, kind: str, *fields) -> None:
        self._file.write(json.dumps([kind, time.monotonic(), *fields]).encode() + b"\n")

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> list:
    """The lines of a journal without one that was cut off."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
