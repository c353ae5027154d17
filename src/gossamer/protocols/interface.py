"""The machine contract: what a machine is told, what it answers, and how its parts meet.

    handle(event, now_us) -> actions
    same parameters + same seed + same (event, now_us) sequence  =>  same actions

Everything that crosses the line is a frozen value that msgpack can carry, so that a record of a run
replays into a fresh machine, and a message is its own wire format.
"""

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import msgspec

from gossamer.model.values.ids import NodeId, TopicId


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The root of all contract values: immutable, compact on the wire, never part of a cycle."""


class Message(Value, frozen=True, array_like=True, gc=False):
    """What one machine sends to another. Each class has a tag that no other message has."""


# A message's number, and its hops: far above any real one, and far below what a wire can no longer carry a step further. Who
# passes a message on must send what others can read: a message with so many hops is refused (`held.Held.refuses`).
NUMBER_MAX = 2**62
HOPS_MAX = 2**31
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Hops = Annotated[int, msgspec.Meta(ge=0, le=HOPS_MAX)]
# Chosen: 63 further topics of one message. A message that names thousands is how one peer costs another dearly.
ALSO_MAX = 63


class Data(Message, frozen=True, array_like=True, gc=False, tag="data"):
    """An application's message on its way; (publisher, sequence) names it. Every dissemination carries this.

    `previous` is the publisher's last sequence on the topic before this message, 0 where there was none since it started:
    who has not got that one knows that it lacks something. `also` are further topics of the message, each with its own
    `previous`.
    """

    topic: TopicId
    publisher: NodeId
    sequence: Number
    hops: Hops
    published_us: int
    payload: bytes
    previous: Number = 0
    also: Annotated[tuple[tuple[TopicId, Number], ...], msgspec.Meta(max_length=ALSO_MAX)] = ()

    # How many messages it is: see `Burst`.
    count: ClassVar[int] = 1

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """All topics of the message, the first first."""
        return (self.topic, *(topic for topic, _ in self.also)) if self.also else (self.topic,)


# Chosen: messages that travel as one, twice as many as a live node publishes in a turn of its loop. A relay takes 0.6 us for each
# of 256, and 3.4 us for one alone.
BURST_MAX = 256


class Burst(Message, frozen=True, array_like=True, gc=False):
    """Messages of one publisher on one topic whose numbers follow each other, on their way as one.

    What is published faster than it leaves becomes one (`PublishBurst`), and stays one from hop to hop, unless somebody on
    the way has part of it or judges each message.
    `sequence` and `previous` are those of the first; each further message follows the one before it.
    """

    topic: TopicId
    publisher: NodeId
    # The number of the last is one too.
    sequence: Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX - BURST_MAX)]
    hops: Hops
    # When each was published, and what it says.
    items: Annotated[tuple[tuple[int, bytes], ...], msgspec.Meta(min_length=1, max_length=BURST_MAX)]
    previous: Number = 0

    # What its messages are; and as for `Data`.
    KIND: ClassVar[type[Data]] = Data
    also: ClassVar[tuple[tuple[TopicId, int], ...]] = ()

    @property
    def topics(self) -> tuple[TopicId, ...]:
        """As for `Data`."""
        return (self.topic,)

    @property
    def count(self) -> int:
        """How many messages it is."""
        return len(self.items)

    @property
    def messages(self) -> list[Data]:
        """Its messages, one by one."""
        kind, topic, publisher, hops = self.KIND, self.topic, self.publisher, self.hops
        first, previous = self.sequence, self.previous
        return [
            kind(topic, publisher, number, hops, published_us, payload, number - 1 if number > first else previous)
            for number, (published_us, payload) in enumerate(self.items, first)
        ]


class Timer(Value, frozen=True, array_like=True, gc=False):
    """A wake-up that a machine asked for. Never cancelled: the machine ignores a stale one."""


class Fact(Value, frozen=True, array_like=True, gc=False):
    """Something that became true: passed between parts, or shown to the driver by `Observe`."""


# Chosen: 256 bytes, enough for any host name and port; a longer one is refused where it is decoded.
Address = Annotated[bytes, msgspec.Meta(max_length=256)]


class Peer(Value, frozen=True, array_like=True, gc=False):
    """Another node and where it can be reached; the machine passes the address on and never reads it."""

    node: NodeId
    address: Address = b""


# Chosen: 64 topics, 0.6 kB; interests up to this size travel whole.
DIGEST_TOPICS = 64


class Digest(Value, frozen=True, array_like=True, gc=False):
    """What a node holds, in short (`interest_exchange.py`): how many topics, and all of them or a sample."""

    version: int
    count: int
    topics: Annotated[tuple[TopicId, ...], msgspec.Meta(max_length=DIGEST_TOPICS)]


class Outcome(IntEnum):
    """What an application's validator said of a message."""

    ACCEPT = 0
    REJECT = 1
    IGNORE = 2


