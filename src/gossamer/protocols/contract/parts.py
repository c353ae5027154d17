"""The interfaces of a machine, its parts, and what parts ask of each other."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event
from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage

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
class TopicNeighbours(Protocol):
    """What an overlay part offers those above it."""

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """The neighbours that hold a topic, as this node was told, by id.

        For a topic that this node holds, every call returns the same tuple object until its contents change. A caller may
        therefore cache what it derives from the tuple and compare by identity (`is`), as the tree does for every message.
        """
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

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]]
    TIMERS: ClassVar[tuple[type[Timer], ...]]

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle an event of this part's own, or one that concerns every part (Started, PeerDown...)."""
        ...

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Take in a fact that a lower part stated."""
        ...


@runtime_checkable
class SilenceDetector(Protocol):
    """A part that suspects peers which have been silent for too long; at most one part of a node is one.

    The node writes the time of every message and of every `PeerUp` into `heard`, by sender, in microseconds. The part reads the
    times and empties the dictionary.
    """

    heard: dict[NodeId, int]
