"""A maintenance turn of both tasks with all its consequences; nodes that join, depart and change their interest."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.systems.spidercast.kernel.coverage import (
    add_neighbour,
    count_anew,
    degree_max,
    grow_target,
    has_room,
    lose_neighbour,
    slot_of,
    under_covered,
    under_covered_without,
)
from gossamer.systems.spidercast.kernel.selection import (
    disconnect_candidate,
    mark,
    next_coverage_node,
    next_redirect,
    redirect_candidate,
)
from gossamer.systems.spidercast.kernel.state import (
    ADAPTIVE_COVERAGE_MAX,
    CONNECT,
    DISCONNECT,
    M_CONNECT,
    M_CONNECT_OK,
    M_DISCONNECT,
    M_DISCONNECT_OK,
    M_HEARTBEAT,
    M_LEAVE,
    M_REDIRECT,
    RAISES,
    REDIRECT,
    STUCK_DROPS,
    TaskState,
    TurnRules,
    World,
)


@kernel
def _decide(
    world: World,
    task: TaskState,
    kind: int,
    rule: int,
    reading: TurnRules,
    seed: U64,
    now_us: U64,
    cycle: int,
    node: int,
    wanted: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> tuple[int, int]:
    """Figure 2: (1, node to connect to), (2, neighbour to disconnect from) or (0, -1)."""
    if task.coverage[node] == 0 or task.asleep[node]:
        return 0, -1
    most = degree_max(world, task, rule, node)
    under = under_covered(task, rule, node)
    degree = np.int64(task.counts[node])
    if under > 0:
        task.target[node] = most
        if degree < most:
            peer = next_redirect(task, node)
            if peer < 0:
                key = draw_base(seed, U64(node), CONNECT[kind], now_us)
                peer = next_coverage_node(world, task, rule, node, key, reading, wanted)
            if peer < 0:
                return 0, -1
            task.quarantine[node, cycle % task.quarantine.shape[1]] = peer
            return 1, peer
        if degree == most and not reading.drop_when_stuck:
            return 0, -1
    stuck = under > 0 and degree == most
    spare = False
    if not stuck:
        task.target[node] = min(most, degree)
        spare = degree > most
        if kind == 1 and not spare and reading.random_parts_above:
            return 0, -1
    key = draw_base(seed, U64(node), DISCONNECT[kind], now_us)
    peer, fewest = disconnect_candidate(world, task, rule, reading, node, key)
    if peer < 0 or (not spare and fewest > (under if stuck else 0)):
        return 0, -1
    slot = slot_of(task, node, peer)
    task.asked_degrees[slot] = task.degrees[slot]
    task.asked_targets[slot] = task.targets[slot]
    counters[STUCK_DROPS] += stuck
    return 2, peer


@kernel
def _tell(task: TaskState, node: int, except_for: int, counters: NDArray[np.int64]) -> None:
    """Send heartbeats to the neighbours that do not know the current degree and target."""
    degree = np.uint16(task.counts[node])
    target = np.uint16(task.target[node])
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        if task.told_degrees[slot] == degree and task.told_targets[slot] == target:
            continue
        other = np.int64(task.nodes[slot])
        if other == except_for:
            continue
        task.told_degrees[slot] = degree
        task.told_targets[slot] = target
        counters[M_HEARTBEAT] += 1
        theirs = task.mirrors[slot]
        task.degrees[theirs] = degree
        task.targets[theirs] = target
        task.quiet[other] = False


@kernel
def exchange_connect(
    world: World,
    task: TaskState,
    kind: int,
    rule: int,
    margin: int,
    seed: U64,
    now_us: U64,
    node: int,
    peer: int,
    degree: int,
    target: int,
    counters: NDArray[np.int64],
) -> None:
    """A CONNECT with (degree, target), and all messages that follow from it."""
    counters[M_CONNECT] += 1
    if not world.present[peer]:
        return
    if not has_room(world, task, rule, margin, peer):
        counters[M_REDIRECT] += 1
        key = draw_base(seed, U64(peer), REDIRECT[kind], now_us) + U64(node)
        other = redirect_candidate(world, task, margin, peer, node, key)
        task.redirect[node] = other
        return
    peer_degree = np.int64(task.counts[peer]) + 1
    peer_target = np.int64(task.target[peer])
    add_neighbour(world, task, peer, node, degree, target, peer_degree, peer_target)
    counters[M_CONNECT_OK] += 1
    grow_target(world, task, rule, margin, peer)
    if has_room(world, task, rule, margin, node):
        add_neighbour(world, task, node, peer, peer_degree, peer_target, degree, target)
        grow_target(world, task, rule, margin, node)
    else:
        counters[M_LEAVE] += 1
        lose_neighbour(world, task, rule, peer, node)


@kernel
def _exchange_disconnect(
    world: World, task: TaskState, rule: int, reading: TurnRules, node: int, peer: int, counters: NDArray[np.int64]
) -> None:
    """A DISCONNECT, and all messages that follow from it."""
    counters[M_DISCONNECT] += 1
    under = under_covered_without(world, task, rule, peer, node)
    most = np.int64(task.target[peer]) if reading.agrees_above_target else degree_max(world, task, rule, peer)
    if under > 0 and np.int64(task.counts[peer]) <= most:
        return
    lose_neighbour(world, task, rule, peer, node)
    counters[M_DISCONNECT_OK] += 1
    if under == 0:
        task.target[peer] = task.counts[peer]
    lose_neighbour(world, task, rule, node, peer)


@kernel
def _adapt(world: World, greedy: TaskState, random: TaskState, node: int, counters: NDArray[np.int64]) -> bool:
    """Section 3.3.1: raise K_r if K_g coverage took only K_g links, until there are enough links; returns whether."""
    if world.sizes[node] == 0 or greedy.uncovered[node] > 0:
        return False
    coverage = random.coverage[node]
    if coverage == 0:
        if greedy.counts[node] != greedy.coverage[node]:
            return False
    else:
        if random.uncovered[node] > 0 or coverage > ADAPTIVE_COVERAGE_MAX:
            return False
        union = np.int64(greedy.counts[node])
        for slot in range(random.starts[node], random.starts[node] + random.counts[node]):
            union += slot_of(greedy, node, np.int64(random.nodes[slot])) < 0
        if union >= world.sizes[node]:
            return False
    random.coverage[node] += 1
    counters[RAISES] += 1
    count_anew(world, random, node)
    return True


@kernel
def _falls_asleep(task: TaskState, rule: int, reading: TurnRules, node: int, did: int) -> bool:
    """Whether a task sleeps after its turn: it is covered and found nothing to do."""
    return reading.wakes_on_loss and did == 0 and task.coverage[node] > 0 and under_covered(task, rule, node) == 0


@kernel
def spidercast_cycle(
    world: World,
    greedy: TaskState,
    random: TaskState,
    rules: NDArray[np.int64],
    margin: int,
    reading: TurnRules,
    seed: U64,
    now_us: U64,
    cycle: int,
    order: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> None:
    """One maintenance turn of every node, in this order, each with all messages that follow from it."""
    longest = 1
    for node in range(len(world.sizes)):
        longest = max(longest, np.int64(world.sizes[node]))
    wanted = np.empty(longest, np.int32)
    for node in order:
        if greedy.quiet[node] and random.quiet[node]:
            continue
        did, peer = _decide(world, greedy, 0, rules[0], reading, seed, now_us, cycle, node, wanted, counters)
        greedy.asleep[node] = _falls_asleep(greedy, rules[0], reading, node, did)
        raised = reading.adaptive and _adapt(world, greedy, random, node, counters)
        did_too, peer_too = _decide(world, random, 1, rules[1], reading, seed, now_us, cycle, node, wanted, counters)
        random.asleep[node] = _falls_asleep(random, rules[1], reading, node, did_too)
        degree, target = np.int64(greedy.counts[node]), np.int64(greedy.target[node])
        degree_too, target_too = np.int64(random.counts[node]), np.int64(random.target[node])
        # A covered node that found nothing to do will find nothing until its neighbours, or the values that they told
        # it, change: the draw that selects a neighbour differs in each cycle, but whether there is a candidate does
        # not. An under-covered node tries again, because quarantines end and other nodes join.
        greedy.quiet[node] = did == 0 and under_covered(greedy, rules[0], node) == 0
        random.quiet[node] = did_too == 0 and not raised and under_covered(random, rules[1], node) == 0
        _tell(greedy, node, peer if did == 2 else -1, counters)
        _tell(random, node, peer_too if did_too == 2 else -1, counters)
        if did == 1:
            exchange_connect(world, greedy, 0, rules[0], margin, seed, now_us, node, peer, degree, target, counters)
        elif did == 2:
            _exchange_disconnect(world, greedy, rules[0], reading, node, peer, counters)
        if did_too == 1:
            exchange_connect(
                world, random, 1, rules[1], margin, seed, now_us, node, peer_too, degree_too, target_too, counters
            )
        elif did_too == 2:
            _exchange_disconnect(world, random, rules[1], reading, node, peer_too, counters)


@kernel
def depart(world: World, task: TaskState, rule: int, node: int, speaks: bool, counters: NDArray[np.int64]) -> None:
    """A node departs and its neighbours remove it; if it `speaks`, it sends a LEAVE to each of them."""
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        counters[M_LEAVE] += speaks
        lose_neighbour(world, task, rule, np.int64(task.nodes[slot]), node)
    task.counts[node] = 0


@kernel
def hold(world: World, node: int, on: bool) -> None:
    """Add a node and its interest to the views of all nodes, or remove them."""
    world.present[node] = on
    mark(world.everybody, node, on)
    if world.view_size == 0:
        for i in range(world.starts[node], world.starts[node] + world.sizes[node]):
            mark(world.holders[world.topics[i]], node, on)


@kernel
def begin(world: World, task: TaskState, coverage: int, node: int) -> None:
    """Initialise a task of a node that has just joined."""
    task.counts[node] = 0
    task.target[node] = 0
    task.coverage[node] = coverage
    task.redirect[node] = -1
    task.quiet[node] = False
    task.asleep[node] = False
    task.moved[node] = True
    task.quarantine[node, :] = -1
    count_anew(world, task, node)


@kernel
def begin_together(
    world: World, greedy: TaskState, random: TaskState, coverage: int, coverage_too: int, up: NDArray[np.bool_]
) -> None:
    """Start all nodes marked in `up` at the same time."""
    for node in range(len(up)):
        if up[node]:
            hold(world, node, True)
            begin(world, greedy, coverage, node)
            begin(world, random, coverage_too, node)


@kernel
def change_interest(
    world: World,
    task: TaskState,
    node: int,
    topics: NDArray[np.int32],
    messages: int,
    counters: NDArray[np.int64],
    last: bool,
) -> None:
    """A present node changes its interest, and sends `messages` heartbeats about it to every neighbour.

    It is called for each task in turn; the interest itself changes in the call for the `last` task.
    """
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        other = np.int64(task.nodes[slot])
        task.told_degrees[slot] = task.counts[node]
        task.told_targets[slot] = task.target[node]
        theirs = slot_of(task, other, node)
        task.met[slot] = task.met[theirs] = False
        task.degrees[theirs] = task.counts[node]
        task.targets[theirs] = task.target[node]
        counters[M_HEARTBEAT] += messages
    if last:
        hold(world, node, False)
        world.sizes[node] = len(topics)
        world.topics[world.starts[node] : world.starts[node] + len(topics)] = topics
        hold(world, node, True)


@kernel
def recover_around(world: World, task: TaskState, node: int) -> None:
    """Recount the coverage of a node whose interest changed, and of its neighbours."""
    count_anew(world, task, node)
    for slot in range(task.starts[node], task.starts[node] + task.counts[node]):
        count_anew(world, task, np.int64(task.nodes[slot]))


@kernel
def spidercast_fingerprint(greedy: TaskState, random: TaskState) -> U64:
    """A hash of the links of both tasks; each link counts once, and the order does not matter."""
    total = U64(0)
    for node in range(len(greedy.counts)):
        for slot in range(greedy.starts[node], greedy.starts[node] + greedy.counts[node]):
            if node < greedy.nodes[slot]:
                total += finish((U64(node) << U64(32)) + U64(greedy.nodes[slot]))
        for slot in range(random.starts[node], random.starts[node] + random.counts[node]):
            other = np.int64(random.nodes[slot])
            if node < other and slot_of(greedy, node, other) < 0:
                total += finish((U64(node) << U64(32)) + U64(other))
    return total
