"""Carries out a scenario in virtual time, as live drivers would: processes with files, clocks, topics and pauses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gossamer.model.values.ids import Role
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import SetTimer
from gossamer.protocols.contract.events import Event, Publish, Restarted, Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import Machine
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.engine import EventEngine, Watcher
from gossamer.simulator.network import UniformLatency
from gossamer.simulator.torture.ledger import Ledger, MissingDelivery, Published
from gossamer.simulator.torture.network import ON_LINKS, FaultyNetwork
from gossamer.simulator.torture.scenario import Draws, Fault, Scenario
from gossamer.systems import find_live, find_system, make_machine

# Chosen: after all faults have ended, a network has this long to connect all topics and to fetch what is missing; then
# a message on each topic must reach every follower within `PROBE_US`.
DUE_US = 20 * SECOND_US
PROBE_US = 10 * SECOND_US
# Chosen: nodes that start or return know this many others.
CONTACTS = 3
# All nodes that are present from the first start within this time.
START_US = 2 * SECOND_US
EPOCH_US = 1_000_000 * SECOND_US
BOTH = int(Role.FOLLOWS | Role.PUBLISHES)


@dataclass
class _Process:
    """What the driver of one node keeps: files that outlive a crash, and the state of the process."""

    topics: list[int]
    clock_us: int = 0
    drift: float = 0.0
    began_us: int = 0
    is_present: bool = False
    stands_still: bool = False
    # Files.
    last_number: int = 0
    own_last: dict[int, tuple[int, int]] = field(default_factory=dict)

    def clock(self, now_us: int) -> int:
        """The node's clock at a time of the engine."""
        return EPOCH_US + now_us + self.clock_us + int((now_us - self.began_us) * self.drift)

    def engine_time(self, clock_us: int) -> int:
        """The first time of the engine at which the node's clock shows at least `clock_us`."""
        passed = clock_us - EPOCH_US - self.clock_us - self.began_us
        now_us = self.began_us + int(passed / (1.0 + self.drift))
        while self.clock(now_us) < clock_us:
            now_us += 1
        return now_us

    def next_number(self, now_us: int) -> int:
        """The next number of a message or a version, kept before it is used."""
        self.last_number = max(self.last_number, self.clock(now_us)) + 1
        return self.last_number


class _OwnClock:
    """A machine that reads its process's clock instead of the engine's."""

    def __init__(self, machine: Machine, process: _Process) -> None:
        self._machine, self._process = machine, process

    def handle(self, event: Event, now_us: int) -> Any:
        actions = self._machine.handle(event, self._process.clock(now_us))
        if any(type(action) is SetTimer for action in actions):
            return [self._in_engine_time(action) for action in actions]
        return actions

    def _in_engine_time(self, action: Any) -> Any:
        if type(action) is not SetTimer:
            return action
        return SetTimer(self._process.engine_time(action.at_us), action.timer)


