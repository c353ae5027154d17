"""Announcements: a node tells neighbours the names of messages that it has, so that missing ones are noticed.

This is the only way in which a node learns that it misses a message that no later message shows. The tree (`tree.py`) mends
itself with it, and recovery asks for what is missing. A message is announced

- soon to *listeners*, neighbours that receive the message from another neighbour and have asked this node to announce it: they
  notice if their own supplier fails;
- after a second to the neighbours that this node sent the message to: it may have been lost on the way;
- after some seconds to all other neighbours on the topic, unless they have announced it themselves: a part of the topic may be
  cut off whose nodes listen only to each other.

Announcements wait for each neighbour until something else is sent to it and then travel in the same frame (`Rider`); a frame
of their own leaves only if nothing else does in time. If recovery is there to ask for earlier messages, only the latest run of
messages of each publisher on a topic is announced. A network without new messages announces nothing.
"""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import Event, MessageReceived, TimerFired, Unsubscribe
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourTopicsChanged, PeerMisbehaved
from gossamer.protocols.contract.messages import Burst, Data, SequenceNumber, Timer, Value, WireMessage
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours
from gossamer.protocols.delivery.intake import NOT_HELD
from gossamer.protocols.delivery.interests import OwnInterests

# Chosen: announcements that would leave alone within this time leave together.
SLACK_US = 50 * MILLISECOND_US
# Chosen: runs in one frame, consecutive messages in one run, and messages that one frame may announce.
RUNS_MAX, RUN_MAX, ANNOUNCED_MAX = 256, 4_096, 16_384
# Chosen: runs that may wait; when there are more, all are sent at once.
WAITING_MAX = 16_384
# Later than every time.
NEVER_US = 2**62


class Pace(Struct, frozen=True, gc=False):
    """When a run is announced to a neighbour: how long after the last message it may leave, and after the first it must."""

    ready_us: int
    due_us: int


# Chosen: a listener is told within this time. A broken tree is noticed that much later.
LISTENER = Pace(0, 500 * MILLISECOND_US)
# Chosen: together with the wait of the receiver, a lost last message is requested within two seconds. Not before 100 ms, because
# what is lost together with the message would be useless.
RECEIVER = Pace(100 * MILLISECOND_US, 1_300 * MILLISECOND_US)
# Chosen: after a pause of four seconds, with the next frame; an idle link carries one every four seconds. Without a pause every 8 s.
OTHER = Pace(4 * SECOND_US, 8 * SECOND_US)
NEWCOMER = Pace(0, 0)


class MessageRun(Value, frozen=True, array_like=True, gc=False):
    """The last `count` messages of a publisher on a topic, up to `last`, and the age of the last since it arrived at the sender."""

    topic: TopicId
    publisher: NodeId
    last: SequenceNumber
    age_ms: Annotated[int, Meta(ge=0)] = 0
    count: Annotated[int, Meta(ge=1, le=RUN_MAX)] = 1
    # False if the sender relays the last message to nobody, because it fetched it or had it long ago.
    relayed: bool = True


class Announce(WireMessage, frozen=True, array_like=True, gc=False, tag="announce"):
    """The sender has these messages, on topics that sender and receiver share; the receiver may ask for them."""

    runs: Annotated[tuple[MessageRun, ...], Meta(max_length=RUNS_MAX)]

    @property
    def topic(self) -> TopicId:
        """The topic of the first run; where topics are kept apart, it is that of all runs."""
        return self.runs[0].topic if self.runs else 0


class AnnounceDue(Timer, frozen=True, array_like=True, gc=False, tag="announce_due"):
    """Announcements are due that found nothing to travel with."""


class Announced(Fact, frozen=True, array_like=True, gc=False, tag="announced"):
    """A neighbour has these messages."""

    sender: NodeId
    runs: tuple[MessageRun, ...]


