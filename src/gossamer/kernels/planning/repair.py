"""OMen's repair of one churn event (Algorithm 1): the components that a departure leaves, and the links that join them.

A place is a node in a topic to repair. Places are grouped by topic and, within a topic, by component. Nodes are numbered
by the number of their places, then by id. Of equal links those with fewer links at their ends come first, then those
with lower numbers, as in `protocols/repair.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


class RepairRoom(NamedTuple):
    """The topics of all nodes, and arrays that are the same before and after a repair."""

    # By node: where its topics begin and end in `topics`.
    firsts: Starts
    ends: Starts
    topics: Ids
    # By topic and by node: its number in this repair; -1 otherwise.
    topic_numbers: Ids
    node_numbers: Ids


class Places(NamedTuple):
    """The places of the topics that are disconnected."""

    # By topic: its first place.
    starts: Starts
    # By place: the number of its node, and the number of its component.
    nodes: Ids
    labels: Ids


@kernel
def _root(parents: Ids, place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


@kernel
def _components(room: RepairRoom, width: int, link_starts: Starts, neighbours: Ids, nodes: Ids, parents: Ids) -> int:
    """Join the components of shadow nodes, the first of `nodes`, and of neighbours that share a topic with them.

    Adds these neighbours to `nodes`; returns the number of nodes. `parents` has, by node and topic, another place of the
    component, its root at last; -1 if the node is not seen to hold the topic.
    """
    shadows = len(link_starts) - 1
    count = shadows
    for i in range(shadows):
        room.node_numbers[nodes[i]] = i
        for k in range(room.firsts[nodes[i]], room.ends[nodes[i]]):
            number = room.topic_numbers[room.topics[k]]
            if number >= 0:
                parents[i * width + number] = i * width + number
    for i in range(shadows):
        for link in range(link_starts[i], link_starts[i + 1]):
            other = neighbours[link]
            for k in range(room.firsts[other], room.ends[other]):
                number = room.topic_numbers[room.topics[k]]
                if number >= 0 and parents[i * width + number] >= 0:
                    if room.node_numbers[other] < 0:
                        room.node_numbers[other] = count
                        nodes[count] = other
                        count += 1
                    place = room.node_numbers[other] * width + number
                    if parents[place] < 0:
                        parents[place] = place
                    parents[_root(parents, place)] = _root(parents, i * width + number)
    return count


@kernel
def places_of_terminals(
    room: RepairRoom,
    topics: Ids,
    shadow: Ids,
    link_starts: Starts,
    neighbours: Ids,
    is_terminal: NDArray[np.bool_],
    takes_seen: bool,
) -> tuple[Ids, Places]:
    """The nodes that may get links, and their places in components with a terminal, if all links of the shadow set count.

    `neighbours` has those of each shadow node, from `link_starts` on; `takes_seen`: they may get links, too.
    """
    width = len(topics)
    for number in range(width):
        room.topic_numbers[topics[number]] = number
    nodes = np.empty(len(shadow) + len(neighbours), np.int32)
    nodes[: len(shadow)] = shadow
    parents = np.full(len(nodes) * width, -1, np.int32)
    count = _components(room, width, link_starts, neighbours, nodes, parents)
    candidates = count if takes_seen else len(shadow)
    starts = np.zeros(width + 1, np.int64)
    found = np.empty(candidates * width, np.int32)
    labels = np.empty(candidates * width, np.int32)
    roots = np.empty(len(shadow), np.int32)
    taken = 0
    parted = 0
    for number in range(width):
        room.topic_numbers[topics[number]] = -1
        known = _roots_of_terminals(parents, width, number, is_terminal, roots)
        if known < 2:
            continue
        for root in roots[:known]:
            for i in range(candidates):
                place = i * width + number
                if parents[place] >= 0 and _root(parents, place) == root:
                    found[taken] = i
                    labels[taken] = root
                    taken += 1
        parted += 1
        starts[parted] = taken
    for node in nodes[:count]:
        room.node_numbers[node] = -1
    return nodes[:candidates], Places(starts[: parted + 1], found[:taken], labels[:taken])


@kernel
def _roots_of_terminals(parents: Ids, width: int, number: int, is_terminal: NDArray[np.bool_], roots: Ids) -> int:
    """The roots of the components of a topic that contain a terminal; returns their number."""
    count = 0
    for i in range(len(is_terminal)):
        place = i * width + number
        if is_terminal[i] and parents[place] >= 0:
            root = _root(parents, place)
            if not (roots[:count] == root).any():
                roots[count] = root
                count += 1
    return count


@kernel
def places_of_newcomer(room: RepairRoom, topics: Ids, nodes: Ids) -> Places:
    """The places of a newcomer, the first of `nodes`, and of its backups, which count as connected."""
    width = len(topics)
    for number in range(width):
        room.topic_numbers[topics[number]] = number
    holds = np.zeros((width, len(nodes)), np.bool_)
    for i in range(len(nodes)):
        for k in range(room.firsts[nodes[i]], room.ends[nodes[i]]):
            number = room.topic_numbers[room.topics[k]]
            if number >= 0:
                holds[number, i] = True
    starts = np.zeros(width + 1, np.int64)
    found = np.zeros(len(nodes) * width, np.int32)
    labels = np.zeros(len(nodes) * width, np.int32)
    taken = 0
    parted = 0
    for number in range(width):
        room.topic_numbers[topics[number]] = -1
        if not holds[number, 1:].any():
            continue
        for i in range(len(nodes)):
            if holds[number, i]:
                found[taken] = i
                labels[taken] = i > 0
                taken += 1
        parted += 1
        starts[parted] = taken
    return Places(starts[: parted + 1], found[:taken], labels[:taken])


@kernel
def _rank(places: Places, nodes: Ids) -> Ids:
    """Number the nodes of the places anew, by the number of their places and their ids; returns the old numbers."""
    held = np.zeros(len(nodes), np.int64)
    for node in places.nodes:
        held[node] += 1
    order = np.argsort(nodes)
    order = order[held[order] > 0]
    order = order[np.argsort(held[order], kind="mergesort")].astype(np.int32)
    ranks = np.empty(len(nodes), np.int32)
    for rank in range(len(order)):
        ranks[order[rank]] = rank
    for place in range(len(places.nodes)):
        places.nodes[place] = ranks[places.nodes[place]]
    return order


@kernel
def _add_pairs(places: Places, topic: int, values: Ids) -> None:
    """Count the pairs of nodes in different components of a topic; `values` has the lower number first."""
    end = places.starts[topic + 1]
    first = places.starts[topic]
    while first < end:
        last = first
        while last < end and places.labels[last] == places.labels[first]:
            last += 1
        for one in range(first, last):
            for other in range(last, end):
                u, v = places.nodes[one], places.nodes[other]
                values[min(u, v), max(u, v)] += 1
        first = last


@kernel
def _join(places: Places, topic: int, u: int, v: int, values: Ids) -> None:
    """Join the components of two nodes in a topic, if both hold it and they differ."""
    first, end = places.starts[topic], places.starts[topic + 1]
    keep = lose = -1
    for place in range(first, end):
        if places.nodes[place] == u:
            keep = places.labels[place]
        elif places.nodes[place] == v:
            lose = places.labels[place]
    if keep < 0 or lose < 0 or keep == lose:
        return
    for one in range(first, end):
        if places.labels[one] == lose:
            for other in range(first, end):
                if places.labels[other] == keep:
                    a, b = places.nodes[one], places.nodes[other]
                    values[min(a, b), max(a, b)] -= 1
    for place in range(first, end):
        if places.labels[place] == lose:
            places.labels[place] = keep


@kernel
def join_places(places: Places, nodes: Ids, degrees: Ids, rho: float) -> Ids:
    """The links to add, in order, as two rows of numbers of `nodes`, so that each topic has a single component.

    `degrees` are those of `nodes`; the maximum degree is theirs.
    """
    order = _rank(places, nodes)
    degree = degrees[order]
    highest = degrees.max() if len(degrees) else 0
    values = np.zeros((len(order), len(order)), np.int32)
    for topic in range(len(places.starts) - 1):
        _add_pairs(places, topic, values)
    us, vs = np.nonzero(values)
    added = np.empty((2, len(places.nodes)), np.int32)
    count = 0
    while True:
        best = mild = -1
        best_value = mild_value = best_most = mild_most = 0
        left = 0
        for k in range(len(us)):
            u, v = us[k], vs[k]
            value = values[u, v]
            if value > 0:
                us[left], vs[left] = u, v
                most = max(degree[u], degree[v])
                if value > best_value or (value == best_value and most < best_most):
                    best, best_value, best_most = left, value, most
                if most < highest and (value > mild_value or (value == mild_value and most < mild_most)):
                    mild, mild_value, mild_most = left, value, most
                left += 1
        if best < 0:
            return added[:, :count]
        us, vs = us[:left], vs[:left]
        chosen = mild if mild >= 0 and best_value <= rho * mild_value else best
        u, v = us[chosen], vs[chosen]
        added[0, count], added[1, count] = order[u], order[v]
        count += 1
        degree[u] += 1
        degree[v] += 1
        highest = max(highest, degree[u], degree[v])
        for topic in range(len(places.starts) - 1):
            _join(places, topic, u, v, values)
