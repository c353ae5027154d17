"""Announcing the last message of each publisher, where the dissemination does not: so that a lost last message is noticed.

A dissemination that relays along a tree announces what it relays. Recovery announces messages that it fetched, which are not
relayed; the messages of other disseminations; and all last messages of shared topics to a new neighbour.
"""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, SetTimer
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.announcements import NEWCOMER, OTHER, Announcements, MessageRun
from gossamer.protocols.delivery.recovery.messages import WelcomeDue
from gossamer.protocols.delivery.recovery.stream import HeldTopic, Stream

# Chosen: a new neighbour is told after one second, when it is known which topics it holds, and again after six, because a
# broken link may go unnoticed for a while.
WELCOME_US = (SECOND_US, 6 * SECOND_US)


class Tails:
    """The last messages of all streams, and the neighbours that are new."""

    __slots__ = ("_announcements", "_new_neighbours", "_overlay", "_timer_us", "_topics")

    def __init__(
        self, overlay: TopicNeighbours, announcements: Announcements, topics: Mapping[TopicId, HeldTopic]
    ) -> None:
        self._overlay = overlay
        self._announcements = announcements
        self._topics = topics
        # When to tell each of them.
        self._new_neighbours: dict[NodeId, tuple[int, ...]] = {}
        # When the earliest timer fires that is set; 0 if none is.
        self._timer_us = 0

    def set_last(self, stream: Stream, sequence: int, now_us: int, out: list[Action]) -> None:
        """The dissemination brought a later message of a stream than this node had."""
        stream.last, stream.last_us = sequence, now_us
        if not self._announcements.relays_announce:
            self.announce(stream, now_us, out)

    def announce(self, stream: Stream, now_us: int, out: list[Action]) -> None:
        """Announce the last message of a stream to all neighbours on its topic."""
        if stream.last:
            neighbours = self._overlay.neighbours_on(stream.topic)
            last, last_us = stream.last, stream.last_us
            self._announcements.add_last(stream.topic, stream.publisher, last, last_us, neighbours, now_us, out)

    def pass_on(self, run: MessageRun, sender: NodeId, at_us: int, now_us: int, out: list[Action]) -> None:
        """Announce to all other neighbours on the topic a message that this node does not have, and `sender` has."""
        nodes = [node for node in self._overlay.neighbours_on(run.topic) if node != sender]
        self._announcements.add_last(run.topic, run.publisher, run.last, at_us, nodes, now_us, out, OTHER)

    def welcome(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """Announce to a new neighbour the last messages of all streams that it shares, when these are known."""
        self._new_neighbours[node] = tuple([now_us + after_us for after_us in WELCOME_US])
        self._set_timer(out)

    def forget(self, node: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._new_neighbours.pop(node, None)

    def on_due(self, now_us: int, out: list[Action]) -> None:
        """Announce all streams to the neighbours whose time has come."""
        if now_us < self._timer_us:
            # A timer that an earlier one has replaced.
            return
        due = [node for node, times in self._new_neighbours.items() if times[0] <= now_us]
        for topic, held in self._topics.items():
            if held.streams:
                neighbours = self._overlay.neighbours_on(topic)
                nodes = [node for node in due if node in neighbours]
                for stream in held.streams.values() if nodes else ():
                    if stream.last:
                        self._announcements.add_last(
                            topic, stream.publisher, stream.last, stream.last_us, nodes, now_us, out, NEWCOMER
                        )
        for node in due:
            _, *later = self._new_neighbours.pop(node)
            if later:
                self._new_neighbours[node] = tuple(later)
        self._timer_us = 0
        self._set_timer(out)

    def _set_timer(self, out: list[Action]) -> None:
        soonest_us = min((times[0] for times in self._new_neighbours.values()), default=0)
        if soonest_us and (not self._timer_us or soonest_us < self._timer_us):
            self._timer_us = soonest_us
            out.append(SetTimer(soonest_us, WelcomeDue()))
