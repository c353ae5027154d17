"""Messages on their way out of a driver: where a publication was queued, and the publications gathered into one burst."""

from msgspec import Struct

from gossamer.model.values.ids import NodeId, TopicId


class Tally(Struct):
    """The neighbours that one publication was queued for, and those that refused it."""

    patient: bool
    queued: list[NodeId] = []
    refused: list[tuple[NodeId, str]] = []

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
