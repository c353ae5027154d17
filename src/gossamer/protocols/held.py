"""What every dissemination keeps: the topics a node holds, what it has published, and what it has seen."""

from typing import TypeVar

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.interface import Action, Data, Deliver, Publish, Subscribe, Unsubscribe

# Chosen: 65,536 messages remembered by name, the oldest forgotten first. A copy that comes later than that would
# be taken for new.
SEEN_MAX = 65_536

AnyData = TypeVar("AnyData", bound=Data)


class Held:
    """A node's topics, its own sequence, and the names of messages up to a bound."""

    __slots__ = ("_most", "_names", "_node", "_sequence", "roles")

    def __init__(self, node: NodeId, most: int = SEEN_MAX) -> None:
        self._node = node
        self._most = most
        self._sequence = 0
        self._names: dict[tuple[NodeId, int], None] = {}
        self.roles: dict[TopicId, int] = {}

    def set_interest(self, event: Subscribe | Unsubscribe) -> None:
        """The node holds a topic, or holds it no longer."""
        if isinstance(event, Subscribe):
            self.roles[event.topic] = event.role
        else:
            self.roles.pop(event.topic, None)

    def knows(self, publisher: NodeId, sequence: int) -> bool:
        """Whether a message is remembered."""
        return (publisher, sequence) in self._names

    def add(self, publisher: NodeId, sequence: int) -> bool:
        """Remember a message; says whether it was new."""
        name = (publisher, sequence)
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > self._most:
            del self._names[next(iter(self._names))]
        return True

    def publish(self, event: Publish, kind: type[AnyData], now_us: int) -> AnyData | None:
        """A message of one's own, with the next number; none on a topic that one does not hold."""
        if event.topic not in self.roles:
            return None
        if self._sequence == 0:
            # See `interface.Publish`.
            self._sequence = now_us
        self._sequence += 1
        self.add(self._node, self._sequence)
        return kind(event.topic, self._node, self._sequence, 0, now_us, event.payload)

    def take_in(self, data: AnyData, out: list[Action]) -> AnyData:
        """Deliver a new message where the topic is followed; returns it as it goes on, a hop further."""
        hops = data.hops + 1
        if self.roles[data.topic] & Role.FOLLOWS:
            out.append(Deliver(data.topic, data.payload, data.publisher, data.sequence, hops, data.published_us))
        return type(data)(data.topic, data.publisher, data.sequence, hops, data.published_us, data.payload)
