"""Subscriptions to patterns of topics: who is told which names, and which topics a pattern stands for.

`protocols/patterns.py` has the table of patterns that nodes spread. Here it meets links, timers, access rules and topics.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gossamer.live.api.held import HeldTopics
from gossamer.live.api.subscription import NOTHING_OLDER, Subscription
from gossamer.live.api.topics import LiveTopic, check_topic
from gossamer.live.operations.status import PatternStatus
from gossamer.live.security.node_security import NodeSecurity
from gossamer.live.transport.links import Link
from gossamer.live.transport.queues import Parcel
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError, NotAllowed
from gossamer.model.values.ids import NodeId
from gossamer.model.values.pattern import Pattern
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.messages import Peer, WireMessage
from gossamer.protocols.patterns import (
    NAMES_MAX,
    NODE_PATTERNS_MAX,
    PUSHES,
    RENEW_US,
    NamesTaken,
    PatternEntry,
    PatternTable,
    TopicNames,
)

log = logging.getLogger("gossamer.live")

# Chosen: topics that the patterns of a node match together; further names are refused, counted and logged.
MATCHED_MAX = 10_000
# Chosen: how long new entries and names gather before they are sent.
GATHER_SECONDS = 0.01
# Chosen: how often tables are compared with one other node.
COMPARE_SECONDS = 1.0
# Chosen: answers to one node in that time, more than a whole table takes. A digest is short and its answer may be long.
ANSWERS_A_SECOND = 40
# Chosen: a node that has no neighbour on a topic this long after it was named asks one of the nodes that name it or were told
# it for a link, then others of them, a CONNECT's time-out apart.
LONELY_SECONDS = 0.05
LONELY_AGAIN_SECONDS = 0.5
LONELY_TRIES = 8
# Chosen: how often names are sent again, to a node that could not be dialled at once and to one that did not answer in time.
TELL_TRIES = 10
TELL_AGAIN_SECONDS = 0.1
TAKEN_SECONDS = 0.2
# Chosen: messages of so many seconds before a topic's name arrived are fetched, but none from before the subscription.
CATCH_UP_US = 10_000_000


class PatternSubscription(Subscription):
    """A subscription to all topics that match a pattern; `topic` is the pattern's text."""

    def __init__(self, patterns: "LivePatterns", pattern: Pattern, *options: Any) -> None:
        super().__init__(patterns, pattern.text, *options)
        self.pattern = pattern
        # The topics that match: their names by id.
        self.matched: dict[int, str] = {}
        self.opened_us = 0

    def name_of(self, action: Deliver) -> str:
        """The first topic of a message that matches."""
        return next((name for topic in (action.topic, *action.also) if (name := self.matched.get(topic))), self.topic)


