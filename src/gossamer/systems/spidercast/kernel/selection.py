"""Selection of the node to connect to, the neighbour to disconnect from, and the node to redirect to."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, finish
from gossamer.kernels.jit import kernel
from gossamer.systems.spidercast.kernel.coverage import (
    count_places,
    exact_places,
    shared_count,
    slot_of,
    under_covered_without,
)
from gossamer.systems.spidercast.kernel.state import (
    ASK_CHANGED,
    ASK_ONCE,
    COUNT_RANDOM,
    COUNT_SIMILAR,
    COVER_AT_RANDOM,
    COVER_GREEDILY,
    NEVER,
    TaskState,
    TurnRules,
    World,
)


@kernel
def _set_blocked(world: World, task: TaskState, node: int, on: bool) -> None:
    """Block (or unblock) the node, its neighbours and its quarantined peers, so that they are not chosen."""
    mark(world.blocked, node, on)
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        mark(world.blocked, np.int64(task.nodes[slot]), on)
    for i in range(task.quarantine.shape[1]):
        if task.quarantine[node, i] >= 0:
            mark(world.blocked, np.int64(task.quarantine[node, i]), on)


@kernel
def mark(bits: NDArray[np.uint64], node: int, on: bool) -> None:
    """Set or clear a node's bit."""
    bit = U64(1) << U64(node & 63)
    if on:
        bits[node >> 6] |= bit
    else:
        bits[node >> 6] &= ~bit


@kernel
def is_marked(bits: NDArray[np.uint64], node: int) -> bool:
    """Whether a node's bit is set."""
    return (bits[node >> 6] >> U64(node & 63)) & U64(1) != U64(0)


@kernel
def _lowest(word: U64) -> int:
    """The position of the lowest set bit."""
    position = 0
    for width in (32, 16, 8, 4, 2, 1):
        if (word & ((U64(1) << U64(width)) - U64(1))) == U64(0):
            word >>= U64(width)
            position += width
    return position


@kernel
def _best_in_full_view(world: World, wanted: NDArray[np.int32], count: int, key: U64, reading: TurnRules) -> int:
    """The unblocked node that holds the most wanted topics (at least one), or -1.

    The counts of all nodes are stored in binary, one bit plane for each digit: adding a topic to the counts of 64 nodes
    takes one word operation for each plane.
    """
    words = len(world.everybody)
    planes = world.planes
    carry = planes[planes.shape[0] - 1]
    levels = 0
    for i in range(count):
        for w in range(words):
            carry[w] = world.holders[wanted[i], w]
        if (i + 1) >> levels:
            planes[levels, :] = 0
            levels += 1
        for level in range(levels):
            plane = planes[level]
            for w in range(words):
                both = plane[w] & carry[w]
                plane[w] ^= carry[w]
                carry[w] = both
    best = 0
    best_draw = U64(0)
    chosen = -1
    for w in range(words):
        tied = world.everybody[w] & ~world.blocked[w]
        value = 0
        for level in range(levels - 1, -1, -1):
            some = tied & planes[level, w]
            if some != U64(0):
                tied = some
                value += 1 << level
        if value == 0 or value < best:
            continue
        if value > best:
            best = value
            chosen = -1
        while tied != U64(0):
            node = w * 64 + _lowest(tied)
            tied &= tied - U64(1)
            bits = finish(key + U64(node) * ITEM_FACTOR)
            wins = bits <= reading.coin_limit if reading.scan else bits < best_draw
            if chosen < 0 or wins:
                chosen = node
                best_draw = bits
    return chosen


@kernel
def _random_in_full_view(world: World, wanted: NDArray[np.int32], count: int, anybody: bool, key: U64) -> int:
    """The unblocked node with the smallest draw that holds a wanted topic (with `anybody`: any node), or -1."""
    best_draw = U64(0)
    chosen = -1
    for w in range(len(world.everybody)):
        allowed = world.everybody[w] & ~world.blocked[w]
        if not anybody:
            holding = U64(0)
            for i in range(count):
                holding |= world.holders[wanted[i], w]
            allowed &= holding
        if allowed == U64(0):
            continue
        for bit in range(64):
            if (allowed >> U64(bit)) & U64(1) == U64(0):
                continue
            node = w * 64 + bit
            bits = finish(key + U64(node) * ITEM_FACTOR)
            if chosen < 0 or bits < best_draw:
                chosen = node
                best_draw = bits
    return chosen


