"""Messages and timers of the tree, and how much one frame may hold."""

from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Burst, Data, SequenceNumber, Timer, WireMessage

# Chosen: names in one frame.
NAMES_MAX = 256

_Names = Annotated[tuple[tuple[NodeId, SequenceNumber], ...], Meta(max_length=NAMES_MAX)]


class TreeData(Data, frozen=True, array_like=True, gc=False, tag="tree_data"):
    """An application's message that travels along a tree."""


class TreeBurst(Burst, frozen=True, array_like=True, gc=False, tag="tree_burst"):
    """Several messages of an application that travel along a tree as one."""

    KIND: ClassVar[type[Data]] = TreeData


class Graft(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_graft"):
    """A request to send these messages, and all later messages of the topic."""

    topic: TopicId
    names: _Names


class Prune(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_prune"):
    """Another neighbour supplies the sender with this topic: send no messages from now on.

    Announce their names if `listens`: then the sender relies on the receiver to notice that its supplier has failed.
    """

    topic: TopicId
    listens: bool = False


class TellersDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_tellers"):
    """Choose tellers again, so that few neighbours announce the messages of all topics."""


class MissingDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_missing"):
    """Look for messages that were announced and should have arrived by now."""
