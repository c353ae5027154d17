"""Actions: what a machine returns from `handle`, for the driver to carry out."""

from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer, Value


class Send(Value, frozen=True, array_like=True, gc=False, tag="send"):
    """Send one message to each of these nodes, in this order.

    `to` is a tuple because most messages have several receivers: a live driver encodes the message once, and the
    simulator schedules one event for all receivers. `addresses` has the same order. It is empty if the node keeps a
    connection to every receiver, and in simulations, which need no addresses.
    """

    to: tuple[NodeId, ...]
    message: Any
    addresses: tuple[bytes, ...] = ()


class Connect(Value, frozen=True, array_like=True, gc=False, tag="connect"):
    """Keep a connection to this peer. The driver answers with `PeerUp` or `PeerDown`."""

    peer: Peer


class Disconnect(Value, frozen=True, array_like=True, gc=False, tag="disconnect"):
    """Close the connection to this node."""

    node: NodeId


class SetTimer(Value, frozen=True, array_like=True, gc=False, tag="set_timer"):
    """Fire `timer` at `at_us`."""

    at_us: int
    timer: Any


class Deliver(Value, frozen=True, array_like=True, gc=False, tag="deliver"):
    """Hand a message to the application, once, under the first of its topics that this node follows.

    `also` lists the message's other topics that this node follows.
    """

    topic: TopicId
    payload: bytes
    publisher: NodeId
    sequence: int
    hops: int
    published_us: int
    also: tuple[TopicId, ...] = ()


class Validate(Value, frozen=True, array_like=True, gc=False, tag="validate"):
    """Ask the application's validator about a message. The driver answers with `Validated` and the same ticket."""

    ticket: int
    topic: TopicId
    payload: bytes
    publisher: NodeId = 0
    sequence: int = 0
    published_us: int = 0


class Store(Value, frozen=True, array_like=True, gc=False, tag="store"):
    """Keep messages of a topic on the node's disk, for neighbours that were away and for this node after a restart.

    `at_us`: when they were published, by this node's clock. Only a stack whose recovery `stores` returns this action. The
    driver bounds what it keeps; if it cannot keep the messages, it drops them.
    """

    topic: TopicId
    messages: tuple[Any, ...]
    at_us: int


class Load(Value, frozen=True, array_like=True, gc=False, tag="load"):
    """Read a publisher's first messages with after < sequence < before from the disk, at most `count` or `size_bytes`.

    Messages that were published before `since_us`, by this node's clock, are left out. The driver answers with `Loaded`
    and the same ticket, also if it finds nothing.
    """

    ticket: int
    topic: TopicId
    publisher: NodeId
    after: int
    before: int
    since_us: int
    count: int
    size_bytes: int


class Observe(Value, frozen=True, array_like=True, gc=False, tag="observe"):
    """Show a fact to watchers, records and metrics. The driver does nothing else with it."""

    fact: Any


Action = Send | Connect | Disconnect | SetTimer | Deliver | Validate | Store | Load | Observe
