"""Delivery for systems that do not disclose interests: dissemination and recovery apart for each topic.

What a node sends on one topic, and when, must not depend on its other topics: a member of the topic could conclude from
it what else the node holds. Timers, numbers, histories and limits that topics share all show something. Here each topic
has a dissemination and a recovery of its own, which know nothing of the others.

A message is accepted only from a neighbour on its topic: the overlay has checked that this node knows the topic's key.
To every other node, a node that holds the topic behaves as one that does not.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from gossamer.model.values.ids import TopicId
from gossamer.protocols.contract.actions import Action, Observe, SetTimer, Validate
from gossamer.protocols.contract.events import (
    Event,
    Loaded,
    MessageReceived,
    Publish,
    PublishBurst,
    Refused,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import (
    Fact,
    NeighbourDown,
    NeighbourUp,
    PeerMisbehaved,
    TopicNeighboursChanged,
)
from gossamer.protocols.contract.messages import Timer, WireMessage
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import NOTHING, Part, TopicNeighbours

# Chosen: topics that the node has given up whose state is kept, so that a gap shows if it takes them up again.
CLOSED_MAX = 1_024
NOT_A_NEIGHBOUR = "spoke of a topic on which it is not a neighbour"

# The actions that are not passed on as they are.
CHANGED = frozenset((SetTimer, Validate))


class TopicDue(Timer, frozen=True, array_like=True, gc=False, tag="topic_due"):
    """A timer of one topic's parts; `kind` is its place among the timers that have no topic of their own."""

    topic: TopicId
    kind: int


class ApartByTopic:
    """All parts above the overlay, once for each topic. `apart` makes the class for the parts of a stack."""

    __slots__ = ("_closed", "_make", "_open", "_overlay", "_started", "_ticket", "_tickets")

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()
    # The timers that have no topic of their own, and the place of each.
    PLAIN: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, overlay: TopicNeighbours, make: Callable[[TopicId, bytes], NodeMachine]) -> None:
        """`make` makes the parts of a topic; it gets the secret that `Started` gave."""
        self._overlay = overlay
        self._make = make
        self._open: dict[TopicId, NodeMachine] = {}
        # Topics that the node has given up, the longest ago first.
        self._closed: dict[TopicId, NodeMachine] = {}
        self._started: tuple[Started, int] | None = None
        # Questions to the application's validators: the topic, and the number that its parts gave.
        self._ticket = 0
        self._tickets: dict[int, tuple[TopicId, int]] = {}

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`. The most frequent event comes first."""
        if type(event) is MessageReceived:
            message = event.message
            topic = message.topic
            machine = self._open.get(topic)
            if machine is None or event.sender not in self._overlay.neighbours_on(topic):
                if topic not in self._closed:
                    # Frames may still be under way to a node that has just given up a topic.
                    out.append(Observe(PeerMisbehaved(event.sender, NOT_A_NEIGHBOUR)))
                return NOTHING
            self._carry(topic, machine.handle(event, now_us), out)
            return NOTHING
        match event:
            case Publish() | PublishBurst() | Loaded():
                self._give(event.topic, event, now_us, out)
            case TimerFired(timer=TopicDue() as due):
                self._give(due.topic, TimerFired(self.PLAIN[due.kind]()), now_us, out)
            case TimerFired():
                self._give(event.timer.topic, event, now_us, out)
            case Refused():
                self._give(event.message.topic, event, now_us, out)
            case Validated():
                topic, ticket = self._tickets.pop(event.ticket, (0, -1))
                self._give(topic, Validated(ticket, event.outcome), now_us, out)
            case Subscribe():
                self._subscribe(event, now_us, out)
            case Unsubscribe():
                machine = self._open.pop(event.topic, None)
                if machine is not None:
                    self._carry(event.topic, machine.handle(event, now_us), out)
                    self._closed[event.topic] = machine
                    if len(self._closed) > CLOSED_MAX:
                        del self._closed[next(iter(self._closed))]
            case _:
                if isinstance(event, Started):
                    self._started = (event, now_us)
                for topic, machine in self._open.items():
                    self._carry(topic, machine.handle(event, now_us), out)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A node became or is no longer a neighbour on a topic. Neighbours on other topics do not matter here."""
        if isinstance(fact, TopicNeighboursChanged) and fact.topic in self._open:
            actions: list[Action] = []
            changes = (*map(NeighbourDown, fact.removed), *map(NeighbourUp, fact.added))
            self._open[fact.topic].teach(changes, now_us, actions)
            self._carry(fact.topic, actions, out)
        return NOTHING

    def _subscribe(self, event: Subscribe, now_us: int, out: list[Action]) -> None:
        topic = event.topic
        machine = self._open.get(topic)
        if machine is None:
            machine = self._closed.pop(topic, None)
            if machine is None:
                machine = self._make(topic, b"" if self._started is None else self._started[0].secret)
                if self._started is not None:
                    self._carry(topic, machine.handle(*self._started), out)
            self._open[topic] = machine
            # The overlay, which is below, heard of the topic first and may know neighbours already.
            self.learn(TopicNeighboursChanged(topic, (), tuple(self._overlay.neighbours_on(topic))), now_us, out)
        self._carry(topic, machine.handle(event, now_us), out)

    def _give(self, topic: TopicId, event: Event, now_us: int, out: list[Action]) -> None:
        machine = self._open.get(topic) or self._closed.get(topic)
        if machine is not None:
            self._carry(topic, machine.handle(event, now_us), out)

    def _carry(self, topic: TopicId, actions: Sequence[Action], out: list[Action]) -> None:
        """Pass on the actions of one topic's parts. Timers get its name, and questions a number of their own."""
        if CHANGED.isdisjoint(map(type, actions)):
            out += actions
            return
        for action in actions:
            if type(action) is SetTimer and type(action.timer) in self.PLAIN:
                out.append(SetTimer(action.at_us, TopicDue(topic, self.PLAIN.index(type(action.timer)))))
            elif type(action) is Validate:
                self._ticket += 1
                self._tickets[self._ticket] = (topic, action.ticket)
                out.append(
                    Validate(
                        self._ticket,
                        action.topic,
                        action.payload,
                        action.publisher,
                        action.sequence,
                        action.published_us,
                    )
                )
            else:
                out.append(action)


@cache
def apart(parts: tuple[type[Part], ...]) -> type[ApartByTopic]:
    """The class for topics with these parts."""
    timers = [timer for part in parts for timer in part.TIMERS]
    plain = tuple(timer for timer in timers if "topic" not in timer.__struct_fields__)
    own: dict[str, Any] = {
        "MESSAGES": tuple(message for part in parts for message in part.MESSAGES),
        "TIMERS": (TopicDue, *(timer for timer in timers if timer not in plain)),
        "PLAIN": plain,
        "__slots__": (),
    }
    return type("ApartByTopic", (ApartByTopic,), own)