class News(Struct, eq=False, gc=False):
    """The latest run of messages of a publisher on a topic, which waits to be announced."""

    topic: TopicId
    publisher: NodeId
    first: int
    last: int
    # When the last message arrived, and whether this node relays it.
    at_us: int
    relayed: bool
    # The number of neighbours for which it waits.
    count: int = 0
    # Whether it waits for all of these: the neighbours on the topic, the listeners and the receivers among them.
    is_everywhere: bool = False
    route: tuple[Sequence[NodeId], ...] = ((), (), ())
    sender: NodeId = 0


class Waiting(Struct, eq=False, gc=False):
    """What waits for one neighbour of one run: its pace, when it must leave, and up to which number it was told before."""

    news: News
    pace: Pace
    due_us: int
    told: int
    repeats: bool = False  # announced once more, because the first frame may be lost


class Outbox:
    """The runs that wait for one neighbour, and the earliest times when one of them may leave and must leave."""

    __slots__ = ("due_us", "ready_us", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[News, Waiting] = {}
        self.ready_us = self.due_us = NEVER_US

    def put(self, waiting: Waiting) -> None:
        """Let a run wait."""
        news, due_us = waiting.news, waiting.due_us
        self.waiting[news] = waiting
        ready_us = news.at_us + waiting.pace.ready_us
        # Measured: comparisons, because calls of `min` take most of the time here and in `take`.
        self.ready_us = ready_us if ready_us < self.ready_us else self.ready_us
        self.due_us = due_us if due_us < self.due_us else self.due_us

    def take(self, ready_us: int, due_us: int) -> list[Waiting]:
        """Remove and return the runs that may leave at `ready_us`, or must leave at `due_us`."""
        taken: list[Waiting] = []
        soonest_ready_us = soonest_due_us = NEVER_US
        for news, waiting in self.waiting.items():
            may_us, must_us = news.at_us + waiting.pace.ready_us, waiting.due_us
            if must_us <= due_us or may_us <= ready_us:
                taken.append(waiting)
            else:
                soonest_ready_us = may_us if may_us < soonest_ready_us else soonest_ready_us
                soonest_due_us = must_us if must_us < soonest_due_us else soonest_due_us
        for waiting in taken:
            del self.waiting[waiting.news]
        self.ready_us, self.due_us = soonest_ready_us, soonest_due_us
        return taken


class Announcements:
    """The part that sends and receives announcements; dissemination and recovery, which are above it, use it."""

    __slots__ = (
        "_interests",
        "_keeps_latest",
        "_latest",
        "_overlay",
        "_timer_us",
        "_waiting_count",
        "outboxes",
        "relays_announce",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Announce,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (AnnounceDue,)

    def __init__(self, overlay: TopicNeighbours, interests: OwnInterests, keeps_latest: bool) -> None:
        self._overlay = overlay
        self._interests = interests
        # With recovery, only the latest run of each publisher.
        self._keeps_latest = keeps_latest
        # By topic and publisher: the runs that wait for any neighbour.
        self._latest: dict[tuple[TopicId, NodeId], News] = {}
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
                self._drop_topic(event.topic)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Forget what waits for a neighbour that is gone, or that has given up the topic."""
        if isinstance(fact, NeighbourDown):
            self._drop(fact.node, lambda news: True)
        elif isinstance(fact, NeighbourTopicsChanged):
            self._drop(fact.node, lambda news: fact.node not in self._overlay.neighbours_on(news.topic))
        return NOTHING

    # Receiving.

    def _on_announce(self, sender: NodeId, message: Announce, out: list[Action]) -> Sequence[Fact]:
        """Pass on the runs of topics that both nodes hold; topics that this node does not hold are reported."""
        runs: list[MessageRun] = []
        count = strange = 0
        outbox = self.outboxes.get(sender)
        waiting = {} if outbox is None else outbox.waiting
        roles, neighbours_on = self._interests.roles, self._overlay.neighbours_on
        for run in message.runs:
            topic, last = run.topic, run.last
            count += run.count
            if topic not in roles or run.count > last or count > ANNOUNCED_MAX:
                continue
            if sender not in neighbours_on(topic):
                strange += 1
                continue
            runs.append(run)
            news = self._latest.get((topic, run.publisher)) if waiting else None
            if news is not None and news in waiting and self._has_all(run, waiting[news]):
                self._taken(waiting.pop(news))
        self._forget_if_empty(sender)
        if len(runs) + strange < len(message.runs):
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))
        return (Announced(sender, tuple(runs)),) if runs else NOTHING

    def _has_all(self, run: MessageRun, waiting: Waiting) -> bool:
        """Whether a neighbour that announced a run has all messages of a run that waits for it, or with recovery the last."""
        first = max(waiting.news.first, waiting.told + 1)
        return waiting.news.last <= run.last and (self._keeps_latest or run.last - run.count < first)

    # Sending.

    def add(
        self,
        topic: TopicId,
        data: Data | Burst,
        listeners: Sequence[NodeId],
        receivers: Sequence[NodeId],
        sender: NodeId,
        now_us: int,
        out: list[Action],
    ) -> None:
        """Announce a message, or the messages of a burst, that came from `sender` and is sent to `receivers` now."""
        first = data.sequence
        news = self._news(topic, data.publisher, first, first + data.count - 1, now_us, True)
        neighbours = self._overlay.neighbours_on(topic)
        route = (neighbours, listeners, receivers)
        if news.is_everywhere and news.sender == sender and all(map(is_, news.route, route)):
            return
        for node in neighbours:
            if node in receivers:
                self._put(node, news, RECEIVER, first, now_us)
            elif node in listeners:
                self._put(node, news, LISTENER, first, now_us)
            elif node != sender:
                self._put(node, news, OTHER, first, now_us)
        news.is_everywhere, news.route, news.sender = True, route, sender
        pace = LISTENER if listeners else RECEIVER if receivers else OTHER
        self._after_put(now_us + pace.due_us, now_us, out)

    def add_last(
        self,
        topic: TopicId,
        publisher: NodeId,
        last: int,
        at_us: int,
        nodes: Sequence[NodeId],
        now_us: int,
        out: list[Action],
        pace: Pace = RECEIVER,
    ) -> None:
        """Announce to these neighbours the last message of a publisher, which arrived here at `at_us`."""
        news = self._news(topic, publisher, last, last, at_us, False)
        for node in nodes:
            if node != publisher:  # which knows its own messages
                self._put(node, news, pace, last, now_us)
        self._after_put(now_us + pace.due_us, now_us, out)

    def _news(self, topic: TopicId, publisher: NodeId, first: int, last: int, at_us: int, relayed: bool) -> News:
        """The run that these messages belong to."""
        news = self._latest.get((topic, publisher))
        if news is not None and (news.last + 1 == first or self._keeps_latest):
            if news.last < last:
                news.first = news.first if news.last + 1 == first else first
                news.last, news.at_us, news.relayed = last, at_us, relayed
            return news
        return News(topic, publisher, first, last, at_us, relayed)

    def _put(self, node: NodeId, news: News, pace: Pace, first: int, now_us: int) -> None:
        """Let a run wait for a neighbour, which is not told the messages before `first` unless they wait already."""
        outbox = self.outboxes.get(node)
        if outbox is None:
            outbox = self.outboxes[node] = Outbox()
        # A run that waits for nobody yet is in no outbox.
        waiting = outbox.waiting.get(news) if news.count else None
        if waiting is None:
            self._waiting_count += 1
            news.count += 1
            self._latest[news.topic, news.publisher] = news
            outbox.put(Waiting(news, pace, now_us + pace.due_us, first - 1, pace is RECEIVER))
        elif pace.due_us < waiting.pace.due_us:
            waiting.repeats = True  # it waited for a later frame, perhaps the second one: it is still announced then
            waiting.pace, waiting.due_us = pace, min(waiting.due_us, now_us + pace.due_us)
            outbox.put(waiting)

    def hurry(self, topic: TopicId, now_us: int, out: list[Action]) -> None:
        """The neighbour is gone that passed this node's messages on: tell all others soon what it may not have passed on."""
        for outbox in self.outboxes.values():
            for waiting in outbox.waiting.values():
                if waiting.news.topic == topic and waiting.pace is not LISTENER:
                    waiting.pace, waiting.due_us = LISTENER, now_us + LISTENER.due_us
                    outbox.ready_us, outbox.due_us = now_us, min(outbox.due_us, waiting.due_us)
        self._after_put(now_us + LISTENER.due_us, now_us, out)

    def ride(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """See `Rider`."""
        outbox = self.outboxes[node]
        if outbox.ready_us <= now_us:
            self._send(node, outbox.take(now_us, now_us), now_us, out)

    def _send(self, node: NodeId, taken: Sequence[Waiting], now_us: int, out: list[Action]) -> None:
        """Send runs to a neighbour in as few frames as their limits allow."""
        runs: list[MessageRun] = []
        count = 0
        for waiting in taken:
            self._taken(waiting)
            news = waiting.news
            if waiting.repeats and self._keeps_latest:
                self._put(node, news, OTHER, news.last, now_us)
            told = waiting.told if waiting.told >= news.first else news.first - 1
            length = news.last - told if news.last - told < RUN_MAX else RUN_MAX
            if len(runs) == RUNS_MAX or count + length > ANNOUNCED_MAX:
                out.append(Send((node,), Announce(tuple(runs))))
                runs, count = [], 0
            age_ms = (now_us - news.at_us) // MILLISECOND_US if now_us > news.at_us else 0
            runs.append(MessageRun(news.topic, news.publisher, news.last, age_ms, length, news.relayed))
            count += length
        if runs:
            out.append(Send((node,), Announce(tuple(runs))))
        self._forget_if_empty(node)

    def _taken(self, waiting: Waiting) -> None:
        """A run no longer waits for a neighbour."""
        news = waiting.news
        self._waiting_count -= 1
        news.count, news.is_everywhere = news.count - 1, False
        key = (news.topic, news.publisher)
        if not news.count and self._latest.get(key) is news:
            del self._latest[key]

    def _after_put(self, due_us: int, now_us: int, out: list[Action]) -> None:
        if self._waiting_count > WAITING_MAX:
            for node, outbox in list(self.outboxes.items()):
                self._send(node, outbox.take(NEVER_US, NEVER_US), now_us, out)
        elif not self._timer_us or due_us < self._timer_us:
            self._timer_us = due_us
            out.append(SetTimer(due_us, AnnounceDue()))

    def _on_due(self, now_us: int, out: list[Action]) -> None:
        if now_us < self._timer_us:  # a timer that an earlier one has replaced
            return
        for node, outbox in list(self.outboxes.items()):
            if outbox.due_us <= now_us + SLACK_US:
                self._send(node, outbox.take(now_us, now_us + SLACK_US), now_us, out)
        soonest_us = min((outbox.due_us for outbox in self.outboxes.values()), default=0)
        self._timer_us = soonest_us
        if soonest_us:
            out.append(SetTimer(soonest_us, AnnounceDue()))

    def _drop_topic(self, topic: TopicId) -> None:
        """Drop the runs of a topic that the node has given up."""
        for node in tuple(self.outboxes):
            self._drop(node, lambda news: news.topic == topic)

    def _drop(self, node: NodeId, which: Callable[[News], bool]) -> None:
        """Drop some of the runs that wait for a neighbour."""
        outbox = self.outboxes.get(node)
        if outbox is not None:
            for news in list(filter(which, outbox.waiting)):
                self._taken(outbox.waiting.pop(news))
            self._forget_if_empty(node)

    def _forget_if_empty(self, node: NodeId) -> None:
        if node in self.outboxes and not self.outboxes[node].waiting:
            del self.outboxes[node]
