"""The history of a topic that a late subscriber gathers from a few neighbours, before it delivers anything."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.delivery.history import EACH_BYTES, Name

# Chosen: messages, and their bytes, that are kept during a catch-up; when there are more, it ends.
KEPT_MAX = 4_096
KEPT_BYTES_MAX = 4 * 2**20


class CatchUp:
    """What a late subscriber wants of a topic's history, and what has arrived so far."""

    __slots__ = (
        "_size_bytes",
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
        self.past: dict[Name, Arrived] = {}
        self.fresh: dict[Name, Arrived] = {}
        # Messages of the past that wait for the application's validator.
        self.unvalidated: dict[Name, None] = {}
        self._size_bytes = 0

    def add(self, fact: Arrived, past: bool = False) -> bool:
        """Keep a message; returns whether there is room for more."""
        name = (fact.data.publisher, fact.data.sequence)
        past = past or name in self.unvalidated
        self.unvalidated.pop(name, None)
        (self.past if past else self.fresh)[name] = fact
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
        wanted = [fact for place, fact in enumerate(past) if place >= first or fact.data.published_us >= self.since_us]
        return _by_time([*wanted, *self.fresh.values()])


def _by_time(facts: list[Arrived]) -> list[Arrived]:
    """Order by time. Where a publisher's times do not increase with its numbers, its numbers decide."""
    keys: dict[NodeId, int] = {}
    keyed = []
    for fact in sorted(facts, key=lambda fact: fact.data.sequence):
        data = fact.data
        keys[data.publisher] = max(keys.get(data.publisher, 0), data.published_us)
        keyed.append((keys[data.publisher], data.publisher, data.sequence, fact))
    return [fact for *_, fact in sorted(keyed, key=lambda row: row[:3])]
