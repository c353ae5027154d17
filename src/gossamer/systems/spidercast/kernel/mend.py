"""Detect disconnected topics and build bridges: `systems/spidercast/roots.py` for a whole population."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.systems.spidercast.kernel.coverage import (
    has_room,
    lose_neighbour,
    shared_count,
    slot_of,
)
from gossamer.systems.spidercast.kernel.cycle import exchange_connect
from gossamer.systems.spidercast.kernel.selection import is_marked, mark
from gossamer.systems.spidercast.kernel.state import (
    BRIDGE,
    BRIDGES,
    IDLE_BRIDGES,
    M_CLAIMS,
    M_LEAVE,
    RootState,
    TaskState,
    World,
)


@kernel
def begin_roots(world: World, state: RootState, node: int) -> None:
    """Initialise a node: in each of its topics the lowest node that it has heard of is itself."""
    for i in range(world.starts[node], world.starts[node] + world.sizes[node]):
        state.roots[i] = node
        state.links[i] = 0
        state.alone[i] = 0


@kernel
def _drop_idle_bridges(world: World, task: TaskState, rule: int, node: int, counters: NDArray[np.int64]) -> None:
    """Remove bridges whose ends no longer share a topic."""
    slot = task.starts[node]
    while slot < task.starts[node] + task.counts[node]:
        other = np.int64(task.nodes[slot])
        if task.is_bridge[slot] and shared_count(world, node, other) == 0:
            counters[M_LEAVE] += 1
            counters[IDLE_BRIDGES] += 1
            lose_neighbour(world, task, rule, node, other)
            lose_neighbour(world, task, rule, other, node)
        else:
            slot += 1


@kernel
def _take_in(world: World, task: TaskState, state: RootState, depth_max: int, node: int) -> None:
    """Adopt claims of the neighbours of one task that name a lower root, or the same root with fewer links."""
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        other = task.nodes[slot]
        has_spoken = task.met[slot]
        i = world.starts[node]
        j = world.starts[other]
        i_end = i + world.sizes[node]
        j_end = j + world.sizes[other]
        while i < i_end and j < j_end:
            a = world.topics[i]
            b = world.topics[j]
            if a == b:
                # A neighbour that has sent no claims yet counts as its own root.
                root = state.roots[j] if has_spoken else other
                links = (np.int64(state.links[j]) if has_spoken else 0) + 1
                if links <= depth_max and (
                    root < state.roots[i] or (root == state.roots[i] and links < np.int64(state.links[i]))
                ):
                    state.roots[i] = root
                    state.links[i] = links
            i += a <= b
            j += b <= a


@kernel
def _claim(task: TaskState, state: RootState, node: int) -> None:
    """Tell the claims of this node to the neighbours of one task; they are new to each of them."""
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        task.met[task.mirrors[slot]] = True
        state.stale[task.nodes[slot]] = True


@kernel
def _count_untold(greedy: TaskState, random: TaskState, node: int) -> int:
    """The number of neighbours, in either task, that have received no claims since they became neighbours."""
    untold = 0
    for slot in range(greedy.starts[node], greedy.starts[node] + greedy.counts[node]):
        untold += not greedy.met[greedy.mirrors[slot]]
    for slot in range(random.starts[node], random.starts[node] + random.counts[node]):
        if not random.met[random.mirrors[slot]]:
            other = slot_of(greedy, node, np.int64(random.nodes[slot]))
            untold += other < 0 or greedy.met[greedy.mirrors[other]]
    return untold


@kernel
def _count_neighbours(greedy: TaskState, random: TaskState, node: int) -> int:
    """The number of neighbours in both tasks; a neighbour in both counts once."""
    count = np.int64(greedy.counts[node])
    for slot in range(random.starts[node], random.starts[node] + random.counts[node]):
        count += slot_of(greedy, node, np.int64(random.nodes[slot])) < 0
    return count


@kernel
def _look(
    world: World,
    greedy: TaskState,
    random: TaskState,
    state: RootState,
    depth_max: int,
    node: int,
    before: NDArray[np.int64],
) -> bool:
    """Process the claims of neighbours; returns whether the claims of this node change."""
    start = world.starts[node]
    end = start + world.sizes[node]
    for i in range(start, end):
        before[i - start] = np.int64(state.roots[i]) * 256 + np.int64(state.links[i])
        state.roots[i] = node
        state.links[i] = 0
    _take_in(world, greedy, state, depth_max, node)
    _take_in(world, random, state, depth_max, node)
    changed = False
    for i in range(start, end):
        changed = changed or before[i - start] != np.int64(state.roots[i]) * 256 + np.int64(state.links[i])
    return changed


@kernel
def _holder_below(world: World, task: TaskState, node: int, topic: int, key: U64) -> int:
    """A random holder of the topic that has a lower id and is not a neighbour in this task, or -1."""
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        mark(world.blocked, np.int64(task.nodes[slot]), True)
    chosen = -1
    best_draw = U64(0)
    count = world.view_size if world.view_size > 0 else node
    other = world.offsets[node] if world.view_size > 0 else np.int64(0)
    for _ in range(count):
        candidate = other
        if world.view_size > 0:
            other += world.strides[node]
            if other >= len(world.sizes):
                other -= len(world.sizes)
            holds = False
            if candidate < node and world.present[candidate]:
                for i in range(world.starts[candidate], world.starts[candidate] + world.sizes[candidate]):
                    holds = holds or world.topics[i] == topic
        else:
            other += 1
            holds = is_marked(world.holders[topic], candidate)
        if not holds or is_marked(world.blocked, candidate):
            continue
        bits = finish(key + U64(candidate) * ITEM_FACTOR)
        if chosen < 0 or bits < best_draw or (bits == best_draw and candidate < chosen):
            chosen = candidate
            best_draw = bits
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        mark(world.blocked, np.int64(task.nodes[slot]), False)
    return chosen


@kernel
def mend_cycle(
    world: World,
    greedy: TaskState,
    random: TaskState,
    state: RootState,
    rule: int,
    margin: int,
    depth_max: int,
    patience: int,
    repeat: bool,
    seed: U64,
    now_us: U64,
    order: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> None:
    """Every node processes claims, sends its own, and builds a bridge if it has long been its own root in a topic.

    `rule` is the rule of the random task. A node whose neighbours changed since its last turn waits for the next one. A
    node that has received no new claims and has the same neighbours would compute and send the same claims again, so it
    skips both.
    """
    longest = 1
    for node in range(len(world.sizes)):
        longest = max(longest, np.int64(world.sizes[node]))
    before = np.empty(longest, np.int64)
    for node in order:
        start = world.starts[node]
        end = start + world.sizes[node]
        _drop_idle_bridges(world, random, rule, node, counters)
        if greedy.moved[node] or random.moved[node]:
            greedy.moved[node] = random.moved[node] = False
            state.stale[node] = True
            continue
        changed = False
        if state.stale[node]:
            state.stale[node] = False
            changed = _look(world, greedy, random, state, depth_max, node, before)
            untold = _count_untold(greedy, random, node)
            if not changed and not repeat:
                counters[M_CLAIMS] += untold
            if changed or untold > 0:
                _claim(greedy, state, node)
                _claim(random, state, node)
        if changed or repeat:
            counters[M_CLAIMS] += _count_neighbours(greedy, random, node)
        for i in range(start, end):
            state.alone[i] = min(np.int64(state.alone[i]) + 1, patience) if state.roots[i] == node else 0
        if not has_room(world, random, rule, margin, node):
            continue
        key = draw_base(seed, U64(node), BRIDGE, now_us)
        for i in range(start, end):
            if np.int64(state.alone[i]) < patience:
                continue
            peer = _holder_below(world, random, node, np.int64(world.topics[i]), key)
            if peer < 0:
                continue
            state.alone[i] = 0
            degree, target = np.int64(random.counts[node]), np.int64(random.target[node])
            exchange_connect(world, random, 1, rule, margin, seed, now_us, node, peer, degree, target, counters)
            slot = slot_of(random, node, peer)
            if slot >= 0:
                random.is_bridge[slot] = True
                random.is_bridge[random.mirrors[slot]] = True
                counters[BRIDGES] += 1
            break
