"""Calls every compiled function of SpiderCast once, with the argument types that its population uses."""

import numpy as np

from gossamer.kernels import sampling
from gossamer.systems.spidercast.kernel import cycle as spidercast
from gossamer.systems.spidercast.kernel import mend
from gossamer.systems.spidercast.kernel.selection import fill_masks
from gossamer.systems.spidercast.kernel.state import COUNTERS, RootState, TaskState, TurnRules, World

U64 = np.uint64


def warm_up() -> None:
    """See `System.warm_up`. It constructs the state here, because the population would import the simulator."""
    world = World(
        starts=np.array([0, 1, 2]),
        sizes=np.ones(2, np.int32),
        topics=np.zeros(2, np.int32),
        present=np.zeros(2, np.bool_),
        holders=np.zeros((1, 1), np.uint64),
        everybody=np.zeros(1, np.uint64),
        view_size=0,
        strides=np.zeros(0, np.int64),
        offsets=np.zeros(0, np.int64),
        mask_starts=np.zeros(3, np.int64),
        masks=np.zeros(0, np.uint32),
        counts=np.zeros(0, np.uint8),
        blocked=np.zeros(1, np.uint64),
        wanted=np.zeros(1, np.bool_),
        planes=np.zeros((2, 1), np.uint64),
    )
    greedy, random = (
        TaskState(
            np.array([0, 4, 8]),
            np.zeros(2, np.int32),
            np.zeros(8, np.int32),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint64),
            np.zeros(8, np.int64),
            np.zeros(2, np.int32),
            np.zeros(2, np.int32),
            np.zeros(2, np.int32),
            np.zeros(2, np.uint16),
            np.zeros(2, np.int32),
            np.zeros((2, 1), np.int32),
            np.zeros(2, np.bool_),
            np.zeros(2, np.bool_),
            np.zeros(8, np.bool_),
            np.zeros(8, np.bool_),
            np.zeros(2, np.bool_),
        )
        for _ in range(2)
    )
    counters = np.zeros(COUNTERS, np.int64)
    spidercast.begin_together(world, greedy, random, 1, 0, np.ones(2, np.bool_))
    fill_masks(world, np.zeros((2, 1), np.uint16), 1)
    for node in range(2):
        spidercast.hold(world, node, True)
        for task in (greedy, random):
            spidercast.begin(world, task, 1, node)
    order = np.arange(2, dtype=np.int32)
    sampling.draw_items(U64(1), U64(0), U64(1), U64(1), order)
    rules = np.array([0, 1])
    reading = TurnRules(False, True, False, U64(0), False, 0, False, False, False)
    spidercast.spidercast_cycle(world, greedy, random, rules, 1, reading, U64(1), U64(1), 1, order, counters)
    roots = RootState(np.zeros(2, np.int32), np.zeros(2, np.uint8), np.zeros(2, np.uint8), np.zeros(2, np.bool_))
    mend.begin_roots(world, roots, 0)
    mend.mend_cycle(world, greedy, random, roots, 1, 1, 1, 1, False, U64(1), U64(1), order, counters)
    spidercast.spidercast_fingerprint(greedy, random)
    for last, task in enumerate((greedy, random)):
        spidercast.change_interest(world, task, 0, np.zeros(1, np.int32), 1, counters, bool(last))
        spidercast.recover_around(world, task, 0)
        spidercast.depart(world, task, last, 0, True, counters)
