"""Checkers: watchers of a simulation that raise `CheckFailed` at the first breach of a rule.

They see the events and actions of machines, never the state of a protocol. The rules that live nodes must obey too
are in `protocols/contract/invariants.py`.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.model.values.errors import CheckFailed
from gossamer.protocols.contract.actions import Action, Deliver, Observe, Send
from gossamer.protocols.contract.events import Event, MessageReceived, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp
from gossamer.protocols.contract.invariants import (
    DuplicateInvariant,
    InterestInvariants,
    NeighbourInvariants,
    OrderInvariant,
)
from gossamer.protocols.contract.messages import data_in
from gossamer.simulator.engine import Watcher
from gossamer.systems import find_dissemination


class DeliveryChecker:
    """Nodes deliver what they follow, each message once, and relay only topics that they hold."""

    def __init__(self, relay_by_others: bool = False, has_disk: bool = False) -> None:
        # A node with a disk delivers nothing again after a restart.
        self._has_disk = has_disk
        # Gossip relays through nodes without the topic, as its paper says; no other dissemination may.
        self._relay_by_others = relay_by_others
        self._interests: defaultdict[int, InterestInvariants] = defaultdict(InterestInvariants)
        self._delivered: defaultdict[int, DuplicateInvariant] = defaultdict(DuplicateInvariant)

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        kind = type(event)
        if kind is Subscribe:
            self._interests[node].subscribe(event.topic, event.role)  # type: ignore[union-attr]
        elif kind is Unsubscribe:
            self._interests[node].unsubscribe(event.topic)  # type: ignore[union-attr]
        for action in actions:
            if type(action) is Deliver:
                interests, delivered = self._interests[node], self._delivered[node]
                breach = interests.check_delivery(action) or delivered.check_delivery(action)
                if breach is not None:
                    raise _failure(at_us, node, breach)
            elif type(action) is Send and not self._relay_by_others:
                interests = self._interests[node]
                for data in data_in(action.message):
                    breach = interests.check_send(data)
                    if breach is not None:
                        raise _failure(at_us, node, breach)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: a new machine starts without subscriptions, and remembers nothing unless it has a disk."""
        self._interests.pop(node, None)
        if not self._has_disk:
            self._delivered.pop(node, None)


class OrderChecker:
    """With recovery, nodes deliver the messages of each publisher on a topic in the publisher's order."""

    def __init__(self, has_disk: bool = False) -> None:
        self._has_disk = has_disk
        self._orders: defaultdict[int, OrderInvariant] = defaultdict(OrderInvariant)

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is Unsubscribe:
            self._orders[node].unsubscribe(event.topic)
        for action in actions:
            if type(action) is Deliver:
                breach = self._orders[node].check_delivery(action)
                if breach is not None:
                    raise _failure(at_us, node, breach)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        if not self._has_disk:
            self._orders.pop(node, None)


class NeighbourChecker:
    """Nodes state their neighbours consistently."""

    def __init__(self) -> None:
        self._neighbours: dict[int, NeighbourInvariants] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if type(action) is Observe:
                self._note(at_us, node, action.fact)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._neighbours.pop(node, None)

    def _note(self, at_us: int, node: int, fact: Fact) -> None:
        breach = None
        if type(fact) is NeighbourUp:
            breach = self._of(node).up(fact.node)
        elif type(fact) is NeighbourDown:
            breach = self._of(node).down(fact.node)
        if breach is not None:
            raise _failure(at_us, node, breach)

    def _of(self, node: int) -> NeighbourInvariants:
        found = self._neighbours.get(node)
        if found is None:
            found = self._neighbours[node] = NeighbourInvariants(node)
        return found


class DataPathChecker(NeighbourChecker):
    """Nodes state their neighbours consistently and send data to no other node."""

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for place, action in enumerate(actions):
            if type(action) is Observe:
                self._note(at_us, node, action.fact)
            elif type(action) is Send:
                messages = data_in(action.message)
                if messages and not self._of(node).are_neighbours(action.to):
                    for breach in self._of(node).check_send(messages, action.to, _stated_in(actions[place:])):
                        raise _failure(at_us, node, breach)


