"""StAN's parameters, messages and timers, and the proofs that messages carry."""

from hashlib import sha256
from hmac import digest
from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.model.values.draw import MASK
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import (
    Address,
    Message,
    Peer,
    Timer,
)

# Chosen: no view is smaller. A higher floor lets mean views creep up where nodes come and go: those that cannot shrink
# have nothing to set against those that grow.
VIEW_MIN = 1
# Chosen: where first peers are found by probes. Nodes that start at the same time find each other in pairs, when nobody is
# held by more than one or two: 300 nodes had 2 peers a topic instead of 5.
VIEW_MIN_PROBED = 4
# Chosen: no view is larger, whatever peers say; a topic of a million nodes needs some 14.
VIEW_MAX = 256
# Chosen: who may say that it has this node in its view, for each topic; the oldest are forgotten.
HOLDERS_MAX = 1_024
# Chosen: hops that a walk may be asked to take at most.
WALK_MAX = 15
# Chosen: 128 bits of a proof are enough against guessing, and short on the wire.
PROOF_BYTES = 16


class StanParameters(Struct, frozen=True, kw_only=True):
    """Paper: section 3 names TTL = 5 and views that grow with the logarithm of the topic."""

    walk_hops: Annotated[
        int, Meta(ge=0, le=WALK_MAX, description="Paper: 5. TTL of a walk, which so visits one node more")
    ] = 5
    view_factor: Annotated[
        float, Meta(ge=0.1, le=10, description="Chosen: 1. Mean view size over the natural logarithm of topic size")
    ] = 1.0
    period_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 1 s. Microseconds between a node's walks")
    ] = SECOND_US
    weigh_sources: Annotated[
        bool,
        Meta(description="Chosen: true. Nodes that a walk visits weigh its source too; the paper's only answer it"),
    ] = True
    membership: Annotated[
        Literal["oracle", "cyclon"],
        Meta(description="Chosen: oracle. First peers from the driver, or found by probes of whom Cyclon brings"),
    ] = "oracle"
    probes: Annotated[
        int, Meta(ge=1, le=64, description="Chosen: 4. Probes sent in a turn, however many topics are followed")
    ] = 4
    probe_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 500 ms. Microseconds between turns of probes")
    ] = SECOND_US // 2


Proof = Annotated[bytes, Meta(max_length=PROOF_BYTES)]
# A walk visits WALK_MAX + 1 nodes, each with a view and itself.
Peers = Annotated[tuple[Peer, ...], Meta(max_length=(WALK_MAX + 1) * (VIEW_MAX + 1))]


class TopicMessage(Message, frozen=True, array_like=True, gc=False, tag="stan_topic"):
    """What is said inside one topic's overlay. The proof shows that the sender knows the topic's key."""

    topic: TopicId
    proof: Proof


class Collect(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_collect"):
    """A random walk on its way: whoever gets it adds itself and its view."""

    source: Peer
    walk: int
    hops_left: int
    # Whether the sender has the receiver in its view: a lost `Hold` is so made good.
    holds: bool
    peers: Peers


class Collected(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_collected"):
    """What a walk has found, back to its source."""

    walk: int
    peers: Peers


class Hold(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_hold"):
    """You are in my view now."""


class Release(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_release"):
    """You are in my view no longer."""


class Enter(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_enter"):
    """I have come to this topic and know nobody else in it."""

    newcomer: Peer


class Welcome(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_welcome"):
    """How large a view to keep, and whom to begin with."""

    view_size: int
    peers: Peers


class Leave(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_leave"):
    """I am in this topic no longer."""


class Probe(Message, frozen=True, array_like=True, gc=False, tag="stan_probe"):
    """Do you hold the topic that I think of? The tag is a proof, or a random number."""

    nonce: int
    tag: Proof
    address: Address


class ProbeReply(Message, frozen=True, array_like=True, gc=False, tag="stan_probe_reply"):
    """Always sent: a proof from one who recognised the probe, a random number from anybody else."""

    nonce: int
    tag: Proof


class WalkDue(Timer, frozen=True, array_like=True, gc=False, tag="stan_walk_due"):
    """Once a period."""


class ProbeDue(Timer, frozen=True, array_like=True, gc=False, tag="stan_probe_due"):
    """A turn of probes."""


class TopicPeer(Fact, frozen=True, array_like=True, gc=False, tag="stan_topic_peer"):
    """A probe has found somebody who holds a topic of ours."""

    topic: TopicId
    peer: Peer


def topic_key(topic: TopicId, secret: bytes) -> bytes:
    """The key of a topic: from its shared secret where there is one, else from its id, and so from its name."""
    return sha256(b"gossamer topic\0" + _word(topic) + secret).digest()


def prove(key: bytes, what: bytes, sender: NodeId, receiver: NodeId, nonce: int = 0) -> bytes:
    """HMAC of what is said by whom to whom: of no use to anybody who hears it."""
    return digest(key, what + _word(sender) + _word(receiver) + _word(nonce), "sha256")[:PROOF_BYTES]


def _word(number: int) -> bytes:
    """Eight bytes of any number: a peer may have sent one that is no id."""
    return (number & MASK).to_bytes(8, "big")
