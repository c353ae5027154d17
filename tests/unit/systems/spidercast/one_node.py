"""One SpiderCast node, and what it sends."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, Started, Subscribe, TimerFired
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.views import InterestOracle
from gossamer.systems import find_system, make_machine
from gossamer.systems.spidercast.messages import ConnectRequest, HeartbeatDue, MaintenanceDue, Task

ME = 50
PERIOD_US = 100_000


class OneNode:
    """A node that holds `topics`, and knows the interests of the peers in `view`; K_g = 1 and Margin = 1 unless set."""

    def __init__(self, topics=(7,), view=None, seed=1, **settings):
        oracle = InterestOracle(100)
        for node, interest in (view or {}).items():
            oracle.put(node, list(interest))
        system = find_system("spidercast")
        settings = {"greedy_coverage": 1, "margin": 1, "mend_us": 0, **settings}
        parameters = read_parameters(system, settings)
        self.machine = make_machine(system, parameters, seed, ME, oracle.view_for(parameters, seed, ME))
        self.part = self.machine._parts[-1]
        self.now_us = 0
        self.give(Started(address=b"here"))
        for topic in topics:
            self.give(Subscribe(topic, Role.FOLLOWS))

    @property
    def greedy(self):
        return self.part.tasks[Task.GREEDY]

    @property
    def neighbours(self):
        return sorted(self.greedy.neighbours)

    def give(self, event):
        """Handle an event; what was sent, as (receiver, message)."""
        self.actions = self.machine.handle(event, self.now_us)
        return [(node, action.message) for action in self.actions if isinstance(action, Send) for node in action.to]

    def hear(self, sender, message):
        return self.give(MessageReceived(sender, message))

    def connect_from(self, sender, *interest, degree=1, target=1, task=Task.GREEDY):
        """Receive a CONNECT from a peer with this interest."""
        return self.hear(sender, ConnectRequest(task, degree, target, interest, version=1, count=len(interest)))

    def turn(self, after_us=PERIOD_US):
        """Have a maintenance turn some time later; what was sent."""
        self.now_us += after_us
        return self.give(TimerFired(MaintenanceDue()))

    def beat(self, after_us):
        """Have a heartbeat turn some time later; what was sent."""
        self.now_us += after_us
        return self.give(TimerFired(HeartbeatDue()))

    def is_woken(self):
        """Whether the last event asked for a maintenance turn."""
        return any(isinstance(action, SetTimer) and action.timer == MaintenanceDue() for action in self.actions)


def of_kind(sent, kind):
    """The receivers of messages of a class."""
    return [node for node, message in sent if isinstance(message, kind)]