@kernel
def _choose_in_partial_view(world: World, node: int, wanted: NDArray[np.int32], count: int, rule: int, key: U64) -> int:
    """The choice by any rule among the slots of a partial view."""
    for i in range(count):
        world.wanted[wanted[i]] = True
    node_count = len(world.sizes)
    best = 0
    best_draw = U64(0)
    chosen = -1
    candidate = world.offsets[node]
    for _ in range(world.view_size):
        other = candidate
        candidate += world.strides[node]
        if candidate >= node_count:
            candidate -= node_count
        if not world.present[other]:
            continue
        value = 0
        if rule == COUNT_RANDOM:
            value = 1
        else:
            for j in range(world.starts[other], world.starts[other] + world.sizes[other]):
                value += world.wanted[world.topics[j]]
            if rule == COVER_AT_RANDOM:
                value = min(value, 1)
        if value == 0 or value < best or is_marked(world.blocked, other):
            continue
        bits = finish(key + U64(other) * ITEM_FACTOR)
        if value > best or bits < best_draw or (bits == best_draw and other < chosen):
            best = value
            chosen = other
            best_draw = bits
    for i in range(count):
        world.wanted[wanted[i]] = False
    return chosen


@kernel
def fill_masks(world: World, rows: NDArray[np.uint16], topic_count: int) -> None:
    """Compute the masks of every node; interests must have at most 16 topics and never change.

    `rows` is a packed copy of each node's topics: uint16[n, width], padded with `topic_count`. TurnRules a slot is then
    one random access to a few bytes, and the processor runs many of them at the same time.
    """
    node_count, width = rows.shape
    bits = np.zeros(topic_count + 1, np.uint32)
    filled = 0
    for node in range(node_count):
        for i in range(world.sizes[node]):
            bits[rows[node, i]] = np.uint32(1 << i)
        other = world.offsets[node]
        for slot in range(world.view_size):
            mask = np.uint32(0)
            for j in range(width):
                mask |= bits[rows[other, j]]
            if mask:
                world.masks[filled] = np.uint32(slot << 16) | mask
                filled += 1
            other += world.strides[node]
            if other >= node_count:
                other -= node_count
        world.mask_starts[node + 1] = filled
        for i in range(world.sizes[node]):
            bits[rows[node, i]] = 0


@kernel
def _count_masks(masks: NDArray[np.uint32], wanted: np.uint32, counts: NDArray[np.uint8]) -> int:
    """Count the wanted topics of each slot; returns the largest count. The loop can be vectorised."""
    most = np.uint8(0)
    for i in range(len(masks)):
        mask = masks[i] & wanted
        mask = mask - ((mask >> np.uint32(1)) & np.uint32(0x5555))
        mask = (mask & np.uint32(0x3333)) + ((mask >> np.uint32(2)) & np.uint32(0x3333))
        mask = (mask + (mask >> np.uint32(4))) & np.uint32(0x0F0F)
        count = np.uint8((mask + (mask >> np.uint32(8))) & np.uint32(0x1F))
        counts[i] = count
        most = max(most, count)
    return np.int64(most)


@kernel
def _choose_by_masks(world: World, node: int, wanted: int, rule: int, key: U64) -> int:
    """The result of `_choose_in_partial_view`, with `wanted` as bits of the node's own topics.

    The highest count is tried first: few slots have it, and only these need random accesses to their nodes.
    """
    node_count = len(world.sizes)
    counts = world.counts
    masks = world.masks[world.mask_starts[node] : world.mask_starts[node + 1]]
    level = _count_masks(masks, np.uint32(wanted), counts)
    best_draw = U64(0)
    chosen = -1
    while level > 0 and chosen < 0:
        lowest = np.uint8(1) if rule == COVER_AT_RANDOM else np.uint8(level)
        for i in range(len(masks)):
            if counts[i] < lowest:
                continue
            other = (world.offsets[node] + np.int64(masks[i] >> np.uint32(16)) * world.strides[node]) % node_count
            if not world.present[other] or is_marked(world.blocked, other):
                continue
            bits = finish(key + U64(other) * ITEM_FACTOR)
            if chosen < 0 or bits < best_draw or (bits == best_draw and other < chosen):
                chosen = other
                best_draw = bits
        # Nodes with a higher count were examined before and cannot be chosen.
        level = 0 if rule == COVER_AT_RANDOM else level - 1
    return chosen


