"""The exact optimum for tiny workloads, by an integer program; the greedy's approximation ratio is measured against it.

Each possible link is a binary variable. A topic is connected if every cut of its holders into two sets is crossed by a
link. There are too many cuts to list: the program starts with the cuts that separate a single node, and adds the cuts
that a solution violates until a solution violates none.
"""

from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError

# Chosen: with more nodes the program may take hours.
NODES_MAX = 24


def optimum(interest: Interest, objective: Literal["links", "max_degree"] = "links") -> Overlay:
    """An overlay with the fewest links, or with the smallest maximum degree and then the fewest links."""
    if interest.node_count > NODES_MAX:
        raise InputError(f"the exact optimum is for at most {NODES_MAX} nodes, got {interest.node_count}")
    held = [set(interest.topics_of(node).tolist()) for node in range(interest.node_count)]
    links = [(u, v) for u, v in combinations(range(interest.node_count), 2) if held[u] & held[v]]
    if not links:
        return Overlay.from_links(np.zeros(0, np.int64), np.zeros(0, np.int64), interest.node_count)
    rows: list[tuple[int, frozenset[int]]] = [
        (topic, frozenset({int(node)}))
        for topic in range(interest.topic_count)
        if interest.popularity[topic] > 1
        for node in interest.nodes_of(topic)
    ]
    while True:
        chosen = _solve(links, held, rows, objective, interest.node_count)
        violated = _violated(interest, chosen)
        if not violated:
            ends = np.array(chosen, np.int64).reshape(-1, 2)
            return Overlay.from_links(ends[:, 0], ends[:, 1], interest.node_count)
        rows += violated


def _solve(
    links: list[tuple[int, int]],
    held: list[set[int]],
    rows: list[tuple[int, frozenset[int]]],
    objective: str,
    node_count: int,
) -> list[tuple[int, int]]:
    """The best set of links that crosses each of these cuts; the last variable is the maximum degree."""
    count = len(links)
    constraints: list[Any] = []
    crossing = [
        [topic in held[u] and topic in held[v] and (u in side) != (v in side) for u, v in links] + [False]
        for topic, side in rows
    ]
    constraints.append(LinearConstraint(csr_array(np.array(crossing, float)), lb=1))
    degrees = np.zeros((node_count, count + 1))
    for place, (u, v) in enumerate(links):
        degrees[u, place] = degrees[v, place] = 1
    degrees[:, count] = -1
    constraints.append(LinearConstraint(csr_array(degrees), ub=0))
    # The number of links breaks ties between equal maximum degrees: all links together cost less than one degree.
    costs = np.full(count + 1, 1.0 if objective == "links" else 1.0 / (count + 1))
    costs[count] = 0.0 if objective == "links" else 1.0
    highest = np.ones(count + 1)
    highest[count] = node_count
    result = milp(costs, constraints=constraints, integrality=np.ones(count + 1), bounds=Bounds(0, highest))
    if not result.success:
        raise InputError(f"the integer program was not solved: {result.message}")
    return [link for link, value in zip(links, result.x[:count], strict=True) if value > 0.5]


def _violated(interest: Interest, chosen: list[tuple[int, int]]) -> list[tuple[int, frozenset[int]]]:
    """The components of each disconnected topic: a link must leave each of them."""
    found = []
    for topic in range(interest.topic_count):
        members = set(interest.nodes_of(topic).tolist())
        parts = {node: node for node in members}
        for u, v in chosen:
            if u in members and v in members and parts[u] != parts[v]:
                keep, lose = parts[u], parts[v]
                parts = {node: keep if label == lose else label for node, label in parts.items()}
        if len(set(parts.values())) > 1:
            for label in set(parts.values()):
                found.append((topic, frozenset(node for node in members if parts[node] == label)))
    return found
