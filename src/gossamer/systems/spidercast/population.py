"""The population of SpiderCast for the cycle engine: the kernel with its state."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draw_items, view_walks
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.protocols.roots import DEPTH_MAX, PATIENCE, REPEAT
from gossamer.simulator.cycle import Population
from gossamer.simulator.population import CycleChanges
from gossamer.simulator.views import coin_limit, view_size
from gossamer.systems.spidercast.kernel import cycle as kernel
from gossamer.systems.spidercast.kernel import mend, state
from gossamer.systems.spidercast.kernel.selection import fill_masks
from gossamer.systems.spidercast.kernel.state import TaskState, TurnRules, World
from gossamer.systems.spidercast.parameters import (
    Departures,
    RandomParameters,
    SimilarityParameters,
    SpiderCastParameters,
    Timing,
)
from gossamer.systems.spidercast.task import Rule

U64 = np.uint64


@dataclass(frozen=True)
class SpiderCastNumbers:
    """The parameters of the machine in the form that the kernel needs; the rival systems are other rules."""

    rules: tuple[int, int]
    coverage: tuple[int, int]
    margin: int
    reading: TurnRules
    view: float
    cycle_us: int
    quarantine_cycles: int
    # The time between two searches for disconnected topics; 0: no search.
    mend_us: int = 0

    @property
    def mend_cycles(self) -> int:
        """`mend_us` in cycles, rounded up."""
        return -(-self.mend_us // self.cycle_us)


class SpiderCastPopulation:
    """Nodes that start at the same time; if interests change, `room` is the largest number of topics of a node."""

    def __init__(
        self, numbers: SpiderCastNumbers, seed: int, interest: Interest, absent: Sequence[int] = (), room: int = 0
    ) -> None:
        self._numbers = numbers
        self._seed = seed
        self._cycle_count = 0
        self._counters = np.zeros(state.COUNTERS, np.int64)
        self._rules = np.array(numbers.rules, np.int64)
        self.world = _world(numbers, seed, interest, room)
        self.tasks = tuple(_task(numbers, kind, np.diff(self.world.starts), interest.node_count) for kind in range(2))
        up = np.ones(interest.node_count, np.bool_)
        up[list(absent)] = False
        kernel.begin_together(self.world, self.tasks[0], self.tasks[1], *numbers.coverage, up)
        subscriptions = len(self.world.topics) if numbers.mend_us else 0
        self.roots = state.RootState(
            np.repeat(np.arange(interest.node_count, dtype=np.int32), np.diff(self.world.starts))[:subscriptions],
            np.zeros(subscriptions, np.uint8),
            np.zeros(subscriptions, np.uint8),
            np.zeros(interest.node_count, np.bool_),
        )

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """See `Population`."""
        self._cycle_count += 1
        if changes is not None:
            self._apply(changes)
        numbers = self._numbers
        for task in self.tasks:
            task.quarantine[:, self._cycle_count % numbers.quarantine_cycles] = -1
        order = self._order()
        now_us = U64(self._cycle_count * numbers.cycle_us)
        kernel.spidercast_cycle(
            self.world,
            self.tasks[0],
            self.tasks[1],
            self._rules,
            numbers.margin,
            numbers.reading,
            U64(self._seed),
            now_us,
            self._cycle_count,
            order,
            self._counters,
        )
        if numbers.mend_us and self._cycle_count % numbers.mend_cycles == 0:
            mend.mend_cycle(
                self.world,
                self.tasks[0],
                self.tasks[1],
                self.roots,
                numbers.rules[1],
                numbers.margin,
                DEPTH_MAX,
                PATIENCE,
                int(now_us) // numbers.mend_us % REPEAT == 0,
                U64(self._seed),
                now_us,
                order,
                self._counters,
            )

    def fingerprint(self) -> int:
        """See `Population`."""
        return int(kernel.spidercast_fingerprint(*self.tasks))

    def overlay(self) -> Overlay:
        """See `Population`."""
        ends = [self._links(task) for task in self.tasks]
        owners, peers = (np.concatenate([end[side] for end in ends]) for side in range(2))
        return Overlay.from_links(owners, peers, len(self.world.sizes))

    def views(self) -> None:
        """See `Population`: SpiderCast has no views by topic."""

    def messages(self) -> dict[str, int]:
        """See `Population`."""
        return {kind: int(count) for kind, count in zip(state.KINDS, self._counters, strict=False)}

    def rare_events(self) -> dict[str, int]:
        """Counts of rare events, which a test requires to have happened."""
        places = {
            "raises": state.RAISES,
            "stuck": state.STUCK_DROPS,
            "bridges": state.BRIDGES,
            "idle_bridges": state.IDLE_BRIDGES,
        }
        return {name: int(self._counters[place]) for name, place in places.items()}

    def _order(self) -> NDArray[np.int32]:
        nodes = np.flatnonzero(self.world.present).astype(np.int32)
        bits = draw_items(U64(self._seed), U64(0), U64(Purpose.ORDER), U64(self._cycle_count), nodes)
        return nodes[np.argsort(bits, kind="stable")]

    @staticmethod
    def _links(task: TaskState) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        owners = np.repeat(np.arange(len(task.counts)), task.counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(task.counts) - task.counts, task.counts)
        return owners, task.nodes[task.starts[owners] + within]

    def _begin(self, node: int) -> None:
        kernel.hold(self.world, node, True)
        if self._numbers.mend_us:
            mend.begin_roots(self.world, self.roots, node)
        for task, coverage in zip(self.tasks, self._numbers.coverage, strict=True):
            kernel.begin(self.world, task, coverage, node)

    def _apply(self, changes: CycleChanges) -> None:
        crashes = set(changes.crashes)
        for node in sorted((*changes.leavers, *changes.crashes)):
            for task, rule in zip(self.tasks, self._numbers.rules, strict=True):
                kernel.depart(self.world, task, int(rule), node, node not in crashes, self._counters)
            kernel.hold(self.world, node, False)
        for node in sorted(changes.joiners):
            if node in changes.interests:
                topics = np.array(changes.interests[node], np.int32)
                self.world.sizes[node] = len(topics)
                self.world.topics[self.world.starts[node] : self.world.starts[node] + len(topics)] = topics
            self._begin(node)
        for node, interest in sorted(changes.interests.items()):
            if self.world.present[node] and node not in changes.joiners:
                self._change_interest(node, interest)

    def _change_interest(self, node: int, interest: tuple[int, ...]) -> None:
        world = self.world
        before = set(world.topics[world.starts[node] : world.starts[node] + world.sizes[node]].tolist())
        messages = len(before ^ set(interest))
        if not messages:
            return
        topics = np.array(interest, np.int32)
        kept = self._roots_of(node)
        for last, task in enumerate(self.tasks):
            kernel.change_interest(world, task, node, topics, messages, self._counters, bool(last))
        if self._numbers.mend_us:
            mend.begin_roots(world, self.roots, node)
            for place, topic in enumerate(interest, start=int(world.starts[node])):
                if topic in kept:
                    self.roots.roots[place], self.roots.links[place], self.roots.alone[place] = kept[topic]
            self.roots.stale[node] = True
            for task in self.tasks:
                self.roots.stale[task.nodes[task.starts[node] : task.starts[node] + task.counts[node]]] = True
        for task in self.tasks:
            kernel.recover_around(world, task, node)

    def _roots_of(self, node: int) -> dict[int, tuple[int, ...]]:
        """The root of each topic of a node, to be restored for the topics that it keeps."""
        if not self._numbers.mend_us:
            return {}
        row = slice(self.world.starts[node], self.world.starts[node] + self.world.sizes[node])
        columns = (self.roots.roots, self.roots.links, self.roots.alone)
        values = zip(*(column[row].tolist() for column in columns), strict=True)
        return dict(zip(self.world.topics[row].tolist(), values, strict=True))


def _world(numbers: SpiderCastNumbers, seed: int, interest: Interest, room: int) -> World:
    node_count = interest.node_count
    capacity = np.maximum(interest.sizes, room)
    starts = np.concatenate(([0], np.cumsum(capacity)))
    topics = np.zeros(int(starts[-1]), np.int32)
    within = np.arange(len(interest.node_topics)) - np.repeat(interest.node_starts[:-1], interest.sizes)
    topics[np.repeat(starts[:-1], interest.sizes) + within] = interest.node_topics
    words = (node_count + 63) // 64
    partial = numbers.view < 1
    slots = view_size(node_count, numbers.view) if partial else 0
    # Masks mark which of the node's own topics each slot shares; they need small interests that never change.
    small = int(interest.sizes.max()) <= 16 and max(interest.topic_count, slots) < 2**16
    masked = partial and room == 0 and small and not numbers.reading.scan
    strides, offsets = view_walks(U64(seed), node_count if partial else 0)
    world = World(
        starts=starts,
        sizes=interest.sizes.astype(np.int32),
        topics=topics,
        present=np.zeros(node_count, np.bool_),
        holders=np.zeros((0 if partial else interest.topic_count, words), np.uint64),
        everybody=np.zeros(words, np.uint64),
        view_size=slots,
        strides=strides,
        offsets=offsets,
        mask_starts=np.zeros(node_count + 1 if masked else 1, np.int64),
        # Room for all slots, as if each shared a topic; the system allocates only pages that are written.
        masks=np.empty(node_count * slots if masked else 0, np.uint32),
        counts=np.zeros(slots, np.uint8),
        blocked=np.zeros(words, np.uint64),
        wanted=np.zeros(interest.topic_count, np.bool_),
        planes=np.zeros((0 if partial else int(capacity.max()).bit_length() + 1, words), np.uint64),
    )
    if masked:
        rows = np.full((node_count, int(interest.sizes.max())), interest.topic_count, np.uint16)
        rows[interest.owners, within] = interest.node_topics
        fill_masks(world, rows, interest.topic_count)
    return world


# K_r is raised while it is at most state.ADAPTIVE_COVERAGE_MAX, so its largest value is one higher.
_ADAPTIVE_COVERAGE_END = state.ADAPTIVE_COVERAGE_MAX + 1


def _task(numbers: SpiderCastNumbers, kind: int, capacity: NDArray[np.int64], node_count: int) -> TaskState:
    covers = numbers.rules[kind] <= state.COVER_AT_RANDOM
    coverage = numbers.coverage[kind]
    if kind == 1 and numbers.reading.adaptive:
        coverage = max(coverage, _ADAPTIVE_COVERAGE_END)
    slots = coverage * (capacity if covers else np.ones(node_count, np.int64)) + numbers.margin
    starts = np.concatenate(([0], np.cumsum(slots)))
    total = int(starts[-1])

    def told() -> NDArray[np.uint16]:
        return np.zeros(total, np.uint16)

    def by_node() -> NDArray[np.int32]:
        return np.zeros(node_count, np.int32)

    return TaskState(
        starts=starts,
        counts=by_node(),
        nodes=np.zeros(total, np.int32),
        degrees=told(),
        targets=told(),
        told_degrees=told(),
        told_targets=told(),
        asked_degrees=told(),
        asked_targets=told(),
        shared=np.zeros(total, np.uint64),
        mirrors=np.full(total, -1, np.int64),
        target=by_node(),
        coverage=by_node(),
        uncovered=by_node(),
        cover=np.zeros(int(capacity.sum()), np.uint16),
        redirect=np.full(node_count, -1, np.int32),
        quarantine=np.full((node_count, numbers.quarantine_cycles), -1, np.int32),
        quiet=np.zeros(node_count, np.bool_),
        asleep=np.zeros(node_count, np.bool_),
        met=np.zeros(total, np.bool_),
        is_bridge=np.zeros(total, np.bool_),
        moved=np.ones(node_count, np.bool_),
    )


def spidercast_population(
    parameters: SpiderCastParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """SpiderCast's population (`System.population`)."""
    return _population(parameters, spidercast_numbers(parameters), seed, interest, absent, room)


