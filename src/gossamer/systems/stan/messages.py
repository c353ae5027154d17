"""StAN's messages, timers and facts."""

from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Address, Message, Peer, Timer
from gossamer.systems.stan.parameters import VIEW_MAX, WALK_MAX
from gossamer.systems.stan.proofs import PROOF_BYTES

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


class TopicLeave(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_leave"):
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


class TopicViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="stan_view_changed"):
    """A topic's view lost and gained these nodes, in one step; for whoever watches this node."""

    topic: TopicId
    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class TopicPeer(Fact, frozen=True, array_like=True, gc=False, tag="stan_topic_peer"):
    """A probe has found somebody who holds a topic of ours."""

    topic: TopicId
    peer: Peer
