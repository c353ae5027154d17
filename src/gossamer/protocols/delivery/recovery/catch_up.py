"""The history of a topic that a late subscriber gathers from a few neighbours, before it delivers anything."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.delivery.announcements import MessageRun
from gossamer.protocols.delivery.history import EACH_BYTES, Name

# Chosen: messages, and their bytes, that are kept during a catch-up; when there are more, it ends.
KEPT_MAX = 4_096
KEPT_BYTES_MAX = 4 * 2**20
# Chosen: publishers whose announced messages are remembered during a catch-up.
ANNOUNCED_MAX = 1_024

# A message, and when it was published by this node's clock.
TimedFact = tuple[int, Arrived]


class CatchUp:
    """What a late subscriber wants of a topic's history, and what has arrived so far."""

    __slots__ = (
        "_size_bytes",
        "announced",
        "asked",
        "count",
        "fresh",
        "look_until_us",
        "past",
        "since_us",
        "unvalidated",
        "wait_until_us",
    )

    def __init__(self, count: int, since_us: int, look_until_us: int) -> None:
        self.count = count
        self.since_us = since_us
        # Until when to look for neighbours to ask; and, once they are asked, until when to wait for their answers.
        self.look_until_us = look_until_us
        self.wait_until_us: int | None = None
        # The neighbours asked, and whether each has sent its whole answer.
        self.asked: dict[NodeId, bool] = {}
        # Messages from before the subscription, and messages published since.
        self.past: dict[Name, TimedFact] = {}
        self.fresh: dict[Name, TimedFact] = {}
        # Messages of the past that wait for the application's validator, and when they were published.
        self.unvalidated: dict[Name, int] = {}
        self._size_bytes = 0
        # The last message of each publisher that a neighbour announced meanwhile: the neighbour, the run, and when.
        self.announced: dict[NodeId, tuple[NodeId, MessageRun, int]] = {}

    def note(self, sender: NodeId, run: MessageRun, now_us: int) -> None:
        """A neighbour announced messages; they are looked at when the catch-up ends."""
        known = self.announced.get(run.publisher)
        if known is None and len(self.announced) >= ANNOUNCED_MAX:
            return
        if known is None or known[1].last < run.last:
            self.announced[run.publisher] = (sender, run, now_us)

    def add(self, fact: Arrived, at_us: int, past: bool = False) -> bool:
        """Keep a message; returns whether there is room for more. `at_us`: see `History.put`."""
        name = (fact.data.publisher, fact.data.sequence)
        past = past or name in self.unvalidated
        at_us = self.unvalidated.pop(name, at_us)
        (self.past if past else self.fresh)[name] = (at_us, fact)
        self._size_bytes += len(fact.data.payload) + EACH_BYTES
        return len(self.past) + len(self.fresh) < KEPT_MAX and self._size_bytes < KEPT_BYTES_MAX

    @property
    def complete(self) -> bool:
        """Whether every neighbour asked has answered and no message waits for the validator."""
        return bool(self.asked) and all(self.asked.values()) and not self.unvalidated

    def in_order(self) -> list[Arrived]:
        """The messages to deliver: by time, and each publisher's messages in its own order."""
        past = _by_time(list(self.past.values()))
        first = max(len(past) - self.count, 0)
        wanted = [row for place, row in enumerate(past) if place >= first or row[0] >= self.since_us]
        return [fact for _, fact in _by_time([*wanted, *self.fresh.values()])]


def _by_time(rows: list[TimedFact]) -> list[TimedFact]:
    """Order by time. Where a publisher's times do not increase with its numbers, its numbers decide."""
    keys: dict[NodeId, int] = {}
    keyed = []
    for row in sorted(rows, key=lambda row: row[1].data.sequence):
        at_us, data = row[0], row[1].data
        keys[data.publisher] = max(keys.get(data.publisher, 0), at_us)
        keyed.append((keys[data.publisher], data.publisher, data.sequence, row))
    return [row for *_, row in sorted(keyed, key=lambda row: row[:3])]
