"""The event engine: machines in virtual time, every message an event, one seed for everything.

Cost: a handled message takes about a microsecond of engine beside the machine's own work (bench/engine.py).
"""

import gc
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
    Disconnect,
    Send,
    SetTimer,
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
from gossamer.simulator.network import Network
from gossamer.simulator.wheel import TimeWheel

# The "node" of entries that are calls into the engine itself: churn, faults, snapshots.
CONTROL = -1


class Watcher(Protocol):
    """Sees everything, changes nothing: recorders, counters and checkers."""

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """A machine was given an event and answered."""
        ...

    def gone(self, at_us: int, node: int) -> None:
        """A node left or crashed; its machine is no more."""
        ...


class EventEngine:
    """Runs machines made by `machine(node)` over a network, until told otherwise."""

    def __init__(
        self, machine: Callable[[int], Machine], network: Network, seed: int, watchers: Sequence[Watcher] = ()
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

    @property
    def present(self) -> list[int]:
        """Who is up, by id."""
        return sorted(self._machines)

    def present_flags(self, node_count: int) -> NDArray[np.bool_]:
        """Who of nodes 0..node_count-1 is up."""
        flags = np.zeros(node_count, np.bool_)
        flags[list(self._machines)] = True
        return flags

    def call_at(self, at_us: int, call: Callable[[], None]) -> None:
        """Have the engine call `call` at a time; after everything scheduled for that time before."""
        self._push(at_us, CONTROL, call, None)

    def give(self, node: int, event: Event) -> None:
        """Hand an event to a node now, as the application above it would."""
        self._handle(node, event)

    def start(self, node: int, event: Started) -> None:
        """A new machine for this node, and its first event."""
        if node in self._machines:
            raise MachineMisuse(f"node {node} was started while it was up")
        self._machines[node] = self._machine(node)
        self._connections[node] = {}
        self._handle(node, event)

    def stop(self, node: int) -> None:
        """A graceful leave: what the machine sends on Stopping is carried out."""
        self._handle(node, Stopping())
        self.crash(node)

    def crash(self, node: int) -> None:
        """The machine is gone at once; kept connections break, and the other ends notice."""
        if node not in self._machines:
            raise MachineMisuse(f"node {node} was stopped while it was not up")
        for other in self._connections.pop(node):
            self._connections[other].pop(node, None)
            self._tell(node, other, PeerDown(node))
        del self._machines[node]
        for watcher in self._watchers:
            watcher.gone(self.now_us, node)

    def run(self, until_us: int) -> None:
        """Handle everything due up to and including `until_us`."""
        with _without_garbage_collection():
            while (batch := self._wheel.next_batch(until_us)) is not None:
                read = self._run_batch(batch, until_us)
                self._wheel.put_back(batch[read:])
                if read < len(batch):
                    break
        self.now_us = max(self.now_us, until_us)

    def _run_batch(self, batch: list[Any], until_us: int) -> int:
        """Handle a batch in order; returns how many entries were read (fewer if some are later)."""
        machines = self._machines
        watchers = self._watchers
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
            # A timer belongs to the machine that set it, not to the one that took its place.
            if machine is None or (owner is not None and owner is not machine):
                if owner is None:
                    self.lost_count += 1
                continue
            handled += 1
            actions = machine.handle(event, at_us)
            if actions:
                self._carry_out(node, actions, at_us)
            for watcher in watchers:
                watcher.handled(at_us, node, event, actions)
        self.handled_count += handled
        return read

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
            # Deliver, Validate and Observe are for watchers.

    def _push(self, at_us: int, node: int, event: Any, owner: Machine | None) -> None:
        # Never into the past: the batch being read is sorted by time.
        self._sequence += 1
        self._wheel.push((max(at_us, self.now_us), self._sequence, node, event, owner))

    def _send(self, node: int, action: Send, now_us: int) -> None:
        # One event serves all receivers: values are frozen.
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
        delay_us = self._network.latency.delay_us
        has_faults = self._has_faults
        loss_bound = self._loss_bound
        push = self._wheel.push
        for receiver in action.to:
            bits = finish((base + receiver * ITEM_FACTOR) & MASK)
            if (bits & 0xFFFF_FFFF) < loss_bound or (has_faults and self._network.parted(now_us, node, receiver)):
                self.lost_count += 1
                continue
            sequence += 1
            push((now_us + delay_us(node, receiver, bits >> 32), sequence, receiver, event, None))
        self._sequence = sequence

    # Kept connections. They cost a delay to make and to break, and are never lost.

    def _delay_us(self, node: int, other: int) -> int:
        count = self._sends.get(node, 0)
        self._sends[node] = count + 1
        base = draw_base(self._seed, node, Purpose.LINK, count)
        return self._network.latency.delay_us(node, other, finish((base + other * ITEM_FACTOR) & MASK) >> 32)

    def _tell(self, node: int, other: int, event: Event) -> None:
        """An event about `node` for `other`, a delay later; void if `other` has gone by then."""
        owner = self._machines.get(other)
        if owner is not None:
            self._push(self.now_us + self._delay_us(node, other), other, event, owner)

    def _dial(self, node: int, other: int) -> None:
        owner = self._machines[node]

        def answer() -> None:
            if self._machines.get(node) is not owner:
                return
            if other not in self._machines or self._network.parted(self.now_us, node, other):
                self._push(self.now_us, node, PeerDown(other), owner)
            elif other not in self._connections[node]:
                self._connections[node][other] = None
                self._connections[other][node] = None
                self._push(self.now_us, node, PeerUp(other), owner)
                self._push(self.now_us, other, PeerUp(node), self._machines[other])

        self.call_at(self.now_us + self._delay_us(node, other), answer)

    def _hang_up(self, node: int, other: int) -> None:
        if self._connections[node].pop(other, _NOT_THERE) is not _NOT_THERE:
            self._connections[other].pop(node, None)
            self._tell(node, other, PeerDown(node, hung_up=True))


_NOT_THERE = object()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Contract values form no cycles, so the collector would only walk millions of live tuples."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
