"""Messages on their way out of a driver: where a publication was queued, and the publications gathered into one burst."""

from msgspec import Struct

from gossamer.model.values.ids import NodeId, TopicId

# Why a message was not sent to a node that may not follow its topics.
NOT_ALLOWED = "may not subscribe"


class Tally(Struct):
    """The neighbours that one publication was queued for, and those that refused it."""

    patient: bool
    queued: list[NodeId] = []
    refused: list[tuple[NodeId, str]] = []

    @property
    def is_lasting(self) -> bool:
        """Whether a message that follows at once goes to the same nodes: only access rules refused some."""
        return all(reason == NOT_ALLOWED for _, reason in self.refused)

    def with_(self, other: "Tally") -> "Tally":
        """The tallies of two publications as one."""
        return Tally(self.patient, self.queued + other.queued, self.refused + other.refused)


class OpenBurst(Struct):
    """Messages published on a topic while the message before them still waits to leave; they go to the same nodes."""

    topic: TopicId
    # The sequence number of the first gathered message.
    first: int
    tally: Tally
    # When each message was published, and its payload.
    items: list[tuple[int, bytes]] = []
    size_bytes: int = 0
