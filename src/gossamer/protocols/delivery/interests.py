"""The topics that this node holds, its role in each, and which of them the application validates."""

from gossamer.model.values.ids import Role, TopicId
from gossamer.protocols.contract.events import Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Burst, Data

# A plain integer: arithmetic on an enum costs more than everything else on the path of a delivery.
FOLLOWS = int(Role.FOLLOWS)


class OwnInterests:
    """A node's own topics.

    `roles` and `validated` are looked up for every message. They are dictionaries that are never replaced, so that the other
    classes may keep a reference to them.
    """

    __slots__ = ("roles", "validated")

    def __init__(self) -> None:
        self.roles: dict[TopicId, int] = {}
        # Topics whose messages the application validates before they are delivered or relayed.
        self.validated: dict[TopicId, None] = {}

    def change(self, event: Subscribe | Unsubscribe) -> None:
        """Apply the application's request to hold a topic, or to hold it no longer."""
        topic = event.topic
        self.validated.pop(topic, None)
        if isinstance(event, Subscribe):
            self.roles[topic] = int(event.role)
            if event.validates:
                self.validated[topic] = None
        else:
            self.roles.pop(topic, None)

    def follows(self, topic: TopicId) -> bool:
        """Whether the application wants the messages of a topic; a node that only publishes on it does not."""
        return bool(self.roles.get(topic, 0) & FOLLOWS)

    def topics_of(self, data: Data | Burst) -> list[TopicId]:
        """The topics of a message that this node holds, in the message's order."""
        roles = self.roles
        return [topic for topic in data.topics if topic in roles]
