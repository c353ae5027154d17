"""The event engine: runs machines in virtual time. Every message is an event, and one seed decides everything.

Cost: the engine takes about a microsecond for each handled message, besides the machine's own work (bench/engine.py).
"""

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.model.values.draw import ITEM_FACTOR, MASK, Purpose, draw_base, finish
from gossamer.model.values.errors import MachineMisuse
from gossamer.protocols.contract.actions import (
    Action,
    Connect,
    Deliver,
    Disconnect,
    Load,
    Send,
    SetTimer,
    Store,
)
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    PeerUp,
    Started,
    Stopping,
    TimerFired,
)
from gossamer.protocols.contract.parts import Machine
from gossamer.simulator.disks import SimulatedDisks
from gossamer.simulator.network import Network
from gossamer.simulator.wheel import TimeWheel

# The node of entries that are calls rather than events of a machine: churn, faults, snapshots.
CONTROL = -1


class Watcher(Protocol):
    """Sees every event and every action, and changes nothing: a recorder, counter or checker."""

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """A machine handled an event and answered with these actions."""
        ...

    def gone(self, at_us: int, node: int) -> None:
        """A node left or crashed, and its machine was removed."""
        ...


class _SlowProcess:
    """A node whose process takes time for each event. Events that arrive meanwhile wait in order, messages and timers alike."""

    __slots__ = ("event_us", "free_us", "is_working", "waiting")

    def __init__(self) -> None:
        self.event_us = 0
        # When the process has finished the last event that it began.
        self.free_us = 0
        self.is_working = False
        self.waiting: deque[tuple[Event, Machine | None]] = deque()


