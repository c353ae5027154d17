"""Messages and timers of the tree, and how much one frame may hold."""

from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Burst, Data, SequenceNumber, Timer, Value, WireMessage

# Chosen: names in one frame.
NAMES_MAX = 256
# Chosen: consecutive messages that one name may stand for, and messages that one frame may name.
SPAN_MAX = 4_096
NAMED_MAX = 16_384

_Names = Annotated[tuple[tuple[NodeId, SequenceNumber], ...], Meta(max_length=NAMES_MAX)]


class TreeData(Data, frozen=True, array_like=True, gc=False, tag="tree_data"):
    """An application's message that travels along a tree."""


class TreeBurst(Burst, frozen=True, array_like=True, gc=False, tag="tree_burst"):
    """Several messages of an application that travel along a tree as one."""

    KIND: ClassVar[type[Data]] = TreeData


class Named(Value, frozen=True, array_like=True, gc=False):
    """The names of `count` messages of one publisher on a topic, with consecutive numbers from `sequence` on."""

    topic: TopicId
    publisher: NodeId
    sequence: SequenceNumber
    count: Annotated[int, Meta(ge=1, le=SPAN_MAX)] = 1


class Announce(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_announce"):
    """The sender has these messages, on topics that sender and receiver share; the receiver may ask for them."""

    names: Annotated[tuple[Named, ...], Meta(max_length=NAMES_MAX)]

    @property
    def topic(self) -> TopicId:
        """The topic of the first name; where topics are kept apart, it is that of all names."""
        return self.names[0].topic if self.names else 0


class Graft(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_graft"):
    """A request to send these messages, and all later messages of the topic."""

    topic: TopicId
    names: _Names


class Prune(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_prune"):
    """Another neighbour supplies the sender with this topic: from now on send names only."""

    topic: TopicId


class AnnounceDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_announce_due"):
    """Announce the names that were gathered."""


class MissingDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_missing"):
    """Look for messages that were announced and should have arrived by now."""