class ScenarioRun:
    """One run of a scenario. `outcome` is set when it has been carried out."""

    def __init__(self, scenario: Scenario, watchers: tuple[Watcher, ...] = ()) -> None:
        self.scenario = scenario
        self.ledger = Ledger()
        start = find_live(scenario.live)
        self._system = find_system(start.system)
        # Where the overlay does not connect every topic, only safety is promised.
        self._connects = self._system.connects_topics
        self._parameters = read_parameters(self._system, start.settings)
        self._processes = [_Process(list(topics)) for topics in scenario.topics]
        self._draws = Draws(scenario.seed, "contacts")
        self.hits: dict[Fault, int] = dict.fromkeys(scenario.faults, 0)
        on_links = tuple(fault for fault in scenario.faults if fault.kind in ON_LINKS)
        self.network = FaultyNetwork(UniformLatency(*scenario.latency_us), faults=on_links, seed=scenario.seed)
        checkers = all_checkers(scenario.dissemination, self._system.discloses, recovers=True)
        self.engine = EventEngine(self._machine, self.network, scenario.seed, (self.ledger, *checkers, *watchers))
        self.probes: list[Published] = []

    @property
    def end_us(self) -> int:
        """When the run is judged."""
        return self.scenario.heal_us + DUE_US + PROBE_US

    def carry_out(self) -> None:
        """Run until everything that is promised is due."""
        self._schedule()
        self.engine.run(self.scenario.heal_us + DUE_US)
        self._probe()
        self.engine.run(self.end_us)
        for fault, count in zip(self.network.faults, self.network.hits, strict=True):
            self.hits[fault] += count

    def silent_losses(self) -> list[MissingDelivery]:
        """Messages that a subscriber lacks without a report, although another node has them."""
        return [missing for missing in self.ledger.missing() if missing.holders] if self._connects else []

    def late_probes(self) -> list[MissingDelivery]:
        """Messages published when everything had healed that did not arrive in time."""
        return self.ledger.missing(self.probes) if self._connects else []

    # Processes.

    def _machine(self, node: int) -> Machine:
        scenario = self.scenario
        made = make_machine(
            self._system, self._parameters, scenario.seed, node, None, scenario.dissemination, None, recovery={}
        )
        return _OwnClock(made, self._processes[node])

    def _schedule(self) -> None:
        scenario, call_at = self.scenario, self.engine.call_at
        late = {node for fault in scenario.faults if fault.kind == "crowd" for node in fault.nodes}
        for fault in scenario.faults:
            if fault.kind in ("clock", "drift"):
                self._set_clocks(fault)
        for node in range(scenario.node_count):
            if node not in late:
                call_at(self._draws.between(0, START_US), partial(self._start, node))
        for at_us, node, topic in scenario.messages:
            call_at(at_us, partial(self._publish, node, topic))
        for fault in scenario.faults:
            for node in fault.nodes:
                begin, end = self._effects(fault, node)
                if begin is not None:
                    call_at(fault.at_us, partial(self._hit, fault, begin))
                if end is not None:
                    call_at(fault.until_us, end)

    def _effects(self, fault: Fault, node: int) -> tuple[Callable[[], bool] | None, Callable[[], object] | None]:
        """What happens to a node when a fault of its process begins and ends."""
        match fault.kind:
            case "crash" | "crash_without_files":
                kept = fault.kind == "crash"
                return partial(self._end, node, self.engine.crash), partial(self._return, node, kept)
            case "stop":
                return partial(self._end, node, self.engine.stop), partial(self._return, node, True)
            case "die":
                return partial(self._end, node, self.engine.crash), None
            case "crowd":
                return partial(self._start, node), None
            case "pause":
                length_us = fault.until_us - fault.at_us
                return partial(self._slow_down, node, length_us, True), partial(self._slow_down, node, 0)
            case "slow":
                return partial(self._slow_down, node, int(fault.amount)), partial(self._slow_down, node, 0)
            case "close":
                return partial(self._close_all, node), partial(self._open_all, node)
            case "swap":
                return partial(self._swap, node), None
        return None, None

    def _hit(self, fault: Fault, begin: Callable[[], bool]) -> None:
        self.hits[fault] += begin()

    def _set_clocks(self, fault: Fault) -> None:
        self.hits[fault] += 1
        for node in fault.nodes:
            if fault.kind == "clock":
                self._processes[node].clock_us = int(fault.amount)
            else:
                self._processes[node].drift = fault.amount

    def _start(self, node: int) -> bool:
        process, present = self._processes[node], self.engine.present
        if process.is_present or not process.topics:
            return False
        process.is_present = True
        contacts = tuple(Peer(other) for other in self._draws.some_of(present, CONTACTS))
        version = process.next_number(self.engine.now_us)
        self.engine.start(node, Restarted(contacts, bool(contacts), b"", b"", version))
        self._open_all(node)
        return True

    def _return(self, node: int, with_files: bool) -> None:
        process = self._processes[node]
        if process.is_present:
            return
        if with_files:
            # The clock goes back to the true time. Without files that would repeat numbers, which nothing can prevent.
            process.clock_us, process.drift, process.began_us = 0, 0.0, self.engine.now_us
        else:
            process.last_number, process.own_last = 0, {}
            self.ledger.lost_numbers(node)
        self._start(node)

    def _end(self, node: int, how: Callable[[int], None]) -> bool:
        process = self._processes[node]
        if not process.is_present:
            return False
        process.is_present = process.stands_still = False
        how(node)
        return True

    def _slow_down(self, node: int, event_us: int, stands_still: bool = False) -> bool:
        process = self._processes[node]
        if not process.is_present:
            return False
        process.stands_still = stands_still
        self.engine.slow_down(node, event_us)
        return True

    # Topics and messages.

    def _acts(self, node: int) -> bool:
        return self._processes[node].is_present and not self._processes[node].stands_still

    def _open_all(self, node: int) -> bool:
        if not self._acts(node):
            return False
        for topic in self._processes[node].topics:
            self._open(node, topic)
        return True

    def _close_all(self, node: int) -> bool:
        if not self._acts(node):
            return False
        for topic in self._processes[node].topics:
            self._close(node, topic)
        return True

    def _swap(self, node: int) -> bool:
        process = self._processes[node]
        others = [topic for topic in range(self.scenario.topic_count) if topic not in process.topics]
        if not self._acts(node) or not others:
            return False
        new = others[(node + process.topics[0]) % len(others)]
        self._close(node, process.topics[0])
        process.topics[0] = new
        self._open(node, new)
        return True

    def _open(self, node: int, topic: int) -> None:
        process, now_us = self._processes[node], self.engine.now_us
        number, at_us = process.own_last.get(topic, (0, 0))
        age_us = max(process.clock(now_us) - at_us, 0) if number else 0
        self.ledger.opened(node, topic, now_us)
        self.engine.give(node, Subscribe(topic, BOTH, own_last=number, own_last_age_us=age_us))

    def _close(self, node: int, topic: int) -> None:
        self.ledger.closed(node, topic)
        self.engine.give(node, Unsubscribe(topic))

    def _publish(self, node: int, topic: int) -> None:
        if self._acts(node) and topic in self.ledger.since_us[node]:
            process, now_us = self._processes[node], self.engine.now_us
            number = process.next_number(now_us)
            process.own_last[topic] = (number, process.clock(now_us))
            message = Published(node, number, topic, now_us)
            self.ledger.published(message)
            self.engine.give(node, Publish(topic, b"x", sequence=number))

    def _probe(self) -> None:
        """Publish a message on every topic."""
        before = len(self.ledger.messages)
        followers: dict[int, list[int]] = {}
        for node, topics in sorted(self.ledger.since_us.items()):
            for topic in topics:
                followers.setdefault(topic, []).append(node)
        for topic, nodes in sorted(followers.items()):
            self._publish(self._draws.one_of(nodes), topic)
        self.probes = self.ledger.messages[before:]


def part_classes(live: str, dissemination: str) -> tuple[type, ...]:
    """The classes of the parts of a stack, which own its messages and timers."""
    start = find_live(live)
    system = find_system(start.system)
    parameters = read_parameters(system, start.settings)
    return make_machine(system, parameters, 0, 0, None, dissemination, None, recovery={}).part_classes
