"""The live driver: carries a machine's actions out on an asyncio loop, over any transport.

The machine is told of one thing at a time, with the time in microseconds since 1970 (so that the numbers of a node that
was away and is back go on growing). It never goes back: the clock is read once at the start, and from then on the monotonic one, which is also asyncio's.
Nothing that a peer sends raises past here: what cannot be read is counted and dropped.

Frames come as many as one read of a socket brings, and are handed over one after another at one time; what the machine
sends to the same nodes meanwhile leaves together, and what it delivers is delivered together: a fifth less work for a relay
than one at a time.

What is published in the same turn of the loop as the message before it is gathered: those messages are handed to the
machine as one (`PublishBurst`) when the turn ends, or before anything else happens. They go where the message before went,
since nothing has happened meanwhile, so that their receipts are known at once.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from time import monotonic_ns, time_ns
from typing import Any, BinaryIO, Protocol

from msgspec import Struct

from gossamer.live.transport import wire
from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import (
    Action,
    Connect,
    Deliver,
    Disconnect,
    Observe,
    Send,
    SetTimer,
    Validate,
)
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    PeerUp,
    Publish,
    PublishBurst,
    Refused,
    Started,
    Stopping,
    TimerFired,
)
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import BURST_MAX, Burst, Data
from gossamer.protocols.contract.parts import Machine
from gossamer.protocols.contract.record import Header, encode_header, encode_step

log = logging.getLogger("gossamer.live")

# Chosen: bytes that travel as one; more would wait for each other at every hop.
BURST_BYTES = 64 * 1024
# What a burst takes beside its messages, and each of them beside its payload, at most.
BURST_HEAD_BYTES = 64
ITEM_BYTES = 16

# Looked up once, not for every message.
_decode = wire.message_decoder.decode
_encode = wire.encode
_pack = wire.PREFIX.pack
_Bye = wire.Bye


class Transport(Protocol):
    """Moves frames between nodes. It calls the driver's `receive`, `peer_up` and `peer_down`."""

    def open(self, driver: "LiveDriver") -> None:
        """Begin to take frames for the driver's address."""
        ...

    def close(self, driver: "LiveDriver") -> None:
        """Take no more; kept connections break."""
        ...

    def send(
        self, sender: NodeId, node: NodeId, address: bytes, frames: Sequence[bytes], patient: bool = True
    ) -> str | None:
        """Queue frames, all of them, or say why not. Without a link to the node the address is dialled.

        Not patient: a slow link does not get it.
        """
        ...

    def is_gathering(self, nodes: Sequence[NodeId]) -> bool:
        """Whether every one of these links will send what it has at the end of this turn of the loop, and none is slow.

        The driver is asked to `leave` before they do.
        """
        ...

    def connect(self, driver: "LiveDriver", node: NodeId, address: bytes) -> None:
        """Keep a connection; `peer_up` or `peer_down` follows."""
        ...

    def disconnect(self, driver: "LiveDriver", node: NodeId) -> None:
        """Keep the connection no longer."""
        ...


class MessageGuard(Protocol):
    """What may come in and go out, beyond what the machine says: access rules and signatures."""

    def admits(self, link_name: str, sender: NodeId, message: Any) -> str | None:
        """None, or why a message must not be handed to the machine."""
        ...

    def lets_out(self, node: NodeId, message: Any) -> bool:
        """Whether a message may go to this node."""
        ...


class Tally(Struct):
    """What became of the frames of one publication."""

    patient: bool
    queued: list[NodeId] = []
    refused: list[tuple[NodeId, str]] = []

    def with_(self, other: "Tally") -> "Tally":
        """Both publications as one."""
        return Tally(self.patient, self.queued + other.queued, self.refused + other.refused)


class OpenBurst(Struct):
    """What was published on a topic behind a message that waits to leave, and goes where that one went."""

    topic: TopicId
    # The number of the first that is gathered.
    first: int
    tally: Tally
    items: list[tuple[int, bytes]] = []
    size_bytes: int = 0


