"""What must never happen, watched in every simulation. A checker raises at the first breach.

They know only what machines were told and answered, never a protocol's inside.
"""

from collections.abc import Sequence

from gossamer.model.values.errors import CheckFailed
from gossamer.model.values.ids import Role
from gossamer.protocols.interface import (
    Action,
    Data,
    Deliver,
    Event,
    NeighbourDown,
    NeighbourUp,
    Observe,
    Send,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.systems import DISSEMINATIONS


class DeliveryChecker:
    """No delivery without a subscription, at most one delivery, no relay by a node without the topic."""

    def __init__(self, relay_by_others: bool = False) -> None:
        # Gossip relays through nodes without the topic, by its paper; nothing else may.
        self._relay_by_others = relay_by_others
        self._roles: dict[int, dict[int, int]] = {}
        self._delivered: dict[int, set[tuple[int, int, int]]] = {}

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
            elif type(action) is Send and isinstance(action.message, Data) and not self._relay_by_others:
                if action.message.topic not in self._roles.get(node, ()):
                    raise CheckFailed(f"at {at_us} us node {node} relayed topic {action.message.topic} without it")

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`: a new machine starts without subscriptions and without a memory."""
        self._roles.pop(node, None)
        self._delivered.pop(node, None)

    def _check_delivery(self, at_us: int, node: int, action: Deliver) -> None:
        if not self._roles.get(node, {}).get(action.topic, 0) & Role.FOLLOWS:
            raise CheckFailed(f"at {at_us} us node {node} delivered topic {action.topic} without following it")
        name = (action.topic, action.publisher, action.sequence)
        delivered = self._delivered.setdefault(node, set())
        if name in delivered:
            raise CheckFailed(
                f"at {at_us} us node {node} delivered message {action.sequence} of {action.publisher} twice"
            )
        delivered.add(name)


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


def all_checkers(dissemination: str | None = None) -> tuple[DeliveryChecker, NeighbourChecker, ClockChecker]:
    """One of each; whether a dissemination may relay through nodes without the topic stands in the table of systems."""
    exempt = dissemination is not None and DISSEMINATIONS[dissemination].relays_without_topic
    return DeliveryChecker(relay_by_others=exempt), NeighbourChecker(), ClockChecker()
