"""What the live driver needs from its transport, its message guard, and those that watch it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gossamer.live.transport.queues import Parcel
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event

if TYPE_CHECKING:
    from gossamer.live.transport.driver import LiveDriver

# What the driver tells a link about the frames that it took: the number of messages, where a burst counts each of its
# messages; the number of frames that could not be decoded and messages that were not allowed; and the goodbye, if any.
Receipt = tuple[int, int, str | None]
# The time of publication and the content or payload of each message.
Items = tuple[tuple[int, bytes], ...]


class Transport(Protocol):
    """Moves frames between nodes. It calls the driver's `receive`, `peer_up` and `peer_down`."""

    def open(self, driver: "LiveDriver") -> None:
        """Start to accept frames for the driver's address."""
        ...

    def close(self, driver: "LiveDriver") -> None:
        """Accept no more frames, and break the kept connections."""
        ...

    def send(self, sender: NodeId, node: NodeId, address: bytes, parcel: Parcel, patient: bool = True) -> str | None:
        """Queue all of these messages, or return the reason why none was queued. Without a link, dial the address.

        With patient=False, a slow link refuses the messages.
        """
        ...

    def end_event(self) -> None:
        """The driver has carried out an event, or the events of one read: links that were idle send their queue now."""
        ...

    def gather(self, nodes: Sequence[NodeId]) -> None:
        """Further messages to these nodes may follow: each of their links flushes its queue at the end of this turn."""
        ...

    def is_gathering(self, nodes: Sequence[NodeId]) -> bool:
        """Whether each of these links flushes its queue at the end of this turn of the loop, and none of them is slow.

        Before they flush, the transport calls the driver's `flush`.
        """
        ...

    def has_proved(self, node: NodeId, address: bytes) -> bool:
        """Whether the node is known to listen at the address."""
        ...

    def prove(self, node: NodeId, address: bytes, then: Callable[[bool], None]) -> None:
        """Dial the address, and call `then` with whether the node answers there; not called if too many dials are open."""
        ...

    def connect(self, driver: "LiveDriver", node: NodeId, address: bytes) -> None:
        """Keep a connection to a node; `peer_up` or `peer_down` follows."""
        ...

    def disconnect(self, driver: "LiveDriver", node: NodeId) -> None:
        """Stop keeping the connection."""
        ...


class StepWatcher(Protocol):
    """Sees every event of a node and the machine's answer to it, and changes nothing."""

    def step(self, now_us: int, event: Event, actions: Sequence[Action]) -> None:
        """The machine answered an event."""
        ...

    def flush(self) -> None:
        """The node stops."""
        ...


class MessageGuard(Protocol):
    """Checks messages that arrive and messages that leave: access rules and signatures."""

    def admit(self, link_name: str, sender: NodeId, message: Any) -> tuple[Any, str | None]:
        """A received message for the machine and None, or None and the reason why it must not reach the machine."""
        ...

    def lets_out(self, node: NodeId, message: Any) -> bool:
        """Whether a message may be sent to this node."""
        ...

    def pack(self, message: Any) -> Any:
        """A message of the machine as it travels, which `admit` at the other end reverses; None if it cannot travel."""
        ...

    def seal(self, topics: Sequence[TopicId], sequence: int, content: bytes, published_us: int) -> bytes:
        """The payload of a message that this node publishes."""
        ...

    def seal_burst(self, topic: TopicId, first: int, items: Items) -> Items:
        """The same for messages with consecutive numbers from `first` on."""
        ...
