"""Feverfew's messages and timers.

Ma, Wang, Sun: Feverfew: a scalable coverage-based hybrid overlay for Internet-scale pub/sub networks (Sci. China Inf.
Sci. 57, 2014). Sections and algorithms named here are that paper's.
"""

from typing import Annotated

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.aggregation import Report
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.messages import Address, Digest, Peer, Timer, Value, WireMessage
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, SomeTopics
from gossamer.protocols.roots import DEPTH_MAX
from gossamer.protocols.shares import Shares

# The largest random view and similar view, and the node itself.
ENTRIES_MAX = 501
# Searches in one frame.
BUBBLES_MAX = 1_000
HOPS_MAX = 30
AGE_MAX = 255


class SimilarEntry(Value, frozen=True, array_like=True, gc=False):
    """A node of a similar or random view; `age` counts cycles since the node itself was heard of."""

    node: NodeId
    age: Annotated[int, Meta(ge=0, le=AGE_MAX)] = 0
    address: Address = b""
    digest: Digest | None = None


Entries = Annotated[tuple[SimilarEntry, ...], Meta(max_length=ENTRIES_MAX)]


class Exchange(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_exchange"):
    """Algorithm 1, line 4: the sender itself, its random view and its similar view; and evidence on sizes."""

    entries: Entries
    count: Report | None = None
    shares: Shares = ()


class ExchangeReply(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_exchange_reply"):
    """Algorithm 2, line 4: the same of the other side."""

    entries: Entries
    count: Report | None = None
    shares: Shares = ()


class HoldRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_hold"):
    """The receiver has entered the sender's ln-covered view. Carries as much of the interest as fits a frame."""

    version: int
    count: int
    topics: SomeTopics
    address: Address = b""


class HoldOk(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_hold_ok"):
    """Answers a HoldRequest."""

    version: int
    count: int
    topics: SomeTopics


class ReleaseNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_release"):
    """The receiver has left the sender's ln-covered view."""


class NoLink(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_no_link"):
    """The sender has no link to the receiver: it refuses a HoldRequest, or answers a pulse of a former neighbour."""


class FarewellNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_farewell"):
    """The sender leaves the network."""


class Pulse(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_pulse"):
    """Shows that the sender is alive; `version` is that of its interest."""

    version: int


class InterestNotice(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_interest"):
    """A change of the sender's interest: `added` and `removed` lead from version `since` to `version`."""

    version: int
    since: int
    added: SomeTopics = ()
    removed: SomeTopics = ()


class RootClaims(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_claims"):
    """For topics of the sender: the lowest node id that it has heard of, and the distance in links (`protocols/roots.py`)."""

    claims: Annotated[
        tuple[tuple[TopicId, NodeId, Annotated[int, Meta(ge=0, le=DEPTH_MAX)]], ...], Meta(max_length=PART_TOPICS)
    ]


class Search(Value, frozen=True, array_like=True, gc=False):
    """A search of `node` for other subscribers of `topic`, with `ttl` hops left."""

    topic: TopicId
    node: NodeId
    ttl: Annotated[int, Meta(ge=0, le=HOPS_MAX)]
    address: Address = b""


class Bubbles(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_bubbles"):
    """Algorithm 4: copies of searches. They travel with a shuffle of Cyclon, to the same peer at the same time."""

    searches: Annotated[tuple[Search, ...], Meta(max_length=BUBBLES_MAX)]


class Match(WireMessage, frozen=True, array_like=True, gc=False, tag="feverfew_match"):
    """Algorithm 5: an agent has found that `node` holds `topic`, which the receiver holds too."""

    topic: TopicId
    node: NodeId
    address: Address = b""
    digest: Digest | None = None


MESSAGES = (
    Exchange,
    ExchangeReply,
    HoldRequest,
    HoldOk,
    ReleaseNotice,
    NoLink,
    FarewellNotice,
    Pulse,
    InterestNotice,
    RootClaims,
    Bubbles,
    Match,
)


class ExchangeDue(Timer, frozen=True, array_like=True, gc=False, tag="feverfew_exchange_due"):
    """An exchange of similar views is due, once a period."""


class CoverDue(Timer, frozen=True, array_like=True, gc=False, tag="feverfew_cover_due"):
    """A new cover and the work of an agent are due, once a period."""


class BridgeDue(Timer, frozen=True, array_like=True, gc=False, tag="feverfew_bridge_due"):
    """A check for disconnected topics is due (`protocols/roots.py`)."""


class PulseDue(Timer, frozen=True, array_like=True, gc=False, tag="feverfew_pulse_due"):
    """A pulse to every neighbour is due, and a check for silent neighbours."""


def send(peer: Peer, message: WireMessage) -> Send:
    """Send a message to a node that need not be a neighbour."""
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
