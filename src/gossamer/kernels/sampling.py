"""Keyed draws for many nodes at once; the workload generators use them."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import COUNTER_FACTOR, ITEM_FACTOR, U64, draw, draw_base, finish, unit
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

TOPIC = U64(Purpose.WORKLOAD_TOPIC)
VIEW = U64(Purpose.VIEW)


@kernel
def draws(seed: U64, purpose: U64, counter: U64, count: int) -> NDArray[np.uint64]:
    """One draw for each node 0..count-1."""
    bits = np.empty(count, np.uint64)
    for node in range(count):
        bits[node] = draw(seed, U64(node), purpose, counter, U64(0))
    return bits


@kernel
def units(seed: U64, purpose: U64, counter: U64, count: int) -> NDArray[np.float64]:
    """One float in [0, 1) for each node 0..count-1."""
    values = np.empty(count, np.float64)
    for node in range(count):
        values[node] = unit(draw(seed, U64(node), purpose, counter, U64(0)))
    return values


@kernel
def _pick(cumulative: NDArray[np.float64], value: float) -> int:
    """The first position whose cumulative probability is above `value`."""
    low = 0
    high = len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _complete(
    seed: U64,
    node: int,
    probabilities: NDArray[np.float64],
    held_by: NDArray[np.int64],
    found: int,
    row: NDArray[np.int32],
) -> None:
    """Fill the rest of a row, whose first `found` topics are drawn, with the topics that have the smallest keys; O(T).

    Efraimidis and Spirakis (2006): the order of the keys -ln(u)/p has the distribution of successive draws without
    replacement. Successive draws depend on the past only through the topics that are taken, so keys for the topics that
    the node does not hold yet continue the draws exactly. (New draws for the whole row would be biased: rows run out of
    patience more often when they lack the popular topics.)
    """
    keys = np.empty(len(probabilities), np.float64)
    for topic in range(len(probabilities)):
        value = 1.0 - unit(draw(seed, U64(node), TOPIC, U64(0), U64(topic + 1)))
        keys[topic] = np.inf if held_by[topic] == node else -np.log(value) / probabilities[topic]
    row[found:] = np.argsort(keys)[: len(row) - found]


@kernel
def draw_interests(
    seed: U64, probabilities: NDArray[np.float64], node_starts: NDArray[np.int64], first: int, last: int
) -> NDArray[np.int32]:
    """The topics of nodes first..last-1, ascending for each node: topics are drawn by probability, repeated ones again.

    A node that needs more than about eight draws for each topic (because it holds nearly all topics, or because the
    probabilities are very uneven) gets the rest of its topics by exponential keys: the same distribution at a bounded
    cost.
    """
    cumulative = np.cumsum(probabilities)
    cumulative[-1] = 1.0
    offset = node_starts[first]
    topics = np.empty(node_starts[last] - offset, np.int32)
    held_by = np.full(len(probabilities), -1, np.int64)
    for node in range(first, last):
        row = topics[node_starts[node] - offset : node_starts[node + 1] - offset]
        base = draw_base(seed, U64(node), TOPIC, U64(0))
        found = 0
        patience = 8 * len(row) + 64
        while found < len(row) and patience > 0:
            topic = _pick(cumulative, unit(finish(base)))
            base += COUNTER_FACTOR
            patience -= 1
            if held_by[topic] != node:
                held_by[topic] = node
                row[found] = topic
                found += 1
        if found < len(row):
            _complete(seed, node, probabilities, held_by, found, row)
        row.sort()
    return topics


@kernel
def topics_within(
    node_x: NDArray[np.float64],
    node_y: NDArray[np.float64],
    radii: NDArray[np.float64],
    id_x: NDArray[np.float64],
    id_y: NDArray[np.float64],
    id_topics: NDArray[np.int32],
    topic_count: int,
    out: NDArray[np.int32],
) -> NDArray[np.int64]:
    """The topics that have an id within the radius of each node, ascending; fills `out` and returns the row starts.

    Call it once with an empty `out` to learn the size, and then again with an array of that size.
    """
    starts = np.zeros(len(node_x) + 1, np.int64)
    held_by = np.full(topic_count, -1, np.int64)
    for node in range(len(node_x)):
        reach = radii[node] * radii[node]
        for i in range(len(id_x)):
            dx = node_x[node] - id_x[i]
            dy = node_y[node] - id_y[i]
            if dx * dx + dy * dy <= reach:
                held_by[id_topics[i]] = node
        filled = starts[node]
        for topic in range(topic_count):
            if held_by[topic] == node:
                if filled < len(out):
                    out[filled] = topic
                filled += 1
        starts[node + 1] = filled
    return starts


@kernel
def draw_items(seed: U64, node: U64, purpose: U64, counter: U64, items: NDArray[np.int32]) -> NDArray[np.uint64]:
    """One draw for each item."""
    bits = np.empty(len(items), np.uint64)
    base = draw_base(seed, node, purpose, counter)
    for i in range(len(items)):
        bits[i] = finish(base + U64(items[i]) * ITEM_FACTOR)
    return bits


@kernel
def view_walks(seed: U64, node_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(strides, starts) of the partial view of every node: a walk through all ids that repeats none.

    A stride is drawn until it has no common divisor with the number of nodes.
    """
    strides = np.zeros(node_count, np.int64)
    starts = np.zeros(node_count, np.int64)
    for node in range(node_count):
        attempt = 0
        while True:
            stride = 1 + np.int64(draw(seed, U64(node), VIEW, U64(attempt), U64(0)) % U64(node_count))
            a, b = node_count, stride
            while b:
                a, b = b, a % b
            if a == 1:
                break
            attempt += 1
        strides[node] = stride % node_count
        starts[node] = np.int64(draw(seed, U64(node), VIEW, U64(attempt), U64(1)) % U64(node_count))
    return strides, starts
