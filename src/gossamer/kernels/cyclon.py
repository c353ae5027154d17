"""Cyclon for a whole population: in lockstep, the same views as `protocols/membership/cyclon.py`, entry by entry.

State of n nodes with views of v entries, 5v + 11 bytes for each node:

    nodes    uint32[n, v]  the nodes in each view, in the order of the view
    ages     uint8[n, v]   the age of each entry
    sizes    uint8[n]      the number of entries in use
    present  bool[n]       whether the node is present
    contacts uint32[n]     the node that introduces this newcomer (itself: none; TOGETHER: its drawn first contacts)
    joins    uint32[n]     how often the node has asked for an introduction
    waiting  bool[n]       whether the node is a newcomer that has not been introduced yet

A node's row is two adjacent cache lines. A shuffle reads the node's own rows, in order, and the rows of one random
peer. Cost: O(shuffle * view) for each node and cycle; for large populations reading the random row takes most time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import COUNTER_FACTOR, ITEM_FACTOR, STEPS, U64, below, draw, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

OLDEST_AGE = np.uint8(255)
SHUFFLE = U64(Purpose.CYCLON_SHUFFLE)
REPLY = U64(Purpose.CYCLON_REPLY)
WALK = U64(Purpose.CYCLON_WALK)
REPLACE = U64(Purpose.CYCLON_REPLACE)
CONTACTS = U64(Purpose.CONTACTS)

# A value of `contacts`: the node started at the same time as all others, and its contacts can be drawn again.
TOGETHER = np.uint32(2**32 - 1)

# Positions in the array of message counts.
REQUESTS, REPLIES, JOINS, WALKS, INTRODUCTIONS = range(5)
KINDS = ("ShuffleRequest", "ShuffleReply", "Join", "JoinWalk", "Introduction")


class CyclonState(NamedTuple):
    """The state of a population; the module's docstring has the shapes."""

    nodes: NDArray[np.uint32]
    ages: NDArray[np.uint8]
    sizes: NDArray[np.uint8]
    present: NDArray[np.bool_]
    contacts: NDArray[np.uint32]
    joins: NDArray[np.uint32]
    waiting: NDArray[np.bool_]


def cyclon_state(node_count: int, view_size: int) -> CyclonState:
    """A population in which no node is present yet."""
    return CyclonState(
        nodes=np.zeros((node_count, view_size), np.uint32),
        ages=np.zeros((node_count, view_size), np.uint8),
        sizes=np.zeros(node_count, np.uint8),
        present=np.zeros(node_count, np.bool_),
        contacts=np.arange(node_count, dtype=np.uint32),
        joins=np.zeros(node_count, np.uint32),
        waiting=np.zeros(node_count, np.bool_),
    )


@kernel
def draw_contacts(seed: U64, node: int, node_count: int, out: NDArray[np.uint32]) -> int:
    """Fill `out` with distinct random nodes other than `node` and return their number."""
    wanted = min(out.shape[0], node_count - 1)
    base = draw_base(seed, U64(node), CONTACTS, U64(0))
    found = 0
    step = U64(0)
    while found < wanted:
        other = below(finish(base + step * COUNTER_FACTOR), node_count)
        step += U64(1)
        if other == node or _holds(out, found, np.uint32(other)):
            continue
        out[found] = other
        found += 1
    return found


@kernel
def start_together(seed: U64, state: CyclonState) -> None:
    """Start all nodes at the same time, each with a view of random contacts."""
    node_count = state.nodes.shape[0]
    for node in range(node_count):
        state.sizes[node] = draw_contacts(seed, node, node_count, state.nodes[node])
        state.ages[node, :] = 0
        state.present[node] = True
        state.contacts[node] = TOGETHER


@kernel
def _holds(view: NDArray[np.uint32], size: int, node: np.uint32) -> bool:
    """Whether `node` is in the view. Without an early exit the compiler can compare several entries at once."""
    found = np.uint32(0)
    for i in range(size):
        found |= np.uint32(view[i] == node)
    return found != np.uint32(0)


@kernel
def _oldest(ages: NDArray[np.uint8], size: int) -> int:
    """The first position with the highest age. The loop for the maximum comes first because it can be vectorised."""
    highest = np.uint8(0)
    for i in range(size):
        highest = max(highest, ages[i])
    oldest = 0
    while ages[oldest] != highest:
        oldest += 1
    return oldest


@kernel
def _choose(base: U64, count: int, view: NDArray[np.uint32], ages: NDArray[np.uint8], size: int) -> None:
    """Move `count` random entries to the front; `base` is the key of the first draw."""
    total = base
    for step in range(count):
        other = step + below(finish(total), size - step)
        total += COUNTER_FACTOR
        view[step], view[other] = view[other], view[step]
        ages[step], ages[other] = ages[other], ages[step]


