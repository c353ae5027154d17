"""Facts: changes that a part reports, to the parts above it by returning them or to the driver with `Observe`."""

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Burst, Data, Digest, Value


class Fact(Value, frozen=True, array_like=True, gc=False):
    """A change that a part reports to the parts above it or, with `Observe`, to the driver."""


class NeighbourUp(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_up"):
    """`node` became a neighbour of this node. These facts define the overlay."""

    node: NodeId


class NeighbourDown(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_down"):
    """`node` is no longer a neighbour of this node."""

    node: NodeId


class NeighbourTopicsChanged(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_topics_changed"):
    """`node`, a neighbour, holds other topics than before, as far as this node knows."""

    node: NodeId


class TopicNeighboursChanged(Fact, frozen=True, array_like=True, gc=False, tag="topic_neighbours_changed"):
    """The neighbours of this node on a topic changed in one step. Systems that do not disclose interests report this."""

    topic: TopicId
    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class ViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="view_changed"):
    """A membership view lost the `removed` nodes and gained the `added` nodes in one step."""

    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class Heard(Fact, frozen=True, array_like=True, gc=False, tag="heard"):
    """The membership part received the address and the interest digest of a node."""

    node: NodeId
    address: Address
    digest: Digest


class PeerMisbehaved(Fact, frozen=True, array_like=True, gc=False, tag="peer_misbehaved"):
    """A peer violated the protocol; what it sent was dropped or cut to its bound."""

    node: NodeId
    reason: str


class BridgeWanted(Fact, frozen=True, array_like=True, gc=False, tag="bridge_wanted"):
    """A topic of this node seems to be disconnected; this node asks `node`, which holds it too, for a link."""

    node: NodeId


class Arrived(Fact, frozen=True, array_like=True, gc=False, tag="arrived"):
    """A new message on a topic that this node holds, with `hops` already counted up.

    A dissemination reports this fact in stacks with recovery, which then delivers the message. `wanted` is False if the
    application's validator ignored the message, `relayed` is False if the node fetched it and relays it to nobody.
    """

    data: Data
    sender: NodeId
    wanted: bool = True
    relayed: bool = True


class ArrivedBurst(Fact, frozen=True, array_like=True, gc=False, tag="arrived_burst"):
    """As `Arrived`, for a burst whose messages are all new."""

    burst: Burst
    sender: NodeId


class Lost(Fact, frozen=True, array_like=True, gc=False, tag="lost"):
    """Recovery gave up on the messages with after < sequence < before; delivery continues behind the gap."""

    topic: TopicId
    publisher: NodeId
    after: int
    before: int


class TopicViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="stan_view_changed"):
    """This node's directed view of a topic lost the `removed` nodes and gained the `added` nodes in one step."""

    topic: TopicId
    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class BufferFull(Fact, frozen=True, array_like=True, gc=False, tag="gossip_buffer_full"):
    """This node's buffer was full, so it dropped a copy of a message, possibly one of its own."""

    topic: TopicId
    publisher: NodeId
    sequence: int
