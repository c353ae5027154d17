"""What the page draws: a scene as plain values for JSON. Times are in microseconds; nodes are numbered within a frame."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.web.overlays import Diameters, Graph, components_of, links_of, topic_graphs
from gossamer.web.scene import MessageName, Scene, SceneMessage

# Chosen: completeness and latencies are those of messages of the last minute; a message has two seconds to arrive.
WINDOW_US = 60_000_000
SETTLE_US = 2_000_000
# Chosen: speeds are averages over this time.
SPEED_US = 5_000_000
# Chosen: latencies are counted by powers of two of a microsecond, as in the status of a node.
LATENCY_BUCKETS = 26
MESSAGES_SHOWN = 30
COPIES_SHOWN = 400


class FrameMaker:
    """Makes the frames of one scene; it remembers what did not change since the last one."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._version = -1
        self._links: dict[tuple[NodeId, NodeId], None] = {}
        self._graphs: dict[TopicId, Graph] = {}
        self._shapes: dict[TopicId, dict[str, Any]] = {}
        # Time, published, delivered, control messages by kind.
        self._totals: deque[tuple[int, int, int, Counter[str]]] = deque()

    def frame(
        self, topic: str = "", message: str = "", version: int = -1, after_us: int = 0, after_happening: int = 0
    ) -> dict[str, Any]:
        """The scene now. Nodes and links are left out if the page has this `version`; copies and happenings are those behind."""
        scene = self._scene
        self._refresh()
        frame: dict[str, Any] = {
            "at_us": scene.now_us,
            "version": scene.version,
            "counts": {"nodes": len(scene.nodes), "links": len(self._links)},
            "speeds": self._speeds(),
            "topics": self._topics(),
            "messages": self._messages(topic),
            "copies": self._copies(after_us),
            "happenings": [list(each) for each in scene.happenings if each[0] > after_happening],
            "latencies": self._latencies(),
            "lit": self._lit(topic),
        }
        if version != scene.version:
            frame |= self._shape()
        if message:
            frame["message"] = self._way(message)
        return frame

    def _refresh(self) -> None:
        """Compute what depends on nodes, links and interests, if they changed; say which topics fell apart or mended."""
        scene = self._scene
        if self._version == scene.version:
            return
        self._links = links_of(scene)
        self._graphs = topic_graphs(scene, self._links)
        before, self._shapes, diameters = self._shapes, {}, Diameters()
        # Small topics first, so that most of them have exact diameters.
        for topic in sorted(self._graphs, key=lambda each: len(self._graphs[each])):
            graph = self._graphs[topic]
            parts = components_of(graph)
            diameter, is_exact = diameters.of(graph, parts[0])
            self._shapes[topic] = {"components": len(parts), "diameter": diameter, "is_exact": is_exact}
        for topic, shape in self._shapes.items():
            was = before.get(topic, shape)["components"]
            if (was > 1) != (shape["components"] > 1):
                name = scene.name_topic(topic)
                parted = f"{name} fell into {shape['components']} components"
                scene.say(f"{name} is connected" if was > 1 else parted)
        self._version = scene.version

    def _shape(self) -> dict[str, Any]:
        scene, degrees = self._scene, Counter(end for link in self._links for end in link)
        places = {node: place for place, node in enumerate(scene.nodes)}
        return {
            "nodes": [
                [scene.name_node(node), len(entry.roles), degrees[node], sorted(map(scene.name_topic, entry.roles))]
                for node, entry in scene.nodes.items()
            ],
            "links": [places[end] for link in self._links for end in link],
        }

    def _lit(self, topic: str) -> dict[str, list[str]] | None:
        """The overlay of the chosen topic: its nodes, its followers, and the ends of its links in pairs."""
        scene = self._scene
        found = self._find_topic(topic)
        if found is None:
            return None
        name, graph = scene.name_node, self._graphs[found]
        pairs = [(one, other) for one, peers in graph.items() for other in peers if one < other]
        return {
            "nodes": [name(node) for node in graph],
            "followers": [name(node) for node in scene.followers(found)],
            "links": [name(end) for pair in pairs for end in pair],
        }

    def _find_topic(self, name: str) -> TopicId | None:
        return next((topic for topic in self._graphs if self._scene.name_topic(topic) == name), None) if name else None

    def _topics(self) -> list[dict[str, Any]]:
        scene, tallies = self._scene, self._completeness()
        rows = []
        for topic, graph in self._graphs.items():
            expected, arrived, messages = tallies.get(topic, (0, 0, 0))
            rows.append(
                {
                    "name": scene.name_topic(topic),
                    "subscribers": sum(bool(scene.nodes[node].roles[topic] & Role.FOLLOWS) for node in graph),
                    **self._shapes[topic],
                    "messages": messages,
                    "expected": expected,
                    "arrived": arrived,
                }
            )
        return sorted(rows, key=lambda row: (-row["subscribers"], row["name"]))

    def _completeness(self) -> Mapping[TopicId, tuple[int, int, int]]:
        """Of the messages in the window: deliveries that should have happened by now, those that did, and messages."""
        scene = self._scene
        found: dict[TopicId, tuple[int, int, int]] = {}
        for message in scene.messages.values():
            if SETTLE_US <= scene.now_us - message.noticed_us <= WINDOW_US:
                expected, arrived, messages = found.get(message.topic, (0, 0, 0))
                due = self._due(message)
                found[message.topic] = (
                    expected + len(due),
                    arrived + sum(node in message.delivered for node in due),
                    messages + 1,
                )
        return found

    def _due(self, message: SceneMessage) -> list[NodeId]:
        """The nodes that should have a message: followers when it was noticed that are present and still follow it."""
        nodes = self._scene.nodes
        return [
            node
            for node in message.expected
            if node in nodes and nodes[node].roles.get(message.topic, 0) & Role.FOLLOWS
        ]

    def _messages(self, topic: str) -> list[dict[str, Any]]:
        """The latest messages, of the chosen topic if there is one; the newest first."""
        scene, rows = self._scene, []
        for name in reversed(scene.messages):
            message = scene.messages[name]
            if topic and scene.name_topic(message.topic) != topic:
                continue
            due = self._due(message)
            rows.append(
                {
                    "name": self._name(name),
                    "topic": scene.name_topic(message.topic),
                    "publisher": scene.name_node(name[0]),
                    "noticed_us": message.noticed_us,
                    "expected": len(due),
                    "arrived": sum(node in message.delivered for node in due),
                    "copies": len(message.copies),
                    "needless": sum(bool(copy.needless) for copy in message.copies),
                }
            )
            if len(rows) == MESSAGES_SHOWN:
                break
        return rows

    def _name(self, name: MessageName) -> str:
        return f"{self._scene.name_node(name[0])}/{name[1]}"

    def _way(self, wanted: str) -> dict[str, Any] | None:
        """A message hop by hop: each copy with its link, its time since the publication, and why it was needless."""
        scene = self._scene
        name = next((name for name in scene.messages if self._name(name) == wanted), None)
        if name is None:
            return None
        message = scene.messages[name]
        copies = sorted(message.copies, key=lambda copy: (copy.at_us, copy.hops))
        return {
            "name": wanted,
            "topic": scene.name_topic(message.topic),
            "publisher": scene.name_node(name[0]),
            "missing": sorted(scene.name_node(node) for node in self._due(message) if node not in message.delivered),
            "copies": [
                [
                    scene.name_node(copy.sender),
                    scene.name_node(copy.node),
                    copy.at_us - message.published_us,
                    copy.needless,
                ]
                for copy in copies
            ],
        }

    def _copies(self, after_us: int) -> list[list[Any]]:
        """The copies that crossed links since a time: sender, node, hops, whether needless, topic."""
        scene = self._scene
        found: list[list[Any]] = []
        for copy in reversed(scene.copies):
            if copy.noticed_us <= after_us or len(found) == COPIES_SHOWN:
                break
            ends = scene.name_node(copy.sender), scene.name_node(copy.node)
            found.append([*ends, copy.hops, bool(copy.needless), scene.name_topic(copy.topic)])
        return found[::-1]

    def _latencies(self) -> list[int]:
        """Deliveries in the window by the number of bits of their microseconds."""
        scene, counts = self._scene, [0] * LATENCY_BUCKETS
        for message in scene.messages.values():
            if scene.now_us - message.noticed_us <= WINDOW_US:
                for at_us in message.delivered.values():
                    counts[min(max(at_us - message.published_us, 0).bit_length(), LATENCY_BUCKETS - 1)] += 1
        return counts

    def note_totals(self) -> None:
        """Remember how much was sent until now; speeds are differences."""
        scene, totals = self._scene, self._totals
        if not totals or totals[-1][0] < scene.now_us:
            totals.append((scene.now_us, scene.published, scene.delivered, Counter(scene.control)))
        while len(totals) > 2 and totals[1][0] <= scene.now_us - SPEED_US:
            totals.popleft()

    def _speeds(self) -> dict[str, Any]:
        """Publications, deliveries and control messages a second."""
        self.note_totals()
        totals = self._totals
        (from_us, published, delivered, control), last = totals[0], totals[-1]
        seconds = max(last[0] - from_us, 1) / 1e6
        kinds = {kind: (count - control[kind]) / seconds for kind, count in sorted(last[3].items())}
        return {
            "published": (last[1] - published) / seconds,
            "delivered": (last[2] - delivered) / seconds,
            "control": {kind: speed for kind, speed in kinds.items() if speed > 0},
        }
