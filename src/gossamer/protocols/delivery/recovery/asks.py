"""Asking neighbours for what is missing, one after another."""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.parts import Overlay
from gossamer.protocols.delivery.recovery.messages import Ask
from gossamer.protocols.delivery.recovery.stream import Followed, Stream


class Asks:
    """Whom to ask, and for what."""

    __slots__ = ("_node", "_overlay", "_topics")

    def __init__(self, overlay: Overlay, node: NodeId, topics: Mapping[TopicId, Followed]) -> None:
        self._overlay = overlay
        self._node = node
        self._topics = topics

    def in_turn(self, topic: TopicId, first: NodeId) -> list[NodeId]:
        """Neighbours on a topic, one before the others, which every node begins at another place."""
        return sorted(self._overlay.neighbours_on(topic), key=lambda node: (node != first, node < self._node, node))

    def ask_next(self, stream: Stream, out: list[Action]) -> None:
        """Ask whoever's turn it is, if there is anybody."""
        nodes = self.in_turn(stream.topic, stream.suspect)
        if nodes:
            self.ask(stream, nodes[stream.turn % len(nodes)], out)
            stream.turn += 1

    def ask(self, stream: Stream, node: NodeId, out: list[Action]) -> None:
        """Ask a neighbour for all that is missing before what waits, or up to what somebody said there is."""
        before = stream.order[0] if stream.order else stream.told + 1
        since_us = self._topics[stream.topic].since_us if stream.delivered == 0 else 0
        stream.asked[node] = None
        out.append(Send((node,), Ask(stream.topic, stream.publisher, stream.delivered, before, since_us)))
