"""The messages that a node passes on, by topic: bounded, and forgotten some time after they are old."""

from collections import deque
from collections.abc import Container, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import BufferFull
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.history import EACH_BYTES

# No node has this id.
NOBODY = -1
# A time that never comes.
NEVER_US = 2**63
# Chosen: neighbours that a node remembers to have a message. It pushes the message to further ones again.
KNOWN_MAX = 256

Name = tuple[NodeId, int]


class SpreadingMessage:
    """A message that is passed on while it is young; afterwards its name alone is told to neighbours that are called.

    `known`: neighbours that have it, as far as this node knows. `data` is None while the application's validator has not accepted the message.
    `old_us`: from this time on it is not passed on. `forget_us`: from this time on it is not named.
    """

    __slots__ = ("born_us", "data", "forget_us", "heard_us", "known", "name", "old_us", "topics")

    def __init__(
        self,
        name: Name,
        topics: tuple[TopicId, ...],
        data: Data | None,
        born_us: int,
        heard_us: int,
        old_us: int,
        forget_us: int,
    ) -> None:
        self.name = name
        self.topics = topics
        self.data = data
        self.known: set[NodeId] = set()
        self.born_us = born_us
        self.heard_us = heard_us
        self.old_us = old_us
        self.forget_us = forget_us

    def note(self, node: NodeId) -> None:
        """This node has the message too."""
        if len(self.known) < KNOWN_MAX:
            self.known.add(node)

    @property
    def size_bytes(self) -> int:
        """What it counts against the limit. A message that waits for the validator counts there."""
        return EACH_BYTES + (0 if self.data is None else len(self.data.payload))


class SpreadingTopic:
    """What a node passes on in one topic, and until when it calls neighbours."""

    __slots__ = ("active_until_us", "answered", "messages")

    def __init__(self) -> None:
        self.messages: dict[Name, SpreadingMessage] = {}
        self.active_until_us = 0
        # Calls of each neighbour that were answered since this node's last round.
        self.answered: dict[NodeId, int] = {}

    def young(
        self, now_us: int, bytes_max: int, without: Container[Name] = (), to: NodeId = NOBODY
    ) -> list[SpreadingMessage]:
        """The messages to pass on now, in the order in which they came; the newest where there are too many bytes.

        `without`: leave these names out. `to`: leave out what this node is known to have. Paper: rounds are synchronous,
        so a node passes on what it learnt before. A message that came at this very time waits for the next round or call.
        """
        found: list[SpreadingMessage] = []
        size = 0
        for message in reversed(self.messages.values()):
            if (
                message.data is not None
                and message.heard_us < now_us < message.old_us
                and to not in message.known
                and message.name not in without
            ):
                size += message.size_bytes
                if found and size > bytes_max:
                    break
                found.append(message)
        found.reverse()
        return found


class Spreading:
    """The messages of all topics. The oldest are dropped and reported where the limits are exceeded."""

    __slots__ = ("_bytes", "_bytes_max", "_most", "_order", "topics")

    def __init__(self, most: int, bytes_max: int) -> None:
        self._most = most
        self._bytes_max = bytes_max
        self._bytes = 0
        # Messages in the order in which they came. A message of a topic that was given up stays here until it is old.
        self._order: deque[SpreadingMessage] = deque()
        self.topics: dict[TopicId, SpreadingTopic] = {}

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._order)

    @property
    def size_bytes(self) -> int:
        """The bytes of all messages."""
        return self._bytes

    def topic(self, topic: TopicId) -> SpreadingTopic:
        """The state of a topic that this node holds."""
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = SpreadingTopic()
        return found

    def add(self, message: SpreadingMessage, out: list[Action]) -> None:
        """Keep a message under its topics."""
        for topic in message.topics:
            self.topic(topic).messages[message.name] = message
        self._order.append(message)
        self._bytes += message.size_bytes
        self._make_room(out)

    def find(self, topics: Sequence[TopicId], name: Name) -> SpreadingMessage | None:
        """The message of this name, if it is kept under one of these topics."""
        for topic in topics:
            state = self.topics.get(topic)
            if state is not None and name in state.messages:
                return state.messages[name]
        return None

    def accept(self, message: SpreadingMessage, data: Data, now_us: int, out: list[Action]) -> None:
        """The validator accepted a message that is kept: pass it on from now on."""
        self._bytes -= message.size_bytes
        message.data, message.heard_us = data, now_us
        self._bytes += message.size_bytes
        self._make_room(out)

    def drop(self, topic: TopicId) -> None:
        """This node has given up a topic."""
        self.topics.pop(topic, None)

    def lose(self, node: NodeId) -> None:
        """A neighbour is gone. If it returns, it may have lost its messages."""
        for message in self._order:
            message.known.discard(node)

    def forget(self, now_us: int) -> None:
        """Forget messages whose time is over. A message may stay for longer if one that came before it is younger."""
        while self._order and self._order[0].forget_us <= now_us:
            self._remove_first()

    def _make_room(self, out: list[Action]) -> None:
        while len(self._order) > self._most or (self._bytes > self._bytes_max and len(self._order) > 1):
            message = self._remove_first()
            if message.data is not None:
                out.append(Observe(BufferFull(message.data.topic, *message.name)))

    def _remove_first(self) -> SpreadingMessage:
        message = self._order.popleft()
        self._bytes -= message.size_bytes
        for topic in message.topics:
            state = self.topics.get(topic)
            if state is not None and state.messages.get(message.name) is message:
                del state.messages[message.name]
        return message
