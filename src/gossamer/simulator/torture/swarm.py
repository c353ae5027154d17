"""Judges many seeds, with one process for each core, and counts which faults and handlers were reached."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import NamedTuple

from gossamer.model.values.progress import Progress
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event, MessageReceived, TimerFired
from gossamer.simulator.torture.judge import ScenarioOutcome, judge
from gossamer.simulator.torture.scenario import KINDS, draw_scenario
from gossamer.simulator.torture.scenario_run import part_classes


class Handlers:
    """A watcher: how often a message or timer of each class was handled."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is MessageReceived:
            self.counts[type(event.message).__name__] += 1
        elif type(event) is TimerFired:
            self.counts[type(event.timer).__name__] += 1
        else:
            self.counts[type(event).__name__] += 1

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""


class SeedResult(NamedTuple):
    """What one seed gave."""

    seed: int
    stack: tuple[str, str]
    outcome: ScenarioOutcome
    handlers: Counter[str]


@dataclass
class Swarm:
    """The sum of all seeds that were judged."""

    seeds: int = 0
    deliveries: int = 0
    reported: int = 0
    virtual_us: int = 0
    failed: list[SeedResult] = field(default_factory=list)
    stacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    handlers: Counter[str] = field(default_factory=Counter)

    def add(self, result: SeedResult) -> None:
        """One more seed was judged."""
        self.seeds += 1
        self.deliveries += result.outcome.deliveries
        self.reported += result.outcome.reported
        self.virtual_us += result.outcome.virtual_us
        self.stacks[result.stack] += 1
        self.hits.update(result.outcome.hits)
        self.handlers.update(result.handlers)
        if result.outcome.problems:
            self.failed.append(result)

    @property
    def idle_faults(self) -> list[str]:
        """Kinds of faults that took effect in no seed."""
        return [kind for kind in KINDS if not self.hits[kind]]

    @property
    def idle_handlers(self) -> list[str]:
        """Messages and timers of the stacks that ran which no node handled."""
        known = {owned.__name__ for stack in self.stacks for part in part_classes(*stack) for owned in _owned(part)}
        return sorted(known - set(self.handlers))


def run_seed(seed: int, live: str | None = None) -> SeedResult:
    """Judge the scenario of one seed."""
    scenario, handlers = draw_scenario(seed, live), Handlers()
    outcome = judge(scenario, (handlers,))
    return SeedResult(seed, (scenario.live, scenario.dissemination), outcome, handlers.counts)


def run_swarm(
    seeds: Sequence[int], jobs: int, live: str | None, is_over: Callable[[], bool], progress: Progress
) -> Swarm:
    """Judge these seeds; no further one is begun when `is_over`."""
    swarm = Swarm()
    for result in _results(iter(seeds), min(jobs, len(seeds)), live, is_over):
        swarm.add(result)
        progress("seeds", swarm.seeds, len(seeds))
    return swarm


def _results(seeds: Iterator[int], jobs: int, live: str | None, is_over: Callable[[], bool]) -> Iterator[SeedResult]:
    if jobs == 1:
        for seed in seeds:
            yield run_seed(seed, live)
            if is_over():
                return
        return
    # Spawn instead of fork, because numba and pyarrow start threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[SeedResult]] = {pool.submit(run_seed, seed, live) for seed in islice(seeds, 2 * jobs)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            if not is_over():
                waiting |= {pool.submit(run_seed, seed, live) for seed in islice(seeds, len(done))}
            yield from (future.result() for future in done)


def _owned(part: type) -> tuple[type, ...]:
    return (*part.MESSAGES, *part.TIMERS)  # type: ignore[attr-defined]
