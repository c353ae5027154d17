"""OMen's messages and timers.

Chen, Vitenberg, Jacobsen: OMen (DEBS 2016). Sections and algorithms named here are that paper's.
"""

from enum import IntEnum
from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.messages import Address, Number, Peer, Timer, Value, WireMessage
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, SomeTopics
from gossamer.protocols.membership.tman import Descriptor
from gossamer.protocols.roots import DEPTH_MAX

# Nodes in one frame: neighbours of a node, links of a repair.
NODES_MAX = 1_000
SomeNodes = Annotated[tuple[NodeId, ...], Meta(max_length=NODES_MAX)]
SomePeers = Annotated[tuple[Peer, ...], Meta(max_length=NODES_MAX)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# Descriptors in a ring exchange; the watchers that a node names.
RING_MAX = 250
# Chosen: topics in all links of a shadow state together, 180 kB. Further links are left out, which may add a link more.
STATE_TOPICS = 20_000
# Nodes that a request for a rendezvous may pass.
HOPS_MAX = 64


class ChurnKind(IntEnum):
    """What happened to a node."""

    JOIN = 0
    LEAVE = 1
    # It gave up a topic.
    CHANGE = 2


class ChurnEvent(Value, frozen=True, array_like=True, gc=False):
    """A churn event. `number` is the incarnation of a node that left, else the version of its state or interest."""

    node: NodeId
    number: Number
    kind: ChurnKind


class RingDescriptor(Descriptor, frozen=True, array_like=True, gc=False):
    """A node of the circle; its version is its incarnation. `load` counts the backup sets that it is in."""

    load: Count = 0


class ShadowLink(Value, frozen=True, array_like=True, gc=False):
    """A neighbour of a shadow node, the asked topics that both hold, and its degree, as far as it is known."""

    node: NodeId
    address: Address
    topics: SomeTopics
    degree: Count = 0


# The circle (section 5) and the watch over predecessors.


class RingRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_ring"):
    """Algorithm 3: descriptors for a peer, the sender's own first."""

    descriptors: Annotated[tuple[RingDescriptor, ...], Meta(max_length=RING_MAX)]


class RingReply(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_ring_reply"):
    """Algorithm 3: the same in return."""

    descriptors: Annotated[tuple[RingDescriptor, ...], Meta(max_length=RING_MAX)]


class WatchPulse(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_watch"):
    """To each watcher, in every turn: the sender is alive, and its state has this version."""

    incarnation: Number
    state: Number
    address: Address = b""


class WatchOk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_watch_ok"):
    """The sender watches the receiver and knows this version of its state; 0 if it knows none."""

    state: Number


class WatchState(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_watch_state"):
    """The sender's state for its watchers: its interest, its neighbours, and the topics that no neighbour holds."""

    incarnation: Number
    state: Number
    version: Number
    count: Count
    topics: SomeTopics
    neighbours: SomePeers
    lonely: SomeTopics = ()
    address: Address = b""


class WatchEnd(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_watch_end"):
    """The receiver no longer watches the sender."""


class ShadowAsk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_shadow_ask"):
    """Asks a shadow node of `subject` for its links on these topics.

    `token` names the question at the sender; `part` counts the parts of a large interest.
    """

    subject: NodeId
    token: Count
    part: Count
    topics: SomeTopics
    is_backup: bool = False
    address: Address = b""


class ShadowState(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_shadow_state"):
    """Answers a ShadowAsk: the sender's degree, the asked topics that it holds, and its links on them."""

    token: Count
    part: Count
    degree: Count
    held: SomeTopics
    links: Annotated[tuple[ShadowLink, ...], Meta(max_length=NODES_MAX)]


# Churn events (Algorithm 5).


class ChurnNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_churn"):
    """A node left or crashed; `terminals` are neighbours of it that must stay connected.

    `is_handed_over`: the sender is the first successor of the node, but has not watched it.
    """

    event: ChurnEvent
    terminals: SomePeers = ()
    is_handed_over: bool = False


class NoticeOk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_churn_ok"):
    """The sender has the notice of this event."""

    event: ChurnEvent


class Suspicion(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_suspicion"):
    """The receiver is taken for dead. If it is alive, it goes on with a higher incarnation."""

    incarnation: Number


class DoneNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_done"):
    """The overlay is repaired after this event."""

    event: ChurnEvent


class LinkCommand(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_command"):
    """A coordinator asks the receiver to link to these nodes."""

    event: ChurnEvent
    peers: SomePeers
    address: Address = b""


class LinkDone(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_link_done"):
    """Answers a LinkCommand: the nodes that the sender is linked to now, and those that it cannot be linked to."""

    event: ChurnEvent
    up: SomeNodes
    down: SomeNodes


# Links.


class LinkRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_link"):
    """Asks for a link. Carries as much of the interest as fits a frame."""

    incarnation: Number
    version: Number
    count: Count
    topics: SomeTopics
    address: Address = b""


class LinkOk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_link_ok"):
    """Accepts a LinkRequest."""

    incarnation: Number
    version: Number
    count: Count
    topics: SomeTopics


class LinkRefusal(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_link_refusal"):
    """The sender shares no topic with the receiver, or has no room."""


class LinkMissing(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_no_link"):
    """Answers a pulse: the sender has no link to the receiver."""


class LinkPulse(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_pulse"):
    """To every neighbour in every turn: the sender is alive; the version of its interest; who watches it.

    `neighbours` are the sender's neighbours if they have changed, else None.
    """

    incarnation: Number
    version: Number
    watchers: Annotated[tuple[Peer, ...], Meta(max_length=RING_MAX)]
    neighbours: Annotated[tuple[NodeId, ...], Meta(max_length=NODES_MAX)] | None = None


class InterestUpdate(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_interest"):
    """A change of the sender's interest: `added` and `removed` lead from version `since` to `version`."""

    version: Number
    since: Number
    added: SomeTopics = ()
    removed: SomeTopics = ()


class Departure(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_farewell"):
    """The sender leaves the network."""


class DropRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_drop"):
    """Asks to drop the link: these common neighbours hold all topics that its ends share."""

    witnesses: Annotated[tuple[NodeId, ...], Meta(max_length=NODES_MAX)]


class DropOk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_drop_ok"):
    """The sender has dropped the link."""


class DropRefusal(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_drop_refusal"):
    """The link stays."""


# Disconnected and rare topics.


class ComponentClaims(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_claims"):
    """For topics of the sender: the lowest node id that it has heard of, and the distance in links (`protocols/roots.py`)."""

    claims: Annotated[
        tuple[tuple[TopicId, NodeId, Annotated[int, Meta(ge=0, le=DEPTH_MAX)]], ...], Meta(max_length=PART_TOPICS)
    ]


class RendezvousAsk(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_rendezvous"):
    """`peer` looks for another holder of a topic. Travels to the topic's place on the circle."""

    topic: TopicId
    peer: Peer
    hops: Annotated[int, Meta(ge=0, le=HOPS_MAX)]


class RendezvousAnswer(WireMessage, frozen=True, array_like=True, gc=False, tag="omen_rendezvous_answer"):
    """Another holder of the topic."""

    topic: TopicId
    peer: Peer


MESSAGES = (
    RingRequest,
    RingReply,
    WatchPulse,
    WatchOk,
    WatchState,
    WatchEnd,
    ShadowAsk,
    ShadowState,
    ChurnNotice,
    NoticeOk,
    Suspicion,
    DoneNotice,
    LinkCommand,
    LinkDone,
    LinkRequest,
    LinkOk,
    LinkRefusal,
    LinkMissing,
    LinkPulse,
    InterestUpdate,
    Departure,
    DropRequest,
    DropOk,
    DropRefusal,
    ComponentClaims,
    RendezvousAsk,
    RendezvousAnswer,
)


class TurnDue(Timer, frozen=True, array_like=True, gc=False, tag="omen_turn"):
    """A turn is due, once a period."""


class BridgeCheckDue(Timer, frozen=True, array_like=True, gc=False, tag="omen_mend"):
    """A check for disconnected topics is due (`protocols/roots.py`)."""


def send(peer: Peer, message: WireMessage) -> Send:
    """Send a message to a node that need not be a neighbour."""
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
