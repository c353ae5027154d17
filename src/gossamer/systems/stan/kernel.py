"""StAN for a whole topic at once: in lockstep, the same views as `systems/stan/machine.py`, entry by entry.

Topics are independent of each other, so a cycle processes one topic after another, and the state of a topic is small
enough for the cache. State of a topic with s members and room for c entries in each view:

    members  int32[s]     the nodes of the topic, ascending
    sizes    int32[s]     the largest number of peers that each view may have
    counts   int32[s]     the number of peers in each view
    contacts int32[s]     the node that introduced a newcomer (-1: none)
    peers    int32[s, c]  node ids, lightest first
    weights  uint64[s, c] the weights of these peers

Cost of a cycle: O(s * hops * view); a view that changes costs the same again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import COUNTER_FACTOR, ITEM_FACTOR, STEPS, U64, below, draw, draw_base, finish, unit
from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids
from gossamer.model.values.draw import Purpose

WEIGHT = U64(Purpose.STAN_WEIGHT)
WALK = U64(Purpose.STAN_WALK)
RAISE = U64(Purpose.STAN_RAISE)
SHRINK = U64(Purpose.STAN_SHRINK)
FIRST = U64(Purpose.STAN_FIRST)
NOBODY = U64(0)

# Positions in the array of message counts.
COLLECTS, COLLECTEDS, HOLDS, RELEASES, ENTERS, WELCOMES, LEAVES = range(7)
KINDS = ("Collect", "Collected", "Hold", "Release", "Enter", "Welcome", "Leave")
# A rare event that tests require: an empty view that was refilled with the nodes that have this node in their view.
REFILLS = len(KINDS)
COUNTERS = REFILLS + 1


class TopicArrays(NamedTuple):
    """The views of one topic; the module's docstring has the shapes."""

    members: Ids
    sizes: Ids
    counts: Ids
    contacts: Ids
    peers: Ids
    weights: NDArray[np.uint64]


class TopicRules(NamedTuple):
    """The parameters of the machine in the form that the kernel needs, and the seeds."""

    seed: U64
    topic_seed: U64
    walk_hops: int
    view_factor: float
    weigh_sources: bool
    view_min: int
    view_max: int


@kernel
def draw_first_views(topic_seed: U64, members: Ids, probability: float, owners: Ids, peers: Ids) -> int:
    """A directed random graph: each member has each other member in its view with this probability.

    Fills `owners` and `peers` with positions among the members, both ascending, as far as there is room, and returns
    the number of links: call it once with empty arrays to learn the size. It jumps from one link to the next (Batagelj
    and Brandes 2005), so the cost is the number of links.
    """
    count = len(members)
    filled = 0
    certain = probability >= 1.0
    scale = 0.0 if certain else 1.0 / np.log1p(-probability)
    for place in range(count):
        base = draw_base(topic_seed, U64(members[place]), FIRST, U64(0))
        other = -1
        while True:
            if certain:
                other += 1
            else:
                jump = np.log1p(-unit(finish(base))) * scale
                base += COUNTER_FACTOR
                if jump >= count:
                    break
                other += 1 + np.int64(jump)
            # Positions among the other members: the owner itself is left out.
            if other >= count - 1:
                break
            if filled < len(owners):
                owners[filled] = place
                peers[filled] = other if other < place else other + 1
            filled += 1
    return filled


@kernel
def is_strong(count: int, owners: Ids, peers: Ids) -> bool:
    """Whether the graph is strongly connected: the first member reaches all others, and all others reach it."""
    starts = np.zeros((2, count + 1), np.int64)
    ends = np.empty((2, len(owners)), np.int32)
    for way in range(2):
        sources = owners if way == 0 else peers
        targets = peers if way == 0 else owners
        for i in range(len(sources)):
            starts[way, sources[i] + 1] += 1
        for place in range(count):
            starts[way, place + 1] += starts[way, place]
        filled = starts[way, :count].copy()
        for i in range(len(sources)):
            ends[way, filled[sources[i]]] = targets[i]
            filled[sources[i]] += 1
        seen = np.zeros(count, np.bool_)
        queue = np.empty(count, np.int32)
        queue[0] = 0
        seen[0] = True
        found = 1
        head = 0
        while head < found:
            place = queue[head]
            head += 1
            for j in range(starts[way, place], starts[way, place + 1]):
                other = ends[way, j]
                if not seen[other]:
                    seen[other] = True
                    queue[found] = other
                    found += 1
        if found < count:
            return False
    return True


