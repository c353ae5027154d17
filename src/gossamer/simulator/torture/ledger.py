"""Accounts for every message at every subscriber: delivered, reported lost, lost with its holders, or missing in silence."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.protocols.contract.actions import Action, Deliver, Observe
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.facts import Lost


class Published(NamedTuple):
    """A message that was given to its publisher."""

    publisher: int
    sequence: int
    topic: int
    at_us: int


class MissingDelivery(NamedTuple):
    """A message that a subscriber neither delivered nor reported as lost."""

    node: int
    message: Published
    # The nodes that have the message and hold its topic.
    holders: tuple[int, ...]


class Ledger:
    """A watcher of all deliveries and reported losses. It forgets a node's entries when the node is gone."""

    def __init__(self) -> None:
        self.messages: list[Published] = []
        self.delivered_count = self.reported_count = 0
        # When each node that is present opened each of its topics.
        self.since_us: defaultdict[int, dict[int, int]] = defaultdict(dict)
        # (publisher, sequence) of all messages that a node published or delivered in its present life.
        self._has: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        self._lost: defaultdict[int, list[Lost]] = defaultdict(list)

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            kind = type(action)
            if kind is Deliver:
                self.delivered_count += 1
                self._has[node].add((action.publisher, action.sequence))  # type: ignore[union-attr]
            elif kind is Observe and type(action.fact) is Lost:  # type: ignore[union-attr]
                self.reported_count += 1
                self._lost[node].append(action.fact)  # type: ignore[union-attr]

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        for kept in (self.since_us, self._has, self._lost):
            kept.pop(node, None)

    def published(self, message: Published) -> None:
        """A node's application published a message."""
        self.messages.append(message)
        self._has[message.publisher].add(message[:2])

    def lost_numbers(self, publisher: int) -> None:
        """A publisher returned without the numbers of its messages: nobody can tell which earlier ones are missing."""
        self.messages = [message for message in self.messages if message.publisher != publisher]

    def opened(self, node: int, topic: int, at_us: int) -> None:
        """A node follows a topic from now on."""
        self.since_us[node][topic] = at_us

    def closed(self, node: int, topic: int) -> None:
        """A node gave a topic up; it may forget the topic's messages."""
        self.since_us[node].pop(topic, None)
        names = {message[:2] for message in self.messages if message.topic == topic}
        self._has[node] -= names

    def missing(self, messages: Sequence[Published] | None = None) -> list[MissingDelivery]:
        """What subscribers that followed the topic when a message was published neither delivered nor reported."""
        found = []
        for message in self.messages if messages is None else messages:
            name = message[:2]
            holders = None
            for node, topics in sorted(self.since_us.items()):
                since_us = topics.get(message.topic)
                if since_us is None or since_us > message.at_us or node == message.publisher or name in self._has[node]:
                    continue
                if self._is_reported(node, message):
                    continue
                if holders is None:
                    holders = tuple(
                        other
                        for other, topics_held in sorted(self.since_us.items())
                        if message.topic in topics_held and name in self._has[other]
                    )
                found.append(MissingDelivery(node, message, holders))
        return found

    def _is_reported(self, node: int, message: Published) -> bool:
        return any(
            lost.topic == message.topic
            and lost.publisher == message.publisher
            and lost.after < message.sequence < lost.before
            for lost in self._lost[node]
        )