class ReceiverChecker:
    """Data reaches only nodes that have held one of its topics."""

    def __init__(self) -> None:
        self._interests: defaultdict[int, InterestInvariants] = defaultdict(InterestInvariants)

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is MessageReceived:
            for data in data_in(event.message):
                breach = self._interests[node].check_receive(data, event.sender)
                if breach is not None:
                    raise _failure(at_us, node, breach)
        elif type(event) is Subscribe:
            self._interests[node].subscribe(event.topic, event.role)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: messages under way to the old machine reach the new one, so its topics still count."""


def _stated_in(actions: Sequence[Action]) -> list[int]:
    """The nodes that these actions state as new neighbours."""
    return [action.fact.node for action in actions if type(action) is Observe and type(action.fact) is NeighbourUp]


def _failure(at_us: int, node: int, breach: str) -> CheckFailed:
    return CheckFailed(f"at {at_us} us node {node} {breach}")


class ClockChecker:
    """Time never goes back."""

    def __init__(self) -> None:
        self._latest_us = 0

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if at_us < self._latest_us:
            raise CheckFailed(f"node {node} handled an event at {at_us} us after one at {self._latest_us} us")
        self._latest_us = at_us

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""


# Fields with the application's own bytes, which may contain anything; `items` are those of a burst.
_PAYLOADS = ("payload", "items")
# Fields of messages that name topics.
_TOPIC_FIELDS = ("topic", "topics", "interest", "claims", "added", "removed", "also")
# Smaller numbers are also counts and ids of simulated nodes: only the name of their field shows that they are topics.
_RECOGNISABLE = 2**32
# The bytes of an id; of a hash this many bytes are compared.
_WORD = 8


class NonDisclosureChecker:
    """No topic's id or unkeyed hash reaches a node that has never held the topic (StAN).

    A node that unsubscribed knows the topic already; messages about the topic may still be under way to it.
    The checker looks at all fields of a message: fields that name topics, every number that is too large to be anything
    else, text, and every byte string except the application's own. What only a comparison can show, such as counts and times,
    `tests/attacks/test_two_worlds.py` compares.
    """

    def __init__(self) -> None:
        self._held: dict[int, set[int]] = {}
        # Ids and hashes of topics -> the topic.
        self._topics: dict[int | bytes, int] = {}
        # Ids as text -> the topic.
        self._texts: dict[str, int] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is Subscribe:
            self._held.setdefault(node, set()).add(event.topic)
            self._note(event.topic)
        elif type(event) is MessageReceived:
            disclosed = self._topics_in(event.message) - self._held.get(node, set())
            if disclosed:
                raise CheckFailed(
                    f"at {at_us} us node {event.sender} disclosed topic {min(disclosed)} to node {node}, which never held "
                    f"it, in {type(event.message).__name__}"
                )

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: a node that comes back still knows its topics."""

    def _note(self, topic: int) -> None:
        word = topic.to_bytes(_WORD, "big")
        if topic >= _RECOGNISABLE:
            self._topics |= dict.fromkeys((topic, word, word[::-1]), topic)
            self._texts |= dict.fromkeys((str(topic), word.hex()), topic)
        for content in (word, word[::-1], str(topic).encode()):
            for algorithm in ("sha256", "sha1", "md5", "blake2b", "blake2s", "sha3_256", "sha512", "sha224"):
                digest = hashlib.new(algorithm, content).digest()
                self._topics[digest[:_WORD]] = topic
                self._topics[int.from_bytes(digest[:_WORD], "big")] = topic
                self._topics[int.from_bytes(digest[:_WORD], "little")] = topic

    def _topics_in(self, message: Any) -> set[int]:
        """Every topic that a message discloses to its receiver."""
        found: set[int] = set()
        for name in message.__struct_fields__:
            self._look(getattr(message, name), name, found)
        return found

    def _look(self, value: Any, name: str, found: set[int]) -> None:
        # `type` and not `isinstance`: this runs for every peer in every message.
        kind = type(value)
        if kind is int:
            if name in _TOPIC_FIELDS:
                found.add(value)
            elif value in self._topics:
                found.add(self._topics[value])
        elif kind is bytes:
            if len(value) >= _WORD and name not in _PAYLOADS:
                found.update(self._topics[part] for part in _words(value) if part in self._topics)
                found.update(topic for text, topic in self._texts.items() if text.encode() in value)
        elif kind is str:
            found.update(topic for text, topic in self._texts.items() if text in value)
        elif kind in (tuple, list, set, frozenset):
            for item in value:
                self._look(item, name, found)
        elif kind is dict:
            for pair in value.items():
                self._look(pair, name, found)
        elif isinstance(value, msgspec.Struct):
            found |= self._topics_in(value)


def _words(content: bytes) -> set[bytes]:
    """All byte strings of the length of an id within `content`."""
    return {content[place : place + _WORD] for place in range(len(content) - _WORD + 1)}


def all_checkers(
    dissemination: str | None = None, discloses: bool = True, recovers: bool = False, has_disk: bool = False
) -> tuple[Watcher, ...]:
    """The checkers that fit a stack.

    With a dissemination they also check which nodes data reaches, with recovery the order of deliveries, with a disk that
    both hold over restarts, and for a system that must not disclose topics (`discloses=False`) that it discloses none.
    """
    # The registry says whether a dissemination relays through nodes without the topic.
    exempt = dissemination is not None and find_dissemination(dissemination).relays_without_topic
    checkers: tuple[Watcher, ...] = (DeliveryChecker(exempt, has_disk), DataPathChecker(), ClockChecker())
    if dissemination is not None and not exempt:
        checkers += (ReceiverChecker(),)
    if recovers:
        checkers += (OrderChecker(has_disk),)
    return checkers if discloses else (*checkers, NonDisclosureChecker())
