"""Recovery with a history on disk: neighbours that were away get messages that memory no longer holds.

Every message that the node keeps for neighbours is also written to its disk (`Store`). A request that memory cannot answer
from its first message on is answered from the disk (`Load`, `Loaded`), in pages. The driver also keeps the last message of
each publisher that the application got. After a restart the node continues behind it: it first delivers what its own disk has,
and asks neighbours for the rest like for any other gap.
"""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event, Loaded, Subscribe
from gossamer.protocols.contract.facts import Arrived, Fact
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours
from gossamer.protocols.delivery.history import StoredHistory
from gossamer.protocols.delivery.recovery.disk_reads import DiskReads
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import Ask, RecoveryParameters
from gossamer.protocols.delivery.recovery.stream import HeldTopic
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.delivery.state import DeliveryState


class OfflineRecovery(Recovery):
    """Recovery of a node with a disk."""

    __slots__ = ("_disk", "_unsaved")

    def __init__(
        self, parameters: RecoveryParameters, overlay: TopicNeighbours, delivery: DeliveryState, node: NodeId
    ) -> None:
        super().__init__(parameters, overlay, delivery, node)
        history = delivery.require_history()
        assert isinstance(history, StoredHistory)
        self._unsaved = history.unsaved
        self._disk = self._answers.disk = DiskReads(node)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        if type(event) is Loaded:
            self._on_loaded(event, now_us, out)
        else:
            super().handle(event, now_us, out)
        self._store(out)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        super().learn(fact, now_us, out)
        self._store(out)
        return NOTHING

    def _store(self, out: list[Action]) -> None:
        if self._unsaved:
            out += self._unsaved
            self._unsaved.clear()

    def _on_loaded(self, event: Loaded, now_us: int, out: list[Action]) -> None:
        found = self._disk.take(event)
        if found is None:
            return
        asker, ask, since_us = found
        if asker != self._node:
            self._answers.on_loaded(event, asker, ask, since_us, now_us, out)
            return
        self._deliver_own(event, ask, since_us, now_us, out)
        self._disk.next(asker, True, out)

    def _resume(self, held: HeldTopic, event: Subscribe, now_us: int, out: list[Action]) -> None:
        """Continue each publisher's stream behind the last message that the application got."""
        super()._resume(held, event, now_us, out)
        for publisher, position, stored, age_us in event.positions[: self._parameters.publishers]:
            if publisher == self._node or publisher in held.streams:
                continue
            stream = self._ordering.new_stream(held, event.topic, publisher, self._node, now_us, out)
            stream.last, stream.last_us = stored, now_us - age_us
            # A node that only relays the topic has passed what is on its disk.
            stream.delivered = position if held.follows else stored
            if held.follows and stored > position:
                ask = Ask(event.topic, publisher, position, stored + 1)
                self._disk.put(self._node, ask, 0 if position else held.since_us, out)

    def _deliver_own(self, event: Loaded, ask: Ask, since_us: int, now_us: int, out: list[Action]) -> None:
        """Deliver messages that this node had on its disk before it restarted, page by page."""
        for _, data in event.messages:
            stream = self._ordering.stream(ask.topic, ask.publisher)
            if stream is not None and data.sequence > stream.delivered and data.sequence not in stream.waiting:
                self._seen.add(data.publisher, data.sequence, FETCHED)
                self._on_arrived(Arrived(data, self._node), now_us, out)
        if event.more and event.messages:
            last = event.messages[-1][1].sequence
            self._disk.put(self._node, Ask(ask.topic, ask.publisher, last, ask.before), since_us, out)