class LivePatterns:
    """The patterns of one node, the table of all patterns, and the names that this node tells and is told.

    A pattern subscription calls it as other subscriptions call `HeldTopics`.
    """

    def __init__(self, held: HeldTopics, security: NodeSecurity, discloses: bool) -> None:
        self.count_drop, self.pause_reading, self.resume_reading = (
            held.count_drop,
            held.pause_reading,
            held.resume_reading,
        )
        self._held = held
        self._security = security
        self._discloses = discloses
        self._table = PatternTable(security.node)
        self._subscriptions: list[PatternSubscription] = []
        self._sockets: Sockets | None = None
        self._address = b""
        # Names to tell, by node, and how often that was tried; topics that may lack a neighbour, and peers to ask for a link.
        self._to_tell: dict[NodeId, dict[str, int]] = {}
        self._lonely: dict[str, list[Peer]] = {}
        # Names that were sent and not answered, by the number of their message: to whom, which, and until when to wait.
        self._untaken: dict[int, tuple[NodeId, dict[str, int], int]] = {}
        self._told = 0
        # Answers to each node in this second.
        self._answered: Counter[NodeId] = Counter()
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._renew_us = 0

    # Life.

    def start(self, sockets: Sockets, address: str) -> None:
        """The node has started."""
        self._sockets, self._address = sockets, address.encode()
        if self._discloses:
            sockets.on_greeted = self._on_link
            self._later(self._on_compare, COMPARE_SECONDS)

    def stop(self) -> None:
        """The node stops."""
        for subscription in list(self._subscriptions):
            subscription.close()
        for timer in self._timers.values():
            timer.cancel()
        self._sockets = None

    def status(self) -> list[PatternStatus]:
        """The patterns of this node and the topics that they match."""
        return [PatternStatus(each.topic, sorted(each.matched.values())) for each in self._subscriptions]

    # Subscriptions.

    def check(self, pattern: Pattern) -> None:
        """Refuse a pattern that this node cannot or may not follow."""
        if not self._discloses:
            raise InputError("patterns need nodes that tell each other names of topics, which system='stan' never does")
        if pattern.matches_everything and not self._security.may_follow_all:
            raise NotAllowed(
                f'the pattern {pattern.text!r} matches every topic; only an access rule with subscribe = ["*"] allows it'
            )

    def open_subscription(self, subscription: Any) -> None:
        """A pattern subscription was entered."""
        running = self._held.require_running()
        self.check(subscription.pattern)
        if len(self._own_patterns() | {subscription.topic}) > NODE_PATTERNS_MAX:
            raise InputError(f"a node follows at most {NODE_PATTERNS_MAX} patterns; use fewer and wider ones")
        subscription.opened_us = running.driver.clock_us()
        self._subscriptions.append(subscription)
        for name in list(self._held.topics.by_name):
            self._follow(name, None)
        self._announce()

    def close_subscription(self, subscription: Any) -> None:
        """A pattern subscription was closed."""
        self._subscriptions.remove(subscription)
        for name in subscription.matched.values():
            self._held.unfollow(name, subscription)
        self._announce()

    def publishes(self, topic: LiveTopic) -> None:
        """This node begins to publish on a topic."""
        if self._subscriptions:
            self._follow(topic.name, None)
        for entry in self._table.takers(topic.name):
            self._tell(entry, topic.name)
            self._look_for_neighbour(topic.name, Peer(entry.node, entry.address))

    def _own_patterns(self) -> set[str]:
        return {each.topic for each in self._subscriptions}

    def _announce(self) -> None:
        if self._sockets is None or self._held.running is None:
            return
        now_us = self._held.running.driver.clock_us()
        self._renew_us = now_us + RENEW_US
        self._table.set_own(self._address, sorted(self._own_patterns()), now_us)
        self._later(self._push, GATHER_SECONDS)

    def _follow(self, name: str, teller: Peer | None) -> None:
        """Follow a topic with every pattern that matches it; `teller` holds the topic, if another node named it."""
        running = self._held.require_running()
        for subscription in self._subscriptions:
            topic = self._held.topics.by_name.get(name)
            is_known = topic is not None and topic.id in subscription.matched
            if is_known or not subscription.pattern.matches(name) or self._security.why_not_subscribe(name) is not None:
                continue
            if sum(len(each.matched) for each in self._subscriptions) >= MATCHED_MAX:
                reason = "topic names refused: patterns match too many"
                self.count_drop(
                    reason, f"the patterns of this node match more than {MATCHED_MAX:,} topics; {name!r} is left out"
                )
                return
            # Messages that were published before the name arrived are fetched; a topic that is followed has them already.
            is_followed = topic is not None and bool(topic.subscriptions)
            since_us = min(running.driver.clock_us() - subscription.opened_us, CATCH_UP_US)
            older = subscription.wanted
            wanted = (
                replace(older, since_us=max(since_us, older.since_us))
                if older.since_us
                else replace(older, last_us=max(since_us, older.last_us))
            )
            topic = self._held.topics.get_or_add(name)
            subscription.matched[topic.id] = name
            self._held.follow(name, subscription, NOTHING_OLDER if is_followed else wanted)
            if teller is not None:
                self._look_for_neighbour(name, teller)

    def _look_for_neighbour(self, name: str, peer: Peer) -> None:
        """Make sure that this node gets a neighbour on a topic soon; this peer holds the topic or is about to."""
        self._lonely.setdefault(name, []).append(peer)
        self._later(self._on_lonely, LONELY_SECONDS)

    def _on_lonely(self) -> None:
        """Name a peer to the overlay for each topic that still has no neighbour; another one the next time."""
        running, waiting = self._held.require_running(), self._lonely
        self._lonely = {}
        for name, peers in waiting.items():
            topic = self._held.topics.by_name.get(name)
            if topic is None or not topic.is_held or running.overlay.neighbours_on(topic.id):
                continue
            self._held.update(topic, peers=peers[:1])
            if peers[1:]:
                self._lonely[name] = peers[1:LONELY_TRIES]
        if self._lonely:
            self._later(self._on_lonely, LONELY_AGAIN_SECONDS)

    # Telling names.

    def _tell(self, entry: PatternEntry, name: str) -> None:
        self._to_tell.setdefault(entry.node, {})[name] = 0
        self._later(self._send_names, GATHER_SECONDS)

    def _send_names(self) -> None:
        sockets, waiting = self._sockets, self._to_tell
        self._to_tell = {}
        for node, names in waiting.items() if sockets is not None else ():
            entry = self._table.entry(node)
            if entry is None:
                continue
            assert sockets is not None
            link = sockets.link(node)
            allowed = list(names)
            if self._security.has_rules:
                # Only the certificate of a link says what its other end may follow: without a link, open one first.
                if link is None:
                    self._send(node, self._table.digest(), entry.address)
                    self._tell_again(node, names)
                    continue
                allowed = [name for name in names if self._security.may_be_told(link.name, name)]
            for start in range(0, len(allowed), NAMES_MAX):
                self._told += 1
                told = TopicNames(tuple(allowed[start : start + NAMES_MAX]), self._address, self._told)
                sent = {name: names[name] for name in told.names}
                if self._send(node, told, entry.address) is not None:
                    self._tell_again(node, sent)
                else:
                    until_us = self._now_us() + int(TAKEN_SECONDS * 1e6)
                    self._untaken[self._told] = (node, sent, until_us)
                    self._later(self._on_untaken, TAKEN_SECONDS)
        if sockets is not None:
            sockets.end_event()

    def _tell_again(self, node: NodeId, names: dict[str, int]) -> None:
        again = {name: tries + 1 for name, tries in names.items() if tries < TELL_TRIES}
        if again:
            self._to_tell.setdefault(node, {}).update(again)
            self._later(self._send_names, TELL_AGAIN_SECONDS)

    def _on_untaken(self) -> None:
        """Send the names again that were not answered in time."""
        now_us = self._now_us()
        for number, (node, names, until_us) in list(self._untaken.items()):
            if until_us <= now_us:
                del self._untaken[number]
                self._tell_again(node, names)
        if self._untaken:
            self._later(self._on_untaken, TAKEN_SECONDS / 2)

    # Links and messages.

    def _on_link(self, link: Link) -> None:
        """A link is up: compare tables, if this node knows any pattern."""
        if len(self._table) and "patterns" in link.features:
            self._send(link.node, self._table.digest())

    def on_message(self, sender: NodeId, link_name: str, message: WireMessage) -> None:
        """Take a message of another node's table, or names of topics."""
        if self._sockets is None or not self._discloses:
            return
        if isinstance(message, NamesTaken):
            if self._untaken.get(message.number, (None,))[0] == sender:
                del self._untaken[message.number]
            return
        if isinstance(message, TopicNames):
            self._send(sender, NamesTaken(message.number))
            for name in message.names:
                try:
                    check_topic(name)
                    if self._security.may_tell(link_name, name):
                        self._follow(name, Peer(sender, message.address))
                except InputError as error:
                    # Not a name, or it has the id of another topic.
                    self.count_drop("topic names refused: no topic can have them", f"a peer named a topic: {error}")
            return
        answers, changed = self._table.take(message, self._now_us())
        self._answered[sender] += len(answers)
        if self._answered[sender] <= ANSWERS_A_SECOND:
            for answer in answers:
                self._send(sender, answer)
        for entry in changed:
            for topic in self._held.topics.by_id.values():
                if topic.publishers and self._table.is_wanted(entry, topic.name):
                    self._tell(entry, topic.name)
        if self._table.fresh:
            self._later(self._push, GATHER_SECONDS)
        self._sockets.end_event()

    def _on_compare(self) -> None:
        """Once a second: renew, forget and compare."""
        now_us = self._now_us()
        self._answered.clear()
        self._table.expire(now_us)
        if self._subscriptions and now_us >= self._renew_us:
            self._announce()
        if len(self._table):
            for node in self._some_links(1):
                self._send(node, self._table.digest())
        self._later(self._on_compare, COMPARE_SECONDS)

    def _push(self) -> None:
        """Send new entries to a few links; tables that are compared later repair the rest."""
        messages = self._table.take_fresh()
        for node in self._some_links(PUSHES):
            for message in messages:
                self._send(node, message)

    def _some_links(self, count: int) -> list[NodeId]:
        """Some nodes with a link, chosen at random."""
        assert self._sockets is not None
        nodes = [link.node for link, _ in self._sockets.links() if "patterns" in link.features and not link.is_slow]
        chosen: list[NodeId] = []
        while nodes and len(chosen) < count:
            place = int.from_bytes(self._sockets.environment.random_bytes(4), "big") % len(nodes)
            chosen.append(nodes.pop(place))
        return chosen

    def _send(self, node: NodeId, message: WireMessage, address: bytes = b"") -> str | None:
        assert self._sockets is not None
        return self._sockets.send(self._security.node, node, address, Parcel([message]))

    def _now_us(self) -> int:
        return self._held.require_running().driver.clock_us()

    def _later(self, work: Callable[[], None], seconds: float) -> None:
        """Call a method soon, once however often it was asked for."""
        if work in self._timers:
            return

        def fire() -> None:
            del self._timers[work]
            if self._sockets is not None:
                work()
                if self._sockets is not None:
                    self._sockets.end_event()

        self._timers[work] = asyncio.get_running_loop().call_later(seconds, fire)
