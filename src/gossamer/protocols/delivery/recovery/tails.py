"""Telling neighbours the last message of each publisher (`Have`), so that a lost last message is noticed.

A node sends each new last message three times: in the next two rounds, because a frame may be lost, and again some
rounds later, because a broken link may go unnoticed for a while. Nothing is sent while no message is new.
"""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.recovery.messages import (
    TAILS_MAX,
    Have,
    HaveDue,
    Tail,
)
from gossamer.protocols.delivery.recovery.stream import HeldTopic, Stream


class Tails:
    """The streams that changed and the neighbours that are new, and in how many more rounds to tell of them."""

    __slots__ = ("_changed", "_every_us", "_new_neighbours", "_overlay", "_rounds", "_timer_is_set")

    def __init__(self, overlay: TopicNeighbours, every_us: int, rounds: int) -> None:
        self._overlay = overlay
        self._every_us = every_us
        self._rounds = rounds
        self._changed: list[Stream] = []
        self._new_neighbours: dict[NodeId, int] = {}
        self._timer_is_set = False

    def set_last(
        self, stream: Stream, sequence: int, now_us: int, out: list[Action], last_us: int | None = None
    ) -> None:
        """This node has a later message of a stream than before, since `last_us` or now: tell the neighbours."""
        stream.last = sequence
        stream.last_us = now_us if last_us is None else last_us
        if not stream.rounds_left:
            self._changed.append(stream)
            self._set_timer(now_us, out)
        stream.rounds_left = self._rounds

    def welcome(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """Tell a new neighbour the last messages of all streams that it shares."""
        self._new_neighbours[node] = self._rounds
        self._set_timer(now_us, out)

    def forget(self, node: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._new_neighbours.pop(node, None)

    def on_due(self, topics: Mapping[TopicId, HeldTopic], now_us: int, out: list[Action]) -> None:
        """Send each neighbour what is new on the topics that it shares, in few frames."""
        self._timer_is_set = False
        tails: dict[NodeId, list[Tail]] = {}
        if self._new_neighbours:
            self._add_all_streams(topics, tails, now_us)
        changed = [stream for stream in self._changed if stream.rounds_left]
        self._add_changed_streams(changed, tails, now_us)
        self._changed = [stream for stream in changed if stream.rounds_left]
        self._new_neighbours = {node: left - 1 for node, left in self._new_neighbours.items() if left > 1}
        for node, wanted in tails.items():
            for place in range(0, len(wanted), TAILS_MAX):
                out.append(Send((node,), Have(tuple(wanted[place : place + TAILS_MAX]))))
        if self._changed or self._new_neighbours:
            self._set_timer(now_us, out)

    def _add_all_streams(
        self, topics: Mapping[TopicId, HeldTopic], tails: dict[NodeId, list[Tail]], now_us: int
    ) -> None:
        for topic, held in topics.items():
            if held.streams:
                neighbours = self._overlay.neighbours_on(topic)
                receivers = [node for node in neighbours if self._is_new(node)]
                for stream in held.streams.values():
                    _add(stream, receivers, tails, now_us)

    def _add_changed_streams(self, changed: list[Stream], tails: dict[NodeId, list[Tail]], now_us: int) -> None:
        receivers: dict[TopicId, list[NodeId]] = {}
        for stream in changed:
            topic = stream.topic
            if self._tells_in_round(stream.rounds_left):
                if topic not in receivers:
                    neighbours = self._overlay.neighbours_on(topic)
                    receivers[topic] = [node for node in neighbours if not self._is_new(node)]
                _add(stream, receivers[topic], tails, now_us)
            stream.rounds_left -= 1

    def _is_new(self, node: NodeId) -> bool:
        """Whether a neighbour gets all streams in this round, because it is new."""
        return self._tells_in_round(self._new_neighbours.get(node, 0))

    def _tells_in_round(self, rounds_left: int) -> bool:
        """Whether to send a last message that has this many rounds left: in the first two rounds and in the last."""
        return rounds_left == 1 or rounds_left > max(self._rounds - 2, 0)

    def _set_timer(self, now_us: int, out: list[Action]) -> None:
        if not self._timer_is_set:
            self._timer_is_set = True
            out.append(SetTimer(now_us + self._every_us, HaveDue()))


def _add(stream: Stream, receivers: list[NodeId], tails: dict[NodeId, list[Tail]], now_us: int) -> None:
    if stream.last:
        tail = Tail(stream.topic, stream.publisher, stream.last, now_us - stream.last_us)
        for node in receivers:
            # A publisher knows its own last message.
            if node != stream.publisher:
                tails.setdefault(node, []).append(tail)
