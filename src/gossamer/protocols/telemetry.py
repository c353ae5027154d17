"""Telemetry: what happened at a node, as records that an observer outside can add up.

`StepTelemetry` reads every event of one node and the machine's answer to it, and changes nothing. Simulated, recorded and
live nodes use it alike, so that their records mean the same. Times are those of the node's own clock.

Messages are traced by their number: with `every=N`, a power of two, those whose sequence number is divisible by N. All nodes
choose the same messages, so that a traced message has the records of every node that it reached.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import Action, Deliver, Observe, Send, Validate
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Outcome,
    Publish,
    PublishBurst,
    Started,
    Stopping,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import (
    BufferFull,
    Fact,
    Lost,
    NeighbourDown,
    NeighbourUp,
    TopicViewChanged,
)
from gossamer.protocols.contract.messages import Burst, Data, Value, data_in

# Chosen: the traced messages of which a node remembers the first copy; older ones count as new if they come again.
FIRST_COPIES_MAX = 4_096

# Chosen: control messages are counted over this time before there is a record of them.
COUNT_US = 1_000_000

# Why a copy was needless.
SECOND, OWN, NOT_HELD = "a copy came before", "its own message", "does not hold the topic"


class TelemetryRecord(Value, frozen=True, array_like=True, gc=False):
    """Something that happened at a node."""

    at_us: int
    node: NodeId


class NodeStarted(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="node_started"):
    """The node started."""


class NodeLeft(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="node_left"):
    """The node left the network. A node that is killed has no such record."""


class InterestChanged(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="interest_changed"):
    """The node's role on a topic (`model.values.ids.Role`) is this one now; 0: none."""

    topic: TopicId
    role: int


class TopicNamed(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="topic_named"):
    """The name of a topic that a live node holds."""

    topic: TopicId
    name: str


class LinkChanged(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="link_changed"):
    """The node reports a peer as its neighbour, or no longer."""

    peer: NodeId
    is_up: bool


class TopicLinksChanged(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="topic_links_changed"):
    """The node's neighbours on one topic changed. Only systems with links of their own for each topic report this."""

    topic: TopicId
    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class MessagePublished(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="message_published"):
    """The node published a traced message."""

    topic: TopicId
    sequence: int


class CopyReceived(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="copy_received"):
    """A copy of a traced message came over the link to `sender`. `needless` says why it was of no use; empty: it was new."""

    sender: NodeId
    topic: TopicId
    publisher: NodeId
    sequence: int
    hops: int
    needless: str


class MessageDelivered(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="message_delivered"):
    """The node handed a traced message to its application. Publisher and node may have different clocks."""

    topic: TopicId
    publisher: NodeId
    sequence: int
    hops: int
    published_us: int


class MessagesLost(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="messages_lost"):
    """The node gave up on a publisher's messages with after < sequence < before."""

    topic: TopicId
    publisher: NodeId
    after: int
    before: int


class MessageDropped(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="message_dropped"):
    """The node dropped a message, and says why."""

    topic: TopicId
    reason: str


class ControlSent(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="control_sent"):
    """Since the last record of this kind the node sent so many control messages of a kind."""

    kind: str
    messages: int


class ReasonCounted(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="reason_counted"):
    """A live node dropped or refused something, or something failed, so many times more for this reason."""

    reason: str
    times: int


class QueueMeasured(TelemetryRecord, frozen=True, array_like=True, gc=False, tag="queue_measured"):
    """So many bytes wait for the peers of a live node."""

    queued_bytes: int


AnyRecord = (
    NodeStarted
    | NodeLeft
    | InterestChanged
    | TopicNamed
    | LinkChanged
    | TopicLinksChanged
    | MessagePublished
    | CopyReceived
    | MessageDelivered
    | MessagesLost
    | MessageDropped
    | ControlSent
    | ReasonCounted
    | QueueMeasured
)


def power_of_two(every: int) -> int:
    """The largest power of two that is not above a number, and at least 1."""
    return 1 << max(every.bit_length() - 1, 0)


