"""Telling neighbours of the last messages that are new here, three times each, and nothing once all is quiet.

Twice at once, as words get lost; and once more when some rounds have passed, as a link may be broken for a while before
it shows.
"""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.parts import Overlay
from gossamer.protocols.delivery.recovery.messages import (
    TAILS_MAX,
    Have,
    HaveDue,
    Tail,
)
from gossamer.protocols.delivery.recovery.stream import Followed, Stream


class Tails:
    """Which streams have changed and which neighbours are new, and for how many rounds they are still to be told."""

    __slots__ = ("_changed", "_every_us", "_newcomers", "_overlay", "_rounds", "_timed")

    def __init__(self, overlay: Overlay, every_us: int, rounds: int) -> None:
        self._overlay = overlay
        self._every_us = every_us
        self._rounds = rounds
        self._changed: list[Stream] = []
        self._newcomers: dict[NodeId, int] = {}
        self._timed = False

    def has(self, stream: Stream, sequence: int, published_us: int, now_us: int, out: list[Action]) -> None:
        """This node has a later message than before."""
        stream.last = sequence
        stream.last_us = published_us
        if not stream.untold:
            self._changed.append(stream)
            self._time(now_us, out)
        stream.untold = self._rounds

    def welcome(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """A neighbour is new: it is told everything."""
        self._newcomers[node] = self._rounds
        self._time(now_us, out)

    def forget(self, node: NodeId) -> None:
        """A neighbour is gone."""
        self._newcomers.pop(node, None)

    def on_due(self, topics: Mapping[TopicId, Followed], now_us: int, out: list[Action]) -> None:
        """Tell each neighbour what is new on the topics that it shares, in few frames."""
        self._timed = False
        tails: dict[NodeId, list[Tail]] = {}
        if self._newcomers:
            for topic, followed in topics.items():
                if followed.streams:
                    known = self._overlay.neighbours_on(topic)
                    nodes = [node for node in known if self._tells(self._newcomers.get(node, 0))]
                    for stream in followed.streams.values():
                        _add(stream, nodes, tails)
        neighbours: dict[TopicId, list[NodeId]] = {}
        changed = [stream for stream in self._changed if stream.untold]
        for stream in changed:
            topic = stream.topic
            if self._tells(stream.untold):
                if topic not in neighbours:
                    known = self._overlay.neighbours_on(topic)
                    neighbours[topic] = [node for node in known if not self._tells(self._newcomers.get(node, 0))]
                _add(stream, neighbours[topic], tails)
            stream.untold -= 1
        self._changed = [stream for stream in changed if stream.untold]
        self._newcomers = {node: left - 1 for node, left in self._newcomers.items() if left > 1}
        for node, mine in tails.items():
            for place in range(0, len(mine), TAILS_MAX):
                out.append(Send((node,), Have(tuple(mine[place : place + TAILS_MAX]))))
        if self._changed or self._newcomers:
            self._time(now_us, out)

    def _tells(self, left: int) -> bool:
        """Whether it is told in a round, by how many are left: in the first two and in the last."""
        return left == 1 or left > max(self._rounds - 2, 0)

    def _time(self, now_us: int, out: list[Action]) -> None:
        if not self._timed:
            self._timed = True
            out.append(SetTimer(now_us + self._every_us, HaveDue()))


def _add(stream: Stream, nodes: list[NodeId], tails: dict[NodeId, list[Tail]]) -> None:
    if stream.last:
        tail = Tail(stream.topic, stream.publisher, stream.last, stream.last_us)
        for node in nodes:
            # It knows its own.
            if node != stream.publisher:
                tails.setdefault(node, []).append(tail)
