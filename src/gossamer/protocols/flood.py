"""Flooding over a topic overlay: pass what is new to every neighbour that holds the topic, but not back.

The simplest dissemination there is, and the yardstick for others: it reaches everybody in the topic's component
along shortest paths, at the price of a message over almost every link of the topic overlay, twice.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.interface import (
    NOTHING,
    Action,
    Data,
    Deliver,
    Event,
    Fact,
    Message,
    MessageReceived,
    Observe,
    Overlay,
    PeerMisbehaved,
    Publish,
    Send,
    Subscribe,
    Timer,
    Unsubscribe,
)

# Chosen: 65,536 messages remembered by name, the oldest forgotten first. A copy that comes later than that would
# be taken for new.
SEEN_MAX = 65_536


class Seen:
    """Names of messages, remembered up to a bound."""

    __slots__ = ("_most", "_names")

    def __init__(self, most: int = SEEN_MAX) -> None:
        self._names: dict[tuple[NodeId, int], None] = {}
        self._most = most

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


class Flood:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = ("_node", "_overlay", "_roles", "_seen", "_sequence")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Data,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, overlay: Overlay, node: NodeId) -> None:
        self._overlay = overlay
        self._node = node
        self._roles: dict[TopicId, int] = {}
        self._seen = Seen()
        self._sequence = 0

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case MessageReceived():
                self._on_data(event.sender, event.message, out)
            case Publish():
                self._on_publish(event, now_us, out)
            case Subscribe():
                self._roles[event.topic] = event.role
            case Unsubscribe():
                self._roles.pop(event.topic, None)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The overlay is asked when a message is to be sent."""
        return NOTHING

    def _on_publish(self, event: Publish, now_us: int, out: list[Action]) -> None:
        if event.topic not in self._roles:
            return
        self._sequence += 1
        self._seen.add(self._node, self._sequence)
        data = Data(event.topic, self._node, self._sequence, 0, now_us, event.payload)
        self._pass_on(data, self._node, out)

    def _on_data(self, sender: NodeId, data: Data, out: list[Action]) -> None:
        role = self._roles.get(data.topic, 0)
        if not role:
            # An interest that has just changed, or a peer that does not care; never relayed, never delivered.
            out.append(Observe(PeerMisbehaved(sender, "sent a topic that this node does not hold")))
            return
        if not self._seen.add(data.publisher, data.sequence):
            return
        hops = data.hops + 1
        if role & Role.FOLLOWS:
            out.append(Deliver(data.topic, data.payload, data.publisher, data.sequence, hops, data.published_us))
        onward = Data(data.topic, data.publisher, data.sequence, hops, data.published_us, data.payload)
        self._pass_on(onward, sender, out)

    def _pass_on(self, data: Data, came_from: NodeId, out: list[Action]) -> None:
        receivers = tuple(node for node in self._overlay.neighbours_on(data.topic) if node != came_from)
        if receivers:
            out.append(Send(receivers, data))
