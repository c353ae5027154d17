"""Recovery: every message once, each publisher's messages in order, missing messages requested from neighbours.

No paper. Every message names the message before it of the same publisher on the topic. A node that misses that one keeps the
message back, waits a little because messages overtake each other, and then asks its neighbours on the topic one after another
(`ordering.py`, `asks.py`). Messages that no neighbour has are given up after a while and reported (`Lost`), and delivery goes on.
If the last message of a publisher is lost, no later message shows it; so neighbours announce last messages to each other
(`delivery/announcements.py`, `tails.py`), and nothing while no message is new. A late subscriber first asks a few neighbours
for the history (`catch_ups.py`).

Fetched messages are not relayed, unless they arrive through the dissemination later: they are announced to all neighbours, and
a neighbour that misses them asks too. A neighbour's claim never advances delivery, only messages do: a false claim costs one
request.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import structs

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    PublishBurst,
    Refused,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import (
    Arrived,
    ArrivedBurst,
    Fact,
    NeighbourDown,
    NeighbourTopicsChanged,
    NeighbourUp,
)
from gossamer.protocols.contract.messages import Data, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours
from gossamer.protocols.delivery.announcements import Announced, MessageRun
from gossamer.protocols.delivery.interests import FOLLOWS
from gossamer.protocols.delivery.recovery.answers import AnswerCheck, Answers
from gossamer.protocols.delivery.recovery.asks import Asks
from gossamer.protocols.delivery.recovery.catch_ups import CatchUps
from gossamer.protocols.delivery.recovery.closed_topics import ClosedTopics
from gossamer.protocols.delivery.recovery.errands import Errands
from gossamer.protocols.delivery.recovery.messages import (
    AgedAnswer,
    Answer,
    Ask,
    AskHistory,
    CatchUpDue,
    GapDue,
    Past,
    RecoveryParameters,
    WelcomeDue,
)
from gossamer.protocols.delivery.recovery.ordering import Ordering
from gossamer.protocols.delivery.recovery.stream import HeldTopic, previous_on
from gossamer.protocols.delivery.recovery.tails import Tails
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.delivery.state import DeliveryState


class Recovery:
    """The part above a dissemination that states `Arrived`. Only this part delivers messages to the application."""

    __slots__ = (
        "_answers",
        "_application",
        "_catch_ups",
        "_check",
        "_closed",
        "_heard_us",
        "_intake",
        "_interests",
        "_node",
        "_ordering",
        "_own_messages",
        "_parameters",
        "_seen",
        "_tails",
        "_topics",
        "_validation",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Ask, Answer, AgedAnswer, AskHistory, Past)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (GapDue, WelcomeDue, CatchUpDue)

    def __init__(
        self, parameters: RecoveryParameters, overlay: TopicNeighbours, delivery: DeliveryState, node: NodeId
    ) -> None:
        self._parameters = parameters
        self._node = node
        self._interests, self._seen, self._validation = delivery.interests, delivery.seen, delivery.validation
        self._intake, self._application, self._own_messages = (
            delivery.intake,
            delivery.application,
            delivery.own_messages,
        )
        self._topics: dict[TopicId, HeldTopic] = {}
        self._closed = ClosedTopics()
        self._tails = Tails(overlay, delivery.require_announcements(overlay), self._topics)
        errands = Errands(overlay, parameters.give_up_us)
        self._answers = Answers(overlay, delivery, self._topics, parameters.answer_bytes, node, errands)
        self._check = AnswerCheck(delivery.interests, delivery.intake)
        asks = Asks(overlay, node, self._topics, parameters.ask_again_us)
        self._ordering = Ordering(parameters, delivery, self._topics, self._tails, asks)
        self._heard_us = self._ordering.gaps.heard_us
        self._catch_ups = CatchUps(parameters, delivery, self._topics, asks, self._check, node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`)."""
        match event:
            case Publish():
                self._on_publish((event.topic, *event.also), now_us, out)
            case PublishBurst():
                self._on_publish((event.topic,), now_us, out)
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired(timer=WelcomeDue()):
                self._tails.on_due(now_us, out)
            case TimerFired(timer=GapDue()):
                self._ordering.on_gap_due(event.timer, now_us, out)
            case TimerFired():
                if self._catch_ups.on_due(event.timer.topic, now_us, out):
                    self._end_catch_up(event.timer.topic, now_us, out)
            case Refused():
                # The neighbour missed a message, or what told of one: tell it again until the queue has room.
                self._tails.welcome(event.node, now_us, out)
            case Subscribe():
                self._on_subscribe(event, now_us, out)
            case Unsubscribe():
                held = self._topics.pop(event.topic, None)
                if held is not None:
                    own = held.streams.get(self._node)
                    if own is not None:
                        self._answers.close(event.topic, own.last, own.last_us)
                    self._closed.close(event.topic, held.before, held.streams.values())
                    self._forget_streams(held)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A message arrived, or a neighbour came or went. The most frequent fact comes first."""
        if type(fact) is Arrived:
            if self._heard_us:
                self._note_heard(fact.sender, now_us)
            self._on_arrived(fact, now_us, out)
            if not fact.relayed:
                self._announce(fact.data, now_us, out)
        elif type(fact) is ArrivedBurst:
            if self._heard_us:
                self._note_heard(fact.sender, now_us)
            self._on_arrived_burst(fact, now_us, out)
        elif type(fact) is Announced:
            for run in fact.runs:
                self._on_run(fact.sender, run, now_us, out)
        elif type(fact) is NeighbourTopicsChanged:
            # It may have missed messages between its subscription and the news of it.
            self._tails.welcome(fact.node, now_us, out)
        elif type(fact) is NeighbourUp:
            self._tails.welcome(fact.node, now_us, out)
            self._ordering.evidence.on_change(now_us)
        elif type(fact) is NeighbourDown:
            self._tails.forget(fact.node)
            self._answers.forget(fact.node)
            self._ordering.evidence.forget(fact.node)
            self._ordering.evidence.on_change(now_us)
        return NOTHING

    def _note_heard(self, sender: NodeId, now_us: int) -> None:
        """A neighbour that was asked for missing messages may be waited for; it has shown that it runs."""
        if sender in self._heard_us:
            self._heard_us[sender] = now_us

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        self._note_heard(sender, now_us)
        match message:
            case Answer():
                self._answers.pass_on(sender, message, now_us, out)
                self._on_answer(sender, message, now_us, out)
            case Ask():
                self._answers.on_ask(sender, message, now_us, out)
            case Past():
                if self._catch_ups.on_past(sender, message, now_us, out):
                    self._end_catch_up(message.topic, now_us, out)
            case AskHistory():
                self._answers.on_ask_history(sender, message, now_us, out)

    # The application's requests.

    def _on_subscribe(self, event: Subscribe, now_us: int, out: list[Action]) -> None:
        held = self._topics.get(event.topic)
        follows = bool(event.role & FOLLOWS)
        if held is None:
            held = self._topics[event.topic] = HeldTopic(now_us, self._closed.open(event.topic))
            self._answers.close(event.topic, event.own_last, now_us - event.own_last_age_us)
            self._tell_own_last(held, event.topic, now_us, out)
        elif held.catch_up is not None or held.follows or not follows:
            held.follows = follows
            return
        held.follows = follows
        if event.held_us > 0 or event.positions:
            self._resume(held, event, now_us, out)
        if follows and (event.last > 0 or event.last_us > 0):
            # The application asks for older messages.
            held.before = {}
            self._forget_streams(held)
            if self._catch_ups.begin(event, now_us, out):
                self._end_catch_up(event.topic, now_us, out)

    def _resume(self, held: HeldTopic, event: Subscribe, now_us: int, out: list[Action]) -> None:
        """The application has wanted the topic for longer than this node holds it: fetch what was published since."""
        if held.follows:
            held.since_us, held.before, held.resumes = now_us - event.held_us, {}, True
            own = held.streams.pop(self._node, None)
            self._forget_streams(held)
            if own is not None:
                held.streams[self._node] = own

    def _tell_own_last(self, held: HeldTopic, topic: TopicId, now_us: int, out: list[Action]) -> None:
        """Tell neighbours this node's last message from before it opened the topic, which it no longer has.

        A subscriber that lacks the message notices the gap, also if this node publishes nothing more.
        """
        last, last_us = self._answers.own_last(topic)
        if last:
            stream = self._ordering.new_stream(held, topic, self._node, self._node, now_us, out)
            stream.delivered = stream.last = last
            stream.last_us = last_us
            self._tails.announce(stream, now_us, out)

    def _forget_streams(self, held: HeldTopic) -> None:
        for stream in held.streams.values():
            self._ordering.forget(stream)
        held.streams = {}

    def _on_publish(self, topics: tuple[TopicId, ...], now_us: int, out: list[Action]) -> None:
        for topic in topics:
            held = self._topics.get(topic)
            if held is not None:
                stream = held.streams.get(self._node)
                if stream is None:
                    stream = self._ordering.new_stream(held, topic, self._node, self._node, now_us, out)
                stream.delivered = self._own_messages.last_on.get(topic, 0)
                self._tails.set_last(stream, stream.delivered, now_us, out)

    # Messages from the dissemination.

    def _on_arrived(self, fact: Arrived, now_us: int, out: list[Action]) -> None:
        data = fact.data
        held = self._topics.get(data.topic)
        if held is not None and not data.also and held.catch_up is None:
            stream = held.streams.get(data.publisher)
            if (
                stream is not None
                and not stream.order
                and data.previous <= stream.delivered < data.sequence
                and (data.previous or (stream.delivered and not stream.must_search(data)))
            ):
                # The common case: this is the next message.
                stream.delivered = data.sequence
                if fact.wanted:
                    self._tails.set_last(stream, data.sequence, now_us, out)
                    self._application.deliver(data, out)
                return
        topics = self._interests.topics_of(data)
        for topic in topics:
            catch_up = self._topics[topic].catch_up
            if catch_up is not None:
                if not catch_up.add(fact, now_us) or catch_up.complete:
                    self._end_catch_up(topic, now_us, out)
                return
        self._ordering.put(fact, topics, now_us, out)

    def _on_arrived_burst(self, fact: ArrivedBurst, now_us: int, out: list[Action]) -> None:
        burst = fact.burst
        held = self._topics.get(burst.topic)
        stream = None if held is None or held.catch_up else held.streams.get(burst.publisher)
        if (
            stream is not None
            and not stream.order
            and burst.previous <= stream.delivered < burst.sequence
            and (burst.previous or (stream.delivered and not stream.must_search(burst.messages[0])))
        ):
            # The common case: these are the next messages.
            stream.delivered = burst.sequence + burst.count - 1
            self._tails.set_last(stream, stream.delivered, now_us, out)
            self._application.deliver_burst(burst, out)
        else:
            for data in burst.messages:
                self._on_arrived(Arrived(data, fact.sender), now_us, out)

    def _announce(self, data: Data, now_us: int, out: list[Action]) -> None:
        """Announce a message that was fetched and is not relayed."""
        for topic in self._interests.topics_of(data):
            stream = self._ordering.stream(topic, data.publisher)
            if stream is not None:
                self._tails.announce(stream, now_us, out)

    def _end_catch_up(self, topic: TopicId, now_us: int, out: list[Action]) -> None:
        """Deliver what a catch-up gathered. Each publisher's stream begins with its first message here."""
        held = self._topics[topic]
        catch_up, held.catch_up = held.catch_up, None
        for fact in () if catch_up is None else catch_up.in_order():
            publisher = fact.data.publisher
            if publisher not in held.streams:
                stream = self._ordering.new_stream(held, topic, publisher, fact.sender, now_us, out)
                stream.delivered = previous_on(fact.data, topic)
            self._on_arrived(fact, now_us, out)
        for sender, run, at_us in () if catch_up is None else catch_up.announced.values():
            age_ms = run.age_ms + (now_us - at_us) // MILLISECOND_US
            self._on_run(sender, structs.replace(run, age_ms=age_ms), now_us, out)
        # These messages were fetched, not relayed.
        for stream in held.streams.values():
            self._tails.announce(stream, now_us, out)

    # Answers and claims of neighbours.

    def _on_answer(self, sender: NodeId, message: Answer, now_us: int, out: list[Action]) -> None:
        self._ordering.evidence.on_answer(sender)
        stream = self._ordering.stream(message.topic, message.publisher)
        if stream is None or not stream.has_gap or sender not in stream.asked:
            # Another neighbour answered sooner, or this one was never asked.
            return
        before = stream.delivered
        told_us = message.ages_us if isinstance(message, AgedAnswer) else ()
        ages_us = (*told_us, *(0,) * len(message.messages))
        for data, age_us in zip(message.messages, ages_us, strict=False):
            if not self._check.accepts(sender, message.topic, data, out, message.publisher):
                return
            is_new = data.sequence > stream.delivered and (
                self._seen.add(data.publisher, data.sequence, FETCHED) or stream.was_put_off(data.sequence)
            )
            if is_new and not self._validation.ask(sender, data, False, out):
                for arrived in self._intake.accept(data, sender, now_us - max(age_us, 0), out)[1]:
                    self._on_arrived(arrived, now_us, out)
        self._ordering.set_floor(stream, message, now_us, out)
        if stream.delivered > before:
            self._tails.announce(stream, now_us, out)
            self._answers.on_found(stream, now_us, out)
        self._ordering.after_answer(stream, sender, before, message, now_us, out)

    def _on_run(self, sender: NodeId, run: MessageRun, now_us: int, out: list[Action]) -> None:
        """A neighbour announced messages; the last of them shows a gap if this node lacks it."""
        held = self._topics.get(run.topic)
        if held is None or run.publisher == self._node:
            return
        if held.catch_up is not None:
            held.catch_up.note(sender, run, now_us)
            return
        stream = held.streams.get(run.publisher)
        if stream is not None and run.last <= stream.delivered:
            # The common case: this node has the message.
            return
        if stream is None:
            at_us = now_us - run.age_ms * MILLISECOND_US
            if at_us < held.since_us:
                if held.set_floor(run.publisher, run.last, at_us, self._parameters.publishers):
                    # This node does not want the message. It may be the only one that tells its other neighbours of it, and
                    # passes their requests on.
                    self._tails.pass_on(run, sender, at_us, now_us, out)
                return
            stream = self._ordering.new_stream(held, run.topic, run.publisher, sender, now_us, out)
        self._ordering.claim(stream, sender, run.last, now_us, out)
