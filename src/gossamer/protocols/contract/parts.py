"""The interfaces of a machine and of its parts, and the interfaces through which parts call each other."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.facts import Fact, Heard
from gossamer.protocols.contract.messages import Digest, Peer, Timer, WireMessage

NOTHING: tuple[Any, ...] = ()


class InterestLookup(Protocol):
    """What a node knows about the interest of a named node, and about sizes."""

    def topics_of(self, node: NodeId) -> frozenset[TopicId]:
        """The topics that a node holds, as far as they are known; none if the node is unknown."""
        ...

    def digest_of(self, node: NodeId) -> Digest | None:
        """The digest of a node's interest to tell others; None in simulations, where every node can look it up."""
        ...

    def note(self, heard: Heard) -> None:
        """Another node has told the digest of a node's interest."""
        ...

    def topic_size(self, topic: TopicId) -> int:
        """The number of nodes that hold a topic, as far as it is known."""
        ...

    def network_size(self) -> int:
        """The number of nodes in the network, as far as it is known."""
        ...


class InterestView(InterestLookup, Protocol):
    """What a node knows about the interests of other nodes. A caller can query it for a peer, but not list all peers.

    `key` comes from `draw_base`. Among equally good candidates the one with the smallest
    `finish(key + candidate * ITEM_FACTOR)` wins; on a tie, the lowest id. The node itself must be in `exclude`.
    """

    def best_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """The peer outside `exclude` that holds the largest number of these topics, if any holds at least one."""
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
class TopicNeighbours(Protocol):
    """What an overlay part offers to the parts above it."""

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """The neighbours that hold a topic, as far as this node knows, in the order of their ids.

        For a topic that this node holds, every call returns the same tuple object until its contents change. A caller
        may therefore cache what it derives from the tuple and compare by identity (`is`), as the tree does for every
        message.
        """
        ...


@runtime_checkable
class TopicSizes(Protocol):
    """An overlay part that also knows or estimates how many nodes hold a topic. Overlays need not offer this."""

    def topic_size(self, topic: TopicId) -> int | None:
        """The number of nodes that hold a topic, this node included; None if there is no estimate yet."""
        ...


class Machine(Protocol):
    """The whole protocol of one node, as every driver sees it."""

    def handle(self, event: Event, now_us: int) -> Sequence[Action]:
        """Handle an event and return actions. Never raises because of what a peer sent."""
        ...


class Part(Protocol):
    """One layer of a node: membership, overlay, dissemination or recovery.

    A part declares the message and timer classes that it owns, and `node.py` routes events by them. Both methods append
    actions to `out` and return facts for the parts above.
    """

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]]
    TIMERS: ClassVar[tuple[type[Timer], ...]]

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle an event of a class that this part owns, or an event for every part (`Started`, `PeerDown` ...)."""
        ...

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle a fact that a lower part returned."""
        ...


@runtime_checkable
class SilenceDetector(Protocol):
    """A part that suspects peers that have been silent for too long. A node has at most one such part.

    For every message and every `PeerUp` the node writes the time in microseconds into `heard`, by peer. The part reads
    the times and clears the dictionary.
    """

    heard: dict[NodeId, int]


@runtime_checkable
class SilenceAvoider(Protocol):
    """A part that sends something to peers that this node has sent nothing for too long. A node has at most one such part.

    For every message that any part sends, the node writes the time in microseconds into `spoken`, by receiver. The part reads
    the times and clears the dictionary.
    """

    spoken: dict[NodeId, int]


@runtime_checkable
class Rider(Protocol):
    """A part whose messages to a peer may wait until something else is sent to that peer. A node has at most one such part.

    After every event the node looks up the receivers of all messages in `outboxes`, and calls `ride` for those found. The
    messages of one event to one peer travel in one frame.
    """

    outboxes: Mapping[NodeId, object]

    def ride(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """Send a peer what waits for it and may leave now."""
        ...
