"""SpiderCast's messages and timers.

Chockler, Melamed, Tock, Vitenberg: SpiderCast, a scalable interest-aware overlay for topic-based pub/sub
communication (DEBS 2007). Sections and figures named here are that paper's.
"""

from enum import IntEnum
from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Peer, Timer, WireMessage
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, SomeTopics


class Task(IntEnum):
    """The two neighbour maintenance tasks. Each has its own set of neighbours and its own rule to select candidates."""

    GREEDY = 0
    RANDOM = 1


# Numbers of neighbours, and distances in links. A target grows up to K times the number of topics: 5,000,000 with the
# largest K (50) and 100,000 topics. Every value of an honest node fits 32 bits.
COUNT_MAX = 2**31 - 1
NeighbourCount = Annotated[int, Meta(ge=0, le=COUNT_MAX)]

# Messages. `degree` is the number of neighbours of the sender in the task, and `target` its L.


class ConnectRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_connect"):
    """CONNECT: asks the receiver to become a neighbour. `degree` does not count the new link."""

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    # As much of the sender's interest as fits a frame; `version` and `count` describe the whole interest.
    interest: SomeTopics
    address: Address = b""
    # The link connects two components of a topic (`protocols/roots.py`): neither end drops it while they share a topic.
    is_bridge: bool = False
    version: int = 0
    count: int = 0


class ConnectOk(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_connect_ok"):
    """CONNECT-OK: accepts a CONNECT. `degree` counts the new link; `target` is L before it grows."""

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    interest: SomeTopics
    version: int = 0
    count: int = 0


class Redirect(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_redirect"):
    """REDIRECT: the sender is full; `peer` is one of its neighbours to try next, or None."""

    task: int
    peer: Peer | None


class DisconnectRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_disconnect"):
    """DISCONNECT: asks the receiver to agree that the link is removed."""

    task: int


class DisconnectOk(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_disconnect_ok"):
    """DISCONNECT-OK: the sender has removed the link."""

    task: int


class LeaveNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_leave"):
    """LEAVE: the sender has removed the link and does not ask."""

    task: int


class Heartbeat(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_heartbeat"):
    """Shows that the sender is alive; `added` and `removed` lead from version `since` of its interest to `version`.

    If `asks`, the sender has heard nothing for long, and the receiver answers with a heartbeat.
    """

    task: int
    degree: NeighbourCount
    target: NeighbourCount
    version: int = 0
    since: int = 0
    added: SomeTopics = ()
    removed: SomeTopics = ()
    asks: bool = False


class Claims(WireMessage, frozen=True, array_like=True, gc=False, tag="spidercast_claims"):
    """For each of the sender's topics: the lowest node id that it has heard of, and the distance in links (`protocols/roots.py`)."""

    claims: Annotated[tuple[tuple[TopicId, NodeId, NeighbourCount], ...], Meta(max_length=PART_TOPICS)]


MESSAGES = (ConnectRequest, ConnectOk, Redirect, DisconnectRequest, DisconnectOk, LeaveNotice, Heartbeat, Claims)


class MaintenanceDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_maintenance"):
    """A maintenance turn of both tasks is due."""


class HeartbeatDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_heartbeat_due"):
    """A heartbeat to every neighbour is due, and a check for silent neighbours."""


class MendDue(Timer, frozen=True, array_like=True, gc=False, tag="spidercast_mend"):
    """A check for disconnected topics is due."""
