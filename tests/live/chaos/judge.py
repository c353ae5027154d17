"""Compares the journals of all processes of a run: which messages are silently missing, delivered twice or out of order.

A subscription begins when `subscribe` has returned and ends when it is closed, or with its process. A message is
published at the time before the call of `publish`, which its payload contains. The payload also contains the message's
place in the order of its publisher, so that the judge does not depend on sequence numbers to find duplicates and order.

A message is *due* to a subscription on its topic if another node published it while the subscription was open, and
  - the subscription delivered a later message of the same publisher, or
  - at least `DUE_SECONDS` passed between the publication and the end of the subscription, not counting the time in which
    the subscriber or the publisher was paused or the reader slept.
A message that no subscriber delivered is not due if no process can have it any more: within `DUE_SECONDS`, again not
counting pauses, its publisher
  - was killed, or
  - stopped or closed the topic, and so did, or was killed, each neighbour that its receipt named, if any, and the
    subscription delivered no later message of the publisher (which would show the gap).
As soon as one subscriber has delivered a message, it is due to all others.

A due message is *silently missing* if the subscription neither delivered it nor listed it in `gaps`. It is delivered
*twice* if one process delivered it twice on a topic, and *out of order* if one process delivered it after a later message
of its publisher on that topic.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.chaos import journal
from tests.live.chaos.fleet import FAULTS

DUE_SECONDS = 20.0


@dataclass
class Message:
    """A message, from the publisher's journal or, if that line is missing, from a subscriber's."""

    topic: str
    publisher: str
    sequence: int
    order: int
    at: float
    # The neighbours that it was queued for; empty without a receipt.
    queued: list[str] = field(default_factory=list)
    receivers: int = 0


@dataclass
class Reading:
    """One subscription of one process."""

    life: "Life"
    topic: str
    begin: float
    end: float = float("inf")
    delivered: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    gaps: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slow: list[tuple[float, float]] = field(default_factory=list)


@dataclass
class Life:
    """One process, from its start to its end."""

    name: str
    index: int
    node: str = ""
    begin: float = 0.0
    end: float = 0.0
    was_killed: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    readings: dict[int, Reading] = field(default_factory=dict)
    # When the node stopped holding each topic that it published on.
    closings: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


@dataclass
class Verdict:
    """The result of a run: how many messages of each kind, and a line for each fault of the network."""

    published: int = 0
    delivered: int = 0
    reported: int = 0
    in_flight: int = 0
    lost_with_process: int = 0
    missing: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_clean(self) -> bool:
        return not (self.missing or self.twice or self.out_of_order or self.died)

    def summary(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.published} published, {self.delivered} delivered, {self.reported} reported as gaps, "
            f"{self.in_flight} under way at the end of a subscription, {self.lost_with_process} lost with a process; "
            f"{len(self.missing)} silently missing, {len(self.twice)} twice, {len(self.out_of_order)} out of order, "
            f"{len(self.died)} processes failed ({faults})"
        )


class Judge:
    """Reads the journals in a folder and judges them."""

    def __init__(self, folder: Path) -> None:
        self.verdict = Verdict()
        # By publisher and its own order.
        self.messages: dict[tuple[str, int], Message] = {}
        self.lives: list[Life] = []
        self._pauses: dict[int, list[tuple[float, float]]] = defaultdict(list)
        self._read_faults(journal.read(folder / FAULTS))
        for path in sorted(folder.glob("[0-9]*.journal")):
            self._read_life(path)
        self._by_topic: dict[tuple[str, str], list[Message]] = defaultdict(list)
        for message in sorted(self.messages.values(), key=lambda message: message.at):
            self._by_topic[message.topic, message.publisher].append(message)
        self._lives_of: dict[str, list[Life]] = defaultdict(list)
        for life in self.lives:
            self._lives_of[life.node].append(life)

    def judge(self) -> Verdict:
        """The verdict over all subscriptions."""
        self.verdict.published = len(self.messages)
        for life in self.lives:
            self.verdict.counts.update(life.counts)
            for reading in life.readings.values():
                for (topic, publisher), messages in self._by_topic.items():
                    if topic == reading.topic and publisher != life.node:
                        self._judge_stream(reading, publisher, messages)
        return self.verdict

    # Reading.

    def _read_faults(self, rows: list) -> None:
        began: dict[int, float] = {}
        for kind, at, node, *rest in rows:
            self.verdict.faults[kind] += 1
            if kind == journal.PAUSED:
                began[node] = at
            elif kind == journal.RESUMED:
                self._pauses[node].append((began.pop(node), at))
            elif kind == journal.DIED:
                self.verdict.died.append(f"node {node} ended with code {rest}")

    def _read_life(self, path: Path) -> None:
        life = Life(path.stem, int(path.stem[:2]))
        was_stopped = False
        seen: dict[tuple[str, str, int], None] = {}
        latest: dict[tuple[str, str], int] = {}
        for kind, at, *fields in journal.read(path):
            life.end = at
            if kind == journal.STARTED:
                life.node, life.begin = fields[0], at
            elif kind == journal.SUBSCRIBED:
                life.readings[fields[1]] = Reading(life, fields[0], at)
            elif kind == journal.UNSUBSCRIBING:
                life.readings[fields[1]].end = at
            elif kind == journal.CLOSING:
                life.closings[fields[0]].append(at)
            elif kind == journal.PUBLISHED:
                topic, sequence, order, queued, before = fields
                message = self._message(topic, life.node, sequence, order, before)
                message.queued = queued
            elif kind == journal.DELIVERED:
                self._read_delivery(life, at, fields, seen, latest)
            elif kind == journal.GAP:
                _, number, publisher, after, before = fields
                life.readings[number].gaps[publisher].append((after, before))
            elif kind == journal.SLOW:
                topic, until = fields
                for reading in life.readings.values():
                    if reading.topic == topic:
                        reading.slow.append((at, until))
            elif kind == journal.STOPPED:
                was_stopped, life.counts = True, fields[0]
        life.was_killed = not was_stopped
        for reading in life.readings.values():
            reading.end = min(reading.end, life.end)
        self.lives.append(life)

    def _message(self, topic: str, publisher: str, sequence: int, order: int, at: float) -> Message:
        return self.messages.setdefault((publisher, order), Message(topic, publisher, sequence, order, at))

    def _read_delivery(self, life: Life, at: float, fields: list, seen: dict, latest: dict) -> None:
        topic, number, publisher, sequence, order, published = fields
        message = self._message(topic, publisher, sequence, order, published)
        message.receivers += 1
        self.verdict.delivered += 1
        line = f"{life.name} on {topic}: message {order} of {publisher}, sequence {sequence}, at {at:.2f}"
        if (topic, publisher, order) in seen:
            self.verdict.twice.append(line)
        elif order < latest.get((topic, publisher), 0):
            self.verdict.out_of_order.append(line)
        seen[topic, publisher, order] = None
        latest[topic, publisher] = max(order, latest.get((topic, publisher), 0))
        life.readings[number].delivered[publisher].append((sequence, at))

    # Judging.

    def _judge_stream(self, reading: Reading, publisher: str, messages: list[Message]) -> None:
        delivered = {sequence for sequence, _ in reading.delivered.get(publisher, ())}
        gaps = reading.gaps.get(publisher, ())
        last = max(delivered, default=0)
        first = bisect_left(messages, reading.begin, key=lambda message: message.at)
        for message in messages[first:]:
            sequence = message.sequence
            if message.at >= reading.end or sequence in delivered:
                continue
            if any(after < sequence < before for after, before in gaps):
                self.verdict.reported += 1
            elif sequence > last and self._active_seconds(message, reading) < DUE_SECONDS:
                self.verdict.in_flight += 1
            elif self._was_lost_with_process(message, sequence < last):
                self.verdict.lost_with_process += 1
            else:
                self.verdict.missing.append(self._describe(message, reading, last))

    def _active_seconds(self, message: Message, reading: Reading) -> float:
        """The time that the network had to deliver a message: both ends ran, and the reader read."""
        indices = {reading.life.index, *(life.index for life in self._lives_of[message.publisher])}
        breaks = reading.slow + [pause for index in indices for pause in self._pauses[index]]
        spent = _covered(breaks, message.at, reading.end)
        return reading.end - message.at - spent

    def _was_lost_with_process(self, message: Message, is_shown: bool) -> bool:
        if message.receivers:
            return False
        for life in self._lives_of[message.publisher]:
            if life.begin <= message.at <= life.end:
                closed = [at for at in life.closings[message.topic] if at >= message.at]
                if not closed:
                    return life.was_killed and self._is_soon(life, message.at, life.end)
                forgot = all(self._forgot_soon(node, message) for node in message.queued)
                return not is_shown and forgot and self._is_soon(life, message.at, closed[0])
        return False

    def _forgot_soon(self, node: str, message: Message) -> bool:
        """Whether a neighbour was killed, stopped or closed the topic soon after a message was queued for it."""
        for life in self._lives_of[node]:
            if life.begin <= message.at <= life.end:
                ends = [at for at in life.closings[message.topic] if at >= message.at] or [life.end]
                return self._is_soon(life, message.at, ends[0])
        return True

    def _is_soon(self, life: Life, begin: float, end: float) -> bool:
        """Whether a process ran for less than `DUE_SECONDS` between two times."""
        return end - begin - _covered(self._pauses[life.index], begin, end) <= DUE_SECONDS

    def _describe(self, message: Message, reading: Reading, last: int) -> str:
        later = [at for sequence, at in reading.delivered.get(message.publisher, ()) if sequence > message.sequence]
        until = f"a later one was delivered at {later[0]:.2f}" if last > message.sequence else "no later one"
        publisher = self._lives_of[message.publisher]
        return (
            f"{reading.life.name} on {message.topic} ({reading.begin:.2f} to {reading.end:.2f}): message "
            f"{message.order} of {publisher[0].index if publisher else '?'} ({message.publisher}), sequence "
            f"{message.sequence}, published at {message.at:.2f} to {len(message.queued)} neighbours, "
            f"{message.receivers} receivers; {until}"
        )


def _covered(intervals: list[tuple[float, float]], begin: float, end: float) -> float:
    """The length of the union of intervals between two times."""
    total, at = 0.0, begin
    for first, last in sorted(intervals):
        first, last = max(first, at), min(last, end)
        if last > first:
            total += last - first
            at = last
    return total
