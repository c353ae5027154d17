"""A network at one moment: nodes with topics and neighbours, the latest traced messages, and the latest happenings."""

from collections import Counter, deque
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.telemetry import (
    AnyRecord,
    ControlSent,
    CopyReceived,
    InterestChanged,
    LinkChanged,
    MessageDelivered,
    MessageDropped,
    MessagePublished,
    MessagesLost,
    NodeLeft,
    NodeStarted,
    QueueMeasured,
    ReasonCounted,
    TopicLinksChanged,
    TopicNamed,
)

# Chosen: what the page shows and a little more.
MESSAGES_MAX = 2_000
HAPPENINGS_MAX = 500
COPIES_MAX = 5_000

MessageName = tuple[NodeId, int]


class SceneNode(Struct):
    """One node. `views` are its neighbours on each topic, if it reports them; otherwise any neighbour with the topic is one."""

    roles: dict[TopicId, int] = field(default_factory=dict)
    neighbours: dict[NodeId, None] = field(default_factory=dict)
    views: dict[TopicId, dict[NodeId, None]] = field(default_factory=dict)


class SceneCopy(Struct, frozen=True):
    """A copy of a message that crossed a link, and why it was needless. `noticed_us` is the time of the one who watches."""

    noticed_us: int
    at_us: int
    sender: NodeId
    node: NodeId
    topic: TopicId
    hops: int
    needless: str


class SceneMessage(Struct):
    """A traced message: the nodes that should get it, those that did, and the way of its copies."""

    topic: TopicId
    noticed_us: int
    published_us: int
    # The followers when the message was noticed, apart from its publisher.
    expected: frozenset[NodeId]
    copies: list[SceneCopy] = field(default_factory=list)
    # When each node delivered it, by the node's clock.
    delivered: dict[NodeId, int] = field(default_factory=dict)


