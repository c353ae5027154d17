"""Flooding over a topic overlay: pass what is new to every neighbour that holds the topic, but not back.

The simplest dissemination there is, and the yardstick for others: it reaches everybody in the topic's component
along shortest paths, at the price of a message over almost every link of the topic overlay, twice.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId
from gossamer.protocols.held import Held
from gossamer.protocols.interface import (
    NOTHING,
    Action,
    Data,
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


class Flood:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = ("_held", "_node", "_overlay")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Data,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, overlay: Overlay, node: NodeId) -> None:
        self._overlay = overlay
        self._node = node
        self._held = Held(node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case MessageReceived():
                self._on_data(event.sender, event.message, out)
            case Publish():
                data = self._held.publish(event, Data, now_us)
                if data is not None:
                    self._pass_on(data, self._node, out)
            case Subscribe() | Unsubscribe():
                self._held.set_interest(event)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The overlay is asked when a message is to be sent."""
        return NOTHING

    def _on_data(self, sender: NodeId, data: Data, out: list[Action]) -> None:
        if data.topic not in self._held.roles:
            # An interest that has just changed, or a peer that does not care; never relayed, never delivered.
            out.append(Observe(PeerMisbehaved(sender, "sent a topic that this node does not hold")))
        elif self._held.add(data.publisher, data.sequence):
            self._pass_on(self._held.take_in(data, out), sender, out)

    def _pass_on(self, data: Data, came_from: NodeId, out: list[Action]) -> None:
        receivers = tuple(node for node in self._overlay.neighbours_on(data.topic) if node != came_from)
        if receivers:
            out.append(Send(receivers, data))
