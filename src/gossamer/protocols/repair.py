"""Repair topics on a small set of nodes: OMen's Algorithm 1 with LowODA's rule.

Chen, Vitenberg, Jacobsen: OMen (ICDCS 2016). When a node departs, the node responsible for it repairs the overlay with
a shadow set only: the neighbours of the departed node and a few backups, tens of nodes. This module is plain Python,
because live nodes run it; `planners/repair.py` computes the same links in compiled code, for studies.

Paper: add the link with the largest contribution among those that raise the maximum degree least, unless another link
contributes more than rho times as much. Chosen: ties go to the link whose ends have the lower maximum degree, then to
nodes with the fewest topics to repair, then to the lowest id.

Which nodes count as connected already decides how many links a repair adds. `labels_inside` is Algorithm 1 as printed:
only links inside the shadow set count, and all of it is connected. `labels_of_terminals` also counts links to other
nodes, and connects only the neighbours of the departed node, the *terminals*: each component that the departure leaves
contains one of them.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId

Link = tuple[NodeId, NodeId]
# By topic, the component of each node that may get a link for it. Components are named by any of their nodes.
Labels = dict[TopicId, dict[NodeId, NodeId]]


def repair(
    interests: Mapping[NodeId, Collection[TopicId]],
    links: Iterable[Link],
    degrees: Mapping[NodeId, int],
    topics: Collection[TopicId],
    rho: float = 3.0,
) -> list[Link]:
    """The links to add, in order, so that each of `topics` is connected on the nodes of `interests` that hold it.

    `links` are the existing links between these nodes; `degrees` count all links of each node, including those to other
    nodes.
    """
    return connect(labels_inside(interests, links, topics), degrees, rho)


def labels_inside(
    interests: Mapping[NodeId, Collection[TopicId]], links: Iterable[Link], topics: Collection[TopicId]
) -> Labels:
    """The components of these nodes, if only the links between them count."""
    held = {node: frozenset(interest).intersection(topics) for node, interest in interests.items()}
    labels: Labels = {topic: {node: node for node in held if topic in held[node]} for topic in dict.fromkeys(topics)}
    for u, v in links:
        for topic in held.get(u, frozenset()) & held.get(v, frozenset()):
            _join(labels[topic], u, v)
    return labels


def labels_of_terminals(
    shadow: Mapping[NodeId, Mapping[NodeId, Collection[TopicId]]],
    interests: Mapping[NodeId, Collection[TopicId]],
    terminals: Collection[NodeId],
    takes_seen: bool = False,
) -> Labels:
    """The components that contain a terminal, if all links with an end in the shadow set count.

    `interests` has the topics to repair that each shadow node holds. `shadow` has the neighbours of each shadow node
    and the topics to repair that both hold. Nodes of components without a terminal are left out: they are connected to
    a terminal by links that cannot be seen from here, and a link to them might not join anything. `takes_seen`: the
    neighbours of shadow nodes may get links, too.
    """
    everywhere: Labels = {}
    for node, topics in interests.items():
        for topic in topics:
            everywhere.setdefault(topic, {}).setdefault(node, node)
    members: dict[TopicId, dict[NodeId, list[NodeId]]] = {
        topic: {node: [node] for node in labels} for topic, labels in everywhere.items()
    }
    for node, neighbours in shadow.items():
        for other, topics in neighbours.items():
            for topic in topics:
                labels, groups = everywhere[topic], members[topic]
                if other not in labels:
                    labels[other] = other
                    groups[other] = [other]
                keep, lose = labels[node], labels[other]
                if keep == lose:
                    continue
                if len(groups[keep]) < len(groups[lose]):
                    keep, lose = lose, keep
                for each in groups[lose]:
                    labels[each] = keep
                groups[keep] += groups.pop(lose)
    found: Labels = {}
    for topic, labels in everywhere.items():
        wanted = {labels[node] for node in terminals if node in labels}
        found[topic] = {
            node: label for node, label in labels.items() if label in wanted and (takes_seen or node in interests)
        }
    return found


def connect(labels: Labels, degrees: Mapping[NodeId, int], rho: float = 3.0) -> list[Link]:
    """The links to add, in order, so that each topic has a single component.

    The maximum degree is that of all nodes in `degrees`, the whole shadow set.
    Cost: for each link that is added, one pass over the pairs of nodes in different components, topic by topic.
    """
    if not rho >= 1:
        raise InputError(f"rho must be at least 1, got {rho:g}")
    labels = {topic: dict(nodes) for topic, nodes in labels.items()}
    held: dict[NodeId, int] = {}
    for nodes in labels.values():
        for node in nodes:
            held[node] = held.get(node, 0) + 1
    order = {node: rank for rank, node in enumerate(sorted(held, key=lambda node: (held[node], node)))}
    degree = {**dict.fromkeys(order, 0), **degrees}
    ranked_nodes = list(order)
    added: list[Link] = []
    while True:
        highest = max(degree.values(), default=0)
        values: dict[Link, int] = {}
        for nodes in labels.values():
            if len(set(nodes.values())) > 1:
                ranked = sorted(nodes, key=order.__getitem__)
                for u, v in combinations(ranked, 2):
                    if nodes[u] != nodes[v]:
                        values[u, v] = values.get((u, v), 0) + 1
        best = mild = None
        for (u, v), value in values.items():
            most = max(degree[u], degree[v])
            key = (-value, most, order[u], order[v])
            if best is None or key < best:
                best = key
            if most < highest and (mild is None or key < mild):
                mild = key
        if best is None:
            return added
        chosen = mild if mild is not None and -best[0] <= rho * -mild[0] else best
        u, v = ranked_nodes[chosen[2]], ranked_nodes[chosen[3]]
        for nodes in labels.values():
            if u in nodes and v in nodes:
                _join(nodes, u, v)
        degree[u] += 1
        degree[v] += 1
        added.append((min(u, v), max(u, v)))


def _join(labels: dict[NodeId, NodeId], u: NodeId, v: NodeId) -> None:
    keep, lose = labels[u], labels[v]
    if keep != lose:
        for node, label in labels.items():
            if label == lose:
                labels[node] = keep
