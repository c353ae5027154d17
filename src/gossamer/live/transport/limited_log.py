"""A log that peers cannot fill: one line of each kind in ten seconds, with the number of lines that were left out."""

import logging
from collections.abc import Callable, Mapping

log = logging.getLogger("gossamer.live")

# Chosen: how long further lines of the same kind are only counted.
QUIET_SECONDS = 10.0
# Chosen: more than there are kinds; the kinds do not depend on what a peer sends.
KINDS_MAX = 256


class LimitedLog:
    """Logs what peers cause. `monotonic` is the clock in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        # Kind -> when its last line was logged, how many were left out since, and their level.
        self._kinds: dict[str, tuple[float, int, int]] = {}

    def add(
        self,
        kind: str,
        sentence: str,
        facts: Mapping[str, object] | None = None,
        level: int = logging.WARNING,
        trace: bool = False,
    ) -> None:
        """Log a sentence, unless one of the same kind was logged a moment ago. With `trace`, log the present exception."""
        now = self._monotonic()
        logged_at, left_out, _ = self._kinds.pop(kind, (-QUIET_SECONDS, 0, level))
        if now - logged_at < QUIET_SECONDS:
            self._kinds[kind] = (logged_at, left_out + 1, level)
            return
        if len(self._kinds) >= KINDS_MAX:
            del self._kinds[next(iter(self._kinds))]
        self._kinds[kind] = (now, 0, level)
        more = f" ({left_out} more were not logged)" if left_out else ""
        extra = {"facts": {**(facts or {}), **_count(left_out)}}
        log.log(level, "%s%s", _printable(sentence), more, extra=extra, exc_info=trace)

    def report(self) -> None:
        """Log how many lines were left out, for kinds of which no further line came; called regularly."""
        now = self._monotonic()
        for kind, (logged_at, left_out, level) in list(self._kinds.items()):
            if left_out and now - logged_at >= QUIET_SECONDS:
                self._kinds[kind] = (now, 0, level)
                log.log(level, "%s: %d more were not logged", kind, left_out, extra={"facts": _count(left_out)})


def _count(left_out: int) -> dict[str, object]:
    return {"not_logged": left_out} if left_out else {}


def _printable(sentence: str) -> str:
    """The sentence without line ends and escape codes: a peer may have chosen a part of it."""
    return sentence if sentence.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in sentence)
