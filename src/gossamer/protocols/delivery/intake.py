"""Taking in messages that neighbours sent: refuse wrong ones, keep the others in the history, hand them upwards."""

from collections.abc import Sequence
from typing import TypeVar

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.events import Outcome, Validated
from gossamer.protocols.contract.facts import Arrived, ArrivedBurst, PeerMisbehaved
from gossamer.protocols.contract.messages import HOPS_MAX, Burst, Data
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.delivery.application import Application
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.seen import FETCHED, SeenMessages
from gossamer.protocols.delivery.validation import Unvalidated, ValidationQueue

# The reasons of `PeerMisbehaved` are part of every record: a changed word makes old records differ when they are
# replayed.
NOT_HELD = "sent a topic that this node does not hold"

AnyData = TypeVar("AnyData", bound=Data)
AnyBurst = TypeVar("AnyBurst", bound=Burst)


def recast(data: Data, kind: type[AnyData]) -> AnyData:
    """The same message as another message class."""
    return kind(
        data.topic,
        data.publisher,
        data.sequence,
        data.hops,
        data.published_us,
        data.payload,
        data.previous,
        data.also,
    )


class Intake:
    """What a dissemination does with a received message before it relays it.

    Only this class knows whether the stack has recovery. If so, an accepted message becomes the fact `Arrived`, and
    recovery delivers it in its publisher's order. If not, the message is delivered to the application at once.
    """

    __slots__ = ("_application", "_discloses", "_interests", "_recovers", "_roles", "_seen", "_validation", "history")

    def __init__(
        self,
        interests: OwnInterests,
        seen: SeenMessages,
        validation: ValidationQueue,
        application: Application,
        history: History | None,
        recovers: bool,
        discloses: bool,
    ) -> None:
        self._interests = interests
        self._roles = interests.roles
        self._seen = seen
        self._validation = validation
        self._application = application
        self._recovers = recovers
        self._discloses = discloses
        self.history = history

    def refuses(self, sender: NodeId, data: Data | Burst, out: list[Action]) -> bool:
        """Whether a message must be neither delivered nor relayed; if so, the sender is reported."""
        roles = self._roles
        if data.topic in roles and data.previous < data.sequence and data.hops < HOPS_MAX and not data.also:
            # The common case.
            return False
        if data.topic not in roles and not (data.also and self._interests.topics_of(data)):
            # This node's interest has just changed, or the peer ignores interests.
            reason = NOT_HELD
        elif data.previous >= data.sequence or (
            data.also and any(previous >= data.sequence for _, previous in data.also)
        ):
            reason = "sent a message that follows itself"
        elif data.hops >= HOPS_MAX:
            reason = "sent a message that has come too far"
        elif data.also and not self._discloses:
            reason = "sent a message that shows topics to those who may not know them"
        else:
            return False
        out.append(Observe(PeerMisbehaved(sender, reason)))
        return True

    def accept(self, data: AnyData, sender: NodeId, at_us: int, out: list[Action]) -> tuple[AnyData, Sequence[Arrived]]:
        """Keep a new message and hand it upwards; returns the message to relay, one hop further, and facts.

        `at_us`: see `History.put`.
        """
        onward = type(data)(
            data.topic,
            data.publisher,
            data.sequence,
            data.hops + 1,
            data.published_us,
            data.payload,
            data.previous,
            data.also,
        )
        history = self.history
        if history is not None:
            if not data.also:
                history.put(data.topic, (onward,), at_us)
            else:
                for topic in self._interests.topics_of(data):
                    history.put(topic, (onward,), at_us)
        if self._recovers:
            return onward, (Arrived(onward, sender),)
        self._application.deliver(onward, out)
        return onward, NOTHING

    def accept_burst(
        self, burst: AnyBurst, sender: NodeId, at_us: int, out: list[Action]
    ) -> tuple[AnyBurst, Sequence[ArrivedBurst]]:
        """As `accept`, for a burst whose messages are all new."""
        # Measured: 1.4 us for a burst of one, against 0.7 us in `accept`.
        onward = type(burst)(burst.topic, burst.publisher, burst.sequence, burst.hops + 1, burst.items, burst.previous)
        if self.history is not None:
            self.history.put(burst.topic, onward.messages, at_us)
        if self._recovers:
            return onward, (ArrivedBurst(onward, sender),)
        self._application.deliver_burst(onward, out)
        return onward, NOTHING

    def fetched_copy(self, data: Data, sender: NodeId) -> Data | None:
        """This node's copy of a message that it fetched earlier and that now arrives through the dissemination.

        A fetched message is not relayed. Now that it arrives in the usual way, nodes downstream wait for it, so the
        caller relays the copy; this happens once. A message that the validator did not accept is not in the history and
        is not relayed.
        """
        if self.history is None or self._seen.first_sender(data.publisher, data.sequence) != FETCHED:
            return None
        names = ((data.publisher, data.sequence),)
        for topic in self._interests.topics_of(data):
            for kept in self.history.named(topic, names):
                self._seen.set_first_sender(data.publisher, data.sequence, sender)
                copy: Data = kept
                return copy
        return None

    def on_validated(
        self, event: Validated, now_us: int, out: list[Action]
    ) -> tuple[Unvalidated | None, Sequence[Arrived]]:
        """Act on the validator's answer; returns the message if the caller must accept and relay it, and facts."""
        message = self._validation.take(event)
        if message is None:
            return None, NOTHING
        if event.outcome == Outcome.REJECT:
            # No `Arrived`: any node could have forged this message, so it must not advance its publisher's order.
            # Recovery reports a gap in its place.
            out.append(Observe(PeerMisbehaved(message.sender, "sent a message that the validator rejects")))
            return None, NOTHING
        if event.outcome == Outcome.IGNORE:
            return None, (Arrived(message.data, message.sender, wanted=False),) if self._recovers else NOTHING
        if message.relay:
            return message, NOTHING
        facts = self.accept(message.data, message.sender, now_us, out)[1]
        return None, tuple([Arrived(fact.data, fact.sender, relayed=False) for fact in facts])
