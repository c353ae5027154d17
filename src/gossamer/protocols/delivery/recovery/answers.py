"""Answering neighbours from the history, within a limit of bytes a second for each, and checking the answers of others."""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.history import EACH_BYTES, History
from gossamer.protocols.delivery.intake import Intake, recast
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.recovery.messages import (
    ANSWER_BYTES_MAX,
    ANSWER_MAX,
    Answer,
    Ask,
    AskHistory,
    Past,
)

# Chosen: the bytes that a request counts for, even if nothing is found.
ASK_BYTES = 1_024
# Chosen: frames of one answer. One round trip for each frame would take longer than the history of a busy topic lasts.
FRAMES_MAX = 8
# Chosen: the bytes of history that one answer to a late subscriber holds; the newest messages are sent.
PAST_BYTES_MAX = 2**20


class Answers:
    """Sends messages from the history to neighbours on the topic that ask for them."""

    __slots__ = ("_bytes_max", "_history", "_interests", "_overlay", "_spent")

    def __init__(self, overlay: TopicNeighbours, interests: OwnInterests, history: History, bytes_max: int) -> None:
        self._overlay = overlay
        self._interests = interests
        self._history = history
        self._bytes_max = bytes_max
        # For each neighbour: when its current second began, and the bytes sent to it since.
        self._spent: dict[NodeId, tuple[int, int]] = {}

    def forget(self, node: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._spent.pop(node, None)

    def on_ask(self, sender: NodeId, message: Ask, now_us: int, out: list[Action]) -> None:
        """Answer a neighbour that misses messages of a publisher."""
        if not self._may_ask(sender, message.topic, now_us):
            return
        kept = self._history.between(message.topic, message.publisher, message.after, message.before)
        wanted = [data for data in kept if data.published_us >= message.since_us]
        floor = max([data.sequence for data in kept if data.published_us < message.since_us], default=0)
        for number in range(FRAMES_MAX if wanted or floor else 0):
            messages = self._frame(sender, wanted)
            wanted = wanted[len(messages) :]
            # The last frame says whether there is more, so that the neighbour can ask for the rest.
            is_last = not wanted or number == FRAMES_MAX - 1 or not self._may_send_more(sender)
            more = is_last and bool(wanted)
            out.append(Send((sender,), Answer(message.topic, message.publisher, messages, floor, more)))
            if is_last:
                return

    def on_ask_history(self, sender: NodeId, message: AskHistory, now_us: int, out: list[Action]) -> None:
        """Answer a late subscriber. An empty history is answered too, so that the subscriber does not wait for it."""
        if not self._may_ask(sender, message.topic, now_us):
            return
        wanted = self._history.latest(message.topic, max(message.count, 0), message.since_us)
        size, first = 0, len(wanted)
        while first and size < PAST_BYTES_MAX:
            first -= 1
            size += len(wanted[first].payload) + EACH_BYTES
        left = wanted[first:]
        while True:
            messages = self._frame(sender, left)
            left = left[len(messages) :]
            out.append(Send((sender,), Past(message.topic, messages, bool(left))))
            if not left:
                return

    def _may_ask(self, sender: NodeId, topic: TopicId, now_us: int) -> bool:
        """Count a request; returns whether the sender is a neighbour on the topic and within its limit."""
        if topic not in self._interests.roles or sender not in self._overlay.neighbours_on(topic):
            return False
        began_us, spent = self._spent.get(sender, (now_us, 0))
        if now_us - began_us >= SECOND_US:
            began_us, spent = now_us, 0
        is_within_limit = spent < self._bytes_max
        self._spent[sender] = (began_us, spent + ASK_BYTES)
        return is_within_limit

    def _may_send_more(self, sender: NodeId) -> bool:
        return self._spent[sender][1] < self._bytes_max

    def _frame(self, sender: NodeId, wanted: Sequence[Data]) -> tuple[Data, ...]:
        """As many of the first messages as one frame holds, at least one; counted against the neighbour's limit."""
        size = count = 0
        for data in wanted[:ANSWER_MAX]:
            if count and size + len(data.payload) > ANSWER_BYTES_MAX:
                break
            size += len(data.payload)
            count += 1
        began_us, spent = self._spent[sender]
        self._spent[sender] = (began_us, spent + size + count * EACH_BYTES)
        return tuple([recast(data, Data) for data in wanted[:count]])


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
