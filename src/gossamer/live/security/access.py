"""Access rules: which nodes may publish on and subscribe to which topics, by the names in their certificates.

    [[allow]]
    names = ["feed-*"]
    publish = ["prices/*"]
    subscribe = ["*"]

With a file of rules, everything that no rule allows is refused. In a pattern `*` matches any number of characters,
including none and including `/`; every other character matches itself. All nodes have the same file, and each node applies
it to the messages that it receives and sends.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Self

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.pattern import matches
from gossamer.protocols.contract.messages import Burst, Data

# Chosen: about 10 MB when full. Cached answers by name and topic; the least recently used is evicted.
_ANSWERS_MAX = 65_536


class _Allow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule: nodes with these names may publish on and subscribe to these topics."""

    names: list[str]
    publish: list[str] = []
    subscribe: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    allow: list[_Allow] = []


class AccessRules:
    """Which names may publish on and subscribe to which topics; everything else is forbidden."""

    def __init__(self, allow: list[_Allow]) -> None:
        # Both take a node's name and a topic's name. The answers are cached, because every message on every link asks.
        self.may_publish: Callable[[str, str], bool] = _cached_matcher(
            [(rule.names, rule.publish) for rule in allow if rule.publish]
        )
        self.may_subscribe: Callable[[str, str], bool] = _cached_matcher(
            [(rule.names, rule.subscribe) for rule in allow if rule.subscribe]
        )
        self._all_names = [pattern for rule in allow if "*" in rule.subscribe for pattern in rule.names]

    def may_follow_all(self, name: str) -> bool:
        """Whether a rule allows a node of this name to subscribe to every topic (`subscribe = ["*"]`)."""
        return any(matches(pattern, name) for pattern in self._all_names)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a TOML file of rules."""
        try:
            content = msgspec.toml.decode(Path(path).read_bytes(), type=_File)
        except FileNotFoundError:
            raise InputError(f"there is no file of access rules {path}") from None
        except OSError as error:
            raise InputError(f"cannot read the access rules {path}: {error.strerror}") from None
        except ValueError as error:  # from TOML, msgspec or UTF-8
            raise InputError(f"{path} is not a file of access rules: {error}") from None
        for number, rule in enumerate(content.allow, 1):
            if not rule.names or not (rule.publish or rule.subscribe):
                raise InputError(
                    f"rule {number} of {path} allows nothing; it needs `names`, and topics in `publish` or `subscribe`"
                )
        return cls(content.allow)


class Guard:
    """Applies access rules to the messages of a node's links.

    `topic_names` gives the name of a topic, or None if this node does not know the topic. A node holds every topic that it
    relays, so it knows the names of these.
    """

    def __init__(self, rules: AccessRules, topic_names: Callable[[TopicId], str | None]) -> None:
        self._rules = rules
        self._topic_names = topic_names

    def incoming(self, link_name: str, sender: NodeId, data: Data | Burst, publisher_name: str | None) -> str | None:
        """Why a received message must be refused, or None.

        `link_name` and `sender` are the name and the id in the link's certificate. `publisher_name` is the name in the
        certificate inside a signed message, or None. Every hop checks a certified name. Without a certificate only the
        first hop knows the publisher: it checks the name of the link.
        """
        topics = data.topics
        names = [name for topic in topics if (name := self._topic_names(topic)) is not None]
        if not names:
            return "this node does not know the topic"
        if data.hops == 0 and data.publisher != sender:
            return f"{link_name} relays a message as if it were its publisher"
        if data.publisher == sender and publisher_name is None:
            # The next hops cannot identify the publisher, so this node must check all topics of the message.
            if len(names) < len(topics):
                return (
                    "this node does not know all its topics, and the message carries no certificate for others to check"
                )
            publisher_name = link_name
        if publisher_name is not None:
            for name in names:
                if not self._rules.may_publish(publisher_name, name):
                    return f"{publisher_name} may not publish on {name}"
        if data.publisher != sender and not any(self._rules.may_subscribe(link_name, name) for name in names):
            return f"{link_name} may not subscribe to {names[0]} and so may not relay it"
        return None

    def outgoing(self, link_name: str, data: Data | Burst) -> bool:
        """Whether a message may be sent over a link: the peer must be allowed to subscribe to one of its topics."""
        for topic in data.topics:
            name = self._topic_names(topic)
            if name is not None and self._rules.may_subscribe(link_name, name):
                return True
        return False


def _cached_matcher(rules: list[tuple[list[str], list[str]]]) -> Callable[[str, str], bool]:
    """A function that says whether any rule matches a node's name and a topic's name, with a cache."""

    @lru_cache(maxsize=_ANSWERS_MAX)
    def allowed(name: str, topic_name: str) -> bool:
        return any(
            any(matches(pattern, name) for pattern in names) and any(matches(pattern, topic_name) for pattern in topics)
            for names, topics in rules
        )

    return allowed
