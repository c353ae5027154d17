"""Flooding over a topic overlay: pass what is new to every neighbour that holds the topic, but not back.

The simplest dissemination there is, and the yardstick for others: it reaches everybody in the topic's component
along shortest paths, at the price of a message over almost every link of the topic overlay, twice.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Arrived, Fact
from gossamer.protocols.contract.messages import Data, Message, Timer
from gossamer.protocols.contract.parts import NOTHING, Overlay
from gossamer.protocols.delivery.held import Held


class Flood:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = ("_held", "_node", "_overlay")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (Data,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, overlay: Overlay, node: NodeId, held: Held | None = None) -> None:
        self._overlay = overlay
        self._node = node
        self._held = held or Held(node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case MessageReceived():
                return self._on_data(event.sender, event.message, out)
            case Publish():
                data = self._held.publish(event, Data, now_us)
                if data is not None:
                    self._pass_on(data, self._node, out)
            case Validated():
                judged, facts = self._held.settle(event, out)
                return facts if judged is None else self._accept(judged.sender, judged.data, out)
            case Subscribe() | Unsubscribe():
                self._held.set_interest(event)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The overlay is asked when a message is to be sent."""
        return NOTHING

    def _on_data(self, sender: NodeId, data: Data, out: list[Action]) -> Sequence[Fact]:
        held = self._held
        if held.refuses(sender, data, out):
            return NOTHING
        if not held.add(data.publisher, data.sequence, sender):
            kept = held.taken_over(data, sender)
            if kept is not None:
                self._pass_on(kept, sender, out)
            return NOTHING
        if held.judges(sender, data, True, out):
            return NOTHING
        return self._accept(sender, data, out)

    def _accept(self, sender: NodeId, data: Data, out: list[Action]) -> Sequence[Fact]:
        onward = self._held.take_in(data, out)
        self._pass_on(onward, sender, out)
        return (Arrived(onward, sender),) if self._held.recovers else NOTHING

    def _pass_on(self, data: Data, came_from: NodeId, out: list[Action]) -> None:
        neighbours = self._overlay.neighbours_on(data.topic)
        if data.also:
            neighbours = neighbours_on_any(self._overlay, self._held.topics_of(data))
        receivers = tuple([node for node in neighbours if node != came_from])
        if receivers:
            out.append(Send(receivers, data))


def neighbours_on_any(overlay: Overlay, topics: Sequence[TopicId]) -> tuple[NodeId, ...]:
    """The neighbours that hold one of these topics, each once, by id: a message of several topics crosses a link once."""
    return tuple(sorted({node: None for topic in topics for node in overlay.neighbours_on(topic)}))