def similarity_population(
    parameters: SimilarityParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """The population of similarity(x, y)."""
    return _population(parameters, similarity_numbers(parameters), seed, interest, absent, room)


def random_population(
    parameters: RandomParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """The population of random(y)."""
    return _population(parameters, random_numbers(parameters), seed, interest, absent, room)


def _population(
    parameters: SpiderCastParameters | SimilarityParameters | RandomParameters,
    numbers: SpiderCastNumbers,
    seed: int,
    interest: Interest,
    absent: Sequence[int],
    room: int,
) -> Population:
    if parameters.membership != "oracle":
        raise InputError("membership=cyclon has no kernel; use engine='event'")
    return SpiderCastPopulation(numbers, seed, interest, absent, room)


def spidercast_numbers(parameters: SpiderCastParameters) -> SpiderCastNumbers:
    """SpiderCast's parameters for its kernel."""
    if parameters.part_uncovered:
        raise InputError("part_uncovered has no kernel; use engine='event'")
    if parameters.ties == "near":
        raise InputError("ties=near needs links with latencies; use engine='event'")
    if parameters.redirects > 1 and parameters.mend_us:
        raise InputError("more than one redirect candidate with mend_us has no kernel; use engine='event' or mend_us=0")
    return SpiderCastNumbers(
        rules=(Rule.COVER_GREEDILY, Rule.COVER_AT_RANDOM),
        coverage=(parameters.greedy_coverage, parameters.random_coverage),
        margin=parameters.margin,
        reading=_reading(
            parameters,
            adaptive=parameters.adaptive,
            drop_when_stuck=parameters.drop_when_stuck,
            scan=parameters.ties == "scan",
            coin=parameters.coin,
        ),
        view=parameters.view,
        mend_us=parameters.mend_us,
        **_timing(parameters),
    )


def similarity_numbers(parameters: SimilarityParameters) -> SpiderCastNumbers:
    """similarity(x, y) for SpiderCast's kernel."""
    return _rival(parameters, (parameters.similar, parameters.random))


def random_numbers(parameters: RandomParameters) -> SpiderCastNumbers:
    """random(y) for SpiderCast's kernel."""
    return _rival(parameters, (0, parameters.links))


def _rival(parameters: SimilarityParameters | RandomParameters, coverage: tuple[int, int]) -> SpiderCastNumbers:
    return SpiderCastNumbers(
        rules=(Rule.COUNT_SIMILAR, Rule.COUNT_RANDOM),
        coverage=coverage,
        margin=parameters.margin,
        reading=_reading(parameters),
        view=parameters.view,
        **_timing(parameters),
    )


_ASKS = {"changed": state.ASK_CHANGED, "always": state.ASK_ALWAYS, "once": state.ASK_ONCE}


def _reading(
    parameters: Departures,
    adaptive: bool = False,
    drop_when_stuck: bool = True,
    scan: bool = False,
    coin: float = 0.5,
) -> TurnRules:
    """The rules that both SpiderCast and its rivals can choose, and SpiderCast's own."""
    return TurnRules(
        adaptive=adaptive,
        drop_when_stuck=drop_when_stuck,
        scan=scan,
        coin_limit=U64(coin_limit(coin)),
        parts_above_degree=parameters.parts_above == "degree",
        ask_again=_ASKS[parameters.ask_again],
        agrees_above_target=parameters.agrees_above == "L",
        wakes_on_loss=parameters.wakes == "loss",
        random_parts_above=parameters.random_parts == "above",
    )


def _timing(parameters: Timing) -> dict[str, int]:
    cycle_us = parameters.heartbeat_us
    return {"cycle_us": cycle_us, "quarantine_cycles": -(-parameters.quarantine_us // cycle_us)}
