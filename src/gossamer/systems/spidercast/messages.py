"""SpiderCast's messages and timers.

Chockler, Melamed, Tock, Vitenberg: SpiderCast, a scalable interest-aware overlay for topic-based pub/sub
communication (DEBS 2007). Sections and figures named here are that paper's.
"""

from enum import IntEnum
from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Message, Peer, Timer
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, SomeTopics


class Task(IntEnum):
    """The two neighbour maintenance tasks: the same code, sets of their own, another selection."""

    GREEDY = 0
    RANDOM = 1


NeighbourCount = Annotated[int, Meta(ge=0, le=60_000)]

# Messages. `degree` and `target` are the sender's number of neighbours in the task and its L.


class ConnectRequest(Message, frozen=True, array_like=True, gc=False, tag="spidercast_connect"):
    """Be my neighbour. Carries the degree before the link."""

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    # As much of the sender's interest as fits a frame, its version, and how many topics it has.
    interest: SomeTopics
    address: Address = b""
    # The link holds two parts of a topic together (`roots.py`): neither end may spare it.
    is_bridge: bool = False
    version: int = 0
    count: int = 0


class ConnectOk(Message, frozen=True, array_like=True, gc=False, tag="spidercast_connect_ok"):
    """You are my neighbour. Carries the degree after the link, and L before it is raised."""

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    interest: SomeTopics
    version: int = 0
    count: int = 0


class Redirect(Message, frozen=True, array_like=True, gc=False, tag="spidercast_redirect"):
    """I have no room; try this neighbour of mine, if there is one to name."""

    task: int
    peer: Peer | None


class DisconnectRequest(Message, frozen=True, array_like=True, gc=False, tag="spidercast_disconnect"):
    """May we part?"""

    task: int


class DisconnectOk(Message, frozen=True, array_like=True, gc=False, tag="spidercast_disconnect_ok"):
    """We have parted."""

    task: int


class LeaveNotice(Message, frozen=True, array_like=True, gc=False, tag="spidercast_leave"):
    """I am no longer your neighbour."""

    task: int


class Heartbeat(Message, frozen=True, array_like=True, gc=False, tag="spidercast_heartbeat"):
    """I am alive, and this is how I stand, with the version of my interest; what has changed since another, where it has."""

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    version: int = 0
    since: int = 0
    added: SomeTopics = ()
    removed: SomeTopics = ()


class Claims(Message, frozen=True, array_like=True, gc=False, tag="spidercast_claims"):
    """For each of my topics, the lowest node that I have heard of and how many links away it is (`roots.py`)."""

    claims: Annotated[tuple[tuple[TopicId, NodeId, NeighbourCount], ...], Meta(max_length=PART_TOPICS)]


MESSAGES = (ConnectRequest, ConnectOk, Redirect, DisconnectRequest, DisconnectOk, LeaveNotice, Heartbeat, Claims)


class MaintenanceDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_maintenance"):
    """A turn of both tasks."""


class HeartbeatDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_heartbeat_due"):
    """Tell every neighbour that one is alive, and look for those who no longer are."""


class MendDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_mend"):
    """Look for topics in two parts."""