class StepTelemetry:
    """The records of one node; `roles` are those that it has on topics already."""

    def __init__(self, node: NodeId, every: int = 1, roles: Mapping[TopicId, int] | None = None) -> None:
        self.every = every
        self._node = node
        # Control messages by kind, and when they were last counted.
        self._control: Counter[str] = Counter()
        self._counted_us = 0
        self._roles: dict[TopicId, int] = dict(roles or {})
        self._sequence = 0
        # The topics of messages that wait for the validator, by ticket.
        self._judged: dict[int, TopicId] = {}
        # (publisher, sequence) of traced messages that came here, oldest first.
        self._came: dict[tuple[NodeId, int], None] = {}

    def records(self, now_us: int, event: Event, actions: Sequence[Action]) -> list[AnyRecord]:
        """The records of one event and the machine's answer to it."""
        found: list[AnyRecord] = []
        if type(event) is MessageReceived:
            self._receive(now_us, event, found)
        elif type(event) is Publish:
            self._publish(now_us, event.topic, event.sequence, 1, found)
        elif type(event) is PublishBurst:
            self._publish(now_us, event.topic, event.sequence, len(event.items), found)
        elif isinstance(event, Started):
            found.append(NodeStarted(now_us, self._node))
        elif type(event) is Subscribe or type(event) is Unsubscribe:
            self._change_interest(now_us, event, found)
        elif type(event) is Validated:
            topic = self._judged.pop(event.ticket, None)
            if topic is not None and event.outcome == Outcome.REJECT:
                found.append(MessageDropped(now_us, self._node, topic, "rejected by the validator"))
        # Deliveries come first: there are many of them in one answer. A mask is faster than a division.
        mask = self.every - 1
        for action in actions:
            if type(action) is Deliver:
                if not action.sequence & mask:
                    name = action.topic, action.publisher, action.sequence
                    found.append(MessageDelivered(now_us, self._node, *name, action.hops, action.published_us))
            elif type(action) is Send:
                if not isinstance(action.message, Data | Burst):
                    self._control[type(action.message).__name__] += len(action.to)
            elif type(action) is Observe:
                self._observe(now_us, action.fact, found)
            elif type(action) is Validate:
                self._judged[action.ticket] = action.topic
        if now_us - self._counted_us >= COUNT_US:
            found += [ControlSent(now_us, self._node, kind, count) for kind, count in self._control.items()]
            self._control.clear()
            self._counted_us = now_us
        if type(event) is Stopping:
            found.append(NodeLeft(now_us, self._node))
        return found

    def _receive(self, now_us: int, event: MessageReceived, found: list[AnyRecord]) -> None:
        message, every = event.message, self.every
        if isinstance(message, Burst):
            first = message.sequence
            for number in range(first + -first % every, first + message.count, every):
                copy = message.topics, message.publisher, number, message.hops
                found.append(self._copy(now_us, event.sender, *copy))
            return
        for data in data_in(message):
            if data.sequence % every == 0:
                found.append(self._copy(now_us, event.sender, data.topics, data.publisher, data.sequence, data.hops))

    def _copy(
        self, now_us: int, sender: NodeId, topics: tuple[TopicId, ...], publisher: NodeId, sequence: int, hops: int
    ) -> CopyReceived:
        name = publisher, sequence
        if publisher == self._node:
            needless = OWN
        elif name in self._came:
            needless = SECOND
        else:
            needless = "" if any(topic in self._roles for topic in topics) else NOT_HELD
            self._came[name] = None
            if len(self._came) > FIRST_COPIES_MAX:
                del self._came[next(iter(self._came))]
        return CopyReceived(now_us, self._node, sender, topics[0], publisher, sequence, hops, needless)

    def _publish(self, now_us: int, topic: TopicId, sequence: int, count: int, found: list[AnyRecord]) -> None:
        # `events.Publish` says which number a message has if the driver gives none.
        first = sequence or (self._sequence or now_us) + 1
        self._sequence = first + count - 1
        for number in range(first + -first % self.every, first + count, self.every):
            found.append(MessagePublished(now_us, self._node, topic, number))

    def _change_interest(self, now_us: int, event: Subscribe | Unsubscribe, found: list[AnyRecord]) -> None:
        role = event.role if isinstance(event, Subscribe) else 0
        if role == self._roles.get(event.topic, 0):
            return
        if role:
            self._roles[event.topic] = int(Role(role))
        else:
            del self._roles[event.topic]
        found.append(InterestChanged(now_us, self._node, event.topic, role))

    def _observe(self, now_us: int, fact: Fact, found: list[AnyRecord]) -> None:
        node = self._node
        if type(fact) is NeighbourUp:
            found.append(LinkChanged(now_us, node, fact.node, True))
        elif type(fact) is NeighbourDown:
            found.append(LinkChanged(now_us, node, fact.node, False))
        elif type(fact) is TopicViewChanged:
            found.append(TopicLinksChanged(now_us, node, fact.topic, fact.removed, fact.added))
        elif type(fact) is Lost:
            found.append(MessagesLost(now_us, node, fact.topic, fact.publisher, fact.after, fact.before))
        elif type(fact) is BufferFull:
            found.append(MessageDropped(now_us, node, fact.topic, "buffer full"))
