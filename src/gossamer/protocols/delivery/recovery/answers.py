"""Answering neighbours from the history, within a limit of bytes a second for each, and checking the answers of others."""

from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.events import Loaded
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.history import EACH_BYTES, Timed
from gossamer.protocols.delivery.intake import Intake, recast
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.own_messages import CLOSED_MAX
from gossamer.protocols.delivery.recovery.disk_reads import DiskReads
from gossamer.protocols.delivery.recovery.errands import Errands
from gossamer.protocols.delivery.recovery.messages import (
    ANSWER_BYTES_MAX,
    ANSWER_MAX,
    AgedAnswer,
    Answer,
    Ask,
    AskHistory,
    Past,
)
from gossamer.protocols.delivery.recovery.stream import HeldTopic, Stream, previous_on
from gossamer.protocols.delivery.state import DeliveryState

# Later than any message: no message is wanted because of its age.
NEVER_US = 2**62
# Chosen: the bytes that a request counts for, even if nothing is found.
ASK_BYTES = 1_024
# Chosen: frames of one answer. One round trip for each frame would take longer than the history of a busy topic lasts.
FRAMES_MAX = 8
# Chosen: the bytes of history that one answer to a late subscriber holds; the newest messages are sent.
PAST_BYTES_MAX = 2**20


