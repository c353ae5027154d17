"""StAN's messages, timers and facts."""

from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import TopicId
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Address, Peer, Timer, WireMessage
from gossamer.systems.stan.parameters import TAGS_MAX, VIEW_MAX, WALK_MAX
from gossamer.systems.stan.proofs import PROOF_BYTES

Proof = Annotated[bytes, Meta(max_length=PROOF_BYTES)]
# Proofs and bytes that look like proofs, in ascending order, one after another.
Tags = Annotated[bytes, Meta(max_length=TAGS_MAX * PROOF_BYTES)]
# A walk visits at most WALK_MAX + 1 nodes; each adds itself and its view.
Peers = Annotated[tuple[Peer, ...], Meta(max_length=(WALK_MAX + 1) * (VIEW_MAX + 1))]


class TopicMessage(WireMessage, frozen=True, array_like=True, gc=False, tag="stan_topic"):
    """A message inside one topic's overlay. The proof shows that the sender knows the topic's key."""

    topic: TopicId
    proof: Proof


class Collect(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_collect"):
    """A random walk: every node that it visits adds itself and its view."""

    source: Peer
    walk: int
    hops_left: int
    # Whether the receiver is in the view of the sender; this repeats a `Hold` that may have been lost.
    holds: bool
    peers: Peers


class Collected(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_collected"):
    """The result of a walk, sent to its source."""

    walk: int
    peers: Peers


class Hold(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_hold"):
    """The receiver is now in the view of the sender."""


class Held(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_held"):
    """Answer to `Hold`: its proof shows that the sender is in the topic, too."""


class Release(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_release"):
    """The receiver is no longer in the view of the sender."""


class Enter(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_enter"):
    """The sender is new in this topic and asks to be let in."""

    newcomer: Peer


class Welcome(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_welcome"):
    """Answer to `Enter`: the view size for the newcomer, and its first peers."""

    view_size: int
    peers: Peers


class TopicLeave(TopicMessage, frozen=True, array_like=True, gc=False, tag="stan_leave"):
    """The sender has left this topic."""


class Probe(WireMessage, frozen=True, array_like=True, gc=False, tag="stan_probe"):
    """Asks which topics the receiver shares with the sender, without naming any: a proof for each, among random tags."""

    nonce: int
    tags: Tags
    address: Address


class ProbeReply(WireMessage, frozen=True, array_like=True, gc=False, tag="stan_probe_reply"):
    """Sent for every probe: a proof for each topic that the receiver recognised, among as many tags as the probe had."""

    nonce: int
    tags: Tags


class WalkDue(Timer, frozen=True, array_like=True, gc=False, tag="stan_walk_due"):
    """The walks of all topics are due, once a period."""


class ProbeDue(Timer, frozen=True, array_like=True, gc=False, tag="stan_probe_due"):
    """A turn of probes is due."""


class TopicPeer(Fact, frozen=True, array_like=True, gc=False, tag="stan_topic_peer"):
    """A probe has found a peer that holds one of this node's topics."""

    topic: TopicId
    peer: Peer
