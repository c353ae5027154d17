"""The topics that a node holds: names, ids, who reads and who publishes, and what its validators say."""

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from gossamer.live.api.messages import Message
from gossamer.live.api.subscription import Subscription
from gossamer.live.operations.status import Histogram
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role, TopicId, identity
from gossamer.protocols.contract.actions import Validate
from gossamer.protocols.contract.events import Outcome

log = logging.getLogger("gossamer.live")

# Chosen: names of topics are short; what is longer is a mistake.
TOPIC_BYTES_MAX = 255
# Chosen: topics whose latencies are kept apart; those of any further topic are not.
HISTOGRAMS_MAX = 10_000

# Chosen: messages that wait for validators before no more is read; half of it, and reading goes on.
WAITING_MAX = 1_024

Verdict = Outcome | bool | None
Validator = Callable[[Message], Verdict | Awaitable[Verdict]]


class LiveTopic:
    """What this node does with a topic."""

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
        # Whether the machine has been told of it.
        self.is_held = False

    @property
    def role(self) -> int:
        """See `model.values.ids.Role`; 0: none."""
        return (Role.FOLLOWS if self.subscriptions else 0) | (Role.PUBLISHES if self.publishers else 0)


class LiveTopics:
    """Topics by name and by id. `discloses`: an id may be told from a name. `secrets`: what those who hold a topic share."""

    def __init__(self, discloses: bool, payload_bytes: int, secrets: Mapping[str, bytes]) -> None:
        if discloses and secrets:
            raise InputError(
                "secrets are for system='stan'; every other system tells neighbours which topics a node holds"
            )
        for name, secret in secrets.items():
            check_topic(name)
            if not isinstance(secret, bytes) or not secret:
                raise InputError(f"the secret of {name!r} must be bytes, and not empty")
        self.by_name: dict[str, LiveTopic] = {}
        self.by_id: dict[TopicId, LiveTopic] = {}
        self._discloses = discloses
        self._payload_bytes = payload_bytes
        self._secrets = dict(secrets)

    def hold(self, name: str) -> LiveTopic:
        """The topic of this name, made if need be."""
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
        """Nobody reads or publishes any more."""
        self.by_id.pop(topic.id, None)
        self.by_name.pop(topic.name, None)

    def name_of(self, topic: TopicId) -> str | None:
        """The name behind an id, if this node knows it."""
        found = self.by_id.get(topic)
        return None if found is None else found.name

    def _id(self, name: str, secret: bytes) -> TopicId:
        if self._discloses:
            return identity(name.encode())
        # Nobody without the secret can tell the name from the token.
        return identity(hmac.digest(secret or b"gossamer", name.encode(), "sha256"))


def check_topic(name: str) -> None:
    """A name that cannot be is refused in a sentence."""
    if not isinstance(name, str) or not name:
        raise InputError("a topic's name must be text, and not empty")
    size = len(name.encode())
    if size > TOPIC_BYTES_MAX:
        raise InputError(f"a topic's name takes at most {TOPIC_BYTES_MAX} bytes, this one has {size}")


class Judge:
    """Asks validators, those that answer at once and those that take their time, and passes their outcome on."""

    def __init__(
        self,
        topics: LiveTopics,
        settle: Callable[[int, Outcome], None],
        hold: Callable[[str], None],
        release: Callable[[str], None],
    ) -> None:
        # Messages that were not accepted, by reason.
        self.counts: Counter[str] = Counter()
        self._topics = topics
        self._pass_on = settle
        # What stops this node's reading, and lets it go on.
        self._hold = hold
        self._release = release
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, action: Validate) -> None:
        """Later, that is: the machine is answering another event just now. While many wait, no more is read."""
        self._waiting += 1
        if self._waiting == WAITING_MAX:
            self._hold("validators")
        asyncio.get_running_loop().call_soon(self._judge, action)

    def stop(self) -> None:
        """Wait for nobody any more."""
        for task in self._tasks:
            task.cancel()

    def _judge(self, action: Validate) -> None:
        topic = self._topics.by_id.get(action.topic)
        if topic is None or len(action.payload) > topic.payload_bytes:
            self._settle(action.ticket, Outcome.REJECT)
            return
        if topic.validator is None:
            self._settle(action.ticket, Outcome.ACCEPT)
            return
        publisher = f"{action.publisher:016x}"
        message = Message(topic.name, action.payload, publisher, action.sequence, 0, action.published_us / 1e6)
        try:
            verdict = topic.validator(message)
        except Exception:
            log.exception("the validator of %s failed; the message is ignored", topic.name)
            verdict = Outcome.IGNORE
        if isinstance(verdict, Awaitable):
            task = asyncio.ensure_future(self._await_verdict(action.ticket, topic.name, verdict))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._settle(action.ticket, _outcome(verdict))

    async def _await_verdict(self, ticket: int, topic: str, verdict: Awaitable[Verdict]) -> None:
        try:
            outcome = _outcome(await verdict)
        except Exception:
            log.exception("the validator of %s failed; the message is ignored", topic)
            outcome = Outcome.IGNORE
        self._settle(ticket, outcome)

    def _settle(self, ticket: int, outcome: Outcome) -> None:
        self._waiting -= 1
        if self._waiting == WAITING_MAX // 2:
            self._release("validators")
        if outcome is not Outcome.ACCEPT:
            self.counts[f"validator: {outcome.name.lower()}"] += 1
        self._pass_on(ticket, outcome)


def _outcome(verdict: Verdict) -> Outcome:
    if verdict is None or verdict is True:
        return Outcome.ACCEPT
    return Outcome.REJECT if verdict is False else Outcome(verdict)
