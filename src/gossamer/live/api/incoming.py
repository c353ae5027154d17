"""The way in: from the driver's deliveries and facts to the subscriptions of a node."""

import logging
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from gossamer.live.api.messages import Gap
from gossamer.live.api.readiness import Readiness
from gossamer.live.api.subscription import Subscription
from gossamer.live.api.topics import LiveTopics
from gossamer.live.transport.driver import LiveDriver
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.facts import BufferFull, Fact, Lost
from gossamer.protocols.delivery.recovery.messages import Late
from gossamer.protocols.delivery.validation import NotJudged

log = logging.getLogger("gossamer.live")

# Chosen: publishers whose late messages are logged; those of further ones are only counted.
LATE_PUBLISHERS_MAX = 1_024
# The topics of a delivery: its first, and all others.
_TOPICS = attrgetter("topic", "also")


class Incoming:
    """Gives each subscription its messages and gaps, and counts deliveries and losses."""

    def __init__(self, topics: LiveTopics, readiness: Readiness) -> None:
        self.delivered = 0
        # Messages that no subscriber got, by reason.
        self.drops: Counter[str] = Counter()
        # Set before the driver starts: its time is the time of every delivery.
        self.driver: LiveDriver | None = None
        self._topics = topics
        self._readiness = readiness
        self._late_publishers: set[NodeId] = set()

    def deliver(self, actions: Sequence[Deliver]) -> None:
        """Hand messages to the subscriptions of their topics, and count their latencies."""
        assert self.driver is not None
        self.delivered += len(actions)
        topics, now_us = self._topics.by_id, self.driver.now_us
        # Measured: a single message takes a third of the time if it is not grouped.
        groups = groupby(actions, _TOPICS) if len(actions) > 1 else ((_TOPICS(actions[0]), actions),)
        filled: list[Subscription] = []
        for (topic, also), group in groups:
            several = list(group)
            first = topics.get(topic)
            if first is not None and first.latencies is not None:
                first.latencies.add(several, now_us)
            if not also:
                for subscription in () if first is None else first.subscriptions:
                    subscription.put(several)
                    filled.append(subscription)
                continue
            # A pattern may match several topics of a message, and gets it once.
            held = [each for each in (first, *map(topics.get, also)) if each is not None]
            for subscription in dict.fromkeys(reader for each in held for reader in each.subscriptions):
                subscription.put(several)
                filled.append(subscription)
        # Readers run within this call. They may subscribe, unsubscribe and stop the node, so all messages are queued before.
        for subscription in filled:
            subscription.wake()

    def on_fact(self, fact: Fact) -> None:
        """Report a lost message to its subscriptions; any other fact may make a topic ready."""
        if isinstance(fact, Lost):
            self.drops["messages lost: gap not filled"] += 1
            topic = self._topics.by_id.get(fact.topic)
            if topic is not None:
                gap = Gap(topic.name, f"{fact.publisher:016x}", fact.after, fact.before)
                for subscription in topic.subscriptions:
                    subscription.gaps.append(gap)
        elif isinstance(fact, BufferFull):
            self.drops["messages not passed on: too many at once"] += 1
        elif isinstance(fact, NotJudged):
            self.drops["messages lost: too many for the validator"] += 1
        elif isinstance(fact, Late):
            self._on_late(fact)
        else:
            self._readiness.check()

    def _on_late(self, fact: Late) -> None:
        """Count a message that was dropped because later ones were delivered; log the first of each publisher."""
        self.drops["messages dropped: later ones were delivered"] += 1
        if fact.publisher not in self._late_publishers and len(self._late_publishers) < LATE_PUBLISHERS_MAX:
            self._late_publishers.add(fact.publisher)
            topic = self._topics.by_id.get(fact.topic)
            log.warning(
                "dropped message %d of publisher %016x on %r: later ones were delivered before it",
                fact.sequence,
                fact.publisher,
                "" if topic is None else topic.name,
            )
