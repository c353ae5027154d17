"""The topics that a node follows or publishes on: names, ids, subscriptions and publishers."""

import hmac
from collections.abc import Awaitable, Callable, Mapping

from gossamer.live.api.messages import Message
from gossamer.live.api.subscription import Subscription
from gossamer.live.operations.status import Histogram
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role, TopicId, identity
from gossamer.protocols.contract.events import Outcome

# Chosen: topic names are short; a longer one is a mistake.
TOPIC_BYTES_MAX = 255
# Chosen: the number of topics with latency histograms of their own; further topics have none.
HISTOGRAMS_MAX = 10_000

Verdict = Outcome | bool | None
Validator = Callable[[Message], Verdict | Awaitable[Verdict]]


class LiveTopic:
    """One topic of a node: its subscriptions, its publishers, and its validator."""

    __slots__ = (
        "id",
        "is_held",
        "latencies",
        "name",
        "payload_bytes",
        "publishers",
        "secret",
        "subscriptions",
        "validator",
    )

    def __init__(self, name: str, topic: TopicId, secret: bytes, payload_bytes: int) -> None:
        self.name = name
        self.id = topic
        self.secret = secret
        self.payload_bytes = payload_bytes
        self.subscriptions: list[Subscription] = []
        self.publishers = 0
        self.validator: Validator | None = None
        self.latencies: Histogram | None = None
        # Whether the machine holds the topic.
        self.is_held = False

    @property
    def role(self) -> int:
        """See `model.values.ids.Role`; 0: neither follows nor publishes."""
        return (Role.FOLLOWS if self.subscriptions else 0) | (Role.PUBLISHES if self.publishers else 0)


class LiveTopics:
    """A node's topics by name and by id.

    `discloses`: the ids are plain hashes of the names. Otherwise they are keyed with the topic's secret from `secrets`.
    """

    def __init__(self, discloses: bool, payload_bytes: int, secrets: Mapping[str, bytes]) -> None:
        if discloses and secrets:
            raise InputError(
                "`secrets` needs system='stan'; every other system tells neighbours which topics a node holds"
            )
        for name, secret in secrets.items():
            check_topic(name)
            if not isinstance(secret, bytes) or not secret:
                raise InputError(f"the secret of {name!r} must be non-empty bytes")
        self.by_name: dict[str, LiveTopic] = {}
        self.by_id: dict[TopicId, LiveTopic] = {}
        self._discloses = discloses
        self._payload_bytes = payload_bytes
        self._secrets = dict(secrets)

    def get_or_add(self, name: str) -> LiveTopic:
        """The topic of this name, added if it is new."""
        check_topic(name)
        known = self.by_name.get(name)
        if known is not None:
            return known
        secret = self._secrets.get(name, b"")
        topic = self._id(name, secret)
        if topic in self.by_id:
            raise InputError(f"{name!r} and {self.by_id[topic].name!r} have the same id; rename one of them")
        made = LiveTopic(name, topic, secret, self._payload_bytes)
        if len(self.by_id) < HISTOGRAMS_MAX:
            made.latencies = Histogram()
        self.by_name[name] = self.by_id[topic] = made
        return made

    def forget(self, topic: LiveTopic) -> None:
        """Remove a topic that has no readers and no publishers."""
        self.by_id.pop(topic.id, None)
        self.by_name.pop(topic.name, None)

    def has_secret(self, name: str) -> bool:
        """Whether the application gave this topic a secret."""
        return name in self._secrets

    def secret_of(self, topic: TopicId) -> bytes:
        """The secret of a topic; empty if it has none, or is not known here."""
        found = self.by_id.get(topic)
        return b"" if found is None else found.secret

    def name_of(self, topic: TopicId) -> str | None:
        """The name that belongs to an id, if this node knows it."""
        found = self.by_id.get(topic)
        return None if found is None else found.name

    def _id(self, name: str, secret: bytes) -> TopicId:
        if self._discloses:
            return identity(name.encode())
        # Only nodes with the secret can compute the id from the name.
        return identity(hmac.digest(secret or b"gossamer", name.encode(), "sha256"))


def check_topic(name: str) -> None:
    """Raise an InputError if a topic cannot have this name."""
    if not isinstance(name, str) or not name:
        raise InputError("a topic's name must be a non-empty string")
    size = len(name.encode())
    if size > TOPIC_BYTES_MAX:
        raise InputError(f"a topic's name has at most {TOPIC_BYTES_MAX} bytes, this one has {size}")