class Answers:
    """Sends messages from the history to neighbours on the topic that ask for them."""

    __slots__ = (
        "_bytes_max",
        "_closed",
        "_errands",
        "_history",
        "_interests",
        "_node",
        "_overlay",
        "_spent",
        "_topics",
        "disk",
    )

    def __init__(
        self,
        overlay: TopicNeighbours,
        delivery: DeliveryState,
        topics: Mapping[TopicId, HeldTopic],
        bytes_max: int,
        node: NodeId,
        errands: Errands,
    ) -> None:
        self._overlay = overlay
        self._errands = errands
        self._node = node
        self._interests = delivery.interests
        self._history = delivery.require_history()
        self._topics = topics
        self._bytes_max = bytes_max
        # The requests that the node's disk must answer; None if it has no disk.
        self.disk: DiskReads | None = None
        # For topics that this node closed: the number and the time of its last message.
        self._closed: dict[TopicId, tuple[int, int]] = {}
        # For each neighbour: when its current second began, and the bytes sent to it since.
        self._spent: dict[NodeId, tuple[int, int]] = {}

    def close(self, topic: TopicId, last: int, last_us: int) -> None:
        """This node no longer holds a topic on which it published; its last message leaves the history.

        If it publishes on the topic again, it tells late subscribers that this message is older than their subscription.
        """
        if last <= self.own_last(topic)[0]:
            return
        self._closed.pop(topic, None)
        self._closed[topic] = (last, last_us)
        if len(self._closed) > CLOSED_MAX:
            del self._closed[next(iter(self._closed))]

    def own_last(self, topic: TopicId) -> tuple[int, int]:
        """The number and the time of this node's last message on a topic before it last opened it; zeros if none."""
        return self._closed.get(topic, (0, 0))

    def forget(self, node: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._spent.pop(node, None)
        if self.disk is not None:
            self.disk.forget(node)

    def on_ask(self, sender: NodeId, message: Ask, now_us: int, out: list[Action]) -> None:
        """Answer a neighbour that misses messages of a publisher, also if this node has none of them."""
        if not self._may_ask(sender, message.topic, now_us):
            if self.disk is not None and self._shares(sender, message.topic) and self._may_hear(sender):
                self._answer_later(sender, message, out)
            return
        kept = self._history.between(message.topic, message.publisher, message.after, message.before)
        since_us = now_us - message.age_us if message.age_us > 0 else 0
        if self.disk is None or _reaches(kept, message, since_us):
            self._answer(sender, message, kept, since_us, now_us, out)
        elif not self.disk.put(sender, message, since_us, out):
            self._answer_later(sender, message, out)

    def on_loaded(
        self, event: Loaded, asker: NodeId, message: Ask, since_us: int, now_us: int, out: list[Action]
    ) -> None:
        """Answer a neighbour with messages from the disk, and read for its next request if it is within its limit."""
        assert self.disk is not None
        if asker in self._spent and self._shares(asker, message.topic):
            last = event.messages[-1][1].sequence if event.messages else message.after
            # What the disk does not have yet, or could not keep, may be in memory.
            newer = [] if event.more else self._history.between(message.topic, message.publisher, last, message.before)
            kept = (*event.messages, *newer)
            self._answer(asker, message, kept, since_us, now_us, out, event.more, event.floor)
        may_go_on = asker in self._spent and self._may_send_more(asker)
        for waiting in self.disk.next(asker, may_go_on, out):
            self._answer_later(asker, waiting, out)

    def _answer_later(self, sender: NodeId, message: Ask, out: list[Action]) -> None:
        answer = AgedAnswer(message.topic, message.publisher, (), more=True, before=message.before, later=True)
        out.append(Send((sender,), answer))

    def _answer(
        self,
        sender: NodeId,
        message: Ask,
        kept: Sequence[Timed],
        since_us: int,
        now_us: int,
        out: list[Action],
        has_more: bool = False,
        below: tuple[int, int] = (0, 0),
    ) -> None:
        """Send the wanted ones of the messages that this node has, in frames."""
        wanted = [row for row in kept if row[0] >= since_us]
        floor, floor_us = self._floor(message, kept, since_us, below)
        is_looking = self._is_looking(sender, message)
        if not wanted and self._is_from_before(message):
            is_looking = self._errands.take(sender, message, now_us, out) or is_looking
        floor_age_us = max(now_us - floor_us, 1) if floor else 0
        for number in range(FRAMES_MAX):
            messages = self._frame(sender, [data for _, data in wanted[:ANSWER_MAX]])
            ages_us = tuple([max(now_us - at_us, 0) for at_us, _ in wanted[: len(messages)]])
            wanted = wanted[len(messages) :]
            # The last frame says whether there is more, so that the neighbour can ask for the rest.
            is_last = not wanted or number == FRAMES_MAX - 1 or not self._may_send_more(sender)
            more = is_last and (bool(wanted) or has_more or (is_looking and not messages))
            content = (message.topic, message.publisher, messages, floor, more, floor_age_us, message.before)
            answer = Answer(*content) if self.disk is None else AgedAnswer(*content, ages_us)
            out.append(Send((sender,), answer))
            if is_last:
                return

    def _floor(
        self, message: Ask, kept: Sequence[Timed], since_us: int, below: tuple[int, int] = (0, 0)
    ) -> tuple[int, int]:
        """The last message in the requested range that this node knows of and does not send, and when it was published.

        It is older than requested (`below` is such a message on the disk); or it belongs to an earlier run of this node; or
        a neighbour told of it.
        """
        known = [below, *((data.sequence, at_us) for at_us, data in kept if at_us < since_us)]
        if message.publisher == self._node:
            known.append(self.own_last(message.topic))
        elif message.topic in self._topics:
            known.append(self._topics[message.topic].floors.get(message.publisher, (0, 0)))
        return max([row for row in known if message.after < row[0] < message.before], default=(0, 0))

    def _is_from_before(self, message: Ask) -> bool:
        """Whether this node knows of a requested message that was published before it subscribed."""
        held = self._topics.get(message.topic)
        return held is not None and message.after < held.floor(message.publisher) < message.before

    def pass_on(self, sender: NodeId, answer: Answer, now_us: int, out: list[Action]) -> None:
        """Pass a neighbour's answer on to the neighbours whose requests were passed on to it, within their limits."""
        askers = self._errands.on_answer(sender, answer, now_us, out)
        nodes = tuple(node for node in askers if node in self._spent and self._may_send_more(node))
        for node in nodes:
            self._charge(node, answer.messages)
        if nodes:
            out.append(Send(nodes, answer))

    def on_found(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Neighbours sent messages of a stream: answer those who asked for them meanwhile."""
        askers, stream.askers = stream.askers, {}
        for node, message in askers.items():
            self.on_ask(node, message, now_us, out)

    def _is_looking(self, sender: NodeId, message: Ask) -> bool:
        """Whether this node may soon have messages that it lacks now.

        It has not passed the requested messages: it has not received the message that shows the neighbour's gap, or its
        validator has not judged it, or it asks its own neighbours for the same messages. In the last case the request
        is kept until they answer.
        """
        held = self._topics[message.topic]
        stream = held.streams.get(message.publisher)
        passed = max(held.floor(message.publisher), 0 if stream is None else stream.delivered)
        if passed >= message.before - 1:
            return False
        if stream is not None and stream.has_gap:
            stream.askers[sender] = message
        return True

    def on_ask_history(self, sender: NodeId, message: AskHistory, now_us: int, out: list[Action]) -> None:
        """Answer a late subscriber. An empty history is answered too, so that the subscriber does not wait for it."""
        if not self._may_ask(sender, message.topic, now_us):
            return
        since_us = now_us - message.age_us if message.age_us > 0 else NEVER_US
        wanted = self._history.latest(message.topic, max(message.count, 0), since_us)
        size, first = 0, len(wanted)
        while first and size < PAST_BYTES_MAX:
            first -= 1
            size += len(wanted[first][1].payload) + EACH_BYTES
        left = wanted[first:]
        while True:
            messages = self._frame(sender, [data for _, data in left[:ANSWER_MAX]])
            ages_us = tuple([now_us - at_us for at_us, _ in left[: len(messages)]])
            left = left[len(messages) :]
            out.append(Send((sender,), Past(message.topic, messages, bool(left), ages_us)))
            if not left:
                return

    def _may_ask(self, sender: NodeId, topic: TopicId, now_us: int) -> bool:
        """Count a request; returns whether the sender is a neighbour on the topic and within its limit."""
        if not self._shares(sender, topic):
            return False
        began_us, spent = self._spent.get(sender, (now_us, 0))
        if now_us - began_us >= SECOND_US:
            began_us, spent = now_us, 0
        is_within_limit = spent < self._bytes_max
        self._spent[sender] = (began_us, spent + ASK_BYTES)
        return is_within_limit

    def _shares(self, node: NodeId, topic: TopicId) -> bool:
        """Whether a node is a neighbour on a topic that this node holds."""
        return topic in self._interests.roles and node in self._overlay.neighbours_on(topic)

    def _may_send_more(self, sender: NodeId) -> bool:
        return self._spent[sender][1] < self._bytes_max

    def _may_hear(self, sender: NodeId) -> bool:
        """Whether a neighbour beyond its limit is still answered with "later"; one that goes on asking is not."""
        return self._spent[sender][1] < 2 * self._bytes_max

    def _frame(self, sender: NodeId, wanted: Sequence[Data]) -> tuple[Data, ...]:
        """As many of the first messages as one frame holds, at least one; counted against the neighbour's limit."""
        size = count = 0
        for data in wanted[:ANSWER_MAX]:
            if count and size + len(data.payload) > ANSWER_BYTES_MAX:
                break
            size += len(data.payload)
            count += 1
        messages = tuple([recast(data, Data) for data in wanted[:count]])
        self._charge(sender, messages)
        return messages

    def _charge(self, node: NodeId, messages: Sequence[Data]) -> None:
        """Count messages against the limit of a neighbour."""
        began_us, spent = self._spent[node]
        self._spent[node] = (began_us, spent + sum(len(data.payload) + EACH_BYTES for data in messages))


def _reaches(kept: Sequence[Timed], message: Ask, since_us: int) -> bool:
    """Whether the messages in memory reach back to the first requested one, so that the disk need not be read."""
    if not kept:
        return False
    at_us, data = kept[0]
    return at_us < since_us or 0 < previous_on(data, message.topic) <= message.after


class AnswerCheck:
    """Checks the messages that a neighbour sends as an answer."""

    __slots__ = ("_intake", "_interests")

    def __init__(self, interests: OwnInterests, intake: Intake) -> None:
        self._interests = interests
        self._intake = intake

    def accepts(
        self, sender: NodeId, topic: TopicId, data: Data, out: list[Action], publisher: NodeId | None = None
    ) -> bool:
        """Whether a message belongs to the requested topic (and publisher) and is valid; if not, the sender is reported."""
        if topic not in self._interests.topics_of(data) or publisher not in (None, data.publisher):
            out.append(Observe(PeerMisbehaved(sender, "answered with what was not asked for")))
            return False
        return not self._intake.refuses(sender, data, out)
