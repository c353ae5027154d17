"""What must never happen, watched in every simulation. A checker raises at the first breach.

They know only what machines were told and answered, never a protocol's inside.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.model.values.errors import CheckFailed
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Action,
    Deliver,
    Observe,
    Send,
)
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import data_in
from gossamer.simulator.engine import Watcher
from gossamer.systems import DISSEMINATIONS


class DeliveryChecker:
    """No delivery without a subscription, at most one delivery, no relay by a node without the topic."""

    def __init__(self, relay_by_others: bool = False) -> None:
        # Gossip relays through nodes without the topic, by its paper; nothing else may.
        self._relay_by_others = relay_by_others
        self._roles: dict[int, dict[int, int]] = {}
        self._delivered: dict[int, set[tuple[int, int]]] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        kind = type(event)
        if kind is Subscribe:
            self._roles.setdefault(node, {})[event.topic] = event.role  # type: ignore[union-attr]
        elif kind is Unsubscribe:
            self._roles.setdefault(node, {}).pop(event.topic, None)  # type: ignore[union-attr]
        for action in actions:
            if type(action) is Deliver:
                self._check_delivery(at_us, node, action)
            elif type(action) is Send and not self._relay_by_others:
                for data in data_in(action.message):
                    held = self._roles.get(node, ())
                    if data.topic not in held and not any(topic in held for topic, _ in data.also):
                        raise CheckFailed(f"at {at_us} us node {node} relayed topic {data.topic} without it")

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: a new machine starts without subscriptions and without a memory."""
        self._roles.pop(node, None)
        self._delivered.pop(node, None)

    def _check_delivery(self, at_us: int, node: int, action: Deliver) -> None:
        for topic in (action.topic, *action.also):
            if not self._roles.get(node, {}).get(topic, 0) & Role.FOLLOWS:
                raise CheckFailed(f"at {at_us} us node {node} delivered topic {topic} without following it")
        name = (action.publisher, action.sequence)
        delivered = self._delivered.setdefault(node, set())
        if name in delivered:
            raise CheckFailed(
                f"at {at_us} us node {node} delivered message {action.sequence} of {action.publisher} twice"
            )
        delivered.add(name)


class OrderChecker:
    """With recovery, each publisher's messages on a topic are delivered in its order, from one subscription to its end."""

    def __init__(self) -> None:
        self._last: dict[int, dict[tuple[int, int], int]] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is Unsubscribe:
            last = self._last.get(node, {})
            self._last[node] = {name: sequence for name, sequence in last.items() if name[0] != event.topic}
        for action in actions:
            if type(action) is Deliver:
                last = self._last.setdefault(node, {})
                for topic in (action.topic, *action.also):
                    name = (topic, action.publisher)
                    if action.sequence <= last.get(name, 0):
                        raise CheckFailed(
                            f"at {at_us} us node {node} delivered message {action.sequence} of {action.publisher} "
                            f"on topic {topic} after message {last[name]}"
                        )
                    last[name] = action.sequence

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._last.pop(node, None)


class NeighbourChecker:
    """Neighbours are stated consistently: never oneself, never twice up, never down without up."""

    def __init__(self) -> None:
        self._neighbours: dict[int, set[int]] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if type(action) is not Observe:
                continue
            fact = action.fact
            mine = self._neighbours.setdefault(node, set())
            if type(fact) is NeighbourUp:
                if fact.node == node or fact.node in mine:
                    raise CheckFailed(f"at {at_us} us node {node} gained {fact.node} as a neighbour wrongly")
                mine.add(fact.node)
            elif type(fact) is NeighbourDown:
                if fact.node not in mine:
                    raise CheckFailed(f"at {at_us} us node {node} lost {fact.node}, which was no neighbour")
                mine.remove(fact.node)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._neighbours.pop(node, None)


