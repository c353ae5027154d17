"""Messages that wait for the application's validator: a bounded table, the oldest dropped first."""

from typing import NamedTuple

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, Validate
from gossamer.protocols.contract.events import Validated
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.history import EACH_BYTES
from gossamer.protocols.delivery.interests import OwnInterests

# Chosen: how many messages may wait, and their bytes. A driver stops reading from its peers when many messages wait, so the
# table needs room for the messages of one read only.
WAITING_MAX = 65_536
WAITING_BYTES_MAX = 8 * 2**20


class NotJudged(Fact, frozen=True, array_like=True, gc=False, tag="not_judged"):
    """A message was dropped because too many messages waited for the application's validator."""

    topic: TopicId
    publisher: NodeId
    sequence: int


class Unvalidated(NamedTuple):
    """A message that waits for the validator. `relay`: relay it if accepted; False for a message that was fetched."""

    sender: NodeId
    data: Data
    relay: bool


class ValidationQueue:
    """Asks the application to validate messages, and keeps each message until the answer."""

    __slots__ = ("_bytes", "_interests", "_ticket", "_validated", "_waiting")

    def __init__(self, interests: OwnInterests) -> None:
        self._interests = interests
        self._validated = interests.validated
        self._waiting: dict[int, Unvalidated] = {}
        self._bytes = 0
        self._ticket = 0

    @property
    def size_bytes(self) -> int:
        """The bytes of all messages that wait."""
        return self._bytes

    def ask(self, sender: NodeId, data: Data, relay: bool, out: list[Action]) -> bool:
        """Ask the application about a message if one of its topics is validated; returns whether the message waits."""
        if not self._validated:
            return False
        topic = next((one for one in self._interests.topics_of(data) if one in self._validated), None)
        if topic is None:
            return False
        self._ticket += 1
        self._waiting[self._ticket] = Unvalidated(sender, data, relay)
        self._bytes += len(data.payload) + EACH_BYTES
        out.append(Validate(self._ticket, topic, data.payload, data.publisher, data.sequence, data.published_us))
        while len(self._waiting) > WAITING_MAX or self._bytes > WAITING_BYTES_MAX:
            dropped = self._pop(next(iter(self._waiting)))
            if dropped is not None:
                out.append(Observe(NotJudged(dropped.data.topic, dropped.data.publisher, dropped.data.sequence)))
        return True

    def take(self, event: Validated) -> Unvalidated | None:
        """Remove the message that the validator answered about; None if it was dropped, or its topics are held no longer."""
        message = self._pop(event.ticket)
        return message if message is not None and self._interests.topics_of(message.data) else None

    def _pop(self, ticket: int) -> Unvalidated | None:
        message = self._waiting.pop(ticket, None)
        if message is not None:
            self._bytes -= len(message.data.payload) + EACH_BYTES
        return message
