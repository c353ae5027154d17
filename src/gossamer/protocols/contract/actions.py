"""Actions: what a machine answers, for the driver to carry out."""

from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer, Value


class Send(Value, frozen=True, array_like=True, gc=False, tag="send"):
    """Send one message to each of these nodes, in this order.

    `to` is a tuple because flooding is the common case: a driver encodes the message once, and a
    simulator makes one event for all receivers. `addresses` stands in the same order, and is empty
    when all receivers are kept connections or the driver knows them (simulation).
    """

    to: tuple[NodeId, ...]
    message: Any
    addresses: tuple[bytes, ...] = ()


class Connect(Value, frozen=True, array_like=True, gc=False, tag="connect"):
    """Keep a connection to this peer; `PeerUp` or `PeerDown` follows."""

    peer: Peer


class Disconnect(Value, frozen=True, array_like=True, gc=False, tag="disconnect"):
    """Keep the connection to this node no longer."""

    node: NodeId


class SetTimer(Value, frozen=True, array_like=True, gc=False, tag="set_timer"):
    """Fire `timer` at `at_us`."""

    at_us: int
    timer: Any


class Deliver(Value, frozen=True, array_like=True, gc=False, tag="deliver"):
    """Hand a message to the application: once, under the first of its topics that this node follows.

    `also` are the others of its topics that this node follows.
    """

    topic: TopicId
    payload: bytes
    publisher: NodeId
    sequence: int
    hops: int
    published_us: int
    also: tuple[TopicId, ...] = ()


class Validate(Value, frozen=True, array_like=True, gc=False, tag="validate"):
    """Ask the application whether a message is good; `Validated` with this ticket follows."""

    ticket: int
    topic: TopicId
    payload: bytes
    publisher: NodeId = 0
    sequence: int = 0
    published_us: int = 0


class Observe(Value, frozen=True, array_like=True, gc=False, tag="observe"):
    """Tell whoever watches; nothing is to be done."""

    fact: Any


Action = Send | Connect | Disconnect | SetTimer | Deliver | Validate | Observe