# Events: what happened.


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


# Actions: what should be done.


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


# Facts that any part may state.


class NeighbourUp(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_up"):
    """This node now counts `node` among its neighbours. The overlay is made of these facts."""

    node: NodeId


class NeighbourDown(Fact, frozen=True, array_like=True, gc=False, tag="neighbour_down"):
    """This node no longer counts `node` among its neighbours."""

    node: NodeId


class ViewChanged(Fact, frozen=True, array_like=True, gc=False, tag="view_changed"):
    """A membership view lost and gained these nodes, in one step."""

    removed: tuple[NodeId, ...]
    added: tuple[NodeId, ...]


class Heard(Fact, frozen=True, array_like=True, gc=False, tag="heard"):
    """Membership brought news of a node and what it holds."""

    node: NodeId
    address: Address
    digest: Digest


class PeerMisbehaved(Fact, frozen=True, array_like=True, gc=False, tag="peer_misbehaved"):
    """A peer sent what the protocol does not allow; it was bounded or dropped."""

    node: NodeId
    reason: str


class Arrived(Fact, frozen=True, array_like=True, gc=False, tag="arrived"):
    """A new message on a topic that this node holds, a hop further; `wanted`: the validator, if any, did not pass it over.

    Where recovery stands above, a dissemination states this and leaves delivery to it.
    """

    data: Data
    sender: NodeId
    wanted: bool = True


class ArrivedBurst(Fact, frozen=True, array_like=True, gc=False, tag="arrived_burst"):
    """As `Arrived`, for the messages of a burst, all of them new."""

    burst: Burst
    sender: NodeId


class Lost(Fact, frozen=True, array_like=True, gc=False, tag="lost"):
    """Messages of this publisher on this topic with after < sequence < before are not coming; the rest goes on."""

    topic: TopicId
    publisher: NodeId
    after: int
    before: int


NOTHING: tuple[Any, ...] = ()


class InterestView(Protocol):
    """What a node knows of the interests of others: it can ask for a peer, not look at them all.

    `key` is the sum of a draw (`draw_base`); among equals the candidate with the smallest
    `finish(key + candidate * ITEM_FACTOR)` is taken, the lowest id on a tie. The node itself must be in `exclude`.
    """

    def best_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """A peer outside `exclude` that holds the most of these topics, at least one."""
        ...

    def random_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """A random peer outside `exclude` that holds at least one of these topics."""
        ...

    def random_peer(self, exclude: Collection[NodeId], key: int) -> Peer | None:
        """A random peer outside `exclude`."""
        ...

    def holder_below(self, topic: TopicId, node: NodeId, exclude: Collection[NodeId], key: int) -> Peer | None:
        """A random peer outside `exclude` that holds the topic and has a lower id than `node`."""
        ...


@runtime_checkable
class Overlay(Protocol):
    """What an overlay part offers those above it."""

    def neighbours_on(self, topic: TopicId) -> Sequence[NodeId]:
        """The neighbours that hold a topic, as this node was told, by id."""
        ...


class Machine(Protocol):
    """One node's whole protocol, as every driver sees it."""

    def handle(self, event: Event, now_us: int) -> Sequence[Action]:
        """Take what happened and say what should be done; never raises because of a peer."""
        ...


class Part(Protocol):
    """One layer of a node: membership, overlay, dissemination or recovery.

    A part names the messages and timers that are its own; `node.py` routes by them. It appends
    actions to `out` and returns facts, which the parts above it learn in turn.
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]]
    TIMERS: ClassVar[tuple[type[Timer], ...]]

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle an event of this part's own, or one that concerns every part (Started, PeerDown...)."""
        ...

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Take in a fact that a lower part stated."""
        ...
