"""Repair topics on a small set of nodes: OMen's Algorithm 1 with LowODA's rule.

Chen, Vitenberg, Jacobsen: OMen (ICDCS 2016). When a node departs, the node responsible for it repairs the overlay with
a shadow set only: the neighbours of the departed node and a few backups, tens of nodes. This module is plain Python,
because live nodes run it; `planners/repair.py` computes the same links in compiled code, for studies.

Paper: add the link with the largest contribution among those that raise the maximum degree least, unless another link
contributes more than rho times as much. Chosen: ties go to nodes with the fewest topics to repair, then to the lowest
id.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId

_Link = tuple[NodeId, NodeId]


def repair(
    interests: Mapping[NodeId, Collection[TopicId]],
    links: Iterable[_Link],
    degrees: Mapping[NodeId, int],
    topics: Collection[TopicId],
    rho: float = 3.0,
) -> list[_Link]:
    """The links to add, in order, so that each of `topics` is connected on the nodes of `interests` that hold it.

    `links` are the existing links between these nodes; `degrees` count all links of each node, including those to other
    nodes. Cost: one pass over all pairs of nodes that share a topic, for each link that is added.
    """
    if not rho >= 1:
        raise InputError(f"rho must be at least 1, got {rho:g}")
    held = {node: frozenset(interest).intersection(topics) for node, interest in interests.items()}
    order = sorted(held, key=lambda node: (len(held[node]), node))
    parts = {topic: {node: node for node in order if topic in held[node]} for topic in dict.fromkeys(topics)}
    degree = {node: degrees.get(node, 0) for node in order}
    for u, v in links:
        if u in held and v in held:
            _join(parts, held[u] & held[v], u, v)
    pairs = [(u, v) for u, v in combinations(order, 2) if held[u] & held[v]]
    added: list[_Link] = []
    while True:
        highest = max(degree.values(), default=0)
        best = mildest = 0
        chosen: _Link | None = None
        chosen_mild: _Link | None = None
        useful = []
        for u, v in pairs:
            value = sum(1 for topic in held[u] & held[v] if parts[topic][u] != parts[topic][v])
            if not value:
                continue
            useful.append((u, v))
            if value > best:
                best, chosen = value, (u, v)
            if value > mildest and degree[u] < highest and degree[v] < highest:
                mildest, chosen_mild = value, (u, v)
        # Contributions never grow: a link that joins no components now will never join any.
        pairs = useful
        if chosen is None:
            return added
        if chosen_mild is not None and best <= rho * mildest:
            chosen = chosen_mild
        u, v = chosen
        _join(parts, held[u] & held[v], u, v)
        degree[u] += 1
        degree[v] += 1
        added.append((min(u, v), max(u, v)))


def _join(parts: dict[TopicId, dict[NodeId, NodeId]], topics: Iterable[TopicId], u: NodeId, v: NodeId) -> None:
    for topic in topics:
        labels = parts[topic]
        keep, lose = labels[u], labels[v]
        if keep != lose:
            for node, label in labels.items():
                if label == lose:
                    labels[node] = keep