class Scene:
    """Changes with each telemetry record. `name_node` and `name_topic` turn ids into what people read."""

    def __init__(self, name_node: Callable[[NodeId], str], name_topic: Callable[[TopicId], str]) -> None:
        self.name_node = name_node
        self.name_topic = name_topic
        self.now_us = 0
        self.nodes: dict[NodeId, SceneNode] = {}
        # Grows with each change of nodes, links or interests.
        self.version = 0
        self.messages: dict[MessageName, SceneMessage] = {}
        self.copies: deque[SceneCopy] = deque(maxlen=COPIES_MAX)
        # Number, time and sentence.
        self.happenings: deque[tuple[int, int, str]] = deque(maxlen=HAPPENINGS_MAX)
        self.published = 0
        self.delivered = 0
        self.control: Counter[str] = Counter()
        self._happened = 0
        self._followers: dict[TopicId, dict[NodeId, None]] = {}
        self._apply: dict[type, Callable[..., None]] = {
            NodeStarted: self._start,
            NodeLeft: lambda record: self.remove(record.node, "left"),
            InterestChanged: lambda record: self.set_role(record.node, record.topic, record.role),
            LinkChanged: lambda record: self.set_link(record.node, record.peer, record.is_up),
            TopicLinksChanged: self._change_view,
            MessagePublished: self._publish,
            CopyReceived: self._copy,
            MessageDelivered: self._deliver,
            MessagesLost: self._lose,
            MessageDropped: self._drop,
            ControlSent: self._count_control,
            ReasonCounted: self._count_reason,
            # The page shows no queues, and those who make a scene know the names of topics before.
            QueueMeasured: lambda record: None,
            TopicNamed: lambda record: None,
        }

    def apply(self, record: AnyRecord, noticed_us: int) -> None:
        """Something happened; `noticed_us` is the time of the one who watches, which never goes back."""
        self.now_us = max(self.now_us, noticed_us)
        self._apply[type(record)](record)

    def say(self, sentence: str) -> None:
        """Something happened that people should read."""
        self._happened += 1
        self.happenings.append((self._happened, self.now_us, sentence))

    def followers(self, topic: TopicId) -> Iterable[NodeId]:
        """The nodes that follow a topic."""
        return self._followers.get(topic, ())

    # Changes of nodes, links and interests.

    def add(self, node: NodeId) -> SceneNode:
        """The node of this id, added if it is new."""
        if node not in self.nodes:
            self.nodes[node] = SceneNode()
            self.version += 1
            self.say(f"node {self.name_node(node)} came")
        return self.nodes[node]

    def remove(self, node: NodeId, how: str) -> None:
        """A node is gone. Nodes that still report it as a neighbour are remembered, in case it comes back."""
        if self._forget(node):
            self.say(f"node {self.name_node(node)} {how}")

    def _forget(self, node: NodeId) -> bool:
        gone = self.nodes.pop(node, None)
        if gone is None:
            return False
        for topic in gone.roles:
            self._followers.get(topic, {}).pop(node, None)
        self.version += 1
        return True

    def set_role(self, node: NodeId, topic: TopicId, role: int) -> None:
        """A node's role on a topic is this one now; 0: none."""
        roles = self.add(node).roles
        if roles.get(topic, 0) == role:
            return
        self.version += 1
        followers = self._followers.setdefault(topic, {})
        if role & Role.FOLLOWS:
            followers[node] = None
        else:
            followers.pop(node, None)
        if role:
            roles[topic] = role
        else:
            del roles[topic]

    def _start(self, record: NodeStarted) -> None:
        # A node that restarts has nothing of what it had.
        self._forget(record.node)
        self.add(record.node)

    def set_link(self, node: NodeId, peer: NodeId, is_up: bool) -> None:
        """A node reports a peer as its neighbour, or no longer. The link is up while either end reports the other."""
        if not is_up and node not in self.nodes:
            return
        neighbours = self.add(node).neighbours
        if (peer in neighbours) == is_up:
            return
        if is_up:
            neighbours[peer] = None
        else:
            del neighbours[peer]
        other = self.nodes.get(peer)
        if other is not None and node not in other.neighbours:
            self.version += 1
            self.say(f"link {self.name_node(node)} - {self.name_node(peer)} {'up' if is_up else 'down'}")

    def _change_view(self, record: TopicLinksChanged) -> None:
        view = self.add(record.node).views.setdefault(record.topic, {})
        for peer in record.removed:
            view.pop(peer, None)
        view.update(dict.fromkeys(record.added))
        self.version += 1

    # Messages.

    def _message(self, topic: TopicId, publisher: NodeId, sequence: int, published_us: int) -> SceneMessage:
        """The message of this name. The record of its publication may come after others, because it is fetched later."""
        name = publisher, sequence
        found = self.messages.get(name)
        if found is None:
            expected = frozenset(self.followers(topic)) - {publisher}
            found = self.messages[name] = SceneMessage(topic, self.now_us, published_us, expected)
            if len(self.messages) > MESSAGES_MAX:
                del self.messages[next(iter(self.messages))]
        return found

    def _publish(self, record: MessagePublished) -> None:
        self._message(record.topic, record.node, record.sequence, record.at_us)

    def _copy(self, record: CopyReceived) -> None:
        copy = SceneCopy(
            self.now_us, record.at_us, record.sender, record.node, record.topic, record.hops, record.needless
        )
        self.copies.append(copy)
        self._message(record.topic, record.publisher, record.sequence, record.at_us).copies.append(copy)

    def _deliver(self, record: MessageDelivered) -> None:
        message = self._message(record.topic, record.publisher, record.sequence, record.published_us)
        message.published_us = record.published_us
        message.delivered[record.node] = record.at_us

    def _lose(self, record: MessagesLost) -> None:
        count = record.before - record.after - 1
        publisher, topic = self.name_node(record.publisher), self.name_topic(record.topic)
        self.say(f"node {self.name_node(record.node)} gave up on {count} messages of {publisher} on {topic}")

    def _drop(self, record: MessageDropped) -> None:
        self.say(
            f"node {self.name_node(record.node)} dropped a message on {self.name_topic(record.topic)}: {record.reason}"
        )

    def _count_reason(self, record: ReasonCounted) -> None:
        times = f" ({record.times} times)" if record.times > 1 else ""
        self.say(f"node {self.name_node(record.node)}: {record.reason}{times}")

    def _count_control(self, record: ControlSent) -> None:
        self.control[record.kind] += record.messages
