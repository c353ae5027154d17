"""The delivery state of one node, which its dissemination and its recovery share."""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.events import Subscribe, Unsubscribe
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.announcements import Announcements
from gossamer.protocols.delivery.application import Application
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.intake import Intake
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.own_messages import NumberCounter, OwnMessages
from gossamer.protocols.delivery.seen import SEEN_MAX, SeenMessages
from gossamer.protocols.delivery.validation import ValidationQueue


class DeliveryState:
    """Puts the parts of this room together. A dissemination and recovery take the parts that they need.

    `history`: where messages are kept for neighbours that ask; None if nothing asks. `recovers`: recovery is above the
    dissemination. `discloses`: the system tells neighbours which topics a node holds. `counter`: counts the node's own
    messages on other topics, too.
    """

    __slots__ = (
        "_recovers",
        "announcements",
        "application",
        "history",
        "intake",
        "interests",
        "own_messages",
        "seen",
        "validation",
    )

    def __init__(
        self,
        node: NodeId,
        seen_max: int = SEEN_MAX,
        history: History | None = None,
        recovers: bool = False,
        discloses: bool = True,
        counter: NumberCounter | None = None,
    ) -> None:
        self.interests = OwnInterests()
        self.seen = SeenMessages(seen_max)
        self.history = history
        # The part below the dissemination, if a part above it announces messages.
        self.announcements: Announcements | None = None
        self._recovers = recovers
        self.validation = ValidationQueue(self.interests)
        self.application = Application(self.interests)
        self.own_messages = OwnMessages(node, self.interests, self.seen, history, discloses, counter)
        self.intake = Intake(self.interests, self.seen, self.validation, self.application, history, recovers, discloses)

    def require_history(self) -> History:
        """The history; a new one if there was none. A dissemination that answers requests for messages calls this."""
        if self.history is None:
            self.history = self.own_messages.history = self.intake.history = History()
        return self.history

    def require_announcements(self, overlay: TopicNeighbours) -> Announcements:
        """The announcements; new ones if there were none. The tree and recovery call this."""
        if self.announcements is None:
            self.announcements = Announcements(overlay, self.interests, keeps_latest=self._recovers)
        return self.announcements

    def set_interest(self, event: Subscribe | Unsubscribe) -> None:
        """Hold a topic, or give it up and drop its history.

        The number of this node's last message on the topic is kept: if the node publishes on the topic again, the next
        message names it, so that subscribers notice missing messages.
        """
        self.interests.change(event)
        if isinstance(event, Unsubscribe):
            self.own_messages.close(event.topic)
            if self.history is not None:
                self.history.drop(event.topic)
        else:
            self.own_messages.open(event.topic, event.own_last)
