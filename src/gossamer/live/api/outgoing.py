"""The way out: from `Node.publish` to the driver."""

from collections.abc import Sequence
from typing import Any, Literal

from gossamer.live.api.subscription import Subscription
from gossamer.live.api.topics import LiveTopic
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.publications import Tally
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.messages import BURST_MAX

# Chosen: a publisher that never waits yields to the event loop after this many messages, so that links are read. If it
# signs, the first of them has a signature of its own, and all further ones have one together.
YIELD_EVERY = 128
SIGNED_YIELD_EVERY = BURST_MAX


class Outgoing:
    """Gives messages to the driver, which signs them, and waits for slow links."""

    def __init__(self, node: NodeId, driver: LiveDriver, sockets: Sockets, signs: bool, cipher: Any) -> None:
        self.published = 0
        # Messages since the publisher last yielded to the event loop.
        self.since_yield = 0
        self.yield_every = SIGNED_YIELD_EVERY if signs else YIELD_EVERY
        self._node = node
        self._driver = driver
        self._sockets = sockets
        # Whether payloads are envelopes (`security.signing`).
        self._signs = signs
        # See `security.payloads.PayloadCipher`; None if no topic has a secret.
        self._cipher = cipher

    def publish(self, topics: Sequence[LiveTopic], content: bytes, patient: bool) -> tuple[int, Tally]:
        """Publish one message; answers its sequence number and the neighbours that it was queued for.

        With patient=False, slow links are left out.
        """
        driver, first = self._driver, topics[0]
        sequence = driver.next_sequence(first.id)
        if self._cipher is not None:
            # A topic with a secret is never published on together with others.
            content = self._cipher.encrypt(first.id, self._node, sequence, content)
        also = tuple(topic.id for topic in topics[1:]) if len(topics) > 1 else ()
        published_us = driver.clock_us() if self._signs else 0
        tally = driver.publish(first.id, content, also, sequence, published_us, patient)
        self.published += 1
        self.since_yield += 1
        for topic in topics:
            for subscription in topic.subscriptions:
                # A pattern may match several topics of a message, and gets it once.
                if subscription.own and (topic is first or _first_of(topics, subscription) is topic):
                    # A subscription expects an envelope; the signature may not exist yet.
                    own = b"\0" + content if self._signs else content
                    at_us = published_us or driver.now_us
                    subscription.put((Deliver(topic.id, own, self._node, sequence, 0, at_us),))
                    subscription.wake()
        return sequence, tally

    def publish_on_each(self, topics: Sequence[LiveTopic], content: bytes, patient: bool) -> tuple[int, Tally]:
        """Publish the message once for each topic, so that a neighbour on one topic does not learn the others."""
        sequence, tally = self.publish(topics[:1], content, patient)
        for topic in topics[1:]:
            tally = tally.with_(self.publish((topic,), content, patient)[1])
        return sequence, tally

    async def wait_for(self, tally: Tally, wait: Literal["queued", "sent"], patient: bool) -> int:
        """Wait for slow links and, with wait="sent", until each copy has left; answers how many have left."""
        sent = 0
        for node in tally.queued:
            link = self._sockets.link(node)
            if link is not None and patient:
                await link.drained()
            if link is not None and wait == "sent":
                sent += await link.emptied()
        return sent


def _first_of(topics: Sequence[LiveTopic], subscription: Subscription) -> LiveTopic:
    """The first of these topics that the subscription follows."""
    return next(topic for topic in topics if subscription in topic.subscriptions)
