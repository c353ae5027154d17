"""Flooding over a topic overlay: relay each new message to every neighbour that holds the topic, except its sender.

The simplest dissemination, and the baseline for the others. It reaches every node of the topic's component along
shortest paths, and sends a message over almost every link of the topic overlay twice.
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
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Data, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours
from gossamer.protocols.delivery.state import DeliveryState


class Flood:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = ("_delivery", "_intake", "_interests", "_node", "_overlay", "_seen", "_validation")

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (Data,)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, overlay: TopicNeighbours, node: NodeId, delivery: DeliveryState | None = None) -> None:
        self._overlay = overlay
        self._node = node
        self._delivery = delivery or DeliveryState(node)
        self._interests = self._delivery.interests
        self._seen = self._delivery.seen
        self._validation = self._delivery.validation
        self._intake = self._delivery.intake

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`)."""
        match event:
            case MessageReceived():
                return self._on_data(event.sender, event.message, now_us, out)
            case Publish():
                data = self._delivery.own_messages.publish(event, Data, now_us)
                if data is not None:
                    self._relay(data, self._node, out)
            case Validated():
                accepted, facts = self._intake.on_validated(event, now_us, out)
                return facts if accepted is None else self._accept(accepted.sender, accepted.data, now_us, out)
            case Subscribe() | Unsubscribe():
                self._delivery.set_interest(event)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Nothing to learn: the overlay is asked for neighbours whenever a message is sent."""
        return NOTHING

    def _on_data(self, sender: NodeId, data: Data, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if self._intake.refuses(sender, data, out):
            return NOTHING
        if not self._seen.add(data.publisher, data.sequence, sender):
            fetched = self._intake.fetched_copy(data, sender)
            if fetched is not None:
                self._relay(fetched, sender, out)
            return NOTHING
        if self._validation.ask(sender, data, True, out):
            return NOTHING
        return self._accept(sender, data, now_us, out)

    def _accept(self, sender: NodeId, data: Data, now_us: int, out: list[Action]) -> Sequence[Fact]:
        onward, facts = self._intake.accept(data, sender, now_us, out)
        self._relay(onward, sender, out)
        return facts

    def _relay(self, data: Data, came_from: NodeId, out: list[Action]) -> None:
        neighbours = self._overlay.neighbours_on(data.topic)
        if data.also:
            neighbours = neighbours_on_any(self._overlay, self._interests.topics_of(data))
        receivers = tuple([node for node in neighbours if node != came_from])
        if receivers:
            out.append(Send(receivers, data))


def neighbours_on_any(overlay: TopicNeighbours, topics: Sequence[TopicId]) -> tuple[NodeId, ...]:
    """The neighbours that hold at least one of these topics, each once, by id."""
    return tuple(sorted({node: None for topic in topics for node in overlay.neighbours_on(topic)}))
