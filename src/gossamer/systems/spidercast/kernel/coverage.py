"""The neighbours of one task, and how often each topic of a node is covered."""

import numpy as np

from gossamer.kernels.draw import U64
from gossamer.kernels.jit import kernel
from gossamer.systems.spidercast.kernel.state import (
    COVER_AT_RANDOM,
    NEVER,
    TaskState,
    World,
)


@kernel
def degree_max(world: World, task: TaskState, rule: int, node: int) -> int:
    """L_max: K for each topic; for the rival systems, the target number of links."""
    if rule <= COVER_AT_RANDOM:
        return np.int64(task.coverage[node]) * np.int64(world.sizes[node])
    return np.int64(task.coverage[node])


@kernel
def under_covered(task: TaskState, rule: int, node: int) -> int:
    """The number of topics that fewer than K neighbours hold; for the rival systems, the number of missing links."""
    if rule <= COVER_AT_RANDOM:
        return np.int64(task.uncovered[node])
    return max(np.int64(task.coverage[node]) - np.int64(task.counts[node]), np.int64(0))


@kernel
def under_covered_without(world: World, task: TaskState, rule: int, node: int, other: int) -> int:
    """The value of `under_covered` if `other` were not a neighbour."""
    if rule > COVER_AT_RANDOM:
        return max(np.int64(task.coverage[node]) - np.int64(task.counts[node]) + 1, np.int64(0))
    under = np.int64(task.uncovered[node])
    i = world.starts[node]
    j = world.starts[other]
    i_end = i + world.sizes[node]
    j_end = j + world.sizes[other]
    while i < i_end and j < j_end:
        a = world.topics[i]
        b = world.topics[j]
        if a == b:
            under += np.int64(task.cover[i]) == np.int64(task.coverage[node])
        i += a <= b
        j += b <= a
    return under


@kernel
def shared_places(world: World, node: int, other: int) -> U64:
    """Bits for those of the first 64 topics of `node` that `other` holds too."""
    places = U64(0)
    start = world.starts[node]
    i = start
    j = world.starts[other]
    i_end = start + min(np.int64(world.sizes[node]), 64)
    j_end = j + world.sizes[other]
    while i < i_end and j < j_end:
        a = world.topics[i]
        b = world.topics[j]
        if a == b:
            places |= U64(1) << U64(i - start)
        i += a <= b
        j += b <= a
    return places


@kernel
def exact_places(world: World, task: TaskState, node: int) -> U64:
    """Bits for those of the first 64 topics that exactly K neighbours hold: losing one neighbour uncovers them."""
    places = U64(0)
    start = world.starts[node]
    for i in range(min(np.int64(world.sizes[node]), 64)):
        if np.int64(task.cover[start + i]) == np.int64(task.coverage[node]):
            places |= U64(1) << U64(i)
    return places


@kernel
def count_places(places: U64) -> int:
    """The number of set bits."""
    places -= (places >> U64(1)) & U64(0x5555_5555_5555_5555)
    places = (places & U64(0x3333_3333_3333_3333)) + ((places >> U64(2)) & U64(0x3333_3333_3333_3333))
    places = (places + (places >> U64(4))) & U64(0x0F0F_0F0F_0F0F_0F0F)
    return np.int64((places * U64(0x0101_0101_0101_0101)) >> U64(56))


@kernel
def shared_count(world: World, one: int, other: int) -> int:
    """The number of topics that two nodes share."""
    shared = 0
    i = world.starts[one]
    j = world.starts[other]
    i_end = i + world.sizes[one]
    j_end = j + world.sizes[other]
    while i < i_end and j < j_end:
        a = world.topics[i]
        b = world.topics[j]
        shared += a == b
        i += a <= b
        j += b <= a
    return shared


@kernel
def count_cover(world: World, task: TaskState, node: int, other: int, change: int) -> None:
    """Count that the topics of `other` cover those of `node` once more (change 1) or once less (-1)."""
    coverage = np.int64(task.coverage[node])
    i = world.starts[node]
    j = world.starts[other]
    i_end = i + world.sizes[node]
    j_end = j + world.sizes[other]
    while i < i_end and j < j_end:
        a = world.topics[i]
        b = world.topics[j]
        if a == b:
            before = np.int64(task.cover[i])
            task.cover[i] = before + change
            task.uncovered[node] += np.int64(before + change < coverage) - np.int64(before < coverage)
        i += a <= b
        j += b <= a