@kernel
def _leave_out(view: NDArray[np.uint32], ages: NDArray[np.uint8], size: int, count: int, node: np.uint32) -> int:
    """Move `node` out of the first `count` entries if it is among them; returns how many entries can be sent."""
    if not _holds(view, count, node):
        return count
    i = 0
    while view[i] != node:
        i += 1
    # The next entry takes its position; if there is none, one entry fewer is sent.
    other = count if count < size else count - 1
    view[i], view[other] = view[other], view[i]
    ages[i], ages[other] = ages[other], ages[i]
    return count if count < size else count - 1


@kernel
def _take_in(
    view: NDArray[np.uint32],
    ages: NDArray[np.uint8],
    size: int,
    given: int,
    nodes_in: NDArray[np.uint32],
    ages_in: NDArray[np.uint8],
    count_in: int,
) -> int:
    """Put received entries into empty slots, then over the first `given` entries; returns the new size.

    The received entries never contain the receiver: senders leave it out.
    """
    replaced = 0
    for i in range(count_in):
        node = nodes_in[i]
        if _holds(view, size, node):
            continue
        if size < view.shape[0]:
            view[size] = node
            ages[size] = ages_in[i]
            size += 1
        elif replaced < given:
            view[replaced] = node
            ages[replaced] = ages_in[i]
            replaced += 1
        else:
            break
    return size


@kernel
def cyclon_cycle(
    seed: U64,
    now_us: U64,
    shuffle_length: int,
    walk_length: int,
    state: CyclonState,
    counts: NDArray[np.int64],
) -> None:
    """One maintenance turn of every present node, in the order of ids; adds the messages sent to `counts`."""
    for me in range(state.nodes.shape[0]):
        if state.present[me]:
            cyclon_turn(seed, now_us, shuffle_length, walk_length, state, me, counts)


@kernel
def cyclon_turn(
    seed: U64,
    now_us: U64,
    shuffle_length: int,
    walk_length: int,
    state: CyclonState,
    me: int,
    counts: NDArray[np.int64],
) -> int:
    """One maintenance turn of a node; returns the peer that it sent a shuffle to, or -1."""
    counter = now_us * STEPS
    size = np.int64(state.sizes[me])
    if size == 0 or state.waiting[me]:
        _join(seed, now_us, walk_length, state, me, counts)
        return -1
    view = state.nodes[me]
    ages = state.ages[me]
    for i in range(size):
        ages[i] += np.uint8(ages[i] < OLDEST_AGE)
    oldest = _oldest(ages, size)
    peer = np.int64(view[oldest])
    size -= 1
    view[oldest] = view[size]
    ages[oldest] = ages[size]
    given = min(shuffle_length - 1, size)
    _choose(draw_base(seed, U64(me), SHUFFLE, counter), given, view, ages, size)
    state.sizes[me] = size
    counts[REQUESTS] += 1
    if not state.present[peer]:
        return peer
    out_nodes = np.empty(shuffle_length, np.uint32)
    out_ages = np.empty(shuffle_length, np.uint8)
    back_nodes = np.empty(shuffle_length, np.uint32)
    back_ages = np.empty(shuffle_length, np.uint8)
    out_nodes[0] = me
    out_ages[0] = 0
    for i in range(given):
        out_nodes[i + 1] = view[i]
        out_ages[i + 1] = ages[i]
    peer_view = state.nodes[peer]
    peer_ages = state.ages[peer]
    peer_size = np.int64(state.sizes[peer])
    back = min(shuffle_length, peer_size)
    base = draw_base(seed, U64(peer), REPLY, counter) + U64(me) * ITEM_FACTOR
    _choose(base, back, peer_view, peer_ages, peer_size)
    back = _leave_out(peer_view, peer_ages, peer_size, back, np.uint32(me))
    for i in range(back):
        back_nodes[i] = peer_view[i]
        back_ages[i] = peer_ages[i]
    counts[REPLIES] += 1
    state.sizes[peer] = _take_in(peer_view, peer_ages, peer_size, back, out_nodes, out_ages, given + 1)
    state.sizes[me] = _take_in(view, ages, size, given, back_nodes, back_ages, back)
    return peer


@kernel
def _join(seed: U64, now_us: U64, walk_length: int, state: CyclonState, me: int, counts: NDArray[np.int64]) -> None:
    """`me` asks its contact for an introduction; all walks make a hop before any walk makes the next one."""
    view_size = state.nodes.shape[1]
    contact = _next_contact(seed, state, me)
    if contact < 0:
        return
    state.joins[me] += np.uint32(1)
    counts[JOINS] += 1
    if not state.present[contact]:
        return
    if state.sizes[contact] == 0:
        _end_walk(seed, now_us, state, me, contact, 0, 0, counts)
        return
    at = np.full(view_size, contact, np.int64)
    offered = np.full(view_size, -1, np.int64)
    offered_ages = np.zeros(view_size, np.uint8)
    for hops_left in range(walk_length, -1, -1):
        for walk in range(view_size):
            here = at[walk]
            if here < 0:
                continue
            # A walk ends after its last hop, or earlier at a node with an empty view or at the newcomer itself.
            if hops_left == 0 or (hops_left < walk_length and (state.sizes[here] == 0 or here == me)):
                found = _take_newcomer(seed, now_us, state, me, here, walk, hops_left)
                offered[walk] = found[0]
                offered_ages[walk] = found[1]
                at[walk] = -1
                continue
            steps = now_us * STEPS + U64(walk * 16 + hops_left)
            bits = draw(seed, U64(here), WALK, steps, U64(me))
            onward = np.int64(state.nodes[here, below(bits, np.int64(state.sizes[here]))])
            counts[WALKS] += 1
            at[walk] = onward if state.present[onward] else -1
        # Introductions of this round arrive before the hops of the next round.
        _introduce(state, me, offered, offered_ages, counts)


