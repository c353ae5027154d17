"""The way out: from `Node.publish` to the driver."""

from collections.abc import Sequence
from typing import Any, Literal

from gossamer.live.api.topics import LiveTopic
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.publications import Tally
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver


class Outgoing:
    """Signs messages, gives them to the driver, and waits for slow links."""

    def __init__(self, node: NodeId, driver: LiveDriver, sockets: Sockets, signer: Any, cipher: Any) -> None:
        self.published = 0
        self._node = node
        self._driver = driver
        self._sockets = sockets
        # See `security.signing.Signer`; None where messages are not signed.
        self._signer = signer
        # See `security.payloads.PayloadCipher`; None if no topic has a secret.
        self._cipher = cipher

    def publish(self, topics: Sequence[LiveTopic], content: bytes, patient: bool) -> tuple[int, Tally]:
        """Publish one message; answers its sequence number and the neighbours that it was queued for.

        With patient=False, slow links are left out.
        """
        driver, first = self._driver, topics[0]
        sealed, sequence, published_us = content, driver.next_sequence(first.id), 0
        if self._cipher is not None:
            # A topic with a secret is never published on together with others.
            sealed = self._cipher.encrypt(first.id, self._node, sequence, sealed)
        also = tuple(topic.id for topic in topics[1:]) if len(topics) > 1 else ()
        if self._signer is not None:
            published_us = driver.clock_us()
            sealed = self._signer.seal((first.id, *also), sequence, sealed, published_us)
        tally = driver.publish(first.id, sealed, also, sequence, published_us, patient)
        self.published += 1
        for topic in topics:
            for subscription in topic.subscriptions:
                if subscription.own:
                    at_us = published_us or driver.now_us
                    subscription.put((Deliver(topic.id, sealed, self._node, sequence, 0, at_us),))
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
