"""The past of a topic, gathered from a few neighbours by one who comes late."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.delivery.history import EACH_BYTES, Name

# Chosen: how many neighbours are asked. What one has lost another has.
ASKED_MAX = 3
# Chosen: what is held while the past is waited for; when it is more, waiting ends.
HELD_MAX = 4_096
HELD_BYTES_MAX = 4 * 2**20


class CatchUp:
    """What a late subscriber wants of the past, and what has come of it so far."""

    __slots__ = (
        "_size_bytes",
        "asked",
        "count",
        "fresh",
        "hold_until_us",
        "judged",
        "look_until_us",
        "past",
        "since_us",
    )

    def __init__(self, count: int, since_us: int, look_until_us: int) -> None:
        self.count = count
        self.since_us = since_us
        # Until when somebody to ask is looked for; then, until when answers are waited for.
        self.look_until_us = look_until_us
        self.hold_until_us: int | None = None
        # Who was asked, and whether all of the answer has come.
        self.asked: dict[NodeId, bool] = {}
        self.past: dict[Name, Arrived] = {}
        self.fresh: dict[Name, Arrived] = {}
        # Messages of the past that the application judges.
        self.judged: dict[Name, None] = {}
        self._size_bytes = 0

    def add(self, fact: Arrived, past: bool = False) -> bool:
        """Hold a message; says whether there is room for more."""
        name = (fact.data.publisher, fact.data.sequence)
        past = past or name in self.judged
        self.judged.pop(name, None)
        (self.past if past else self.fresh)[name] = fact
        self._size_bytes += len(fact.data.payload) + EACH_BYTES
        return len(self.past) + len(self.fresh) < HELD_MAX and self._size_bytes < HELD_BYTES_MAX

    @property
    def complete(self) -> bool:
        """Whether everybody has answered and nothing is being judged."""
        return bool(self.asked) and all(self.asked.values()) and not self.judged

    def in_order(self) -> list[Arrived]:
        """What is to be delivered: by time, but each publisher's messages in its own order."""
        past = _by_time(list(self.past.values()))
        first = max(len(past) - self.count, 0)
        wanted = [fact for place, fact in enumerate(past) if place >= first or fact.data.published_us >= self.since_us]
        return _by_time([*wanted, *self.fresh.values()])


def _by_time(facts: list[Arrived]) -> list[Arrived]:
    """By time; where a publisher's times do not grow with its numbers, its numbers decide."""
    keys: dict[NodeId, int] = {}
    keyed = []
    for fact in sorted(facts, key=lambda fact: fact.data.sequence):
        data = fact.data
        keys[data.publisher] = max(keys.get(data.publisher, 0), data.published_us)
        keyed.append((keys[data.publisher], data.publisher, data.sequence, fact))
    return [fact for *_, fact in sorted(keyed, key=lambda row: row[:3])]