@kernel
def _next_contact(seed: U64, state: CyclonState, me: int) -> int:
    """The node to ask for an introduction, or -1; nodes that started together ask their first contacts in turn."""
    if state.contacts[me] == TOGETHER:
        contacts = np.empty(state.nodes.shape[1], np.uint32)
        found = draw_contacts(seed, me, state.nodes.shape[0], contacts)
        return np.int64(contacts[np.int64(state.joins[me]) % found]) if found else -1
    return np.int64(state.contacts[me]) if state.contacts[me] != np.uint32(me) else -1


@kernel
def _introduce(
    state: CyclonState,
    me: int,
    offered: NDArray[np.int64],
    offered_ages: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """The newcomer adds the entries that walks which ended in this round offered to it."""
    view_size = state.nodes.shape[1]
    for walk in range(view_size):
        node = offered[walk]
        if node < 0:
            continue
        counts[INTRODUCTIONS] += 1
        state.waiting[me] = False
        size = np.int64(state.sizes[me])
        if size < view_size and not _holds(state.nodes[me], size, np.uint32(node)):
            state.nodes[me, size] = node
            state.ages[me, size] = offered_ages[walk]
            state.sizes[me] = size + 1
        offered[walk] = -1


@kernel
def _take_newcomer(
    seed: U64, now_us: U64, state: CyclonState, me: int, here: int, walk: int, hops_left: int
) -> tuple[int, np.uint8]:
    """A walk ends at `here`: add the newcomer to the view; returns the node (-1: none) and age offered to it."""
    size = np.int64(state.sizes[here])
    if here == me or _holds(state.nodes[here], size, np.uint32(me)):
        return -1, np.uint8(0)
    if size < state.nodes.shape[1]:
        state.nodes[here, size] = me
        state.ages[here, size] = 0
        state.sizes[here] = size + 1
        return here, np.uint8(0)
    steps = now_us * STEPS + U64(walk * 16 + hops_left)
    position = below(draw(seed, U64(here), REPLACE, steps, U64(me)), size)
    node = np.int64(state.nodes[here, position])
    age = state.ages[here, position]
    state.nodes[here, position] = me
    state.ages[here, position] = 0
    return node, age


@kernel
def _end_walk(
    seed: U64, now_us: U64, state: CyclonState, me: int, here: int, walk: int, hops_left: int, counts: NDArray[np.int64]
) -> None:
    """A walk that ends where it began, because the view of the contact is empty."""
    offered = np.full(state.nodes.shape[1], -1, np.int64)
    offered_ages = np.zeros(state.nodes.shape[1], np.uint8)
    found = _take_newcomer(seed, now_us, state, me, here, walk, hops_left)
    offered[0] = found[0]
    offered_ages[0] = found[1]
    _introduce(state, me, offered, offered_ages, counts)


@kernel
def cyclon_fingerprint(state: CyclonState) -> U64:
    """A hash of the links between present nodes; each link counts once, and the order does not matter."""
    total = U64(0)
    for node in range(state.nodes.shape[0]):
        if not state.present[node]:
            continue
        for i in range(state.sizes[node]):
            other = np.int64(state.nodes[node, i])
            if not state.present[other]:
                continue
            mutual = _holds(state.nodes[other], np.int64(state.sizes[other]), np.uint32(node))
            if not mutual or node < other:
                total += finish((U64(min(node, other)) << U64(32)) + U64(max(node, other)))
    return total


@kernel
def leave(state: CyclonState, node: int) -> None:
    """A node stops. Cyclon sends nothing; the entries for this node in other views grow old."""
    state.present[node] = False
    state.sizes[node] = 0


@kernel
def arrive(
    seed: U64, now_us: U64, walk_length: int, state: CyclonState, me: int, contact: int, counts: NDArray[np.int64]
) -> None:
    """A node starts with one contact; `contact` is the node itself if it has none."""
    state.present[me] = True
    state.sizes[me] = 0
    state.contacts[me] = contact
    state.joins[me] = 0
    state.waiting[me] = contact != me
    _join(seed, now_us, walk_length, state, me, counts)