@kernel
def _add(topic: TopicArrays, place: int, key: U64, node: int) -> bool:
    """Offer a node to a view, which keeps it if it is light enough; returns whether. `key` is the owner's draw base."""
    if node == topic.members[place]:
        return False
    count = np.int64(topic.counts[place])
    size = np.int64(topic.sizes[place])
    weight = finish(key + U64(node) * ITEM_FACTOR)
    weights = topic.weights[place]
    peers = topic.peers[place]
    if count >= size and weight > weights[count - 1]:
        return False
    at = 0
    while at < count and (weights[at] < weight or (weights[at] == weight and peers[at] < node)):
        at += 1
    if at >= size or (at < count and peers[at] == node):
        return False
    count = min(count + 1, size)
    for i in range(count - 1, at, -1):
        weights[i] = weights[i - 1]
        peers[i] = peers[i - 1]
    weights[at] = weight
    peers[at] = node
    topic.counts[place] = count
    return True


@kernel
def _weigh(topic: TopicArrays, seed: U64, place: int, offered: Ids, count: int, counters: NDArray[np.int64]) -> None:
    """Offer nodes to a view, and count the HOLD and RELEASE messages for nodes that entered or left the view."""
    before = topic.counts[place]
    old = topic.weights[place, :before].copy()
    key = draw_base(seed, U64(topic.members[place]), WEIGHT, NOBODY)
    size = topic.sizes[place]
    weights = topic.weights[place]
    held = before
    changed = False
    for i in range(count):
        # Nearly all nodes that a walk finds are too heavy: skip the function call for them.
        if held >= size and finish(key + U64(offered[i]) * ITEM_FACTOR) > weights[held - 1]:
            continue
        if _add(topic, place, key, offered[i]):
            changed = True
            held = topic.counts[place]
    if not changed:
        return
    after = topic.counts[place]
    new = topic.weights[place]
    kept = 0
    i = 0
    for j in range(after):
        while i < before and old[i] < new[j]:
            i += 1
        kept += i < before and old[i] == new[j]
    counters[HOLDS] += after - kept
    counters[RELEASES] += before - kept


@kernel
def begin_views(topic: TopicArrays, seed: U64, owners: Ids, peers: Ids, counters: NDArray[np.int64]) -> None:
    """Give members their first views, as positions; the first size of a view is also its size limit."""
    for i in range(len(owners)):
        topic.sizes[owners[i]] += 1
    for i in range(len(owners)):
        key = draw_base(seed, U64(topic.members[owners[i]]), WEIGHT, NOBODY)
        _add(topic, owners[i], key, topic.members[peers[i]])
    counters[HOLDS] += len(owners)
    for place in range(len(topic.members)):
        topic.sizes[place] = max(topic.sizes[place], 1)


@kernel
def _holders(topic: TopicArrays, node: int, found: Ids) -> int:
    """Write the members that have `node` in their view into `found`; returns their number."""
    count = 0
    for place in range(len(topic.members)):
        for i in range(topic.counts[place]):
            if topic.peers[place, i] == node:
                found[count] = topic.members[place]
                count += 1
    return count


@kernel
def enter(
    topic: TopicArrays, rules: TopicRules, now_us: U64, place: int, contact: int, counters: NDArray[np.int64]
) -> None:
    """The newcomer at `place` asks the member at `contact`, which welcomes it and enlarges its own view."""
    counters[ENTERS] += 1
    if contact < 0:
        return
    counters[WELCOMES] += 1
    me = topic.members[place]
    count = np.int64(topic.counts[contact])
    offered = np.empty(count + 1, np.int32)
    offered[0] = topic.members[contact]
    offered[1:] = topic.peers[contact, :count]
    wanted = _holders(topic, topic.members[contact], np.empty(len(topic.members), np.int32))
    bits = draw(rules.topic_seed, U64(topic.members[contact]), RAISE, now_us, U64(me))
    whole = np.int64(rules.view_factor)
    more = whole + np.int64(unit(bits) < rules.view_factor - whole)
    topic.sizes[contact] = min(topic.sizes[contact] + more, rules.view_max)
    newcomer = np.empty(1, np.int32)
    newcomer[0] = me
    _weigh(topic, rules.seed, contact, newcomer, 1, counters)
    topic.sizes[place] = max(rules.view_min, min(wanted, rules.view_max))
    _weigh(topic, rules.seed, place, offered, count + 1, counters)


