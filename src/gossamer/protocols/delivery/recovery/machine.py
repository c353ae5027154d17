"""Recovery: every message once, each publisher's in its order, and what is missing asked for from neighbours.

No paper: the idea is the oldest there is. A message says which one of its publisher came before it on the topic. Who has
not got that one holds the message back, waits a little, as messages overtake each other, and asks its neighbours on the
topic one after another. What nobody has is given up after a while, said so (`Lost`), and the rest goes on. A lost last
message shows by what neighbours tell each other: `Have` names the last message of each publisher that is new, a few
times, and nothing once all is quiet. Who comes late asks a few neighbours for the past first (`catch_up.py`).

Messages that were asked for are not relayed, unless they come by themselves later: `Have` tells the neighbours of them, and
who lacks them asks in turn. A word of a neighbour never moves the order; only messages do, so that a false one costs an ask and no more.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import (
    Action,
    Observe,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    PublishBurst,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import (
    Arrived,
    ArrivedBurst,
    Fact,
    Lost,
    NeighbourDown,
    NeighbourUp,
)
from gossamer.protocols.contract.messages import Data, Message, Timer
from gossamer.protocols.contract.parts import NOTHING, Overlay
from gossamer.protocols.delivery.held import Held
from gossamer.protocols.delivery.interests import FOLLOWS
from gossamer.protocols.delivery.recovery.answers import Answers, belongs
from gossamer.protocols.delivery.recovery.asks import Asks
from gossamer.protocols.delivery.recovery.catch_up import ASKED_MAX, CatchUp
from gossamer.protocols.delivery.recovery.messages import (
    Answer,
    Ask,
    AskHistory,
    CatchUpDue,
    GapDue,
    Have,
    HaveDue,
    Late,
    Past,
    RecoveryParameters,
    Tail,
)
from gossamer.protocols.delivery.recovery.stream import (
    Followed,
    Gaps,
    Load,
    Stream,
    previous_on,
)
from gossamer.protocols.delivery.recovery.tails import Tails
from gossamer.protocols.delivery.seen import FETCHED

# Later than any message.
NEVER_US = 2**62


class Recovery:
    """The part above a dissemination that states `Arrived`; it alone delivers."""

    __slots__ = (
        "_answers",
        "_application",
        "_asks",
        "_gaps",
        "_held",
        "_history",
        "_interests",
        "_load",
        "_node",
        "_parameters",
        "_seen",
        "_tails",
        "_topics",
    )

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Have, Ask, Answer, AskHistory, Past)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (GapDue, HaveDue, CatchUpDue)

    def __init__(self, parameters: RecoveryParameters, overlay: Overlay, held: Held, node: NodeId) -> None:
        self._parameters = parameters
        self._held = held
        self._history, self._node = held.require_history(), node
        self._interests, self._seen, self._application = held.interests, held.seen, held.application
        self._topics: dict[TopicId, Followed] = {}
        self._tails = Tails(overlay, parameters.have_every_us, parameters.have_rounds)
        self._answers = Answers(overlay, self._interests, self._history, parameters.answer_bytes)
        self._asks = Asks(overlay, node, self._topics)
        self._load = Load(parameters.waiting_bytes)
        self._gaps = Gaps(parameters.gaps)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case Publish():
                self._on_publish((event.topic, *event.also), event.published_us or now_us, now_us, out)
            case PublishBurst():
                self._on_publish((event.topic,), event.items[-1][0], now_us, out)
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired(timer=HaveDue()):
                self._tails.on_due(self._topics, now_us, out)
            case TimerFired(timer=GapDue()):
                self._on_gap_due(event.timer, now_us, out)
            case TimerFired():
                self._on_catch_up_due(event.timer.topic, now_us, out)
            case Subscribe():
                self._on_subscribe(event, now_us, out)
            case Unsubscribe():
                self._on_unsubscribe(event.topic)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A message came, or neighbours came and went. The commonest fact first."""
        if type(fact) is Arrived:
            self._on_arrived(fact, now_us, out)
        elif type(fact) is ArrivedBurst:
            self._on_arrived_burst(fact, now_us, out)
        elif type(fact) is NeighbourUp:
            self._tails.welcome(fact.node, now_us, out)
        elif type(fact) is NeighbourDown:
            self._tails.forget(fact.node)
            self._answers.forget(fact.node)
        return NOTHING

    def _on_message(self, sender: NodeId, message: Message, now_us: int, out: list[Action]) -> None:
        match message:
            case Have():
                for tail in message.tails:
                    self._on_tail(sender, tail, now_us, out)
            case Answer():
                self._on_answer(sender, message, now_us, out)
            case Ask():
                self._answers.on_ask(sender, message, now_us, out)
            case Past():
                self._on_past(sender, message, now_us, out)
            case AskHistory():
                self._answers.on_ask_history(sender, message, now_us, out)

    # Topics.

    def _on_subscribe(self, event: Subscribe, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(event.topic)
        if followed is None:
            followed = self._topics[event.topic] = Followed(now_us)
        elif followed.catch_up is not None or followed.follows or not event.role & FOLLOWS:
            followed.follows = bool(event.role & FOLLOWS)
            return
        followed.follows = bool(event.role & FOLLOWS)
        if followed.follows and (event.last > 0 or event.last_us > 0):
            self._begin_catch_up(event, followed, now_us, out)

    def _on_unsubscribe(self, topic: TopicId) -> None:
        followed = self._topics.pop(topic, None)
        if followed is not None:
            for stream in followed.streams.values():
                self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        stream.untold = 0
        self._gaps.close(stream)
        for fact in stream.waiting.values():
            self._load.remove(fact)
        stream.waiting = {}
        stream.order = []

    def _on_publish(self, topics: tuple[TopicId, ...], published_us: int, now_us: int, out: list[Action]) -> None:
        for topic in topics:
            followed = self._topics.get(topic)
            if followed is not None:
                stream = followed.streams.get(self._node)
                if stream is None:
                    stream = self._new_stream(followed, topic, self._node, self._node, now_us, out)
                stream.delivered = self._held.own_messages.last_on.get(topic, 0)
                self._tails.has(stream, stream.delivered, published_us, now_us, out)

    # Order.

    def _on_arrived(self, fact: Arrived, now_us: int, out: list[Action]) -> None:
        data = fact.data
        followed = self._topics.get(data.topic)
        if followed is not None and not data.also and followed.catch_up is None:
            stream = followed.streams.get(data.publisher)
            if stream is not None and not stream.order and data.previous <= stream.delivered < data.sequence:
                # The common case: it is the next one.
                stream.delivered = data.sequence
                if fact.wanted:
                    self._tails.has(stream, data.sequence, data.published_us, now_us, out)
                    self._application.deliver(data, out)
                return
        self._put_in_order(fact, now_us, out)

    def _on_arrived_burst(self, fact: ArrivedBurst, now_us: int, out: list[Action]) -> None:
        burst = fact.burst
        followed = self._topics.get(burst.topic)
        stream = None if followed is None or followed.catch_up else followed.streams.get(burst.publisher)
        if stream is not None and not stream.order and burst.previous <= stream.delivered < burst.sequence:
            # The common case: they are the next ones.
            stream.delivered = burst.sequence + burst.count - 1
            self._tails.has(stream, stream.delivered, burst.items[-1][0], now_us, out)
            self._application.deliver_burst(burst, out)
        else:
            for data in burst.messages:
                self._on_arrived(Arrived(data, fact.sender), now_us, out)

    def _put_in_order(self, fact: Arrived, now_us: int, out: list[Action]) -> None:
        data = fact.data
        topics = self._interests.topics_of(data)
        for topic in topics:
            catch_up = self._topics[topic].catch_up
            if catch_up is not None:
                if not catch_up.add(fact) or catch_up.complete:
                    self._end_catch_up(topic, now_us, out)
                return
        found = [self._stream_of(fact, topic, now_us, out) for topic in topics]
        streams = [stream for stream in found if stream.delivered < data.sequence]
        if not streams:
            out.append(Observe(Late(data.topic, data.publisher, data.sequence)))
            return
        for stream in streams:
            stream.wait(fact)
            self._load.add(fact)
        for stream in streams:
            if fact.wanted and data.sequence > stream.last:
                self._tails.has(stream, data.sequence, data.published_us, now_us, out)
            self._advance(stream, now_us, out)
            self._look_for_gap(stream, fact.sender, now_us, out)
        for stream in streams:
            while len(stream.order) > self._parameters.waiting or (stream.order and self._load.too_much(fact.sender)):
                self._give_up(stream, now_us, out)

    def _stream_of(self, fact: Arrived, topic: TopicId, now_us: int, out: list[Action]) -> Stream:
        """The stream that a message belongs to on a topic; a publisher heard of for the first time begins here."""
        data, followed = fact.data, self._topics[topic]
        stream = followed.streams.get(data.publisher)
        if stream is None:
            stream = self._new_stream(followed, topic, data.publisher, fact.sender, now_us, out)
        if stream.delivered == 0 and not stream.order:
            # Unless something since this node subscribed came before it, and not here. Then it is a gap.
            previous = previous_on(data, topic)
            if (
                data.published_us < followed.since_us
                or followed.floors.get(data.publisher) == previous
                or self._seen.has(data.publisher, previous)
            ):
                stream.delivered = previous
        return stream

    def _new_stream(
        self, followed: Followed, topic: TopicId, publisher: NodeId, origin: NodeId, now_us: int, out: list[Action]
    ) -> Stream:
        streams = followed.streams
        if len(streams) >= self._parameters.publishers:
            # Who brings many publishers crowds out its own.
            same = (stream for stream in streams.values() if stream.origin == origin)
            oldest = next(same, None) or next(iter(streams.values()))
            while oldest.order:
                self._give_up(oldest, now_us, out)
            self._forget(oldest)
            streams.pop(oldest.publisher, None)
        return streams.setdefault(publisher, Stream(topic, publisher, origin))

    def _streams_of(self, data: Data) -> list[Stream]:
        found = [self._topics[topic].streams.get(data.publisher) for topic in self._interests.topics_of(data)]
        return [stream for stream in found if stream is not None]

    def _advance(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Deliver what waits as far as it goes; a message of several topics must be next in each."""
        todo = [stream]
        while todo:
            stream = todo[-1]
            fact = stream.first()
            if fact is None:
                todo.pop()
                continue
            data = fact.data
            streams = [stream] if not data.also else self._streams_of(data)
            if stream.delivered >= previous_on(data, stream.topic) and any(
                one.delivered >= data.sequence for one in streams
            ):
                # Another of its topics is further: to deliver it would break the order there.
                stream.take()
                self._load.remove(fact)
                stream.delivered = max(stream.delivered, data.sequence)
                out.append(Observe(Late(stream.topic, data.publisher, data.sequence)))
                continue
            if any(
                one.delivered < previous_on(data, one.topic) or (one.order and one.order[0] < data.sequence)
                for one in streams
            ):
                todo.pop()
                continue
            for one in streams:
                one.delivered = data.sequence
                if one.order and one.order[0] == data.sequence:
                    one.take()
                    self._load.remove(fact)
                if one is not stream:
                    todo.append(one)
                if one.gap_us is not None:
                    one.gap_us = now_us
            if data.also:
                for topic in self._interests.topics_of(data):
                    self._topics[topic].begin(topic, fact, self._parameters.publishers)
            if fact.wanted:
                self._application.deliver(data, out)

    # Gaps.

    def _look_for_gap(self, stream: Stream, suspect: NodeId, now_us: int, out: list[Action]) -> None:
        """Begin to wait for what is missing, or end it."""
        if not stream.lacks():
            self._gaps.close(stream)
        elif stream.gap_us is None:
            if not self._gaps.room(suspect):
                stream.told = 0
                while stream.order and not stream.open:
                    self._give_up(stream, now_us, out)
            else:
                self._open_gap(stream, suspect, now_us, out)
        elif stream.by_word and stream.order:
            # A neighbour's word has been borne out by a message.
            stream.by_word, stream.gap_us = False, now_us
            self._time_gap(stream, now_us + self._parameters.gap_after_us, out)
        elif not stream.asked and len(stream.order) > self._parameters.waiting // 8:
            # At this rate there is no time to wait.
            self._asks.ask_next(stream, out)

    def _open_gap(self, stream: Stream, suspect: NodeId, now_us: int, out: list[Action]) -> None:
        self._gaps.open(stream, suspect, now_us)
        after_us = self._parameters.gap_after_us if stream.order else self._parameters.tail_after_us
        self._time_gap(stream, now_us + after_us, out)

    def _time_gap(self, stream: Stream, at_us: int, out: list[Action]) -> None:
        sooner = at_us < stream.due_us
        stream.due_us = at_us
        if sooner or not stream.timed:
            stream.timed = True
            out.append(SetTimer(at_us, GapDue(stream.topic, stream.publisher)))

    def _on_gap_due(self, timer: GapDue, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(timer.topic)
        stream = None if followed is None else followed.streams.get(timer.publisher)
        if stream is None:
            return
        stream.timed = False
        self._advance(stream, now_us, out)
        if not stream.lacks():
            self._gaps.close(stream)
        if stream.gap_us is not None and now_us >= stream.due_us:
            stream.due_us = now_us + self._parameters.ask_again_us
            is_behind = not stream.order and stream.delivered > stream.gap_at
            if is_behind:
                # What is missing is on its way, unless a neighbour's word is not borne out for too long.
                stream.gap_us, stream.gap_at = max(stream.told_us, stream.gap_us), stream.delivered
                stream.due_us = now_us + self._parameters.tail_after_us
            if now_us - stream.gap_us >= self._parameters.give_up_us:
                self._give_up(stream, now_us, out)
            elif not is_behind:
                self._asks.ask_next(stream, out)
        if stream.open:
            self._time_gap(stream, stream.due_us, out)

    def _give_up(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Say what is lost, and go on with what waits."""
        fact = stream.first()
        if fact is None:
            # Only a neighbour's word; it may be wrong, or be too long ago.
            stream.told = 0
            self._gaps.close(stream)
            return
        streams = self._streams_of(fact.data)
        lower = next((one for one in streams if one.order and one.order[0] < fact.data.sequence), None)
        if lower is not None:
            self._give_up(lower, now_us, out)
            return
        for one in streams:
            previous = previous_on(fact.data, one.topic)
            if one.delivered < previous:
                out.append(Observe(Lost(one.topic, one.publisher, one.delivered, fact.data.sequence)))
                one.delivered = previous
        self._advance(stream, now_us, out)
        for one in streams:
            self._gaps.close(one)
            if one.order:
                self._open_gap(one, one.suspect, now_us, out)

    def _on_answer(self, sender: NodeId, message: Answer, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(message.topic)
        stream = None if followed is None else followed.streams.get(message.publisher)
        if stream is None or stream.gap_us is None or sender not in stream.asked:
            # Another was faster, or nobody asked.
            return
        before = stream.delivered
        for data in message.messages:
            if not belongs(self._interests, self._held.intake, sender, message.topic, data, out, message.publisher):
                return
            if data.sequence > stream.delivered and self._seen.add(data.publisher, data.sequence, FETCHED):
                if not self._held.validation.ask(sender, data, False, out):
                    for arrived in self._held.intake.accept(data, sender, out)[1]:
                        self._on_arrived(arrived, now_us, out)
        first = stream.first()
        if message.floor and stream.delivered == 0 and first is not None:
            # All before it was published before this node subscribed; the message itself bears the neighbour out.
            if previous_on(first.data, message.topic) == message.floor:
                stream.delivered = message.floor
                self._advance(stream, now_us, out)
        self._look_for_gap(stream, sender, now_us, out)
        if stream.gap_us is not None and stream.delivered > before:
            # More of it comes: nobody else is asked meanwhile.
            stream.gap_us = now_us
            stream.due_us = now_us + self._parameters.ask_again_us
            if message.more:
                self._asks.ask(stream, sender, out)

    # What neighbours say.

    def _on_tail(self, sender: NodeId, tail: Tail, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(tail.topic)
        if followed is None or followed.catch_up is not None or tail.publisher == self._node:
            return
        stream = followed.streams.get(tail.publisher)
        if stream is None:
            if tail.published_us < followed.since_us:
                if len(followed.floors) < self._parameters.publishers:
                    followed.floors[tail.publisher] = tail.sequence
                return
            stream = self._new_stream(followed, tail.topic, tail.publisher, sender, now_us, out)
        if tail.sequence > max(stream.delivered, stream.last, stream.told):
            stream.told, stream.told_us = tail.sequence, now_us
            self._look_for_gap(stream, sender, now_us, out)

    # The past.

    def _begin_catch_up(self, event: Subscribe, followed: Followed, now_us: int, out: list[Action]) -> None:
        since_us = max(now_us - event.last_us, 0) if event.last_us > 0 else NEVER_US
        wait_us = self._parameters.catch_up_wait_us
        catch_up = followed.catch_up = CatchUp(max(event.last, 0), since_us, now_us + wait_us)
        # A topic that was only published on has a past here already, of which nothing was delivered.
        for stream in followed.streams.values():
            self._forget(stream)
        followed.streams = {}
        for data in self._history.latest(event.topic, catch_up.count, since_us):
            if data.publisher != self._node:
                catch_up.add(Arrived(data, self._node), past=True)
        self._on_catch_up_due(event.topic, now_us, out)

    def _on_catch_up_due(self, topic: TopicId, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(topic)
        catch_up = None if followed is None else followed.catch_up
        if catch_up is None:
            return
        if catch_up.hold_until_us is not None:
            if now_us >= catch_up.hold_until_us:
                self._end_catch_up(topic, now_us, out)
            return
        nodes = self._asks.in_turn(topic, self._node)[:ASKED_MAX]
        if nodes:
            catch_up.asked = dict.fromkeys(nodes, False)
            catch_up.hold_until_us = now_us + self._parameters.catch_up_hold_us
            out.append(Send(tuple(nodes), AskHistory(topic, catch_up.count, catch_up.since_us)))
            out.append(SetTimer(catch_up.hold_until_us, CatchUpDue(topic)))
        elif now_us >= catch_up.look_until_us:
            self._end_catch_up(topic, now_us, out)
        else:
            out.append(SetTimer(now_us + self._parameters.ask_again_us, CatchUpDue(topic)))

    def _on_past(self, sender: NodeId, message: Past, now_us: int, out: list[Action]) -> None:
        followed = self._topics.get(message.topic)
        catch_up = None if followed is None else followed.catch_up
        if catch_up is None or catch_up.asked.get(sender, True):
            return
        room = True
        for data in message.messages:
            if not belongs(self._interests, self._held.intake, sender, message.topic, data, out):
                catch_up.asked[sender] = True
                break
            if data.publisher != self._node and self._seen.add(data.publisher, data.sequence, FETCHED):
                if self._held.validation.ask(sender, data, False, out):
                    catch_up.judged[data.publisher, data.sequence] = None
                else:
                    for arrived in self._held.intake.accept(data, sender, out)[1]:
                        room = catch_up.add(arrived, past=True)
        if not message.more:
            catch_up.asked[sender] = True
        if catch_up.complete or not room:
            self._end_catch_up(message.topic, now_us, out)

    def _end_catch_up(self, topic: TopicId, now_us: int, out: list[Action]) -> None:
        followed = self._topics[topic]
        catch_up, followed.catch_up = followed.catch_up, None
        for fact in () if catch_up is None else catch_up.in_order():
            publisher = fact.data.publisher
            if publisher not in followed.streams:
                # Each publisher's order begins with the first message that is told.
                stream = self._new_stream(followed, topic, publisher, fact.sender, now_us, out)
                stream.delivered = previous_on(fact.data, topic)
            self._on_arrived(fact, now_us, out)
