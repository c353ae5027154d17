"""One node with recovery above a flood, in virtual time."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Observe, Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, Subscribe, TimerFired
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.history import History, StoredHistory
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import Answer, Ask, RecoveryParameters
from gossamer.protocols.delivery.recovery.offline import OfflineRecovery
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.flood import Flood

ME, TOPIC, OTHER = 1, 7, 8
MS, SECOND = 1_000, 1_000_000
# Two publishers that are not neighbours; the neighbours are 2 to 5.
ANN, BOB = 100, 200
FOLLOWING = (Subscribe(TOPIC, Role.FOLLOWS),)
# What neighbours answer that have none of the requested messages (`Answer.more`).
NOTHING, LOOKING = False, True


class Fixed:
    """An overlay that does not change."""

    def __init__(self):
        self.topics = {TOPIC: (2, 3, 4), OTHER: (4, 5)}

    def neighbours_on(self, topic):
        return self.topics.get(topic, ())


class Node:
    """A flood with recovery, and its timers; `wait` lets time pass.

    `answers`: what the neighbours answer when they are asked, at once: None for no answer, NOTHING or LOOKING.
    """

    def __init__(self, subscribe=FOLLOWING, discloses=True, answers=None, **settings):
        self.answers = answers
        self.parameters = RecoveryParameters(**settings)
        kinds = (StoredHistory, OfflineRecovery) if self.parameters.stores else (History, Recovery)
        history = kinds[0](self.parameters.history, self.parameters.history_bytes)
        self.held = DeliveryState(ME, history=history, recovers=True, discloses=discloses)
        self.overlay = Fixed()
        self.recovery = kinds[1](self.parameters, self.overlay, self.held, ME)
        self.machine = NodeMachine((self.held.announcements, Flood(self.overlay, ME, self.held), self.recovery))
        self.now_us, self.timers, self.actions = 10 * SECOND, [], []
        for event in subscribe:
            self.give(event)

    def give(self, event):
        """Give the machine an event; returns its actions without the timers."""
        actions = list(self.machine.handle(event, self.now_us))
        self.timers += [(a.at_us, n, a.timer) for n, a in enumerate(actions, len(self.timers)) if type(a) is SetTimer]
        self.actions += actions
        if self.answers is not None:
            for *nodes, ask in asks(actions):
                for node in nodes:
                    actions += self.get(empty(ask, self.answers), sender=node)
        return [action for action in actions if type(action) is not SetTimer]

    def get(self, message, sender=2):
        return self.give(MessageReceived(sender, message))

    def wait(self, time_us):
        """Fire the timers that become due; returns their actions."""
        end_us, seen = self.now_us + time_us, []
        while due := [timer for timer in self.timers if timer[0] <= end_us]:
            first = min(due, key=lambda timer: timer[:2])
            self.timers.remove(first)
            self.now_us = max(self.now_us, first[0])
            seen += self.give(TimerFired(first[2]))
        self.now_us = end_us
        return seen

    @property
    def delivered(self):
        return [(a.publisher, a.sequence) for a in self.actions if type(a) is Deliver]

    @property
    def facts(self):
        return [action.fact for action in self.actions if type(action) is Observe]


def data(sequence, previous=0, publisher=ANN, topic=TOPIC, at_us=20 * SECOND, payload=b"x", also=()):
    return Data(topic, publisher, sequence, 0, at_us, payload, previous, also)


def empty(ask, more):
    """The answer of a neighbour without messages: that it has nothing more, or that it is looking for them too."""
    return Answer(ask.topic, ask.publisher, (), more=more, before=ask.before)


def asks(actions):
    """The requests among some actions, each with the neighbour that is asked."""
    return [(*action.to, action.message) for action in actions if type(action) is Send and type(action.message) is Ask]


def assert_bounded(node):
    """Fail if anything that the node keeps exceeds its limit."""
    parameters = node.parameters
    for followed in node.recovery._topics.values():
        assert len(followed.streams) <= parameters.publishers
        assert len(followed.floors) <= parameters.publishers
        assert all(len(stream.order) <= parameters.waiting for stream in followed.streams.values())
    assert node.recovery._ordering.waiting.total <= parameters.waiting_bytes
    assert node.held.history.size_bytes <= parameters.history_bytes
    assert sum(node.recovery._ordering.gaps.counts.values()) <= parameters.publishers * len(node.recovery._topics)