@kernel
def count_anew(world: World, task: TaskState, node: int) -> None:
    """Recount the coverage of a node, after an interest or K has changed."""
    task.quiet[node] = False
    task.asleep[node] = False
    start = world.starts[node]
    task.cover[start : start + world.sizes[node]] = 0
    task.uncovered[node] = world.sizes[node] if task.coverage[node] > 0 else 0
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        task.shared[slot] = shared_places(world, node, np.int64(task.nodes[slot]))
        count_cover(world, task, node, np.int64(task.nodes[slot]), 1)


@kernel
def slot_of(task: TaskState, node: int, other: int) -> int:
    """The slot of `other` among the neighbours of `node`, or -1."""
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        if task.nodes[slot] == other:
            return slot
    return -1


@kernel
def has_room(world: World, task: TaskState, rule: int, margin: int, node: int) -> bool:
    """Whether the node has fewer than L_max + Margin neighbours."""
    return task.counts[node] < degree_max(world, task, rule, node) + margin


@kernel
def add_neighbour(
    world: World, task: TaskState, node: int, other: int, degree: int, target: int, told_degree: int, told_target: int
) -> None:
    """`other` becomes a neighbour of `node`.

    `other` last sent (degree, target) to `node`; `node` last sent (told_degree, told_target) to `other`.
    """
    slot = task.starts[node] + task.counts[node]
    task.counts[node] += 1
    task.quiet[node] = False
    task.moved[node] = True
    task.nodes[slot] = other
    task.degrees[slot] = degree
    task.targets[slot] = target
    task.told_degrees[slot] = told_degree
    task.told_targets[slot] = told_target
    task.asked_degrees[slot] = NEVER
    task.asked_targets[slot] = NEVER
    task.met[slot] = False
    task.is_bridge[slot] = False
    task.shared[slot] = shared_places(world, node, other)
    theirs = slot_of(task, other, node)
    task.mirrors[slot] = theirs
    if theirs >= 0:
        task.mirrors[theirs] = slot
    count_cover(world, task, node, other, 1)


@kernel
def remove_neighbour(world: World, task: TaskState, node: int, other: int) -> bool:
    """Remove a neighbour; returns whether it was one."""
    slot = slot_of(task, node, other)
    if slot < 0:
        return False
    count_cover(world, task, node, other, -1)
    task.quiet[node] = False
    task.moved[node] = True
    task.counts[node] -= 1
    last = task.starts[node] + task.counts[node]
    task.nodes[slot] = task.nodes[last]
    task.degrees[slot] = task.degrees[last]
    task.targets[slot] = task.targets[last]
    task.told_degrees[slot] = task.told_degrees[last]
    task.told_targets[slot] = task.told_targets[last]
    task.asked_degrees[slot] = task.asked_degrees[last]
    task.asked_targets[slot] = task.asked_targets[last]
    task.met[slot] = task.met[last]
    task.is_bridge[slot] = task.is_bridge[last]
    task.shared[slot] = task.shared[last]
    task.mirrors[slot] = task.mirrors[last]
    if slot != last and task.mirrors[slot] >= 0:
        task.mirrors[task.mirrors[slot]] = slot
    return True


@kernel
def lose_neighbour(world: World, task: TaskState, rule: int, node: int, other: int) -> None:
    """REMOVECONNECTION (Figure 4, lines 34-38): remove a neighbour, and wake the task by the condition of line 37."""
    if not remove_neighbour(world, task, node, other):
        return
    if np.int64(task.counts[node]) < np.int64(task.target[node]) or under_covered(task, rule, node) > 0:
        task.asleep[node] = False


@kernel
def grow_target(world: World, task: TaskState, rule: int, margin: int, node: int) -> None:
    """Figure 4, lines 4-5 and 15-16: L grows with the degree, up to L_max."""
    target = np.int64(task.target[node])
    if target < degree_max(world, task, rule, node) and np.int64(task.counts[node]) < target + margin:
        task.target[node] = target + 1
