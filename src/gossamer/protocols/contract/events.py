"""Events: the inputs of a machine."""

from enum import IntEnum
from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Address, Data, Peer, Value


class Outcome(IntEnum):
    """What an application's validator decided about a message."""

    ACCEPT = 0
    REJECT = 1
    IGNORE = 2


class Started(Value, frozen=True, array_like=True, gc=False, tag="started"):
    """The node has started.

    If `joining`, the contacts introduce the node to the network; otherwise they are its first view. `secret` is for what
    the node shows to others (`model.values.shown`); a simulated node has none.
    """

    contacts: tuple[Peer, ...] = ()
    joining: bool = True
    address: Address = b""
    secret: bytes = b""


class Restarted(Started, frozen=True, array_like=True, gc=False, tag="restarted"):
    """As `Started`, for a node that keeps its identity over restarts, also at its first start.

    Other nodes remember its interest with a version. `version` exceeds every version of an earlier run. The driver keeps it in a
    file, because the clock may have gone back. Versions of this run count up from it.
    """

    version: int = 0


class Contacts(Value, frozen=True, array_like=True, gc=False, tag="contacts"):
    """The addresses that introduce the node to the network are others than before."""

    contacts: tuple[Peer, ...]


class Subscribe(Value, frozen=True, array_like=True, gc=False, tag="subscribe"):
    """The application asks for a topic, in a role (`model.values.ids.Role`).

    `peers` are known nodes that hold the topic, and `secret` is a key that all nodes with the topic share; StAN uses
    both. If `joining`, the peers introduce the node; otherwise they are its first view of the topic. If `validates`,
    the machine asks with `Validate` before it delivers or relays a message. `last` (a number of messages) and `last_us`
    (a period) say which older messages to fetch from the histories of neighbours (`protocols/delivery/recovery`).
    `own_last` is the number of the node's last message on the topic in an earlier run, which the driver kept, and
    `own_last_age_us` how old that message is by this node's clock; 0 if there is none or the driver does not know.

    `held_us`: for how long the application has wanted the topic, by this node's clock, also in earlier runs: messages that
    were published since then and that it did not get are fetched. `positions` is what the driver kept of publishers: the
    last message that the application got (0: none), the last message on the node's disk (0: none), and the age of the latter.
    """

    topic: TopicId
    role: int
    peers: tuple[Peer, ...] = ()
    joining: bool = True
    secret: bytes = b""
    validates: bool = False
    last: int = 0
    last_us: int = 0
    own_last: int = 0
    own_last_age_us: int = 0
    held_us: int = 0
    positions: tuple[tuple[NodeId, int, int, int], ...] = ()


class Unsubscribe(Value, frozen=True, array_like=True, gc=False, tag="unsubscribe"):
    """The application gives up a topic."""

    topic: TopicId


class Publish(Value, frozen=True, array_like=True, gc=False, tag="publish"):
    """The application publishes on a topic that it holds.

    The first message after `Started` has the sequence number now_us + 1, and each further message the next number. A
    node that restarts therefore never reuses a number that other nodes remember. A driver that signs messages must know
    the number in advance: it gives `sequence`, greater than every number before, and `published_us`, not later than
    now. `also` lists further topics; topics that the node does not hold are ignored.
    """

    topic: TopicId
    payload: bytes
    also: tuple[TopicId, ...] = ()
    sequence: int = 0
    published_us: int = 0


class PublishBurst(Value, frozen=True, array_like=True, gc=False, tag="publish_burst"):
    """As `Publish` for several messages with consecutive sequence numbers, the first of which is `sequence`.

    `items` gives the time of publication (not later than now) and the payload of each message. Only a stack whose
    dissemination has a `Burst` class accepts this event.
    """

    topic: TopicId
    items: tuple[tuple[int, bytes], ...]
    sequence: int = 0


class MessageReceived(Value, frozen=True, array_like=True, gc=False, tag="message"):
    """A message arrived. `sender` is the peer at the other end of the connection, whatever the message claims."""

    sender: NodeId
    message: Any


class PeerUp(Value, frozen=True, array_like=True, gc=False, tag="up"):
    """A connection requested with `Connect` is open.

    The driver repeats this event while it has paused reading from the peer, so that the peer is not suspected of
    silence.
    """

    node: NodeId


class PeerDown(Value, frozen=True, array_like=True, gc=False, tag="down"):
    """A kept connection ended, a requested one failed, or a message to a node without a connection was not sent.

    The node is unreachable, and the parts forget it. If `hung_up`, the node is alive and closed the connection on
    purpose.
    """

    node: NodeId
    hung_up: bool = False


class TimerFired(Value, frozen=True, array_like=True, gc=False, tag="timer"):
    """A timer set with `SetTimer` is due."""

    timer: Any


class Validated(Value, frozen=True, array_like=True, gc=False, tag="validated"):
    """The application's validator answered."""

    ticket: int
    outcome: int


class Loaded(Value, frozen=True, array_like=True, gc=False, tag="loaded"):
    """The disk answered a `Load`: messages in the publisher's order, each with its time by this node's clock.

    `more`: further messages of the range are on the disk. `floor`: the number and the time of the last message of the range
    that is older than requested; zeros if none is known.
    """

    ticket: int
    topic: TopicId
    messages: tuple[tuple[int, Data], ...] = ()
    more: bool = False
    floor: tuple[int, int] = (0, 0)


class Refused(Value, frozen=True, array_like=True, gc=False, tag="refused"):
    """The queue towards a peer was full; the message was not sent."""

    node: NodeId
    message: Any


class Stopping(Value, frozen=True, array_like=True, gc=False, tag="stopping"):
    """The node is about to leave. The driver still carries out the actions that the machine returns for this event."""


Event = (
    Started
    | Restarted
    | Contacts
    | Subscribe
    | Unsubscribe
    | Publish
    | PublishBurst
    | MessageReceived
    | PeerUp
    | PeerDown
    | TimerFired
    | Validated
    | Loaded
    | Refused
    | Stopping
)
