"""Announcements: a node tells neighbours the names of messages that it has, so that missing ones are noticed.

This is the only way in which a node learns that it misses a message that no later message shows. The tree (`tree.py`) mends
itself with it, and recovery asks for what is missing. A message is announced to few neighbours:

- *listeners*, which receive the message from another neighbour and have asked this node to announce it. They notice soon
  if their own supplier fails.
- neighbours that this node sent the message to, because the message may have been lost on the way; and once more some
  seconds later, because the announcement may be lost too.

Announcements wait for each neighbour until something else is sent to it and then travel in the same frame (`Rider`); a frame
of their own leaves only if nothing else does in time. Only the latest run of messages of each publisher on a topic is
announced if recovery is there to ask for the messages before it. A network without new messages announces nothing.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, TimerFired, Unsubscribe
from gossamer.protocols.contract.facts import Fact, NeighbourDown, PeerMisbehaved
from gossamer.protocols.contract.messages import Burst, Data, Number, Timer, Value, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.delivery.intake import NOT_HELD
from gossamer.protocols.delivery.interests import OwnInterests

# Chosen: a listener is told within this time. A broken tree is noticed that much later.
LISTENERS_US = 400 * MILLISECOND_US
# Chosen: a neighbour that was sent the message is told within this time. Together with the wait of the receiver, a lost last
# message is requested within two seconds.
RECEIVERS_US = 1_200 * MILLISECOND_US
# Chosen: but not sooner than this, because what is lost with the message would be useless.
RECEIVERS_AFTER_US = 200 * MILLISECOND_US
# Chosen: each run is told twice, because a frame may be lost.
TIMES = 2
# Chosen: told again after four seconds, with the next frame to that neighbour. An idle link carries one every four seconds.
AGAIN_AFTER_US = 4 * SECOND_US
AGAIN_US = 8 * SECOND_US
# Chosen: announcements that would leave alone within this time leave together.
SLACK_US = 50 * MILLISECOND_US
# Chosen: runs in one frame, consecutive messages in one run, and messages that one frame may announce.
RUNS_MAX = 256
RUN_MAX = 4_096
ANNOUNCED_MAX = 16_384
# Chosen: runs that may wait; when there are more, all are sent at once.
WAITING_MAX = 16_384
# Later than every time.
NEVER_US = 2**62


class Run(Value, frozen=True, array_like=True, gc=False):
    """The last `count` messages of a publisher on a topic, with consecutive numbers up to `last`, and the age of the last.

    Ages are measured from the arrival at the sender: the clocks of two nodes may differ.
    """

    topic: TopicId
    publisher: NodeId
    last: Number
    age_ms: Annotated[int, Meta(ge=0)] = 0
    count: Annotated[int, Meta(ge=1, le=RUN_MAX)] = 1


class Announce(WireMessage, frozen=True, array_like=True, gc=False, tag="announce"):
    """The sender has these messages, on topics that sender and receiver share; the receiver may ask for them."""

    runs: Annotated[tuple[Run, ...], Meta(max_length=RUNS_MAX)]

    @property
    def topic(self) -> TopicId:
        """The topic of the first run; where topics are kept apart, it is that of all runs."""
        return self.runs[0].topic if self.runs else 0


class AnnounceDue(Timer, frozen=True, array_like=True, gc=False, tag="announce_due"):
    """Announcements are due that found nothing to travel with."""


class Announced(Fact, frozen=True, array_like=True, gc=False, tag="announced"):
    """A neighbour has these messages."""

    sender: NodeId
    runs: tuple[Run, ...]


class WaitingRun:
    """A run that will be announced to one neighbour."""

    __slots__ = ("at_us", "due_us", "first", "last", "publisher", "ready_us", "times", "topic")

    def __init__(
        self,
        topic: TopicId,
        publisher: NodeId,
        first: int,
        last: int,
        at_us: int,
        ready_us: int,
        due_us: int,
        times: int,
    ) -> None:
        self.topic = topic
        self.publisher = publisher
        self.first = first
        self.last = last
        self.at_us = at_us
        # It may leave from `ready_us` on, and must leave at `due_us`.
        self.ready_us = ready_us
        self.due_us = due_us
        # How often it is told.
        self.times = times


# The topic and the publisher; the first number too for an earlier run that is not replaced.
_Key = tuple[int, ...]


class Outbox:
    """The runs that wait for one neighbour, and when the first of them may and must leave."""

    __slots__ = ("due_us", "ready_us", "runs")

    def __init__(self) -> None:
        self.runs: dict[_Key, WaitingRun] = {}
        self.ready_us = self.due_us = NEVER_US

    def put(self, key: _Key, run: WaitingRun) -> None:
        """Let a run wait, in place of an earlier one of the same key."""
        self.runs[key] = run
        self.ready_us = min(self.ready_us, run.ready_us)
        self.due_us = min(self.due_us, run.due_us)

    def take(self, ready_us: int, due_us: int) -> list[tuple[_Key, WaitingRun]]:
        """Remove and return the runs that may leave at `ready_us`, or must leave at `due_us`."""
        waiting, self.runs = self.runs, {}
        self.ready_us = self.due_us = NEVER_US
        taken: list[tuple[_Key, WaitingRun]] = []
        for key, run in waiting.items():
            if run.ready_us <= ready_us or run.due_us <= due_us:
                taken.append((key, run))
            else:
                self.put(key, run)
        return taken


class Announcements:
    """The part that sends and receives announcements; dissemination and recovery, which are above it, use it."""

    __slots__ = ("_interests", "_keeps_latest", "_timer_us", "_waiting_count", "outboxes", "relays_announce")

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Announce,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (AnnounceDue,)

    def __init__(self, interests: OwnInterests, keeps_latest: bool) -> None:
        self._interests = interests
        # With recovery, only the latest run of each publisher.
        self._keeps_latest = keeps_latest
        # See `Rider`.
        self.outboxes: dict[NodeId, Outbox] = {}
        self._waiting_count = 0
        # When the earliest timer fires that is set; 0 if none is.
        self._timer_us = 0
        # The dissemination announces the messages that it relays. If not, recovery does.
        self.relays_announce = False

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`)."""
        match event:
            case MessageReceived():
                return self._on_announce(event.sender, event.message, out)
            case TimerFired():
                self._on_due(now_us, out)
            case Unsubscribe():
                self._drop(event.topic)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Forget what waits for a neighbour that is gone."""
        if isinstance(fact, NeighbourDown):
            outbox = self.outboxes.pop(fact.node, None)
            self._waiting_count -= 0 if outbox is None else len(outbox.runs)
        return NOTHING

    # Receiving.

    def _on_announce(self, sender: NodeId, message: Announce, out: list[Action]) -> Sequence[Fact]:
        """Pass on the runs of topics that this node holds; others are reported."""
        runs: list[Run] = []
        count = 0
        for run in message.runs:
            count += run.count
            if run.topic in self._interests.roles and run.count <= run.last and count <= ANNOUNCED_MAX:
                runs.append(run)
        if len(runs) < len(message.runs):
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))
        return (Announced(sender, tuple(runs)),) if runs else NOTHING

    # Sending.

    def add(
        self,
        topic: TopicId,
        data: Data | Burst,
        listeners: Sequence[NodeId],
        receivers: Sequence[NodeId],
        now_us: int,
        out: list[Action],
    ) -> None:
        """Announce a message, or the messages of a burst, which is sent to `receivers` now."""
        publisher, first, last = data.publisher, data.sequence, data.sequence + data.count - 1
        times = TIMES if self._keeps_latest else 1
        for node in listeners:
            self._put(node, WaitingRun(topic, publisher, first, last, now_us, now_us, now_us + LISTENERS_US, times))
        ready_us, due_us = now_us + RECEIVERS_AFTER_US, now_us + RECEIVERS_US
        for node in receivers:
            self._put(node, WaitingRun(topic, publisher, first, last, now_us, ready_us, due_us, times))
        if listeners or receivers:
            self._after_put(now_us + LISTENERS_US if listeners else due_us, now_us, out)

    def add_last(
        self,
        topic: TopicId,
        publisher: NodeId,
        last: int,
        at_us: int,
        nodes: Sequence[NodeId],
        now_us: int,
        out: list[Action],
        times: int = TIMES,
    ) -> None:
        """Announce to these neighbours the last message of a publisher, which arrived here at `at_us`."""
        ready_us, due_us = now_us + RECEIVERS_AFTER_US, now_us + RECEIVERS_US
        for node in nodes:
            # A publisher knows its own messages.
            if node != publisher:
                self._put(node, WaitingRun(topic, publisher, last, last, at_us, ready_us, due_us, times))
        if nodes:
            self._after_put(due_us, now_us, out)

    def _put(self, node: NodeId, run: WaitingRun) -> None:
        outbox = self.outboxes.get(node)
        if outbox is None:
            outbox = self.outboxes[node] = Outbox()
        key: _Key = (run.topic, run.publisher)
        earlier = outbox.runs.get(key)
        if earlier is None:
            self._waiting_count += 1
        elif earlier.last + 1 == run.first:
            run.first = earlier.first
            run.due_us = min(run.due_us, earlier.due_us)
        elif not self._keeps_latest:
            outbox.put((*key, earlier.first), earlier)
            self._waiting_count += 1
        elif run.last < earlier.last:
            return
        else:
            run.due_us = min(run.due_us, earlier.due_us)
        outbox.put(key, run)

    def ride(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """See `Rider`."""
        outbox = self.outboxes[node]
        if outbox.ready_us <= now_us:
            self._send(node, outbox.take(now_us, now_us), now_us, out)

    def _send(self, node: NodeId, taken: Sequence[tuple[_Key, WaitingRun]], now_us: int, out: list[Action]) -> None:
        """Send runs to a neighbour in as few frames as their limits allow. Each waits again if it is to be told again."""
        outbox = self.outboxes[node]
        runs: list[Run] = []
        count = 0
        for key, run in taken:
            length = min(run.last - run.first + 1, RUN_MAX)
            if len(runs) == RUNS_MAX or count + length > ANNOUNCED_MAX:
                out.append(Send((node,), Announce(tuple(runs))))
                runs, count = [], 0
            runs.append(Run(run.topic, run.publisher, run.last, max(now_us - run.at_us, 0) // MILLISECOND_US, length))
            count += length
            run.times -= 1
            if run.times:
                run.first, run.ready_us, run.due_us = run.last, now_us + AGAIN_AFTER_US, now_us + AGAIN_US
                outbox.put(key, run)
            else:
                self._waiting_count -= 1
        if runs:
            out.append(Send((node,), Announce(tuple(runs))))
        if not outbox.runs:
            del self.outboxes[node]

    def _after_put(self, due_us: int, now_us: int, out: list[Action]) -> None:
        if self._waiting_count > WAITING_MAX:
            for node, outbox in list(self.outboxes.items()):
                taken = outbox.take(NEVER_US, NEVER_US)
                for _, run in taken:
                    run.times = 1
                self._send(node, taken, now_us, out)
        elif not self._timer_us or due_us < self._timer_us:
            self._timer_us = due_us
            out.append(SetTimer(due_us, AnnounceDue()))

    def _on_due(self, now_us: int, out: list[Action]) -> None:
        if now_us < self._timer_us:
            # A timer that an earlier one has replaced.
            return
        for node, outbox in list(self.outboxes.items()):
            if outbox.due_us <= now_us + SLACK_US:
                self._send(node, outbox.take(now_us, now_us + SLACK_US), now_us, out)
        soonest_us = min((outbox.due_us for outbox in self.outboxes.values()), default=0)
        self._timer_us = soonest_us
        if soonest_us:
            out.append(SetTimer(soonest_us, AnnounceDue()))

    def _drop(self, topic: TopicId) -> None:
        """Drop the runs of a topic that the node has given up."""
        for node, outbox in list(self.outboxes.items()):
            kept = {key: run for key, run in outbox.runs.items() if run.topic != topic}
            self._waiting_count -= len(outbox.runs) - len(kept)
            outbox.runs = kept
            if not kept:
                del self.outboxes[node]
