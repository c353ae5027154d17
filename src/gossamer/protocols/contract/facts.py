"""Facts: what became true. A part returns them to the parts above it, or shows them to the driver with `Observe`."""

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Burst, Data, Digest, Value


class Fact(Value, frozen=True, array_like=True, gc=False):
    """Something that became true: passed between parts, or shown to the driver by `Observe`."""


class NeighbourUp(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_up"):
    """This node now counts `node` among its neighbours. The overlay is made of these facts."""

    node: NodeId


class NeighbourDown(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_down"):
    """This node no longer counts `node` among its neighbours."""

    node: NodeId


class ViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="view_changed"):
    """A membership view lost and gained these nodes, in one step."""

    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class Heard(Fact, frozen=True, array_like=True, gc=False, tag="heard"):
    """Membership brought news of a node and what it holds."""

    node: NodeId
    address: Address
    digest: Digest


class PeerMisbehaved(Fact, frozen=True, array_like=True, gc=False, tag="peer_misbehaved"):
    """A peer sent what the protocol does not allow; it was bounded or dropped."""

    node: NodeId
    reason: str


class Arrived(Fact, frozen=True, array_like=True, gc=False, tag="arrived"):
    """A new message on a topic that this node holds, a hop further; `wanted`: the validator, if any, did not pass it over.

    Where recovery stands above, a dissemination states this and leaves delivery to it.
    """

    data: Data
    sender: NodeId
    wanted: bool = True


class ArrivedBurst(Fact, frozen=True, array_like=True, gc=False, tag="arrived_burst"):
    """As `Arrived`, for the messages of a burst, all of them new."""

    burst: Burst
    sender: NodeId


class Lost(Fact, frozen=True, array_like=True, gc=False, tag="lost"):
    """Messages of this publisher on this topic with after < sequence < before are not coming; the rest goes on."""

    topic: TopicId
    publisher: NodeId
    after: int
    before: int


class TopicViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="stan_view_changed"):
    """The directed view that this node keeps for a topic lost and gained these nodes, in one step."""

    topic: TopicId
    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class BufferFull(Fact, frozen=True, array_like=True, gc=False, tag="gossip_buffer_full"):
    """This node's buffer was full, so it dropped a copy of a message; `publisher` is this node if the message was its own."""

    topic: TopicId
    publisher: NodeId
    sequence: int
