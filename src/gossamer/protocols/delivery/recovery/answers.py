"""Answering neighbours out of the history, within what each is given in a second; and what an answer may hold."""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.parts import Overlay
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

# Chosen: what an ask counts for, even where nothing is found.
ASK_BYTES = 1_024
# Chosen: frames of one answer. A round trip for each would take longer than a busy topic's history lasts.
FRAMES_MAX = 8
# Chosen: how much of the past is told at once, the newest of it.
PAST_BYTES_MAX = 2**20


class Answers:
    """What a node gives of its history; only to neighbours on the topic."""

    __slots__ = ("_bytes_max", "_history", "_interests", "_overlay", "_spent")

    def __init__(self, overlay: Overlay, interests: OwnInterests, history: History, bytes_max: int) -> None:
        self._overlay = overlay
        self._interests = interests
        self._history = history
        self._bytes_max = bytes_max
        # By neighbour: the second at hand, and what was answered in it.
        self._spent: dict[NodeId, tuple[int, int]] = {}

    def forget(self, node: NodeId) -> None:
        """A neighbour is gone."""
        self._spent.pop(node, None)

    def on_ask(self, sender: NodeId, message: Ask, now_us: int, out: list[Action]) -> None:
        """Somebody misses messages of a publisher."""
        if not self._may_ask(sender, message.topic, now_us):
            return
        kept = self._history.between(message.topic, message.publisher, message.after, message.before)
        wanted = [data for data in kept if data.published_us >= message.since_us]
        floor = max([data.sequence for data in kept if data.published_us < message.since_us], default=0)
        for number in range(FRAMES_MAX if wanted or floor else 0):
            messages = self._frame(sender, wanted)
            wanted = wanted[len(messages) :]
            # The last frame says that there is more: who still wants it asks again.
            is_last = not wanted or number == FRAMES_MAX - 1 or not self._has_left(sender)
            more = is_last and bool(wanted)
            out.append(Send((sender,), Answer(message.topic, message.publisher, messages, floor, more)))
            if is_last:
                return

    def on_ask_history(self, sender: NodeId, message: AskHistory, now_us: int, out: list[Action]) -> None:
        """Somebody comes late. It is always answered, be it with nothing, so that it need not wait."""
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
        if topic not in self._interests.roles or sender not in self._overlay.neighbours_on(topic):
            return False
        began_us, spent = self._spent.get(sender, (now_us, 0))
        if now_us - began_us >= SECOND_US:
            began_us, spent = now_us, 0
        has_left = spent < self._bytes_max
        self._spent[sender] = (began_us, spent + ASK_BYTES)
        return has_left

    def _has_left(self, sender: NodeId) -> bool:
        return self._spent[sender][1] < self._bytes_max

    def _frame(self, sender: NodeId, wanted: Sequence[Data]) -> tuple[Data, ...]:
        """As many of the first messages as a frame holds, at least one, counted against what the neighbour is given."""
        size = count = 0
        for data in wanted[:ANSWER_MAX]:
            if count and size + len(data.payload) > ANSWER_BYTES_MAX:
                break
            size += len(data.payload)
            count += 1
        began_us, spent = self._spent[sender]
        self._spent[sender] = (began_us, spent + size + count * EACH_BYTES)
        return tuple([recast(data, Data) for data in wanted[:count]])


def belongs(
    interests: OwnInterests,
    intake: Intake,
    sender: NodeId,
    topic: TopicId,
    data: Data,
    out: list[Action],
    publisher: NodeId | None = None,
) -> bool:
    """Whether a message in an answer is of what was asked for, and may be taken in."""
    if topic not in interests.topics_of(data) or publisher not in (None, data.publisher):
        out.append(Observe(PeerMisbehaved(sender, "answered with what was not asked for")))
        return False
    return not intake.refuses(sender, data, out)
