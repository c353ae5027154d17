"""Asking neighbours for missing messages, one neighbour after another."""

from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.recovery.messages import Ask
from gossamer.protocols.delivery.recovery.stream import NOTHING_MORE, Asked, HeldTopic, Stream

# Chosen: 300 ms, a round trip of a slow network. Messages that are older than a subscription by less may be delivered too.
REQUEST_US = 300 * MILLISECOND_US


class Asks:
    """Chooses the neighbours to ask, and sends the requests."""

    __slots__ = ("_ask_again_us", "_node", "_overlay", "_topics")

    def __init__(
        self, overlay: TopicNeighbours, node: NodeId, topics: Mapping[TopicId, HeldTopic], ask_again_us: int
    ) -> None:
        self._overlay = overlay
        self._node = node
        self._topics = topics
        self._ask_again_us = ask_again_us

    def in_turn(self, topic: TopicId, first: NodeId) -> list[NodeId]:
        """The neighbours on a topic in the order to ask them: `first`, then higher ids than this node's, then lower ones.

        The order depends on this node's id, so that different nodes do not all ask the same neighbour.
        """
        return sorted(self._overlay.neighbours_on(topic), key=lambda node: (node != first, node < self._node, node))

    def candidates(self, stream: Stream) -> list[NodeId]:
        """The neighbours that may have the missing messages of a stream, in the order to ask them.

        A publisher that restarted forgot its earlier messages.
        """
        nodes = self.in_turn(stream.topic, stream.suspect)
        return [node for node in nodes if node != stream.publisher] if stream.is_searching else nodes

    def ask_next(self, stream: Stream, now_us: int, out: list[Action], again: bool = True) -> None:
        """Ask the next neighbour, if there is any: one that was not asked before, or else, with `again`, one to ask again."""
        due = [node for node in self._due(stream) if again or self._is_new(stream, node)]
        due.sort(key=lambda node: (not self._is_new(stream, node), node in stream.asked))
        self.ask(stream, due[:1], now_us, out)

    def ask_all(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Ask all neighbours that were not asked lately."""
        self.ask(stream, self._due(stream), now_us, out)

    def ask(self, stream: Stream, nodes: Sequence[NodeId], now_us: int, out: list[Action]) -> None:
        """Ask neighbours for everything missing before the first waiting message, or up to the last claimed one."""
        before = stream.before
        age_us = 0
        if stream.delivered == 0:
            # Messages published since this node subscribed. The request itself takes some time.
            age_us = now_us - self._topics[stream.topic].since_us + REQUEST_US
        if not nodes:
            return
        for node in nodes:
            if self._is_new(stream, node):
                stream.asked[node] = Asked(before, self._ask_again_us)
            stream.asked[node].note_request(stream.waited_us)
        out.append(Send(tuple(nodes), Ask(stream.topic, stream.publisher, stream.delivered, before, age_us)))

    def _is_new(self, stream: Stream, node: NodeId) -> bool:
        """Whether a neighbour was not asked the present question yet."""
        asked = stream.asked.get(node)
        return asked is None or asked.before != stream.before

    def _due(self, stream: Stream) -> list[NodeId]:
        """The neighbours that may have messages and were not asked lately."""
        return [node for node in self.candidates(stream) if self._is_due(stream, node)]

    def _is_due(self, stream: Stream, node: NodeId) -> bool:
        if self._is_new(stream, node):
            return True
        asked = stream.asked[node]
        return asked.answer != NOTHING_MORE and stream.waited_us >= asked.again_us
