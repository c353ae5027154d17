"""Access rules: who may publish and who may follow which topics, by the names in certificates.

    [[allow]]
    names = ["feed-*"]
    publish = ["prices/*"]
    subscribe = ["*"]

Once there are rules, what no rule allows is refused. In a pattern `*` stands for any characters, also none, also `/`;
every other character stands for itself. Rules are the same file on every node, and each node applies them to what
comes in and to what goes out.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Self

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Data

# Chosen: some 10 MB when full. Answers by name and topic that are remembered; the longest unused is forgotten.
_ANSWERS_MAX = 65_536


class _Allow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule: these names may do this."""

    names: list[str]
    publish: list[str] = []
    subscribe: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    allow: list[_Allow] = []


class Rules:
    """Who may do what; everybody else may not."""

    def __init__(self, allow: list[_Allow]) -> None:
        # By name and topic name: asked for every message on every link.
        self.may_publish: Callable[[str, str], bool] = _remembering(
            [(rule.names, rule.publish) for rule in allow if rule.publish]
        )
        self.may_subscribe: Callable[[str, str], bool] = _remembering(
            [(rule.names, rule.subscribe) for rule in allow if rule.subscribe]
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a TOML file of rules."""
        try:
            content = msgspec.toml.decode(Path(path).read_bytes(), type=_File)
        except FileNotFoundError:
            raise InputError(f"there is no file of access rules {path}") from None
        except OSError as error:
            raise InputError(f"cannot read the access rules {path}: {error.strerror}") from None
        except ValueError as error:  # TOML's, msgspec's and UTF-8's
            raise InputError(f"{path} is not a file of access rules: {error}") from None
        for number, rule in enumerate(content.allow, 1):
            if not rule.names or not (rule.publish or rule.subscribe):
                raise InputError(
                    f"rule {number} of {path} allows nothing; it needs names, and topics to publish or subscribe to"
                )
        return cls(content.allow)


class Guard:
    """Applies rules to the messages of a node's links.

    `topic_names` gives the name of a topic that this node knows. A node holds every topic that it relays, so it knows its name.
    """

    def __init__(self, rules: Rules, topic_names: Callable[[TopicId], str | None]) -> None:
        self._rules = rules
        self._topic_names = topic_names

    def incoming(self, link_name: str, sender: NodeId, data: Data, publisher_name: str | None) -> str | None:
        """Why a message must be refused, or None.

        `link_name` and `sender` are the name and id in the certificate of the link; `publisher_name` is the name in the
        certificate inside a signed message, or None. A certified name is checked at every hop. Otherwise the first
        hop is the only one that can tell who publishes: it checks the name of the link.
        """
        topics = data.topics
        names = [name for topic in topics if (name := self._topic_names(topic)) is not None]
        if not names:
            return "the topic is not known here"
        if data.hops == 0 and data.publisher != sender:
            return f"{link_name} passes a message on as if it were its publisher"
        if data.publisher == sender and publisher_name is None:
            # The next hops cannot tell who published, so nothing may get past this one unchecked.
            if len(names) < len(topics):
                return "not all of its topics are known here, and it carries no certificate for others to check"
            publisher_name = link_name
        if publisher_name is not None:
            for name in names:
                if not self._rules.may_publish(publisher_name, name):
                    return f"{publisher_name} may not publish on {name}"
        if data.publisher != sender and not any(self._rules.may_subscribe(link_name, name) for name in names):
            return f"{link_name} may not hold {names[0]}, so it cannot relay it"
        return None

    def outgoing(self, link_name: str, data: Data) -> bool:
        """Whether the other end of a link may see a message: it may follow one of its topics."""
        for topic in data.topics:
            name = self._topic_names(topic)
            if name is not None and self._rules.may_subscribe(link_name, name):
                return True
        return False


def _remembering(rules: list[tuple[list[str], list[str]]]) -> Callable[[str, str], bool]:
    """The answer to whether a name and a topic name match a rule, remembered."""

    @lru_cache(maxsize=_ANSWERS_MAX)
    def allowed(name: str, topic_name: str) -> bool:
        return any(
            any(matches(pattern, name) for pattern in names) and any(matches(pattern, topic_name) for pattern in topics)
            for names, topics in rules
        )

    return allowed


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern stands for a text, in time proportional to both: no text of a peer's makes it slow."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        place = text.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return text.endswith(last)