@kernel
def next_coverage_node(
    world: World,
    task: TaskState,
    rule: int,
    node: int,
    key: U64,
    reading: TurnRules,
    wanted: NDArray[np.int32],
) -> int:
    """Figure 5: the node to connect to next, or -1."""
    count = 0
    places = 0
    start = world.starts[node]
    if rule != COUNT_RANDOM:
        for i in range(start, start + world.sizes[node]):
            if rule == COUNT_SIMILAR or task.cover[i] < task.coverage[node]:
                wanted[count] = world.topics[i]
                places |= 1 << (i - start)
                count += 1
    _set_blocked(world, task, node, True)
    if len(world.mask_starts) > 1 and rule != COUNT_RANDOM:
        chosen = _choose_by_masks(world, node, places, rule, key)
    elif world.view_size > 0:
        chosen = _choose_in_partial_view(world, node, wanted, count, rule, key)
    elif rule in (COVER_GREEDILY, COUNT_SIMILAR):
        chosen = _best_in_full_view(world, wanted, count, key, reading)
    else:
        chosen = _random_in_full_view(world, wanted, count, rule == COUNT_RANDOM, key)
    _set_blocked(world, task, node, False)
    return chosen


@kernel
def next_redirect(task: TaskState, node: int) -> int:
    """The redirect candidate if it is still valid, or -1; it can be used once."""
    peer = np.int64(task.redirect[node])
    task.redirect[node] = -1
    if peer < 0 or peer == node or slot_of(task, node, peer) >= 0:
        return -1
    for i in range(task.quarantine.shape[1]):
        if task.quarantine[node, i] == peer:
            return -1
    return peer


@kernel
def _was_asked(task: TaskState, slot: int, ask_again: int) -> bool:
    """Whether the neighbour in a slot refused a DISCONNECT and must not be asked again yet."""
    if ask_again == ASK_CHANGED:
        return task.asked_degrees[slot] == task.degrees[slot] and task.asked_targets[slot] == task.targets[slot]
    return ask_again == ASK_ONCE and task.asked_degrees[slot] != NEVER


@kernel
def disconnect_candidate(
    world: World, task: TaskState, rule: int, reading: TurnRules, node: int, key: U64
) -> tuple[int, int]:
    """Figure 3: (neighbour, number of topics that are under-covered without it), or (-1, 0)."""
    chosen = -1
    fewest = 0
    best_draw = U64(0)
    # The mask of a neighbour has the topics that it covers; only nodes with more than 64 topics compare interests.
    masked = rule <= COVER_AT_RANDOM and world.sizes[node] <= 64
    exact = exact_places(world, task, node) if masked else U64(0)
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        least = np.int64(task.targets[slot]) + reading.parts_above_degree
        if np.int64(task.degrees[slot]) < least or _was_asked(task, slot, reading.ask_again):
            continue
        if task.is_bridge[slot]:
            continue
        other = np.int64(task.nodes[slot])
        if masked:
            under = np.int64(task.uncovered[node]) + count_places(task.shared[slot] & exact)
        else:
            under = under_covered_without(world, task, rule, node, other)
        bits = finish(key + U64(other) * ITEM_FACTOR)
        if (
            chosen < 0
            or under < fewest
            or (under == fewest and (bits < best_draw or (bits == best_draw and other < chosen)))
        ):
            chosen = other
            fewest = under
            best_draw = bits
    return chosen, fewest


@kernel
def redirect_candidate(world: World, task: TaskState, margin: int, node: int, sender: int, key: U64) -> int:
    """Figure 4, lines 7-8: the neighbour with room that shares the most topics with the sender, or -1."""
    chosen = -1
    most = 0
    best_draw = U64(0)
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        if np.int64(task.degrees[slot]) >= np.int64(task.targets[slot]) + margin:
            continue
        other = np.int64(task.nodes[slot])
        shared = shared_count(world, other, sender)
        bits = finish(key + U64(other) * ITEM_FACTOR)
        if (
            chosen < 0
            or shared > most
            or (shared == most and (bits < best_draw or (bits == best_draw and other < chosen)))
        ):
            chosen = other
            most = shared
            best_draw = bits
    return chosen
