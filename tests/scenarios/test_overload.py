"""Overload is not failure: fifty nodes with a tenth of the CPU that they need are slow, and nothing else.

A slow process takes a fixed time for each message and each timer, one after another (`EventEngine.slow_down`), so that it
handles everything seconds late, its own timers too.
"""

import pytest

from gossamer.model.values.draw import draw
from gossamer.protocols.contract.actions import Deliver, Observe
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.facts import Lost, NeighbourDown
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

NODES, TOPICS = 50, 20
SECOND_US = 1_000_000
# What a process takes for an event while it has enough CPU.
EVENT_US = 100
# The traffic: a message each 25 ms.
EVERY_US = 25_000


class Log:
    """The events handled, when each message was delivered at each node, losses, and neighbours that were dropped."""

    def __init__(self):
        self.handled_count, self.delivered_us, self.lost, self.dropped = 0, {}, [], []

    def handled(self, at_us, node, event, actions):
        self.handled_count += 1
        for action in actions:
            if type(action) is Deliver:
                self.delivered_us[node, action.publisher, action.sequence] = at_us
            elif type(action) is Observe and type(action.fact) is Lost:
                self.lost.append((at_us, node, action.fact))
            elif type(action) is Observe and type(action.fact) is NeighbourDown:
                self.dropped.append((at_us, node, action.fact.node))

    def gone(self, at_us, node):
        """No node goes."""


class Net:
    """A settled network of nodes whose processes take time for each event, with every checker."""

    def __init__(self, seed):
        self.seed, self.log = seed, Log()
        self.interest = make_interests(NODES, TOPICS, "6", "zipf:0.5", seed)
        system = find_system("spidercast")
        parameters = read_parameters(system, {"mend_us": SECOND_US // 2, "part_uncovered": True})
        watchers = [self.log, *all_checkers("tree", system.discloses, recovers=True)]
        network = Network(ConstantLatency(5_000))
        population = EventPopulation(
            system, parameters, seed, self.interest, network, watchers, dissemination="tree", recovery={}
        )
        self.engine = population.engine
        population.start_together(range(NODES))
        self.wait(20)
        self.slow_down(EVENT_US)
        self.published_us, self.expected, self.count = {}, set(), 0
        self.publish(for_seconds=10)
        self.log.dropped.clear()

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def slow_down(self, event_us):
        for node in range(NODES):
            self.engine.slow_down(node, event_us)

    def publish(self, for_seconds):
        """Publish on all topics in turn, each time on another node."""
        until_us = self.engine.now_us + for_seconds * SECOND_US
        while self.engine.now_us < until_us:
            topic = self.count % TOPICS
            holders = self.interest.nodes_of(topic).tolist()
            node = holders[draw(self.seed, self.count, 0, 0) % len(holders)]
            sequence = self.engine.now_us + 1
            self.engine.give(node, Publish(topic, b"x", sequence=sequence))
            self.published_us[node, sequence] = self.engine.now_us
            self.expected.update((other, node, sequence) for other in holders if other != node)
            self.count += 1
            self.wait(EVERY_US / SECOND_US)

    def starved_us(self):
        """The time for an event with which the processes have a tenth of the CPU that they need now."""
        before = self.log.handled_count
        self.publish(for_seconds=5)
        return 10 * 5 * SECOND_US * NODES // (self.log.handled_count - before)

    def missing(self, published_before_us):
        delivered = self.log.delivered_us
        return [
            name
            for name in self.expected
            if self.published_us[name[1:]] < published_before_us and name not in delivered
        ]

    def latencies_us(self, since_us):
        """The latencies of messages published since, in order."""
        names = [name for name in self.expected if self.published_us[name[1:]] >= since_us]
        delivered = self.log.delivered_us
        return sorted(delivered[name] - self.published_us[name[1:]] for name in names if name in delivered)


@pytest.mark.parametrize("seed", range(3))
def test_fifty_nodes_with_a_tenth_of_their_cpu_lose_nothing_and_are_normal_soon_after(seed):
    net = Net(seed)
    net.slow_down(net.starved_us())
    began_us = net.engine.now_us
    net.publish(for_seconds=30)
    relief_us = net.engine.now_us
    assert len(net.missing(relief_us)) > 5_000, "the nodes are overloaded"
    net.slow_down(EVENT_US)
    net.publish(for_seconds=5)
    assert not net.missing(relief_us), "within 5 s, all that was published meanwhile is delivered"
    net.publish(for_seconds=10)
    latencies_us = net.latencies_us(relief_us + 5 * SECOND_US)
    assert latencies_us[len(latencies_us) // 2] < 50_000
    assert latencies_us[-1] < SECOND_US, "the trees are as they were"
    net.wait(10)
    assert not net.missing(net.engine.now_us)
    assert not net.log.lost
    assert not [row for row in net.log.dropped if row[0] >= began_us]
