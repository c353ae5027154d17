"""The overlays of a scene: the links of the network, those of each topic, their components and diameters."""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.web.scene import Scene

# Chosen: searches of at most this many links in all for the exact diameters of a frame, 50 ms; topics beyond have a lower bound.
SEARCHED_MAX = 300_000

Graph = dict[NodeId, dict[NodeId, None]]


def links_of(scene: Scene) -> dict[tuple[NodeId, NodeId], None]:
    """The links between present nodes, lower id first. A link is up while at least one end reports the other."""
    found: dict[tuple[NodeId, NodeId], None] = {}
    for node, entry in scene.nodes.items():
        for other in entry.neighbours:
            if other in scene.nodes and other != node:
                found[(node, other) if node < other else (other, node)] = None
    return found


def topic_graphs(scene: Scene, links: Mapping[tuple[NodeId, NodeId], None]) -> dict[TopicId, Graph]:
    """The overlay of every topic among the nodes that hold it."""
    graphs: dict[TopicId, Graph] = {}
    for node, entry in scene.nodes.items():
        for topic in entry.roles:
            graphs.setdefault(topic, {})[node] = {}
    if not any(entry.views for entry in scene.nodes.values()):
        for one, other in links:
            theirs = scene.nodes[other].roles
            for topic in scene.nodes[one].roles:
                if topic in theirs:
                    _join(graphs[topic], one, other)
        return graphs
    for node, entry in scene.nodes.items():
        for topic, peers in entry.views.items():
            graph = graphs.get(topic, {})
            for peer in peers:
                if node in graph and peer in graph:
                    _join(graph, node, peer)
    return graphs


def _join(graph: Graph, one: NodeId, other: NodeId) -> None:
    graph[one][other] = None
    graph[other][one] = None


def components_of(graph: Graph) -> list[list[NodeId]]:
    """The connected components, the largest first."""
    left, found = dict.fromkeys(graph), []
    while left:
        reached = _distances(graph, next(iter(left)))
        for node in reached:
            del left[node]
        found.append(list(reached))
    return sorted(found, key=len, reverse=True)


class Diameters:
    """Computes diameters within a budget of work: exact ones first, and lower bounds when the budget is spent."""

    def __init__(self) -> None:
        self._left = SEARCHED_MAX

    def of(self, graph: Graph, component: list[NodeId]) -> tuple[int, bool]:
        """The longest shortest path in a component, and whether it is exact."""
        work = len(component) * sum(len(graph[node]) for node in component)
        if work <= self._left:
            self._left -= work
            return max(max(_distances(graph, node).values()) for node in component), True
        # The distance from a node that is far from some node: never too long, and exact on trees.
        far = list(_distances(graph, component[0]))[-1]
        return max(_distances(graph, far).values()), False


def _distances(graph: Graph, start: NodeId) -> dict[NodeId, int]:
    """The number of links to every node that can be reached, nearest first."""
    found, turn = {start: 0}, [start]
    while turn:
        next_turn = []
        for node in turn:
            for other in graph[node]:
                if other not in found:
                    found[other] = found[node] + 1
                    next_turn.append(other)
        turn = next_turn
    return found
