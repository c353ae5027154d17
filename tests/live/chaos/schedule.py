"""Topics, traffic and faults of a run, decided by the seed alone. All times are seconds since the run began."""

from typing import NamedTuple

from gossamer.model.values.draw import below, draw, third_party_purpose, unit

NODES, TOPICS = 24, 60
# Topics that a node follows and publishes on; of these, some have a publisher of their own, which stays when the
# subscription closes; and topics on which the node only publishes.
FOLLOWED, WITH_PUBLISHER, PUBLISHED_ONLY = 12, 4, 2
# Messages a second of one node, on all its topics together.
RATE = 5.0
# The queue of a subscription whose reader is slow at times: short, so that messages are dropped.
SLOW_QUEUE = 16
# No fault before this time: the network forms first.
CALM_SECONDS = 10.0

Interval = tuple[float, float]


class Fault(NamedTuple):
    """A fault of a whole process: "kill" and "stop" end it, and it returns after `seconds`; "pause" stops it for them."""

    at: float
    kind: str
    node: int
    seconds: float


class TopicPlan(NamedTuple):
    """One topic of a node: when its subscription and its publisher are open, and when its reader is slow."""

    topic: int
    subscribed: tuple[Interval, ...]
    publisher: tuple[Interval, ...]
    slow: tuple[Interval, ...]


class Draws:
    """Random numbers for one purpose of one node, one after another."""

    def __init__(self, seed: int, node: int, purpose: str) -> None:
        self._keys = (seed, node, third_party_purpose(f"chaos/{purpose}"))
        self._count = 0

    def bits(self) -> int:
        self._count += 1
        return draw(*self._keys, self._count)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * unit(self.bits())

    def choice(self, values):
        return values[below(self.bits(), len(values))]


def faults(seed: int, seconds: float) -> list[Fault]:
    """The faults of all processes, in order of time. One process has one fault at a time, and all end before the run."""
    found = []
    for node in range(NODES):
        draws = Draws(seed, node, "faults")
        at = CALM_SECONDS + draws.between(0, 40)
        while True:
            kind = draws.choice(("kill", "stop", "pause"))
            lasts = draws.between(3, 20) if kind == "pause" else draws.between(0.5, 10)
            if at + lasts > seconds:
                break
            found.append(Fault(at, kind, node, lasts))
            at += lasts + draws.between(15, 60)
    return sorted(found)


def topic_plans(seed: int, node: int, seconds: float) -> list[TopicPlan]:
    """The topics of one node."""
    draws = Draws(seed, node, "topics")
    topics = sorted(range(TOPICS), key=lambda _: draws.bits())[: FOLLOWED + PUBLISHED_ONLY]
    plans = []
    for place, topic in enumerate(topics):
        has_publisher = place < WITH_PUBLISHER or place >= FOLLOWED
        plans.append(
            TopicPlan(
                topic,
                _open_intervals(draws, seconds) if place < FOLLOWED else (),
                _open_intervals(draws, seconds) if has_publisher else (),
                _slow_intervals(draws, seconds) if place % 3 == 0 else (),
            )
        )
    return plans


def _open_intervals(draws: Draws, seconds: float) -> tuple[Interval, ...]:
    """Open, closed for some seconds, and open again; the last interval does not end before the run."""
    found, begin = [], 0.0
    while True:
        end = max(begin, CALM_SECONDS) + draws.between(20, 200)
        if end + 15 > seconds:
            return (*found, (begin, float("inf")))
        found.append((begin, end))
        begin = end + draws.between(0.2, 12)


def _slow_intervals(draws: Draws, seconds: float) -> tuple[Interval, ...]:
    found, end = [], CALM_SECONDS
    while True:
        begin = end + draws.between(10, 120)
        end = begin + draws.between(5, 20)
        if end > seconds:
            return tuple(found)
        found.append((begin, end))
