"""The topics that a node holds: how subscriptions and publishers open and close them, and how the machine learns it."""

from collections import Counter
from collections.abc import Callable, Sequence

from gossamer.live.api.permissions import refuse
from gossamer.live.api.plans import PlannedPeers
from gossamer.live.api.running import RunningNode
from gossamer.live.api.subscription import NOTHING_OLDER, Subscription, Wanted
from gossamer.live.api.topics import LiveTopic, LiveTopics, Validator
from gossamer.live.security.node_security import NodeSecurity
from gossamer.model.values.errors import InputError, NodeStateError
from gossamer.protocols.contract.events import Outcome, Validated
from gossamer.protocols.contract.messages import Peer


class HeldTopics:
    """The roles of a node on its topics. Subscriptions and publishers call it; it tells the machine."""

    def __init__(
        self, topics: LiveTopics, security: NodeSecurity, plan: PlannedPeers | None, payload_bytes: int
    ) -> None:
        self.topics = topics
        # Set while the node runs.
        self.running: RunningNode | None = None
        self._was_started = False
        # Called when the node begins to publish on a topic.
        self.on_publisher: Callable[[LiveTopic], None] = _ignore
        # Messages that readers lost, by reason.
        self.drops: Counter[str] = Counter()
        self._security = security
        self._plan = plan
        self._payload_bytes = payload_bytes

    def require_running(self) -> RunningNode:
        """The running node; a NodeStateError if it does not run."""
        if self.running is not None:
            return self.running
        if self._was_started:
            raise NodeStateError("this node was stopped; make a new Node")
        raise NodeStateError("this node was not started; use it inside `async with gossamer.Node(...) as node`")

    def start(self, running: RunningNode) -> None:
        """The node has started."""
        self.running, self._was_started = running, True

    def open_subscription(self, subscription: Subscription) -> None:
        """A subscription was entered."""
        self.require_running()
        refuse(self._security.why_not_subscribe(subscription.topic))
        self.require_running().keep_position(subscription, self.topics.get_or_add(subscription.topic))
        self.follow(subscription.topic, subscription, subscription.wanted)

    def follow(self, name: str, subscription: Subscription, wanted: Wanted = NOTHING_OLDER) -> None:
        """Deliver the messages of a topic to a subscription from now on, after the earlier ones that it wants."""
        topic = self.topics.get_or_add(name)
        was_followed = bool(topic.subscriptions)
        topic.subscriptions.append(subscription)
        if not was_followed or wanted != NOTHING_OLDER:
            self.update(topic, wanted)

    def close_subscription(self, subscription: Subscription) -> None:
        """A subscription was closed."""
        self.unfollow(subscription.topic, subscription)

    def unfollow(self, name: str, subscription: Subscription) -> None:
        """Deliver no more messages of a topic to a subscription."""
        topic = self.topics.by_name.get(name)
        if topic is not None and subscription in topic.subscriptions:
            topic.subscriptions.remove(subscription)
            if not topic.subscriptions:
                self.update(topic)

    def open_publisher(self, name: str) -> None:
        """A publisher was entered."""
        self.require_running()
        refuse(self._security.why_not_publish(name))
        topic = self.topics.get_or_add(name)
        topic.publishers += 1
        if topic.publishers == 1:
            self.update(topic)
            self.on_publisher(topic)

    def close_publisher(self, name: str) -> None:
        """A publisher was left."""
        topic = self.topics.by_name[name]
        topic.publishers -= 1
        if not topic.publishers:
            self.update(topic)

    def close_all(self) -> None:
        """The node stops: end every subscription."""
        for topic in list(self.topics.by_id.values()):
            for subscription in list(topic.subscriptions):
                subscription.close()

    def set_validator(self, name: str, validator: Validator) -> None:
        """Judge the messages of a topic from now on."""
        topic = self.topics.get_or_add(name)
        topic.validator = validator
        self.update(topic)

    def set_limit(self, name: str, payload_bytes: int) -> None:
        """Bound the payloads of a topic from now on."""
        if not 0 < payload_bytes <= self._payload_bytes:
            raise InputError(f"`payload_bytes` must lie between 1 and {self._payload_bytes}, got {payload_bytes}")
        topic = self.topics.get_or_add(name)
        topic.payload_bytes = payload_bytes
        self.update(topic)

    # Called by readers, validators and the plan.

    def count_drop(self, reason: str, sentence: str = "") -> None:
        """Count a message that a reader lost. A sentence is logged, once in a while for each reason."""
        self.drops[reason] += 1
        if sentence and self.running is not None:
            self.running.sockets.log.add(reason, sentence)

    def pause_reading(self, reason: str) -> None:
        """Read from no link until the same reason is resumed."""
        if self.running is not None:
            self.running.sockets.pause_reading(reason)

    def resume_reading(self, reason: str) -> None:
        """Read again, unless there is another reason to pause."""
        if self.running is not None:
            self.running.sockets.resume_reading(reason)

    def on_validated(self, ticket: int, outcome: Outcome) -> None:
        """A validator answered."""
        if self.running is not None:
            self.running.driver.give(Validated(ticket, int(outcome)))

    def on_planned_peer(self, topics: frozenset[str]) -> None:
        """A peer of the plan was found: the machine learns it with the topics of both."""
        for name in topics & self.topics.by_name.keys():
            if self.topics.by_name[name].is_held:
                self.update(self.topics.by_name[name])

    def update(self, topic: LiveTopic, wanted: Wanted = NOTHING_OLDER, peers: Sequence[Peer] = ()) -> None:
        """Tell the machine the node's present role on a topic, and further peers that hold it."""
        if self.running is None:
            return
        planned = () if self._plan is None else self._plan.peers_on(topic.name)
        self.running.hold(topic, (*planned, *peers), wanted)
        if not topic.is_held and topic.validator is None:
            self.topics.forget(topic)


def _ignore(topic: LiveTopic) -> None:
    """Nobody asked to be told."""
