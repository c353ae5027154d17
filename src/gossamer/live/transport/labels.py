"""Topics on the wire under other names on each link, for systems that do not disclose interests.

A topic's id is the same everywhere: whoever taps several links could count a node's topics, and tell which nodes share
one. On the wire each topic therefore has a label, which is different for each sender and receiver: 64 bits of an HMAC under
the topic's secret. Without a secret, whoever guesses the topic's name can compute its labels.
"""

import hmac
from enum import Enum
from typing import Any, get_args

import msgspec

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.events import Event, Subscribe, Unsubscribe

# Chosen: labels that are kept, 100 bytes each; further ones are computed again when they are needed.
KEPT_MAX = 131_072
# Chosen: topics that the node has given up whose labels are still known, because messages about leaving are under way.
LEFT_MAX = 1_024


class TopicLabels:
    """The labels of one node's topics on all its links."""

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._keys: dict[TopicId, bytes] = {}
        # Topics that the node has given up, the longest ago first.
        self._left: dict[TopicId, None] = {}
        self._outgoing: dict[tuple[NodeId, TopicId], int] = {}
        # By sender; complete for the topics that the node holds.
        self._incoming: dict[NodeId, dict[int, TopicId]] = {}

    def note(self, event: Event) -> None:
        """The node takes up a topic, or has given one up."""
        if isinstance(event, Subscribe):
            self._left.pop(event.topic, None)
            if event.topic not in self._keys:
                key = self._keys[event.topic] = event.topic.to_bytes(8, "big") + event.secret
                for node, labels in self._incoming.items():
                    labels[_label(key, node, self._node)] = event.topic
        elif isinstance(event, Unsubscribe) and event.topic in self._keys:
            self._left[event.topic] = None
            if len(self._left) > LEFT_MAX:
                oldest = next(iter(self._left))
                del self._left[oldest], self._keys[oldest]
                self._incoming, self._outgoing = {}, {}

    def hide(self, node: NodeId, message: Any) -> Any:
        """A message to a node, with the label in place of its topic; None if the topic is not known here."""
        topic = getattr(message, "topic", None)
        if topic is None:
            return message
        label = self._outgoing.get((node, topic))
        if label is None:
            key = self._keys.get(topic)
            if key is None:
                return None
            if len(self._outgoing) >= KEPT_MAX:
                self._outgoing = {}
            label = self._outgoing[node, topic] = _label(key, self._node, node)
        return on_topic(message, label)

    def show(self, node: NodeId, message: Any) -> Any:
        """A message from a node, with its topic; None if the node does not hold the topic."""
        label = getattr(message, "topic", None)
        if label is None:
            return message
        labels = self._incoming.get(node)
        if labels is None:
            if len(self._incoming) * len(self._keys) >= KEPT_MAX:
                self._incoming = {}
            labels = {_label(key, node, self._node): topic for topic, key in self._keys.items()}
            self._incoming[node] = labels
        topic = labels.get(label)
        return None if topic is None else on_topic(message, topic)


def _label(key: bytes, sender: NodeId, receiver: NodeId) -> int:
    ends = sender.to_bytes(8, "big") + receiver.to_bytes(8, "big")
    return int.from_bytes(hmac.digest(key, b"gossamer label" + ends, "sha256")[:8], "big")


def on_topic(message: Any, topic: TopicId) -> Any:
    """The same message on another topic, with all messages and names that it contains."""
    values = []
    kind = type(message)
    if kind not in _FIELDS:
        _FIELDS[kind] = _fields(kind)
    for name, holds in _FIELDS[kind]:
        value = getattr(message, name)
        if holds is Holds.TOPIC:
            value = topic
        elif holds is Holds.MESSAGES:
            value = tuple(on_topic(each, topic) for each in value)
        values.append(value)
    return kind(*values)


class Holds(Enum):
    """What a field of a message contains."""

    TOPIC = 0
    # Messages or names, each with a topic.
    MESSAGES = 1
    OTHER = 2


# The result of `_fields` for each class.
_FIELDS: dict[type, list[tuple[str, Holds]]] = {}


def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, Holds]]:
    return [
        (
            field.name,
            Holds.TOPIC if field.name == "topic" else Holds.MESSAGES if _names_topics(field.type) else Holds.OTHER,
        )
        for field in msgspec.structs.fields(kind)
    ]


def _names_topics(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return "topic" in annotation.__struct_fields__
    return any(_names_topics(argument) for argument in get_args(annotation))
