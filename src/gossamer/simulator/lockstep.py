"""The lockstep driver: runs machines in the order of the cycle engine, with instant delivery.

docs/lockstep.md defines a cycle. The driver uses only `handle`, events and actions.
"""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.parts import Machine
from gossamer.protocols.contract.system import System
from gossamer.simulator.links import LinkBook
from gossamer.simulator.population import (
    CycleChanges,
    first_peers,
    newcomer,
    planned_start,
    together,
    with_links,
)
from gossamer.simulator.views import InterestOracle
from gossamer.systems import make_machine


class Lockstep:
    """The machines of one system, run cycle by cycle."""

    def __init__(
        self,
        system: System,
        parameters: Any,
        seed: int,
        node_count: int,
        contact_count: int,
        interest: Interest | None = None,
    ) -> None:
        self.machines: dict[int, Machine] = {}
        self.links = LinkBook()
        self.messages: Counter[str] = Counter()
        self.cycle_count = 0
        self._system = system
        self._parameters = parameters
        self._seed = seed
        self._node_count = node_count
        self._contact_count = contact_count
        self._oracle = InterestOracle(node_count)
        self._interests: list[tuple[int, ...]] = [()] * node_count
        if interest is not None:
            self._interests = [tuple(interest.topics_of(node).tolist()) for node in range(node_count)]
        self._first_peers = first_peers(system, parameters, seed, self._oracle)
        self._interest = interest
        self._queue: deque[tuple[int, int, Any]] = deque()

    def start(self, nodes: Sequence[int] | None = None) -> None:
        """Start all nodes at time zero."""
        starting = range(self._node_count) if nodes is None else nodes
        for node in starting:
            self._oracle.put(node, self._interests[node])
        planned: Overlay | None = None
        if self._interest is not None:
            up = np.zeros(self._node_count, np.bool_)
            up[list(starting)] = True
            interest = self._interest.among(up)
            planned = planned_start(self._system, self._parameters, self._seed, interest)
            if self._first_peers is not None:
                self._first_peers.start_together(interest)
        for node in starting:
            started = together(self._seed, node, self._node_count, self._contact_count)
            self._begin(node, started if planned is None else with_links(planned, node), 0)
        # Messages are delivered after all nodes have subscribed to their topics.
        for node in starting:
            for topic in self._interests[node]:
                if self._first_peers is None:
                    event = Subscribe(topic, Role.FOLLOWS)
                else:
                    event = self._first_peers.together(node, topic, Role.FOLLOWS)
                self._handle(node, event, 0)
        self._deliver(0)

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """Apply churn, then fire the timers of every node."""
        self.cycle_count += 1
        now_us = self.cycle_count * self._system.cycle_us(self._parameters)
        if changes is not None:
            self._apply(changes, now_us)
        nodes = sorted(self.machines)
        if self._system.random_order:
            nodes.sort(key=lambda node: (draw(self._seed, 0, Purpose.ORDER, self.cycle_count, item=node), node))
        for each in self._system.timers:
            every = each.every_cycles(self._parameters)
            if not every or self.cycle_count % every:
                continue
            for node in nodes:
                self._handle(node, TimerFired(each.timer), now_us)
                self._deliver(now_us)

    def _apply(self, changes: CycleChanges, now_us: int) -> None:
        crashes = set(changes.crashes)
        for node in sorted((*changes.leavers, *changes.crashes)):
            watching = sorted(other for other, mine in self.links.neighbours.items() if node in mine)
            if node not in crashes:
                self._handle(node, Stopping(), now_us)
                self._deliver(now_us)
            del self.machines[node]
            self._oracle.drop(node)
            self.links.gone(now_us, node)
            if node in crashes:
                for other in watching:
                    self._handle(other, PeerDown(node), now_us)
                    self._deliver(now_us)
        present = sorted(self.machines)
        for node in sorted(changes.joiners):
            self._interests[node] = changes.interests.get(node, self._interests[node])
            self._oracle.put(node, self._interests[node])
            self._start(node, newcomer(self._seed, node, now_us, present), now_us)
        for node, interest in sorted(changes.interests.items()):
            if node in self.machines and node not in changes.joiners:
                self._change_interest(node, interest, now_us)

    def _change_interest(self, node: int, interest: tuple[int, ...], now_us: int) -> None:
        before = self._interests[node]
        self._interests[node] = interest
        self._oracle.put(node, interest)
        events: list[Event] = [Unsubscribe(topic) for topic in before if topic not in interest]
        events += [self._subscribe(node, topic, now_us) for topic in interest if topic not in before]
        for event in events:
            self._handle(node, event, now_us)
            self._deliver(now_us)

    def _subscribe(self, node: int, topic: int, now_us: int) -> Subscribe:
        if self._first_peers is None:
            return Subscribe(topic, Role.FOLLOWS)
        return self._first_peers.joining(node, topic, Role.FOLLOWS, now_us)

    def _start(self, node: int, event: Started, now_us: int) -> None:
        self._begin(node, event, now_us)
        for topic in self._interests[node]:
            self._handle(node, self._subscribe(node, topic, now_us), now_us)
            self._deliver(now_us)

    def _begin(self, node: int, event: Started, now_us: int) -> None:
        takes_view = self._system.takes_view(self._parameters)
        view = self._oracle.view_for(self._parameters, self._seed, node) if takes_view else None
        self.machines[node] = make_machine(self._system, self._parameters, self._seed, node, view)
        self._handle(node, event, now_us)
        self._deliver(now_us)

    def _handle(self, node: int, event: Event, now_us: int) -> None:
        actions = self.machines[node].handle(event, now_us)
        for action in actions:
            if isinstance(action, Send):
                self.messages[type(action.message).__name__] += len(action.to)
                self._queue.extend((receiver, node, action.message) for receiver in action.to)
        self.links.handled(now_us, node, event, actions)

    def _deliver(self, now_us: int) -> None:
        while self._queue:
            receiver, sender, message = self._queue.popleft()
            if receiver in self.machines:
                self._handle(receiver, MessageReceived(sender, message), now_us)
