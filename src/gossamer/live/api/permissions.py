"""What this node's own rules forbid: publications and subscriptions that are refused where the application asks for them."""

from gossamer.live.api.messages import Message
from gossamer.live.api.topics import LiveTopic
from gossamer.live.api.validation import Validation
from gossamer.live.security.node_security import NodeSecurity
from gossamer.model.values.errors import NotAllowed
from gossamer.protocols.contract.events import Outcome


class Permissions:
    """Raises NotAllowed for what the access rules, the certificate or a validator of this node forbid."""

    def __init__(self, security: NodeSecurity, validation: Validation, publisher: str) -> None:
        self._security = security
        self._validation = validation
        self._publisher = publisher
        # Whether each publication must be checked by `check_publisher`.
        self.checks_each = security.checks_publications

    def check_publisher(self, topic: str) -> None:
        """Check the right to publish on a topic."""
        refuse(self._security.why_not_publish(topic))

    async def ask_validator(self, topic: LiveTopic, content: bytes, published_us: int) -> None:
        """Check one publication on a topic with a validator, which sees it as receivers do, but without a number."""
        message = Message(topic.name, content, self._publisher, 0, 0, published_us / 1e6)
        outcome = await self._validation.judge(topic, message)
        if outcome is not Outcome.ACCEPT:
            verb = "rejects" if outcome is Outcome.REJECT else "ignores"
            raise NotAllowed(f"the validator of {topic.name!r} {verb} this message; it was not published")


def refuse(reason: str | None) -> None:
    """Raise NotAllowed if there is a reason."""
    if reason is not None:
        raise NotAllowed(reason)
