"""Events: what a machine is told."""

from enum import IntEnum
from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Peer, Value


class Outcome(IntEnum):
    """What an application's validator said of a message."""

    ACCEPT = 0
    REJECT = 1
    IGNORE = 2


class Started(Value, frozen=True, array_like=True, gc=False, tag="started"):
    """The node is up. `joining`: the contacts introduce it; otherwise they already are its view."""

    contacts: tuple[Peer, ...] = ()
    joining: bool = True
    address: Address = b""


class Subscribe(Value, frozen=True, array_like=True, gc=False, tag="subscribe"):
    """The application wants a topic, in a role (`model.values.ids.Role`).

    It may know somebody who holds it (`peers`) and a secret that all who hold it share; StAN asks for both. `joining`: the
    peers introduce the node; otherwise they already are its view. `validates`: ask `Validate` before a message is delivered
    or relayed. `last` and `last_us`: begin with the last so many messages, and with those of the last so many microseconds,
    from the neighbours' history (`protocols/recovery`).
    """

    topic: TopicId
    role: int
    peers: tuple[Peer, ...] = ()
    joining: bool = True
    secret: bytes = b""
    validates: bool = False
    last: int = 0
    last_us: int = 0


class Unsubscribe(Value, frozen=True, array_like=True, gc=False, tag="unsubscribe"):
    """The application lets go of a topic."""

    topic: TopicId


class Publish(Value, frozen=True, array_like=True, gc=False, tag="publish"):
    """The application publishes on a topic that it holds.

    A node's first message after `Started` has the number now_us + 1, every further one the next: who was gone and is back
    never takes a name of its life before, which others remember. A driver that must know the number beforehand, because it
    signs it, gives `sequence`, greater than any before, and the time, not later than now. `also` are further topics; those that
    the node does not hold are left out.
    """

    topic: TopicId
    payload: bytes
    also: tuple[TopicId, ...] = ()
    sequence: int = 0
    published_us: int = 0


class PublishBurst(Value, frozen=True, array_like=True, gc=False, tag="publish_burst"):
    """As `Publish` for each of these, one after another; `sequence` is that of the first. Only for a dissemination with a `Burst`.

    `items` are when each was published, not later than now, and what it says.
    """

    topic: TopicId
    items: tuple[tuple[int, bytes], ...]
    sequence: int = 0


class MessageReceived(Value, frozen=True, array_like=True, gc=False, tag="message"):
    """A message came. `sender` is who the link says it is, not who the message says."""

    sender: NodeId
    message: Any


class PeerUp(Value, frozen=True, array_like=True, gc=False, tag="up"):
    """A connection asked for with `Connect` stands.

    Told again now and then while the driver does not read from it: the peer may well be speaking.
    """

    node: NodeId


class PeerDown(Value, frozen=True, array_like=True, gc=False, tag="down"):
    """A kept connection ended, one asked for could not be made, or a message for which there was none could not be sent.

    The node could not be reached: parts that know of it forget it. `hung_up`: it is there, and keeps the connection no longer.
    """

    node: NodeId
    hung_up: bool = False


class TimerFired(Value, frozen=True, array_like=True, gc=False, tag="timer"):
    """A wake-up is due."""

    timer: Any


class Validated(Value, frozen=True, array_like=True, gc=False, tag="validated"):
    """The application's validator answered."""

    ticket: int
    outcome: int


class Refused(Value, frozen=True, array_like=True, gc=False, tag="refused"):
    """The queue towards a peer was full; the message was not sent."""

    node: NodeId
    message: Any


class Stopping(Value, frozen=True, array_like=True, gc=False, tag="stopping"):
    """The node is about to leave; what it sends now is still carried out."""


Event = (
    Started
    | Subscribe
    | Unsubscribe
    | Publish
    | PublishBurst
    | MessageReceived
    | PeerUp
    | PeerDown
    | TimerFired
    | Validated
    | Refused
    | Stopping
)