@kernel
def leave(
    topic: TopicArrays, rules: TopicRules, now_us: U64, place: int, says_so: bool, counters: NDArray[np.int64]
) -> None:
    """The member at `place` departs: it is removed from all views, and some views shrink.

    With `says_so` it sends LEAVE messages; otherwise it has crashed.
    """
    node = topic.members[place]
    told = np.int64(topic.counts[place])
    for other in range(len(topic.members)):
        at = -1
        for i in range(topic.counts[other]):
            if topic.peers[other, i] == node:
                at = i
        if at < 0:
            continue
        mutual = False
        for i in range(topic.counts[place]):
            mutual |= topic.peers[place, i] == topic.members[other]
        told += not mutual
        counters[RELEASES] += not says_so
        for i in range(at, topic.counts[other] - 1):
            topic.peers[other, i] = topic.peers[other, i + 1]
            topic.weights[other, i] = topic.weights[other, i + 1]
        topic.counts[other] -= 1
        size = topic.sizes[other]
        bits = draw(rules.topic_seed, U64(topic.members[other]), SHRINK, now_us, U64(node))
        if size > rules.view_min and unit(bits) * size < rules.view_factor:
            topic.sizes[other] = size - 1
    if says_so:
        counters[LEAVES] += told


@kernel
def walk_topic(topic: TopicArrays, rules: TopicRules, now_us: U64, places: Ids, counters: NDArray[np.int64]) -> None:
    """A walk of every member, in the order of ids.

    `places` has an entry for every node, and all entries are -1 before and after the call.
    """
    count = len(topic.members)
    for place in range(count):
        places[topic.members[place]] = place
    # The nodes that a walk finds; an empty view has up to as many candidates as the topic has members.
    found = np.empty(max((rules.walk_hops + 1) * (topic.peers.shape[1] + 1), count), np.int32)
    for place in range(count):
        if topic.counts[place] == 0:
            held = _holders(topic, topic.members[place], found)
            if held == 0:
                contact = topic.contacts[place]
                if contact >= 0:
                    enter(topic, rules, now_us, place, places[contact], counters)
                continue
            counters[REFILLS] += 1
            _weigh(topic, rules.seed, place, found, held, counters)
        _walk(topic, rules, now_us, place, places, found, counters)
    for place in range(count):
        places[topic.members[place]] = -1


@kernel
def _walk(
    topic: TopicArrays, rules: TopicRules, now_us: U64, place: int, places: Ids, found: Ids, counters: NDArray[np.int64]
) -> None:
    me = topic.members[place]
    steps = now_us * STEPS
    bits = draw(rules.topic_seed, U64(me), WALK, steps + U64(rules.walk_hops + 1), U64(me))
    here = np.int64(places[topic.peers[place, below(bits, topic.counts[place])]])
    filled = 0
    hops_left = rules.walk_hops
    while True:
        counters[COLLECTS] += 1
        visited = topic.members[here]
        size = np.int64(topic.counts[here])
        found[filled] = visited
        for i in range(size):
            found[filled + 1 + i] = topic.peers[here, i]
        filled += 1 + size
        onward = -1
        if hops_left > 0 and size > 0:
            bits = draw(rules.topic_seed, U64(visited), WALK, steps + U64(hops_left), U64(me))
            onward = np.int64(places[topic.peers[here, below(bits, size)]])
        elif here == place:
            _weigh(topic, rules.seed, place, found, filled, counters)
            return
        if rules.weigh_sources and here != place:
            full = topic.counts[here] >= topic.sizes[here]
            key = draw_base(rules.seed, U64(visited), WEIGHT, NOBODY)
            if _add(topic, here, key, me):
                counters[HOLDS] += 1
                counters[RELEASES] += full
        if onward < 0:
            break
        here = onward
        hops_left -= 1
    counters[COLLECTEDS] += 1
    _weigh(topic, rules.seed, place, found, filled, counters)


@kernel
def topic_fingerprint(topic: TopicArrays) -> U64:
    """A hash of the views of a topic; the order does not matter."""
    total = U64(0)
    for place in range(len(topic.members)):
        for i in range(topic.counts[place]):
            total += finish((U64(topic.members[place]) << U64(32)) + U64(topic.peers[place, i]))
    return total
