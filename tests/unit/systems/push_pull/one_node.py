"""One push-pull part above an overlay that does not change."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Observe, Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, Started, Subscribe, TimerFired
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.systems.push_pull.machine import PushPull
from gossamer.systems.push_pull.messages import PushPullData, RoundDue
from gossamer.systems.push_pull.parameters import PushPullParameters

ME, TOPIC, OTHER_TOPIC = 1, 7, 8
PERIOD_US = 100_000


class Fixed:
    """Nodes 2, 3 and 4 hold the topic, 4 and 5 the other one."""

    def __init__(self):
        self.on = {TOPIC: (2, 3, 4), OTHER_TOPIC: (4, 5)}

    def neighbours_on(self, topic):
        return self.on.get(topic, ())


class Sized(Fixed):
    """The same, and knows how many nodes hold a topic."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def topic_size(self, topic):
        return self.size


class OneNode:
    """Gives events to the part, and sorts its actions."""

    def __init__(self, overlay=None, held=None, validates=False, **parameters):
        self.overlay = overlay or Fixed()
        self.delivery = held or DeliveryState(ME)
        self.part = PushPull(PushPullParameters(**parameters), self.overlay, 1, ME, self.delivery)
        self.now_us = 1_000_000
        self.give(Started())
        for topic in (TOPIC, OTHER_TOPIC):
            self.give(Subscribe(topic, Role.BOTH, validates=validates))

    def give(self, event):
        self.actions = []
        self.facts = list(self.part.handle(event, self.now_us, self.actions))
        return self.actions

    def receive(self, sender, message):
        return self.give(MessageReceived(sender, message))

    def round(self, periods=1):
        self.now_us += int(periods * PERIOD_US)
        return self.give(TimerFired(RoundDue()))

    def sent(self, kind=object):
        """The messages of a class that the last event made the node send, each with its receivers."""
        return [
            (each.to, each.message) for each in self.actions if type(each) is Send and isinstance(each.message, kind)
        ]

    def delivered(self):
        return [each.sequence for each in self.actions if type(each) is Deliver]

    def facts_shown(self):
        return [each.fact for each in self.actions if type(each) is Observe]

    def timers(self):
        return [each.at_us for each in self.actions if type(each) is SetTimer]

    @property
    def state(self):
        return self.part._spreading


def message(sequence=1, age_us=0, publisher=9, topic=TOPIC, previous=0, also=(), payload=b"x", hops=0):
    return PushPullData(topic, publisher, sequence, hops, 0, payload, previous, also, age_us)
