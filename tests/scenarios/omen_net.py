"""Networks of OMen nodes in virtual time, and schedules of churn and lost, late and repeated messages that one seed draws."""

from itertools import pairwise

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import below, draw, finish, unit
from gossamer.protocols.contract.actions import Observe
from gossamer.protocols.contract.events import MessageReceived
from gossamer.protocols.contract.facts import BridgeWanted
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator import event_population
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import disconnected_topics
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.simulator.recorder import ControlCounter, DeliveryLog
from gossamer.systems import find_system
from gossamer.systems.omen.machine import Omen

SECOND_US = 1_000_000
SYSTEM = find_system("omen")


class Bridges:
    """A watcher that counts the bridges that nodes want."""

    def __init__(self):
        self.count = 0

    def handled(self, at_us, node, event, actions):
        self.count += sum(isinstance(each, Observe) and isinstance(each.fact, BridgeWanted) for each in actions)

    def gone(self, at_us, node):
        pass


class OmenNet:
    """Nodes that started together, all but the absent ones."""

    def __init__(self, seed, interest, absent=(), dissemination=None, links=None, **settings):
        self.seed = seed
        self.interest = interest
        self.links, self.log, self.control = LinkBook(), DeliveryLog(), ControlCounter(10**15)
        self.bridges = Bridges()
        self.parameters = read_parameters(SYSTEM, settings)
        self.population = EventPopulation(
            SYSTEM,
            self.parameters,
            seed,
            interest,
            Network(ConstantLatency(20_000)),
            (self.links, self.log, self.control, self.bridges, *all_checkers(dissemination)),
            dissemination=dissemination,
        )
        self.engine = self.population.engine
        self._blocks = []
        self._calm_send = self.engine._send
        self.engine._send = self._send
        starting = [node for node in range(interest.node_count) if node not in absent]
        with pytest.MonkeyPatch.context() as patch:
            if links is not None:
                u, v = np.array(links, np.int32).reshape(-1, 2).T
                overlay = Overlay.from_links(u, v, interest.node_count)
                patch.setattr(event_population, "planned_start", lambda *arguments: overlay)
            self.population.start_together(starting)

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def part(self, node):
        return next(part for part in self.engine._machines[node]._parts if isinstance(part, Omen))

    def parts(self):
        return [self.part(node) for node in self.engine.present]

    def parted_topics(self):
        present = self.engine.present_flags(self.interest.node_count)
        return disconnected_topics(self.links.overlay(self.interest.node_count), self.interest.among(present))

    def open_repairs(self):
        return sum(len(part.repairs.open) for part in self.parts())

    def block(self, kinds=None, senders=None, receivers=None, seconds=10**6):
        """Lose all messages of these classes from these senders to these receivers for a while; None means any."""
        self._blocks.append((kinds, senders, receivers, self.engine.now_us + int(seconds * SECOND_US)))

    def _send(self, node, action, now_us):
        kept = tuple(other for other in action.to if not self._is_blocked(node, other, action.message, now_us))
        if kept:
            self._calm_send(node, type(action)(kept, action.message), now_us)

    def _is_blocked(self, sender, receiver, message, now_us):
        return any(
            now_us < until_us
            and (kinds is None or isinstance(message, kinds))
            and (senders is None or sender in senders)
            and (receivers is None or receiver in receivers)
            for kinds, senders, receivers, until_us in self._blocks
        )

    def tell(self, node, sender, message):
        """Give a node a message."""
        self.engine.give(node, MessageReceived(sender, message))

    def settle(self, seconds=120):
        """Wait until no event is open; returns whether that happened in time."""
        for _ in range(seconds):
            self.wait(1)
            if not self.open_repairs():
                return True
        return False

    def degrees(self):
        present = self.engine.present_flags(self.interest.node_count)
        return self.links.overlay(self.interest.node_count).degrees[present]

    def disturb(self, seconds, lost, repeated, late_us):
        """For a while, messages are lost, arrive twice, or late and out of order."""
        engine, until_us, count = self.engine, self.engine.now_us + int(seconds * SECOND_US), 0
        calm = self._calm_send

        def send(node, action, now_us):
            nonlocal count
            if now_us >= until_us:
                calm(node, action, now_us)
                return
            for receiver in action.to:
                count += 1
                one = type(action)((receiver,), action.message)
                chance = unit(draw(self.seed, node, 1_000, count))
                if chance < lost:
                    continue
                for copy in range(1 + (chance < lost + repeated)):
                    delay_us = below(draw(self.seed, node, 1_001 + copy, count), late_us)
                    engine.call_at(now_us + delay_us, lambda one=one: calm(node, one, engine.now_us))

        self._calm_send = send


def one_topic(holders, others=0):
    """`holders` nodes that hold topic 0, and further nodes that hold topic 1."""
    topics = np.repeat([0, 1], [holders, others])
    return Interest.from_pairs(np.arange(holders + others), topics, holders + others, 2)


def chain(nodes):
    return list(pairwise(nodes))


def successors(nodes, node):
    """All other nodes in the order in which they follow a node on the circle."""
    here = finish(node)
    return sorted((other for other in nodes if other != node), key=lambda other: (finish(other) - here) % 2**64)


def draw_schedule(net, seed, events, seconds):
    """Carry out this many churn events at times that the seed draws: crashes, leaves, joins, restarts."""
    engine, population = net.engine, net.population
    start_us = engine.now_us
    times = sorted(below(draw(seed, each, 1_002, 0), int(seconds * SECOND_US)) for each in range(events))
    done = []
    for number, at_us in enumerate(times):
        engine.run(start_us + at_us)
        present = engine.present
        absent = [node for node in range(net.interest.node_count) if node not in set(present)]
        kind = below(draw(seed, number, 1_003, 0), 4)
        # Half of the time a neighbour of the last node, or the next one on the circle.
        node = present[below(draw(seed, number, 1_004, 0), len(present))]
        if done and below(draw(seed, number, 1_005, 0), 2):
            near = [other for other in done[-1][2] if other in set(present)]
            node = near[below(draw(seed, number, 1_006, 0), len(near))] if near else node
        part = net.part(node)
        near = [*part.links.neighbours, *(peer.node for peer in part.watchers.peers())]
        if kind == 0 and absent:
            node = absent[below(draw(seed, number, 1_004, 0), len(absent))]
            population.join(node)
        elif kind == 1:
            population.leave(node)
        else:
            population.crash(node)
            if kind == 3:
                engine.run(engine.now_us + below(draw(seed, number, 1_007, 0), 3 * SECOND_US))
                population.join(node)
        done.append((engine.now_us, node, near, kind))
    return done
