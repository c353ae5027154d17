"""Backpressure: a full queue or a slow reader stops this node from reading, so that publishers wait.

While the queue to one peer is long, the node reads from no other peer until that queue has drained. A peer that takes
almost nothing for `patience_seconds` is stuck: nobody waits for it any longer, its queue grows up to its bound, further
frames to it are refused and counted, and its link ends if it stays stuck. Times are this process's running time.
"""

import logging
from collections import Counter
from collections.abc import Mapping

from gossamer.live.api.limits import Limits
from gossamer.live.transport.links import Link

log = logging.getLogger("gossamer.live")

# The name of this reason to pause a link.
_PRESSURE = "pressure"


class Backpressure:
    """Decides which links of a node are read. `links` is the transport's own table of all its links."""

    def __init__(self, links: Mapping[Link, None], limits: Limits, counts: Counter[str]) -> None:
        self._links = links
        self._limits = limits
        self._counts = counts
        # Slow links: the bytes that had been sent at the last check that found progress, and the time of that check.
        self.slow: dict[Link, tuple[int, float]] = {}
        # Slow readers of this process.
        self._pauses: set[str] = set()

    @property
    def is_paused(self) -> bool:
        """Whether there is a reason of this node's own not to read."""
        return bool(self._pauses)

    def pause(self, reason: str) -> None:
        """Read from no link: a reader of this node is slow."""
        self._pauses.add(reason)
        for link in self._links:
            if link not in self.slow:
                link.pause_reading(_PRESSURE)

    def resume(self, reason: str) -> None:
        """Drop one reason to pause; the last one resumes reading."""
        self._pauses.discard(reason)
        self._resume_if_clear()

    def on_slow(self, link: Link, now: float) -> None:
        """A queue has become long: read from the other links no further until it drains."""
        self.slow[link] = (link.sent_bytes, now)
        for other in self._links:
            if other not in self.slow:
                other.pause_reading(_PRESSURE)
        # Keep reading from the slow peer itself: it may be waiting for us to read.
        link.resume_reading(_PRESSURE)

    def on_drained(self, link: Link) -> None:
        """The queue is short again, or the link is gone."""
        self.slow.pop(link, None)
        self._resume_if_clear()

    def check(self, now: float, interval_seconds: float) -> None:
        """Give up on slow peers that take too little; called once every interval."""
        if not self.slow:
            return
        patience = self._limits.patience_seconds
        for link, (sent, since) in list(self.slow.items()):
            if link.sent_bytes >= sent + self._limits.drain_bytes_per_second * interval_seconds:
                self.slow[link] = (link.sent_bytes, now)
            elif now - since > self._limits.stuck_seconds:
                self._counts["links closed: peer does not read"] += 1
                link.abort()
            elif now - since > patience and not link.is_stuck:
                log.warning("a peer does not read", extra={"facts": {"peer": link.node}})
                link.give_up_waiting()
        self._resume_if_clear()

    def _resume_if_clear(self) -> None:
        if not self._pauses and all(link.is_stuck for link in self.slow):
            for link in self._links:
                link.resume_reading(_PRESSURE)