class ClockChecker:
    """Time never runs backwards."""

    def __init__(self) -> None:
        self._latest_us = 0

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if at_us < self._latest_us:
            raise CheckFailed(f"node {node} was told of {at_us} us after {self._latest_us} us")
        self._latest_us = at_us

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""


# Fields of messages that name topics.
# What applications say is theirs; a burst's payloads are among its items.
_PAYLOADS = ("payload", "items")
_TOPIC_FIELDS = ("topic", "topics", "interest", "claims", "added", "removed", "also")
# Smaller numbers are counts and ids of simulated nodes: only a field's name can tell that they are topics.
_TELLING = 2**32
# Bytes of an id, and of a hash that is looked for.
_WORD = 8


class NonDisclosureChecker:
    """No topic's id or unkeyed hash reaches a node that does not hold the topic and never did (StAN).

    One that has let go of a topic knows it: word may still be under way to it, and tells it only who sent it.
    Looks at everything in a message: at fields that name topics, at every number that is too large for anything else,
    and at every string of bytes but the application's own.
    """

    def __init__(self) -> None:
        self._held: dict[int, set[int]] = {}
        # Ids and hashes of topics -> the topic.
        self._telling: dict[int | bytes, int] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is Subscribe:
            self._held.setdefault(node, set()).add(event.topic)
            self._note(event.topic)
        elif type(event) is MessageReceived:
            strange = self._topics_in(event.message) - self._held.get(node, set())
            if strange:
                raise CheckFailed(
                    f"at {at_us} us node {event.sender} told {node}, which does not hold it, of topic {min(strange)} "
                    f"in {type(event.message).__name__}"
                )

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: who comes back knows what it knew."""

    def _note(self, topic: int) -> None:
        word = topic.to_bytes(_WORD, "big")
        if topic >= _TELLING:
            self._telling |= dict.fromkeys((topic, word, word[::-1]), topic)
        for content in (word, word[::-1], str(topic).encode()):
            for algorithm in ("sha256", "sha1", "md5", "blake2b"):
                digest = hashlib.new(algorithm, content).digest()
                self._telling[digest[:_WORD]] = topic
                self._telling[int.from_bytes(digest[:_WORD], "big")] = topic
                self._telling[int.from_bytes(digest[:_WORD], "little")] = topic

    def _topics_in(self, message: Any) -> set[int]:
        """Every topic that a reader of the message learns of."""
        found: set[int] = set()
        for name in message.__struct_fields__:
            self._look(getattr(message, name), name, found)
        return found

    def _look(self, value: Any, name: str, found: set[int]) -> None:
        # By class, as this sees every peer in every message.
        kind = type(value)
        if kind is int:
            if name in _TOPIC_FIELDS:
                found.add(value)
            elif value in self._telling:
                found.add(self._telling[value])
        elif kind is bytes:
            if len(value) >= _WORD and name not in _PAYLOADS:
                found.update(self._telling[part] for part in _words(value) if part in self._telling)
        elif kind is tuple or kind is list:
            for item in value:
                self._look(item, name, found)
        elif isinstance(value, msgspec.Struct):
            found |= self._topics_in(value)


def _words(content: bytes) -> set[bytes]:
    """Every eight bytes in a row."""
    return {content[place : place + _WORD] for place in range(len(content) - _WORD + 1)}


def all_checkers(
    dissemination: str | None = None, discloses: bool = True, recovers: bool = False
) -> tuple[Watcher, ...]:
    """One of each; where nodes must not tell what they hold, or deliver in order, also those that see to it.

    Whether a dissemination may relay through nodes without the topic stands in the table of systems.
    """
    exempt = dissemination is not None and DISSEMINATIONS[dissemination].relays_without_topic
    checkers: tuple[Watcher, ...] = (DeliveryChecker(relay_by_others=exempt), NeighbourChecker(), ClockChecker())
    if recovers:
        checkers += (OrderChecker(),)
    return checkers if discloses else (*checkers, NonDisclosureChecker())
