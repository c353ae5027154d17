"""The live driver: carries a machine's actions out on an asyncio loop, over any transport.

The machine is told of one thing at a time, with the loop's clock in microseconds since the driver started.
Nothing that a peer sends raises past here: what cannot be read is counted and dropped.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import BinaryIO, Protocol

import msgspec

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import NodeId
from gossamer.protocols.interface import (
    Action,
    Connect,
    Disconnect,
    Event,
    Machine,
    Message,
    MessageReceived,
    Observe,
    PeerDown,
    PeerUp,
    Send,
    SetTimer,
    Started,
    Stopping,
    TimerFired,
)
from gossamer.protocols.record import AnyMessage, Header, encode_header, encode_step


class Transport(Protocol):
    """Moves frames between addresses. It calls the driver's `receive`, `peer_up` and `peer_down`."""

    def open(self, driver: "LiveDriver") -> None:
        """Begin to take frames for the driver's address."""
        ...

    def close(self, driver: "LiveDriver") -> None:
        """Take no more; kept connections break."""
        ...

    def send(self, sender: NodeId, node: NodeId, address: bytes, frame: bytes) -> None:
        """Move one frame; an empty address means a kept connection."""
        ...

    def connect(self, driver: "LiveDriver", node: NodeId, address: bytes) -> None:
        """Keep a connection; `peer_up` or `peer_down` follows."""
        ...

    def disconnect(self, driver: "LiveDriver", node: NodeId) -> None:
        """Keep the connection no longer."""
        ...


class LiveDriver:
    """One live node: a machine, a transport, a clock."""

    def __init__(
        self,
        machine: Machine,
        node: NodeId,
        address: bytes,
        transport: Transport,
        watch: Callable[[Action], None] | None = None,
        record: tuple[BinaryIO, Header] | None = None,
    ) -> None:
        self.node = node
        self.address = address
        # Frames dropped because they could not be read, and actions by kind.
        self.counts: Counter[str] = Counter()
        self._machine = machine
        self._transport = transport
        self._watch = watch
        self._record = record[0] if record else None
        if record:
            record[0].write(encode_header(record[1]))
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(AnyMessage)
        self._running = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._zero = 0.0
        self._now_us = 0
        self._timers: set[asyncio.TimerHandle] = set()

    def start(self, started: Started) -> None:
        """Begin on the running loop; `started` is the machine's first event."""
        self._loop = asyncio.get_running_loop()
        self._zero = self._loop.time()
        self._running = True
        self._transport.open(self)
        self.give(started)

    def stop(self) -> None:
        """Leave: what the machine sends on Stopping is carried out, then timers and links end."""
        if not self._running:
            return
        self.give(Stopping())
        self._running = False
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._transport.close(self)

    def give(self, event: Event, earliest_us: int = 0) -> None:
        """Hand an event to the machine and carry out its answer."""
        if self._loop is None:
            raise MachineMisuse("a driver must be started before it is given events")
        if not self._running:
            return
        self._now_us = max(int((self._loop.time() - self._zero) * 1_000_000), earliest_us, self._now_us)
        now_us = self._now_us
        actions = self._machine.handle(event, now_us)
        if self._record is not None:
            self._record.write(encode_step(now_us, self.node, event, actions))
        self._carry_out(actions)

    # Called by the transport.

    def receive(self, sender: NodeId, frame: bytes) -> None:
        """A frame came over a link whose other end is `sender`."""
        try:
            message: Message = self._decoder.decode(frame)
        except ValueError:  # msgspec's own errors, and UnicodeDecodeError where a tag is not text
            self.counts["unreadable frames"] += 1
            return
        self.give(MessageReceived(sender, message))

    def peer_up(self, node: NodeId) -> None:
        """A kept connection stands."""
        self.give(PeerUp(node))

    def peer_down(self, node: NodeId) -> None:
        """A kept connection ended or could not be made."""
        self.give(PeerDown(node))

    def _carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self.counts[type(action).__name__] += 1
            match action:
                case Send():
                    frame = self._encoder.encode(action.message)
                    addresses = action.addresses or (b"",) * len(action.to)
                    for node, address in zip(action.to, addresses, strict=True):
                        self._transport.send(self.node, node, address, frame)
                case SetTimer():
                    self._set_timer(action)
                case Connect():
                    self._transport.connect(self, action.peer.node, action.peer.address)
                case Disconnect():
                    self._transport.disconnect(self, action.node)
            if self._watch is not None and isinstance(action, Observe):
                self._watch(action)

    def _set_timer(self, action: SetTimer) -> None:
        assert self._loop is not None
        handles: list[asyncio.TimerHandle] = []

        def fire() -> None:
            self._timers.discard(handles[0])
            # A coarse clock may wake us a little early; to the machine a timer is never early.
            self.give(TimerFired(action.timer), action.at_us)

        handles.append(self._loop.call_at(self._zero + action.at_us / 1_000_000, fire))
        self._timers.add(handles[0])