class EventEngine:
    """Runs the machines that `machine(node)` makes over a network."""

    def __init__(
        self,
        machine: Callable[[int], Machine],
        network: Network,
        seed: int,
        watchers: Sequence[Watcher] = (),
        disks: SimulatedDisks | None = None,
    ) -> None:
        self.now_us = 0
        self.handled_count = 0
        self.lost_count = 0
        self._machine = machine
        self._network = network
        self._constant_us = network.constant_us
        self._has_faults = network.has_faults
        self._loss_bound = round(network.loss * 2**32)
        self._seed = seed
        self._watchers = tuple(watchers)
        self._wheel = TimeWheel()
        self._sequence = 0
        self._machines: dict[int, Machine] = {}
        self._sends: dict[int, int] = {}
        self._connections: dict[int, dict[int, None]] = {}
        self._slow: dict[int, _SlowProcess] = {}
        self._disks = disks

    @property
    def present(self) -> list[int]:
        """The nodes that are present, by id."""
        return sorted(self._machines)

    def present_flags(self, node_count: int) -> NDArray[np.bool_]:
        """For each of the nodes 0..node_count-1, whether it is present."""
        flags = np.zeros(node_count, np.bool_)
        flags[list(self._machines)] = True
        return flags

    def call_at(self, at_us: int, call: Callable[[], object]) -> None:
        """Call `call` at a time, after all entries that are already scheduled for that time."""
        self._push(at_us, CONTROL, call, None)

    def give(self, node: int, event: Event) -> None:
        """Give a node an event now, as its application would."""
        process = self._slow.get(node)
        if process is None:
            self._handle(node, event)
        else:
            self._queue(node, process, event, None)

    def slow_down(self, node: int, event_us: int) -> None:
        """From now on, a node's process takes this long for each event; 0: no time, once the waiting events are handled."""
        self._slow.setdefault(node, _SlowProcess()).event_us = event_us

    def start(self, node: int, event: Started) -> None:
        """Make a machine for this node and give it its first event."""
        if node in self._machines:
            raise MachineMisuse(f"node {node} was started while it was up")
        self._machines[node] = self._machine(node)
        self._connections[node] = {}
        self._handle(node, event)

    def stop(self, node: int) -> None:
        """Let a node leave: the messages that it sends on `Stopping` go out."""
        self._handle(node, Stopping())
        self.crash(node)

    def crash(self, node: int) -> None:
        """Remove a machine at once. Its connections break, and the other ends get `PeerDown`."""
        if node not in self._machines:
            raise MachineMisuse(f"node {node} was stopped while it was not up")
        for other in self._connections.pop(node):
            self._connections[other].pop(node, None)
            self._tell(node, other, PeerDown(node))
        del self._machines[node]
        self._slow.pop(node, None)
        for watcher in self._watchers:
            watcher.gone(self.now_us, node)

    def run(self, until_us: int) -> None:
        """Handle all entries up to and including `until_us`."""
        with _without_garbage_collection():
            while (batch := self._wheel.next_batch(until_us)) is not None:
                read = self._run_batch(batch, until_us)
                self._wheel.put_back(batch[read:])
                if read < len(batch):
                    break
        self.now_us = max(self.now_us, until_us)

    def _run_batch(self, batch: list[Any], until_us: int) -> int:
        """Handle a batch in order; returns the number of entries read, which leaves out those after `until_us`."""
        machines = self._machines
        watchers = self._watchers
        slow = self._slow
        read = 0
        handled = 0
        for at_us, _, node, event, owner in batch:
            if at_us > until_us:
                break
            read += 1
            self.now_us = at_us
            if node == CONTROL:
                event()
                continue
            machine = machines.get(node)
            # A timer belongs to the machine that set it; a new machine of the same node does not get it.
            if machine is None or (owner is not None and owner is not machine):
                if owner is None:
                    self.lost_count += 1
                continue
            if slow and node in slow:
                self._queue(node, slow[node], event, owner)
                continue
            handled += 1
            actions = machine.handle(event, at_us)
            if actions:
                self._carry_out(node, actions, at_us)
            for watcher in watchers:
                watcher.handled(at_us, node, event, actions)
        self.handled_count += handled
        return read

    # Slow processes.

    def _queue(self, node: int, process: _SlowProcess, event: Event, owner: Machine | None) -> None:
        process.waiting.append((event, owner))
        if not process.is_working:
            process.is_working = True
            self.call_at(max(self.now_us, process.free_us), lambda: self._work(node, process))

    def _work(self, node: int, process: _SlowProcess) -> None:
        """Handle the event that has waited longest."""
        if self._slow.get(node) is not process:
            return
        event, owner = process.waiting.popleft()
        process.free_us = self.now_us + process.event_us
        process.is_working = bool(process.waiting)
        if process.is_working:
            self.call_at(process.free_us, lambda: self._work(node, process))
        if owner is None or owner is self._machines[node]:
            self._handle(node, event)

    def _handle(self, node: int, event: Event) -> None:
        actions = self._machines[node].handle(event, self.now_us)
        self.handled_count += 1
        if actions:
            self._carry_out(node, actions, self.now_us)
        for watcher in self._watchers:
            watcher.handled(self.now_us, node, event, actions)

    def _carry_out(self, node: int, actions: Sequence[Action], now_us: int) -> None:
        for action in actions:
            kind = type(action)
            if kind is Send:
                self._send(node, action, now_us)  # type: ignore[arg-type]
            elif kind is SetTimer:
                self._push(action.at_us, node, TimerFired(action.timer), self._machines[node])  # type: ignore[union-attr]
            elif kind is Connect:
                self._dial(node, action.peer.node)  # type: ignore[union-attr]
            elif kind is Disconnect:
                self._hang_up(node, action.node)  # type: ignore[union-attr]
            elif self._disks is not None:
                self._use_disk(self._disks, node, action, now_us)
            # Deliver, Validate and Observe are for watchers.

    def _use_disk(self, disks: SimulatedDisks, node: int, action: Action, now_us: int) -> None:
        if type(action) is Store:
            disks.store(node, action, now_us)
        elif type(action) is Load:
            self._push(now_us + disks.read_us, node, disks.load(node, action, now_us), self._machines[node])
        elif type(action) is Deliver:
            disks.note(node, action)

    def _push(self, at_us: int, node: int, event: Any, owner: Machine | None) -> None:
        # Never schedule into the past: the batch that is being read is sorted by time.
        self._sequence += 1
        self._wheel.push((max(at_us, self.now_us), self._sequence, node, event, owner))

    def _send(self, node: int, action: Send, now_us: int) -> None:
        # All receivers share one event, because values are frozen.
        event = MessageReceived(node, action.message)
        sequence = self._sequence
        if self._constant_us is not None:
            at_us = now_us + self._constant_us
            entries: list[Any] = []
            for receiver in action.to:
                sequence += 1
                entries.append((at_us, sequence, receiver, event, None))
            self._sequence = sequence
            self._wheel.push_many(at_us, entries)
            return
        count = self._sends.get(node, 0)
        self._sends[node] = count + 1
        base = draw_base(self._seed, node, Purpose.LINK, count)
        if self._has_faults:
            self._send_with_faults(node, action.to, event, base)
            return
        delay_us = self._network.latency.delay_us
        loss_bound = self._loss_bound
        push = self._wheel.push
        for receiver in action.to:
            bits = finish((base + receiver * ITEM_FACTOR) & MASK)
            if (bits & 0xFFFF_FFFF) < loss_bound:
                self.lost_count += 1
                continue
            sequence += 1
            push((now_us + delay_us(node, receiver, bits >> 32), sequence, receiver, event, None))
        self._sequence = sequence

    def _send_with_faults(self, node: int, to: Sequence[int], event: Event, base: int) -> None:
        for receiver in to:
            bits = finish((base + receiver * ITEM_FACTOR) & MASK)
            delays = self._network.delays_us(self.now_us, node, receiver, bits)
            self.lost_count += not delays
            for delay_us in delays:
                self._push(self.now_us + delay_us, receiver, event, None)

    # Kept connections. It takes one delay to open or close a connection, and loss does not affect that.

    def _delay_us(self, node: int, other: int) -> int:
        count = self._sends.get(node, 0)
        self._sends[node] = count + 1
        base = draw_base(self._seed, node, Purpose.LINK, count)
        return self._network.latency.delay_us(node, other, finish((base + other * ITEM_FACTOR) & MASK) >> 32)

    def _tell(self, node: int, other: int, event: Event) -> None:
        """Give `other` an event about `node` one delay later, unless the machine of `other` is gone by then."""
        owner = self._machines.get(other)
        if owner is not None:
            self._push(self.now_us + self._delay_us(node, other), other, event, owner)

    def _dial(self, node: int, other: int) -> None:
        owner = self._machines[node]

        def answer() -> None:
            if self._machines.get(node) is not owner:
                return
            if other not in self._machines or self._are_parted(node, other):
                self._push(self.now_us, node, PeerDown(other), owner)
            elif other not in self._connections[node]:
                self._connections[node][other] = None
                self._connections[other][node] = None
                self._push(self.now_us, node, PeerUp(other), owner)
                self._push(self.now_us, other, PeerUp(node), self._machines[other])

        self.call_at(self.now_us + self._delay_us(node, other), answer)

    def _are_parted(self, node: int, other: int) -> bool:
        """Whether a partition prevents a new connection, which needs both directions."""
        parted = self._network.parted
        return parted(self.now_us, node, other) or parted(self.now_us, other, node)

    def _hang_up(self, node: int, other: int) -> None:
        if self._connections[node].pop(other, _NOT_THERE) is not _NOT_THERE:
            self._connections[other].pop(node, None)
            self._tell(node, other, PeerDown(node, hung_up=True))


_NOT_THERE = object()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch the garbage collector off: contract values form no cycles, and it would scan millions of live tuples."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
