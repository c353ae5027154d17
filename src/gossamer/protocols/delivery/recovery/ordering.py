"""Delivering each publisher's messages in order, and closing the gaps between them."""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, SetTimer
from gossamer.protocols.contract.facts import Arrived, Lost
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.recovery.asks import Asks
from gossamer.protocols.delivery.recovery.evidence import Evidence
from gossamer.protocols.delivery.recovery.limits import Gaps, WaitingBytes
from gossamer.protocols.delivery.recovery.messages import Answer, GapDue, Late, RecoveryParameters
from gossamer.protocols.delivery.recovery.stream import (
    STILL_LOOKING,
    UNANSWERED,
    HeldTopic,
    Stream,
    previous_on,
)
from gossamer.protocols.delivery.recovery.tails import Tails
from gossamer.protocols.delivery.state import DeliveryState

# Chosen: 1 s, a few requests. How long neighbours are waited for that look for the messages before a restart themselves.
LOOKING_US = SECOND_US


class Ordering:
    """The streams of all topics: messages wait here until those before them are delivered or given up."""

    __slots__ = (
        "_application",
        "_asks",
        "_interests",
        "_parameters",
        "_seen",
        "_tails",
        "_topics",
        "evidence",
        "gaps",
        "waiting",
    )

    def __init__(
        self,
        parameters: RecoveryParameters,
        delivery: DeliveryState,
        topics: Mapping[TopicId, HeldTopic],
        tails: Tails,
        asks: Asks,
    ) -> None:
        self._parameters = parameters
        self._interests, self._seen, self._application = delivery.interests, delivery.seen, delivery.application
        self._topics = topics
        self._tails = tails
        self._asks = asks
        self.waiting = WaitingBytes(parameters.waiting_bytes)
        self.gaps = Gaps(parameters.gaps)
        self.evidence = Evidence(parameters, asks, self.gaps)

    # Streams.

    def stream(self, topic: TopicId, publisher: NodeId) -> Stream | None:
        """The stream of a publisher on a topic, if there is one."""
        held = self._topics.get(topic)
        return None if held is None else held.streams.get(publisher)

    def new_stream(
        self, held: HeldTopic, topic: TopicId, publisher: NodeId, origin: NodeId, now_us: int, out: list[Action]
    ) -> Stream:
        """Begin the stream of a publisher; if the topic has too many, the oldest stream is evicted."""
        streams = held.streams
        if len(streams) >= self._parameters.publishers:
            # A neighbour that names many publishers evicts its own ones first.
            same_origin = (stream for stream in streams.values() if stream.origin == origin)
            oldest = next(same_origin, None) or next(iter(streams.values()))
            while oldest.order:
                self._give_up(oldest, now_us, out)
            self.forget(oldest)
            streams.pop(oldest.publisher, None)
        stream = streams.setdefault(publisher, Stream(topic, publisher, origin))
        stream.has_backlog = held.resumes
        return stream

    def forget(self, stream: Stream) -> None:
        """Forget a stream and the messages that wait in it."""
        self.gaps.close(stream)
        for fact in stream.waiting.values():
            self.waiting.remove(fact)
        stream.waiting = {}
        stream.order = []

    # Order.

    def put(self, fact: Arrived, topics: list[TopicId], now_us: int, out: list[Action]) -> None:
        """Deliver a message if it is the next one on each of its topics that the node holds; else it waits."""
        data = fact.data
        is_late = any(data.sequence <= self._topics[topic].before.get(data.publisher, 0) for topic in topics)
        found = [] if is_late else [self._stream_of(fact, topic, now_us, out) for topic in topics]
        streams = [stream for stream in found if stream.delivered < data.sequence]
        if not streams:
            out.append(Observe(Late(data.topic, data.publisher, data.sequence)))
            return
        for stream in streams:
            stream.wait(fact)
            self.waiting.add(fact)
        for stream in streams:
            if fact.wanted and data.sequence > stream.last:
                self._tails.set_last(stream, data.sequence, now_us, out)
            self.advance(stream, now_us, out)
            self.check_gap(stream, fact.sender, now_us, out)
        most = self._parameters.waiting
        for stream in streams:
            while len(stream.order) > most or (stream.order and self.waiting.is_too_much(fact.sender)):
                if not (stream.has_backlog and self._put_off(stream)):
                    self._give_up(stream, now_us, out)

    def _put_off(self, stream: Stream) -> bool:
        """Make room in a stream with a backlog, which lasts longer than the room does; returns whether there is more room.

        Neighbours keep the messages on disk, so none of them is lost.
        """
        off = stream.put_off_upper_half()
        for fact in off:
            self.waiting.remove(fact)
        return bool(off)

    def _stream_of(self, fact: Arrived, topic: TopicId, now_us: int, out: list[Action]) -> Stream:
        """The stream that a message belongs to on a topic. The stream of a new publisher begins with this message."""
        data, held = fact.data, self._topics[topic]
        stream = held.streams.get(data.publisher)
        if stream is None:
            stream = self.new_stream(held, topic, data.publisher, fact.sender, now_us, out)
        if stream.delivered == 0 and not stream.order:
            # If the message before it was published since this node subscribed and has not arrived, there is a gap instead.
            previous = previous_on(data, topic)
            if previous == 0:
                # The publisher is known from before the subscription, so it has restarted (`Stream.must_search`).
                stream.delivered = min(held.floor(data.publisher), data.sequence - 1)
            elif held.floor(data.publisher) == previous or self._seen.has(data.publisher, previous):
                stream.delivered = previous
        return stream

    def _streams_of(self, data: Data) -> list[Stream]:
        found = [self._topics[topic].streams.get(data.publisher) for topic in self._interests.topics_of(data)]
        return [stream for stream in found if stream is not None]

    def advance(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Deliver waiting messages as far as possible; a message of several topics must be the next one on each."""
        to_advance = [stream]
        while to_advance:
            stream = to_advance[-1]
            fact = stream.first()
            if fact is None:
                to_advance.pop()
                continue
            data = fact.data
            streams = [stream] if not data.also else self._streams_of(data)
            if stream.delivered >= previous_on(data, stream.topic) and any(
                one.delivered >= data.sequence for one in streams
            ):
                # Later messages of another of its topics were delivered: delivering this one would break the order there.
                self._pop_first(stream, fact)
                stream.delivered = max(stream.delivered, data.sequence)
                out.append(Observe(Late(stream.topic, data.publisher, data.sequence)))
            elif any(
                one.delivered < previous_on(data, one.topic)
                or one.must_search(data)
                or (one.order and one.order[0] < data.sequence)
                for one in streams
            ):
                to_advance.pop()
            else:
                self._deliver_next(fact, streams, now_us, out)
                to_advance += [one for one in streams if one is not stream]

    def _deliver_next(self, fact: Arrived, streams: list[Stream], now_us: int, out: list[Action]) -> None:
        """Deliver a message that is the next one in all its streams."""
        data = fact.data
        for stream in streams:
            stream.delivered = data.sequence
            if stream.order and stream.order[0] == data.sequence:
                self._pop_first(stream, fact)
            if stream.has_gap:
                stream.begin_wait(now_us)
        if data.also:
            for topic in self._interests.topics_of(data):
                self._topics[topic].begin_again(topic, fact, self._parameters.publishers)
        if fact.wanted:
            self._application.deliver(data, out)

    def _pop_first(self, stream: Stream, fact: Arrived) -> None:
        stream.pop_first()
        self.waiting.remove(fact)

    # Gaps.

    def check_gap(self, stream: Stream, suspect: NodeId, now_us: int, out: list[Action]) -> None:
        """Open a gap if messages are missing, or close it if none are. `suspect` is the neighbour that revealed the gap."""
        if not stream.lacks():
            self.gaps.close(stream)
            stream.has_backlog, stream.put_off = False, 0
        elif not stream.has_gap:
            if not self.gaps.has_room(suspect):
                stream.claimed = 0
                while stream.order and not stream.has_gap:
                    self._give_up(stream, now_us, out)
            else:
                self._open_gap(stream, suspect, now_us, out)
        elif stream.is_claim_only and stream.order:
            # A message has confirmed the neighbour's claim.
            stream.is_claim_only = False
            stream.begin_wait(now_us)
            self._set_timer(stream, now_us + self._parameters.gap_after_us, out)
        elif not stream.asked and len(stream.order) > self._parameters.waiting // 8:
            # Messages arrive so fast that the limit would be reached before the timer: ask now.
            self._asks.ask_next(stream, now_us, out)

    def _open_gap(self, stream: Stream, suspect: NodeId, now_us: int, out: list[Action]) -> None:
        self.gaps.open(stream, suspect, now_us)
        after_us = self._parameters.gap_after_us if stream.order else self._parameters.tail_after_us
        self._set_timer(stream, now_us + after_us, out)

    def _set_timer(self, stream: Stream, at_us: int, out: list[Action]) -> None:
        is_sooner = at_us < stream.due_us
        stream.due_us = at_us
        if is_sooner or not stream.timer_is_set:
            stream.timer_is_set = True
            out.append(SetTimer(at_us, GapDue(stream.topic, stream.publisher)))

    def on_gap_due(self, timer: GapDue, now_us: int, out: list[Action]) -> None:
        """Ask the next neighbour for the missing messages of a stream, or give them up."""
        stream = self.stream(timer.topic, timer.publisher)
        if stream is None:
            return
        stream.timer_is_set = False
        self.advance(stream, now_us, out)
        if not stream.lacks():
            self.gaps.close(stream)
        if stream.is_searching:
            self._search(stream, now_us, out)
        elif stream.has_gap and now_us >= stream.due_us:
            self._take_turn(stream, now_us, out)
        if stream.has_gap:
            self._set_timer(stream, stream.due_us, out)

    def _take_turn(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        is_claimed_again = stream.claimed_us > stream.looked_us
        self.evidence.count_turn(stream, now_us)
        stream.due_us = now_us + self._parameters.ask_again_us
        stream.waited_us = 0 if stream.is_behind and is_claimed_again else stream.waited_us
        if stream.is_behind and stream.waited_us < self._parameters.give_up_us:
            stream.gap_at = stream.delivered
            stream.due_us = now_us + self._parameters.tail_after_us
        elif not self._end_if_lost(stream, now_us, out):
            # Also if messages arrive: the claimed ones are not among them, or the claim is false.
            self._asks.ask_next(stream, now_us, out)

    def _end_if_lost(self, stream: Stream, now_us: int, out: list[Action]) -> bool:
        """Give the missing messages up if no neighbour will send them; returns whether they were given up."""
        if not self.evidence.is_lost(stream):
            return False
        self.evidence.give_up(stream)
        self._report_claim(stream, out)
        self._give_up(stream, now_us, out)
        return True

    def _report_claim(self, stream: Stream, out: list[Action]) -> None:
        """Report messages that only a neighbour's claim shows as lost, once. They are still delivered if they arrive."""
        if not stream.order and stream.claimed > max(stream.delivered, stream.last, stream.reported):
            stream.reported = stream.claimed
            out.append(Observe(Lost(stream.topic, stream.publisher, stream.delivered, stream.claimed + 1)))

    def _give_up(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Report the missing messages as lost, and deliver the waiting ones."""
        fact = stream.first()
        if fact is None:
            # Only a neighbour's claim, which may be false or outdated.
            stream.claimed = 0
            self.gaps.close(stream)
            return
        streams = self._streams_of(fact.data)
        lower = next((one for one in streams if one.order and one.order[0] < fact.data.sequence), None)
        if lower is not None:
            self._give_up(lower, now_us, out)
            return
        for one in streams:
            previous = previous_on(fact.data, one.topic)
            if one.delivered < previous or one.must_search(fact.data):
                out.append(Observe(Lost(one.topic, one.publisher, one.delivered, fact.data.sequence)))
                one.delivered, one.searched = max(previous, one.delivered), fact.data.sequence
        self._go_on(stream, now_us, out)
        for one in streams:
            self.gaps.close(one)
            if one.order or (one.has_backlog and one.lacks()):
                self._open_gap(one, one.suspect, now_us, out)

    def _go_on(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Deliver what waited. It may have been fetched, and then neighbours learn of it from this node alone."""
        before = stream.delivered
        self.advance(stream, now_us, out)
        if stream.delivered > before:
            self._tails.announce(stream, now_us, out)

    # Publishers that restarted.

    def _search(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Ask all neighbours for messages before the first one after a restart, until none of them has any.

        Neighbours that look for such messages themselves are waited for a little, because they may find some. If a
        neighbour does not answer at all, or there is none, messages may be missing, and that is reported.
        """
        if not stream.has_gap or now_us < stream.due_us:
            return
        self.evidence.count_turn(stream, now_us)
        stream.due_us = now_us + self._parameters.ask_again_us
        if not self._end_search(stream, now_us, out) and not self._end_if_lost(stream, now_us, out):
            self._asks.ask_all(stream, now_us, out)

    def _end_search(self, stream: Stream, now_us: int, out: list[Action]) -> bool:
        """End the search if the neighbours have no further message; returns whether it ended."""
        first = stream.first()
        answers = [self.evidence.answer_of(stream, node) for node in self._asks.candidates(stream)]
        if first is None or not stream.has_gap or not answers or UNANSWERED in answers:
            return False
        if STILL_LOOKING in answers and stream.waited_us < LOOKING_US:
            return False
        stream.searched = first.data.sequence
        self._go_on(stream, now_us, out)
        self.gaps.close(stream)
        self.check_gap(stream, stream.suspect, now_us, out)
        return True

    # Answers and claims of neighbours.

    def set_floor(self, stream: Stream, answer: Answer, now_us: int, out: list[Action]) -> None:
        """A neighbour knows of a message, the floor, and did not send it.

        If it was published before this node subscribed, it is not waited for. This is believed only if the first waiting
        message names the floor as the message before it, or if no message waits and another neighbour claims to have it.
        """
        first, floor, held = stream.first(), answer.floor, self._topics[stream.topic]
        if not floor or floor != (stream.claimed if first is None else previous_on(first.data, stream.topic)):
            return
        at_us = now_us - answer.floor_age_us if answer.floor_age_us > 0 else held.since_us - 1
        held.set_floor(stream.publisher, floor, at_us, self._parameters.publishers)
        if stream.delivered == 0 and held.floor(stream.publisher) == floor:
            if first is None:
                # The neighbour that claims it received it late, and took its time of arrival for its age.
                stream.claimed = 0
            else:
                stream.delivered = floor
                self.advance(stream, now_us, out)

    def after_answer(
        self, stream: Stream, sender: NodeId, before: int, answer: Answer, now_us: int, out: list[Action]
    ) -> None:
        """Look at the gap after an answer; `before` is the last delivered message before the answer."""
        self.evidence.take(stream, sender, answer)
        self.check_gap(stream, sender, now_us, out)
        if stream.has_gap and stream.delivered > before:
            # The answer helped and more of it may follow: ask no other neighbour meanwhile.
            stream.begin_wait(now_us)
            stream.due_us = now_us + self._parameters.ask_again_us
            if answer.more:
                self._asks.ask(stream, (sender,), now_us, out)
        if stream.is_searching:
            self._end_search(stream, now_us, out)
        elif stream.has_gap and not (answer.messages or stream.is_behind or self._end_if_lost(stream, now_us, out)):
            self._asks.ask_next(stream, now_us, out, again=False)

    def claim(self, stream: Stream, sender: NodeId, sequence: int, now_us: int, out: list[Action]) -> None:
        """A neighbour claims to have a message; if it is later than any known so far, wait for it."""
        if sequence > max(stream.delivered, stream.last, stream.claimed):
            stream.claimed, stream.claimed_us = sequence, now_us
            self.check_gap(stream, sender, now_us, out)
