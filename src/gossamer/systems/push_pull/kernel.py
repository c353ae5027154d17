"""Push and pull in synchronous rounds: the result of `systems/push_pull/machine.py` in lockstep, for one message.

A round is two steps. `choose_partners` draws the neighbour that each node calls; all messages of a topic share it.
`exchange` lets one message cross these calls, in the order of the callers' ids. Neighbours and nodes may change between
rounds. Cost of a round: the number of links of the nodes that call.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import U64, below, draw
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

CALL = U64(Purpose.PUSH_PULL_CALL)
FIRST = U64(Purpose.PUSH_PULL_FIRST)


@kernel
def partner(
    seed: U64,
    purpose: U64,
    now_us: int,
    topic: int,
    node: int,
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
) -> int:
    """The place in `neighbours` of the neighbour on the topic that a node draws at this time; -1 if it has none.

    `holds` marks the nodes that hold the topic.
    """
    count = 0
    for i in range(starts[node], starts[node + 1]):
        count += holds[neighbours[i]]
    if count == 0:
        return -1
    place = below(draw(seed, U64(node), purpose, U64(now_us), U64(topic)), count)
    for i in range(starts[node], starts[node + 1]):
        if holds[neighbours[i]]:
            if place == 0:
                return i
            place -= 1
    return -1


@kernel
def choose_partners(
    seed: U64,
    now_us: int,
    topic: int,
    callers: NDArray[np.int32],
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    places: NDArray[np.int64],
) -> int:
    """Fill `places`, in the order of `callers`, with the `partner` that each calls; returns the number of calls."""
    calls = 0
    for i in range(len(callers)):
        places[i] = partner(seed, CALL, now_us, topic, callers[i], holds, starts, neighbours)
        calls += places[i] >= 0
    return calls


@kernel
def exchange(
    number: int,
    repeat: bool,
    callers: NDArray[np.int32],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    heard: NDArray[np.int32],
    hops: NDArray[np.int32],
    knows: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """One young message in round `number`; returns the pushes, the answers, and the nodes that learnt the message.

    `heard` is the round in which each node learnt it (-1: not yet), `hops` the links that its first copy crossed, and
    `knows`, in the order of `neighbours`, whether a node knows that a neighbour has it; all are updated. A node passes on
    what it learnt in earlier rounds, with `repeat` also to neighbours that it knows to have it. A caller names what it
    knows when it calls.
    """
    pushes = 0
    answers = 0
    learnt = 0
    for i in range(len(callers)):
        node, place = callers[i], places[i]
        if place < 0:
            continue
        other = neighbours[place]
        if 0 <= heard[node] < number:
            if repeat or not knows[place]:
                pushes += 1
                knows[place] = True
                if heard[other] < 0:
                    heard[other] = number
                    hops[other] = hops[node] + 1
                    learnt += 1
        elif heard[node] < 0 and 0 <= heard[other] < number:
            answers += 1
            knows[place] = True
            heard[node] = number
            hops[node] = hops[other] + 1
            learnt += 1
        if heard[node] >= 0 and heard[other] >= 0:
            knows[place_of(node, other, starts, neighbours)] = True
    return pushes, answers, learnt


@kernel
def place_of(node: int, other: int, starts: NDArray[np.int64], neighbours: NDArray[np.int32]) -> int:
    """Where `node` stands in the row of its neighbour `other`."""
    row = neighbours[starts[other] : starts[other + 1]]
    return starts[other] + np.searchsorted(row, node)


@kernel
def publish(
    seed: U64,
    now_us: int,
    topic: int,
    publisher: int,
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    heard: NDArray[np.int32],
    hops: NDArray[np.int32],
    knows: NDArray[np.bool_],
) -> int:
    """Publish a message, which is round 0: `heard` and `hops` must be -1 before. Returns the number of pushes, 0 or 1."""
    heard[publisher] = 0
    hops[publisher] = 0
    place = partner(seed, FIRST, now_us, topic, publisher, holds, starts, neighbours)
    if place < 0:
        return 0
    other = neighbours[place]
    heard[other] = 0
    hops[other] = 1
    knows[place] = True
    knows[place_of(publisher, other, starts, neighbours)] = True
    return 1


@kernel
def spread_many(
    seed: U64,
    period_us: int,
    repeat: bool,
    publishers: NDArray[np.int64],
    topics: NDArray[np.int64],
    limits: NDArray[np.int64],
    lingers: NDArray[np.int64],
    topic_starts: NDArray[np.int64],
    topic_nodes: NDArray[np.int32],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
) -> NDArray[np.int64]:
    """A row for each message: nodes that learnt it, pushes, answers, calls, wake-ups, the last round that informed a node.

    The messages are published one after another, each on a quiet topic, on an overlay that does not change. `limits` are
    the ages in rounds up to which they are passed on, `lingers` the rounds for which nodes call after that.
    """
    node_count = len(starts) - 1
    heard = np.full(node_count, -1, np.int32)
    hops = np.full(node_count, -1, np.int32)
    knows = np.zeros(len(neighbours), np.bool_)
    places = np.empty(node_count, np.int64)
    callers = np.empty(node_count, np.int32)
    holds = np.zeros(node_count, np.bool_)
    rows = np.zeros((len(publishers), 6), np.int64)
    now_us = 0
    for event in range(len(publishers)):
        topic = topics[event]
        holders = topic_nodes[topic_starts[topic] : topic_starts[topic + 1]]
        for node in holders:
            holds[node] = True
        row = rows[event]
        # The first push precedes the rounds, so a message may cross one link more than it has rounds.
        reachable, row[4] = wake(publishers[event], limits[event] + 1, holds, starts, neighbours, heard, callers)
        row[0] = 1
        row[1] = publish(seed, now_us, topic, publishers[event], holds, starts, neighbours, heard, hops, knows)
        row[0] += row[1]
        active = callers[:reachable]
        calls = 0
        for number in range(1, limits[event] + 1):
            now_us += period_us
            calls = choose_partners(seed, now_us, topic, active, holds, starts, neighbours, places)
            pushes, answers, learnt = exchange(number, repeat, active, places, starts, neighbours, heard, hops, knows)
            row[0] += learnt
            row[1] += pushes
            row[2] += answers
            if learnt:
                row[5] = number
        row[3] = calls * (limits[event] + lingers[event])
        now_us += period_us * (lingers[event] + 1)
        for node in holders:
            holds[node] = False
            heard[node] = -1
            hops[node] = -1
            knows[starts[node] : starts[node + 1]] = False
    return rows


@kernel
def wake(
    publisher: int,
    limit: int,
    holds: NDArray[np.bool_],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    distance: NDArray[np.int32],
    woken: NDArray[np.int32],
) -> tuple[int, int]:
    """Fill `woken` with the nodes that a message on a quiet topic wakes, by id; returns their number and the wake-ups sent.

    `distance` must be -1 everywhere, and is again afterwards.
    """
    woken[0] = publisher
    distance[publisher] = 0
    count = 1
    head = 0
    sent = 0
    while head < count:
        node = woken[head]
        head += 1
        if distance[node] >= limit:
            continue
        # Every node but the publisher leaves out the neighbour that woke it.
        sent -= distance[node] > 0
        for i in range(starts[node], starts[node + 1]):
            other = neighbours[i]
            if holds[other]:
                sent += 1
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    woken[count] = other
                    count += 1
    for i in range(count):
        distance[woken[i]] = -1
    woken[:count] = np.sort(woken[:count])
    return count, sent
