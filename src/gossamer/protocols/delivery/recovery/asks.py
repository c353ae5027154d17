"""Asking neighbours for missing messages, one neighbour after another."""

from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.recovery.messages import Ask
from gossamer.protocols.delivery.recovery.stream import UNANSWERED, HeldTopic, Stream

# Chosen: 300 ms, a round trip of a slow network. Messages that are older than a subscription by less may be delivered too.
REQUEST_US = 300 * MILLISECOND_US


class Asks:
    """Chooses the neighbour to ask, and sends the request."""

    __slots__ = ("_node", "_overlay", "_topics")

    def __init__(self, overlay: TopicNeighbours, node: NodeId, topics: Mapping[TopicId, HeldTopic]) -> None:
        self._overlay = overlay
        self._node = node
        self._topics = topics

    def in_turn(self, topic: TopicId, first: NodeId) -> list[NodeId]:
        """The neighbours on a topic in the order to ask them: `first`, then higher ids than this node's, then lower ones.

        The order depends on this node's id, so that different nodes do not all ask the same neighbour.
        """
        return sorted(self._overlay.neighbours_on(topic), key=lambda node: (node != first, node < self._node, node))

    def others(self, stream: Stream) -> list[NodeId]:
        """The neighbours on a stream's topic without its publisher, which forgot its messages when it restarted."""
        return [node for node in self.in_turn(stream.topic, stream.suspect) if node != stream.publisher]

    def ask_next(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Ask the next neighbour in turn, if there is any."""
        nodes = self.in_turn(stream.topic, stream.suspect)
        if nodes:
            self.ask(stream, (nodes[stream.turn % len(nodes)],), now_us, out)
            stream.turn += 1

    def ask(self, stream: Stream, nodes: Sequence[NodeId], now_us: int, out: list[Action]) -> None:
        """Ask neighbours for everything missing before the first waiting message, or up to the last claimed one."""
        before = stream.order[0] if stream.order else stream.claimed + 1
        age_us = 0
        if stream.delivered == 0:
            # Messages published since this node subscribed. The request itself takes some time.
            age_us = now_us - self._topics[stream.topic].since_us + REQUEST_US
        if not nodes:
            return
        for node in nodes:
            stream.asked.setdefault(node, UNANSWERED)
        out.append(Send(tuple(nodes), Ask(stream.topic, stream.publisher, stream.delivered, before, age_us)))
