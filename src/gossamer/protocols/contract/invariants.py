"""Rules that the actions of every node must obey.

The simulator's checkers apply them to machines while they run, and the audit applies them to the records of live nodes.

- Data is sent only on a topic that the sender holds (the caller exempts gossip, which its paper allows), only to a
  neighbour of the sender, and only to nodes that hold or have held one of its topics: the receiver may have
  unsubscribed while the message was in flight.
- A message is delivered at most once, on topics that the node follows, and in the order of its publisher if the
  node's stack promises order.
- A node reports each change of its neighbours once, and is never its own neighbour.

Each class keeps the state that one rule needs about one node. Its methods return None, or a sentence about the breach
without its subject, such as "delivered message 3 of 9 twice". `show` formats ids in these sentences: simulated ids are
small decimal numbers, live ids are hashes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.messages import Data

Show = Callable[[int], str]
# A plain integer, because operations on flags are twenty times slower and checkers look at every delivery.
_FOLLOWS = int(Role.FOLLOWS)


def message_name(publisher: NodeId, sequence: int, show: Show = str) -> str:
    """How a sentence names a message."""
    return f"message {sequence} of {show(publisher)}"


class InterestInvariants:
    """A node sends, receives and delivers only what belongs to its topics."""

    __slots__ = ("_ever_held", "_roles", "_show")

    def __init__(self, show: Show = str) -> None:
        self._roles: dict[TopicId, int] = {}
        self._ever_held: set[TopicId] = set()
        self._show = show

    def subscribe(self, topic: TopicId, role: int) -> None:
        """The node holds a topic from now on, in this role."""
        self._roles[topic] = int(role)
        self._ever_held.add(topic)

    def unsubscribe(self, topic: TopicId) -> None:
        """The node no longer holds a topic."""
        self._roles.pop(topic, None)

    def check_send(self, data: Data) -> str | None:
        """A node sends data only on a topic that it holds."""
        if data.topic in self._roles or (data.also and any(topic in self._roles for topic, _ in data.also)):
            return None
        return f"sent {self._name(data)} on topic {self._show(data.topic)} without holding it"

    def check_receive(self, data: Data, sender: NodeId) -> str | None:
        """Data reaches only nodes that have held one of its topics; the sender is at fault otherwise."""
        if data.topic in self._ever_held or (data.also and any(topic in self._ever_held for topic, _ in data.also)):
            return None
        return f"received {self._name(data)} from {self._show(sender)} and never held topic {self._show(data.topic)}"

    def check_delivery(self, delivery: Deliver) -> str | None:
        """A node delivers only on topics that it follows."""
        for topic in (delivery.topic, *delivery.also) if delivery.also else (delivery.topic,):
            if not self._roles.get(topic, 0) & _FOLLOWS:
                return f"delivered {self._name(delivery)} on topic {self._show(topic)} without following it"
        return None

    def _name(self, message: Data | Deliver) -> str:
        return message_name(message.publisher, message.sequence, self._show)


class DuplicateInvariant:
    """A node delivers a message at most once, even if the message has several topics."""

    __slots__ = ("_delivered", "_show")

    def __init__(self, show: Show = str) -> None:
        self._delivered: set[tuple[NodeId, int]] = set()
        self._show = show

    def check_delivery(self, delivery: Deliver) -> str | None:
        """Note a delivery; it is a breach if the message was delivered before."""
        name = (delivery.publisher, delivery.sequence)
        if name in self._delivered:
            return f"delivered {message_name(*name, self._show)} twice"
        self._delivered.add(name)
        return None


class OrderInvariant:
    """Within one subscription, a node delivers the messages of each publisher on a topic in the publisher's order."""

    __slots__ = ("_last", "_show")

    def __init__(self, show: Show = str) -> None:
        self._last: dict[tuple[TopicId, NodeId], int] = {}
        self._show = show

    def unsubscribe(self, topic: TopicId) -> None:
        """Forget the order of this topic; the next subscription starts without it."""
        self._last = {key: sequence for key, sequence in self._last.items() if key[0] != topic}

    def check_delivery(self, delivery: Deliver) -> str | None:
        """Note a delivery; it is a breach if a later message of the publisher was delivered before."""
        breach = None
        for topic in (delivery.topic, *delivery.also):
            last = self._last.get((topic, delivery.publisher), 0)
            if delivery.sequence < last:
                name = message_name(delivery.publisher, delivery.sequence, self._show)
                breach = breach or f"delivered {name} on topic {self._show(topic)} after message {last}"
            self._last[topic, delivery.publisher] = delivery.sequence
        return breach


class NeighbourInvariants:
    """A node reports its neighbours consistently and sends data to no other node."""

    __slots__ = ("_neighbours", "_node", "_show")

    def __init__(self, node: NodeId, show: Show = str) -> None:
        self._node = node
        self._neighbours: set[NodeId] = set()
        self._show = show

    def up(self, node: NodeId) -> str | None:
        """The node states a new neighbour."""
        if node == self._node:
            return "stated itself as its neighbour"
        if node in self._neighbours:
            return f"stated {self._show(node)} as a new neighbour twice"
        self._neighbours.add(node)
        return None

    def down(self, node: NodeId) -> str | None:
        """The node reports that it lost a neighbour."""
        if node not in self._neighbours:
            return f"lost {self._show(node)}, which is not its neighbour"
        self._neighbours.remove(node)
        return None

    def are_neighbours(self, receivers: Collection[NodeId]) -> bool:
        """Whether all receivers of a message are neighbours at this moment."""
        return self._neighbours.issuperset(receivers)

    def check_send(
        self, messages: Iterable[Data], receivers: Iterable[NodeId], stated_next: Collection[NodeId]
    ) -> Iterator[str]:
        """A node sends data only to its neighbours.

        `stated_next` are the neighbours that the node reports later in the same step: the parts of a node handle an
        event one after another, so a message may precede the fact that its receiver is a neighbour.
        """
        for data in messages:
            for receiver in receivers:
                if receiver not in self._neighbours and receiver not in stated_next:
                    name = message_name(data.publisher, data.sequence, self._show)
                    yield f"sent {name} to {self._show(receiver)}, which is not its neighbour"