class LiveDriver:
    """One live node: a machine, a transport, a clock."""

    def __init__(
        self,
        machine: Machine,
        node: NodeId,
        address: bytes,
        transport: Transport,
        watch: Callable[[Fact], None] | None = None,
        record: tuple[BinaryIO, Header] | None = None,
        deliver: Callable[[Sequence[Deliver]], None] | None = None,
        validate: Callable[[Validate], None] | None = None,
        guard: MessageGuard | None = None,
        burst_bytes: int = 0,
    ) -> None:
        self.node = node
        self.address = address
        # Frames dropped, by reason.
        self.counts: Counter[str] = Counter()
        self.sent_count = 0
        self._machine = machine
        self._transport = transport
        self._watch = watch
        self._guard = guard
        self._record: BinaryIO | None = None
        if record:
            self._record = record[0]
            self._write_record(encode_header(record[1]))
        self._running = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # From the loop's clock to microseconds since 1970.
        self._offset_us = 0
        # The time of the last event.
        self.now_us = 0
        self._sequence = 0
        self._timers: set[asyncio.TimerHandle] = set()
        self._tally: Tally | None = None
        # A guard looks at each message by itself.
        self._burst_bytes = min(burst_bytes, BURST_BYTES) - BURST_HEAD_BYTES if guard is None else 0
        # Something was published in this turn of the loop, and more may leave as one with it (`publish_behind`).
        self.burst: OpenBurst | None = None
        self._deliver = deliver or _ignore
        self._carry: dict[type, Callable[[Any], None]] = {
            SetTimer: self._set_timer,
            Connect: lambda action: transport.connect(self, action.peer.node, action.peer.address),
            Disconnect: lambda action: transport.disconnect(self, action.node),
            Observe: self._observe,
            Validate: validate or _ignore,
        }

    def start(self, started: Started) -> None:
        """Begin on the running loop; `started` is the machine's first event."""
        self._loop = asyncio.get_running_loop()
        self._offset_us = time_ns() // 1000 - monotonic_ns() // 1000
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
        self._flush_record()

    def give(self, event: Event, earliest_us: int = 0) -> None:
        """Hand an event to the machine and carry out its answer."""
        self._give_all((event,), earliest_us)

    def _give_all(self, events: Sequence[Event], earliest_us: int = 0) -> None:
        """Hand events to the machine, all at one time, and carry out its answers.

        What goes to a node keeps its order, and its link outlives what was said before; what is delivered comes last.
        """
        if not self._running:
            if self._loop is None:
                raise MachineMisuse("a driver must be started before it is given events")
            return
        if self.burst is not None:
            self.leave()
        now_us = monotonic_ns() // 1000 + self._offset_us
        if now_us < self.now_us or now_us < earliest_us:
            # Rare, and done for every message: a call of `max` costs more than the clock.
            now_us = max(self.now_us, earliest_us)
        self.now_us = now_us
        handle, carry = self._machine.handle, self._carry
        # A guard looks at each message that leaves.
        gathers = self._guard is None
        delivered: list[Deliver] = []
        to: tuple[NodeId, ...] = ()
        messages: list[Any] = []
        try:
            for event in events:
                actions = handle(event, now_us)
                if self._record is not None:
                    self._write_record(encode_step(now_us, self.node, event, actions))
                for action in actions:
                    if type(action) is Deliver:
                        delivered.append(action)
                    elif type(action) is not Send:
                        if messages and type(action) is Disconnect:
                            # What was said before still goes over the link.
                            self._send(to, (), messages)
                            to, messages = (), []
                        carry[type(action)](action)
                    elif gathers and action.to is to and not action.addresses:
                        messages.append(action.message)
                    else:
                        if messages:
                            self._send(to, (), messages)
                        to, messages = action.to, [action.message]
                        if action.addresses or not gathers:
                            self._send(to, action.addresses, messages)
                            to, messages = (), []
        finally:
            # Whatever became of the last event: the machine has counted these as done.
            if delivered:
                self._deliver(delivered)
            if messages:
                self._send(to, (), messages)

    def publish(self, event: Publish, patient: bool = True) -> Tally:
        """Hand a publication to the machine; answers what became of it. Not patient: slow links are left out."""
        if self.burst is not None:
            self.leave()
        tally = self._tally = Tally(patient)
        try:
            self._give_all((event,))
        finally:
            self._tally = None
        if self._burst_bytes > 0 and tally.queued and not tally.refused and not event.also:
            self.burst = OpenBurst(event.topic, event.sequence + 1, tally)
        return tally

    def publish_behind(self, topic: TopicId, sequence: int, payload: bytes) -> Tally | None:
        """Publish a message that goes as one with those before it; None where it cannot, and has to go by itself."""
        burst = self.burst
        if burst is None or burst.topic != topic or burst.first + len(burst.items) != sequence:
            return None
        burst.size_bytes += len(payload) + ITEM_BYTES
        if burst.size_bytes > self._burst_bytes or len(burst.items) >= BURST_MAX:
            return None
        if not self._transport.is_gathering(burst.tally.queued):
            return None
        now_us = monotonic_ns() // 1000 + self._offset_us
        self.now_us = max(self.now_us, now_us)
        burst.items.append((self.now_us, payload))
        return burst.tally

    def leave(self) -> None:
        """Hand what was gathered to the machine; called before anything else is, and before links send what they have."""
        burst, self.burst = self.burst, None
        if burst is not None and burst.items:
            self._give_all((PublishBurst(burst.topic, tuple(burst.items), burst.first),))

    def clock_us(self) -> int:
        """Microseconds since 1970, as this node counts them."""
        return monotonic_ns() // 1000 + self._offset_us

    def next_sequence(self) -> int:
        """The number of the next publication, for its receipt and signature: see `interface.Publish`."""
        self._sequence = (self._sequence or self.clock_us()) + 1
        return self._sequence

    # Called by the transport.

    def receive(self, sender: NodeId, bodies: Sequence[bytes], link_name: str = "") -> tuple[Sequence[bytes], int]:
        """Frames came over a link whose other end is `sender`.

        Answers those that could not be read or were not allowed, and how many messages came, where a burst is several.
        """
        guard = self._guard
        events: list[Event] = []
        bad: list[bytes] = []
        count = len(bodies)
        for body in bodies:
            try:
                message = _decode(body)
            except ValueError:  # msgspec's own errors, and UnicodeDecodeError where a tag is not text
                self.counts["unreadable frames"] += 1
                bad.append(body)
                continue
            if isinstance(message, Burst):
                count += message.count - 1
            if type(message) is _Bye:
                bad.append(body)
            elif guard is not None and (reason := guard.admits(link_name, sender, message)) is not None:
                self.counts[f"not allowed: {reason}"] += 1
                bad.append(body)
            else:
                events.append(MessageReceived(sender, message))
        self._give_all(events)
        return bad, count

    def peer_up(self, node: NodeId) -> None:
        """A kept connection stands."""
        self.give(PeerUp(node))

    def peer_down(self, node: NodeId, hung_up: bool = False) -> None:
        """A kept connection ended, or a node could not be reached."""
        self.give(PeerDown(node, hung_up))

    # Carrying actions out.

    def _send(self, to: tuple[NodeId, ...], addresses: tuple[bytes, ...], messages: Sequence[Any]) -> None:
        """Send messages to each of these nodes; with a guard, or with addresses, it is one."""
        frames = []
        for message in messages:
            # As `wire.frame`, which is a call more for every message.
            body = _encode(message)
            frames.append(_pack(len(body)) + body)
        self.sent_count += len(to) * len(frames)
        send, me, guard, tally = self._transport.send, self.node, self._guard, self._tally
        patient = tally is None or tally.patient
        for node, address in zip(to, addresses or repeat(b""), strict=False):
            if guard is not None and not guard.lets_out(node, messages[0]):
                reason: str | None = "may not subscribe"
            else:
                reason = send(me, node, address, frames, patient)
            if reason is not None:
                self._on_refused(node, messages, reason)
            elif tally is not None and isinstance(messages[0], Data):
                tally.queued.append(node)

    def _on_refused(self, node: NodeId, messages: Sequence[Any], reason: str) -> None:
        self.counts[f"refused: {reason}"] += len(messages)
        for message in messages:
            if isinstance(message, Data | Burst):
                if self._tally is not None:
                    self._tally.refused.append((node, reason))
                if self._loop is not None:
                    # Later: the machine is answering another event just now.
                    self._loop.call_soon(self.give, Refused(node, message))

    def _set_timer(self, action: SetTimer) -> None:
        assert self._loop is not None
        handles: list[asyncio.TimerHandle] = []

        def fire() -> None:
            self._timers.discard(handles[0])
            # A coarse clock may wake us a little early; to the machine a timer is never early.
            self.give(TimerFired(action.timer), action.at_us)

        handles.append(self._loop.call_at((action.at_us - self._offset_us) / 1_000_000, fire))
        self._timers.add(handles[0])

    def _observe(self, action: Observe) -> None:
        if isinstance(action.fact, PeerMisbehaved):
            self.counts[f"misbehaved: {action.fact.reason}"] += 1
        if self._watch is not None:
            self._watch(action.fact)

    def _write_record(self, content: bytes) -> None:
        assert self._record is not None
        try:
            self._record.write(content)
        except OSError as error:
            self._stop_recording(error)

    def _flush_record(self) -> None:
        try:
            if self._record is not None:
                self._record.flush()
        except OSError as error:
            self._stop_recording(error)

    def _stop_recording(self, error: OSError) -> None:
        # A record is for looking at later; the node matters more. It is whole up to the last frame that was written.
        log.error("recording stopped: %s", error.strerror or error)
        self.counts["recording stopped"] += 1
        self._record = None


def _ignore(action: Action | Sequence[Deliver]) -> None:
    """Nobody of this driver's cares for this kind of action."""
