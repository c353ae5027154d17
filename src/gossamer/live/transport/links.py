"""One link: a socket, a handshake, frames in and out.

Messages that are written in one turn of the event loop leave together, in one frame (`queues.py`). Only those of the
first event after a pause leave as soon as the driver has carried out that event.
A link closes after too many frames that cannot be decoded; it never raises an exception because of its peer.
"""

import asyncio
from socket import SO_RCVBUF, SO_SNDBUF, SOL_SOCKET
from typing import TYPE_CHECKING, cast

from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel, SendQueue
from gossamer.live.transport.refusals import peer_address
from gossamer.live.transport.running_time import RunningTimer
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId

if TYPE_CHECKING:
    from gossamer.live.transport.sockets import Sockets

# Chosen: bytes of one write; the system call then costs little for each frame.
GATHER_BYTES = 64 * 1024
# Chosen: after a link has sent nothing for this long, its next frame does not wait: it arrives 45 us sooner (of 200 to 250).
IDLE_SECONDS = 0.001
# Chosen: the size of the system's two buffers of a link. With the system's own size, megabytes, heartbeats reach a slow
# neighbour seconds late.
SOCKET_BYTES = 256 * 1024
_PREFIX = wire.PREFIX_BYTES


class Link(asyncio.BufferedProtocol):
    """One end of a link; `dialled` is True at the end that opened it."""

    __slots__ = (
        "_budget",
        "_budget_at",
        "_flushed_at",
        "_frame_bytes",
        "_loop",
        "_monotonic",
        "_needed",
        "_pauses",
        "_read",
        "_rest",
        "_sockets",
        "_timeout",
        "_transport",
        "_waiters",
        "_written_bytes",
        "address",
        "bytes_in",
        "dialled",
        "expected",
        "fault",
        "features",
        "flush_is_due",
        "frames_in",
        "greeted",
        "hung_up",
        "is_ending",
        "is_slow",
        "is_stuck",
        "is_up",
        "name",
        "node",
        "offences",
        "queue",
        "read_at",
        "unfinished_since",
        "used_at",
    )

    def __init__(self, sockets: "Sockets", dialled: bool, expected: NodeId = 0) -> None:
        self.dialled = dialled
        self.node: NodeId = 0
        # The node that the dialling end wants to reach; 0: any.
        self.expected = expected
        # The name in the other end's certificate; empty without TLS.
        self.name, self.address = "", b""
        self.features: tuple[str, ...] = ()
        self.is_up = False
        # Slow: the queue is long enough that publishers wait. Stuck: it stayed long, and publishers stopped waiting.
        self.is_slow = self.is_stuck = False
        self.used_at = 0.0
        # When bytes last arrived, and when the frame began of which only a part has arrived.
        self.read_at = self.unfinished_since = 0.0
        # Why the link was refused; empty if it was not, or the other end gave no reason.
        self.fault = ""
        # The other end closed this link and still runs.
        self.hung_up = False
        self.offences = 0
        self.frames_in = self.bytes_in = 0
        self._sockets = sockets
        self._loop = asyncio.get_running_loop()
        self._monotonic = sockets.environment.monotonic
        self._transport: asyncio.Transport | None = None
        # For the greeting, and later for the end of the link.
        self._timeout: RunningTimer | None = None
        # Done after the handshake, or when it has failed.
        self.greeted: asyncio.Future[None] = self._loop.create_future()
        # The part of a frame that has arrived, and the number of bytes until more of it can be read.
        self._rest = bytearray()
        self._needed = 0
        # The bound on the length of the next frame. A greeting is short, so a peer that has not greeted sends little.
        self._frame_bytes = min(sockets.limits.frame_bytes, wire.HELLO_BYTES)
        # What waits for the next write.
        self.queue = SendQueue(sockets.limits.frame_bytes, sockets.writer)
        # Replaced after the greeting, which tells the version.
        self._read = sockets.make_reader(self.queue.version)
        self._written_bytes = 0
        self._flushed_at = 0.0
        # Whether the queue will be flushed at the end of this turn of the loop.
        self.flush_is_due = False
        # The link is closing: frames that still come are dropped.
        self.is_ending = False
        self._pauses: set[str] = set()
        self._waiters: list[asyncio.Future[None]] = []
        self._budget = float(sockets.limits.frames_per_second)
        self._budget_at = self._monotonic()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open, and TLS is set up: send the greeting."""
        self._transport = cast(asyncio.Transport, transport)
        limits = self._sockets.limits
        self._transport.set_write_buffer_limits(high=limits.queue_bytes_slow)
        socket = self._transport.get_extra_info("socket")
        for option in (SO_SNDBUF, SO_RCVBUF):
            socket.setsockopt(SOL_SOCKET, option, SOCKET_BYTES)
        self.used_at = self.read_at = self._monotonic()
        self._sockets.on_made(self)
        self._timeout = RunningTimer(self._loop, limits.handshake_seconds, self._on_no_greeting)
        self._transport.write(wire.frame(self._sockets.hello))

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer to read into. All links share one: each read is handled before the next."""
        return self._sockets.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Cut the received bytes into frames, and give these to the driver."""
        self.used_at = self.read_at = self._monotonic()
        self.bytes_in += nbytes
        data = self._with_rest(nbytes)
        if not data:
            return
        position, size = 0, len(data)
        unpack = wire.PREFIX.unpack_from
        bodies: list[bytes] = []
        too_long, end = False, _PREFIX
        while size - position >= _PREFIX:
            start = position + _PREFIX
            (length,) = unpack(data, position)
            end = start + length
            too_long = length > self._frame_bytes
            if too_long or end > size:
                break
            position, end = end, end + _PREFIX
            if self.is_up:
                bodies.append(data[start:position])
                continue
            self._on_first(data[start:position])
            if self.is_ending:
                return
        if position < size and not too_long:
            self._keep_rest(data[position:], end - position)
        if bodies:
            self._receive(bodies)
        if too_long and not self.is_ending:
            reason = "frame too long" if self.is_up else wire.fault_of_first(data)
            self.close(reason, offence=True)
        elif self._rest:
            self._sockets.on_unfinished()

    def pause_writing(self) -> None:
        """The queue has become long: publishers should wait."""
        self.is_slow = True
        self._sockets.on_slow(self)

    def resume_writing(self) -> None:
        """The queue has drained."""
        self.is_slow = self.is_stuck = False
        self._sockets.on_drained(self)
        self._release_waiters()

    def connection_lost(self, error: Exception | None) -> None:
        """The socket is gone."""
        self._end()
        self._sockets.on_lost(self)

    # Called by the transport.

    def write(self, parcel: Parcel) -> None:
        """Queue messages. They leave in this turn of the loop; if no frame left for a while, at the end of this event."""
        queue = self.queue
        queue.add(parcel)
        if queue.size >= GATHER_BYTES:
            self.flush()
        elif not self.flush_is_due:
            self.flush_is_due = True
            if self._monotonic() - self._flushed_at > IDLE_SECONDS:
                self._sockets.eager.append(self)
            else:
                self._loop.call_soon(self.flush)

    def gather(self) -> None:
        """Flush at the end of this turn of the loop: more messages may follow until then."""
        if not self.flush_is_due:
            self.flush_is_due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write the queue to the socket, and the messages that the driver has gathered."""
        try:
            self._sockets.flush_driver()
        finally:
            self.flush_is_due = False
        if self.queue.size and self._transport is not None:
            content = self.queue.take()
            self._written_bytes += len(content)
            self._transport.write(content)
            self.used_at = self._flushed_at = self._monotonic()

    @property
    def queued_bytes(self) -> int:
        """Bytes that have not left this process."""
        return self.queue.size + (self._transport.get_write_buffer_size() if self._transport else 0)

    @property
    def unfinished_bytes(self) -> int:
        """Received bytes of a frame whose end has not arrived."""
        return len(self._rest)

    @property
    def sent_bytes(self) -> int:
        """Bytes that have left this process."""
        return self._written_bytes - (self._transport.get_write_buffer_size() if self._transport else 0)

    def pause_reading(self, reason: str) -> None:
        """Stop reading; there may be several reasons at a time."""
        if not self._pauses and self._transport is not None:
            self._transport.pause_reading()
        self._pauses.add(reason)

    @property
    def is_paused(self) -> bool:
        """Whether reading is paused."""
        return bool(self._pauses)

    def resume_reading(self, reason: str) -> None:
        """Drop one reason to pause; without any, reading resumes."""
        if reason not in self._pauses:
            return
        self._pauses.discard(reason)
        if not self._pauses and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    async def drained(self) -> None:
        """Wait while the link is slow and not stuck."""
        while self.is_slow and not self.is_stuck and self._transport is not None:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    async def emptied(self) -> bool:
        """Wait until the frames that are queued now have left this process; answers whether they have."""
        self.flush()
        mark = self._written_bytes
        # Asyncio reports a short queue, not an empty one; one check each millisecond is enough.
        while self._transport is not None and not self.is_stuck and self.sent_bytes < mark:
            await asyncio.sleep(0.001)
        return self.sent_bytes >= mark

    def give_up_waiting(self) -> None:
        """Mark the link as stuck: nobody waits for it until its queue has drained."""
        self.is_stuck = True
        self._release_waiters()

    def close(self, reason: str = "", offence: bool = False) -> None:
        """Close the link, and tell the peer the reason; queued frames still leave."""
        if self._transport is None or self.is_ending:
            return
        self.is_ending = True
        if offence or (reason and not self.is_up):
            self.fault = reason
            self._sockets.refusals.add(reason, peer_address(self._transport), self.dialled)
        # Gathered messages leave before the goodbye.
        self._sockets.flush_driver()
        if reason:
            self.queue.add(Parcel((wire.Bye(reason[:500]),)))
        self.flush()
        self._drop_rest()
        self._cancel_timeout()
        # A peer that does not read its goodbye must not keep the socket open.
        self._timeout = RunningTimer(self._loop, self._sockets.limits.handshake_seconds, self.abort)
        self._transport.close()

    def abort(self) -> None:
        """Close the link at once; queued frames are lost."""
        self.is_ending = True
        if self._transport is not None:
            self._transport.abort()

    # Within.

    def _with_rest(self, nbytes: int) -> bytes:
        """The received bytes behind the unfinished frame; empty while that frame needs more, and while the link closes."""
        if self.is_ending:
            return b""
        new = self._sockets.buffer[:nbytes]
        if not self._rest:
            return bytes(new)
        # Append, and copy only when the frame is complete: a peer may send a long frame one byte at a time.
        self._rest += new
        self._sockets.unfinished_bytes += nbytes
        if len(self._rest) < self._needed:
            self._sockets.on_unfinished()
            return b""
        data = bytes(self._rest)
        self._drop_rest()
        return data

    def _keep_rest(self, rest: bytes, needed: int) -> None:
        """Keep the beginning of a frame until all of its `needed` bytes have arrived."""
        self._rest += rest
        self._needed = needed
        self.unfinished_since = self.read_at
        self._sockets.unfinished_bytes += len(rest)

    def _drop_rest(self) -> None:
        self._sockets.unfinished_bytes -= len(self._rest)
        self._rest = bytearray()

    def _receive(self, bodies: list[bytes]) -> None:
        """Give frames to the driver, and charge the peer for bad frames and for the number of messages."""
        self.frames_in += len(bodies)
        count, offences, goodbye = self._sockets.receive(self.node, bodies, self._read, self.name)
        if offences:
            self._sockets.on_offences(self, offences)
        if goodbye is not None:
            self._sockets.on_goodbye(self, goodbye)
        if self.is_ending:
            return
        # Each message costs one from a budget that refills with time; the messages of a burst count one by one.
        rate = self._sockets.limits.frames_per_second
        self._budget = min(self._budget + (self.read_at - self._budget_at) * rate, rate) - count
        self._budget_at = self.read_at
        if self._budget < 0:
            self._slow_down(rate)

    def _slow_down(self, rate: int) -> None:
        """The peer is too fast: pause until its budget is no longer overdrawn."""
        self._sockets.on_too_fast(self)
        self.pause_reading("too fast")
        self._loop.call_later(-self._budget / rate, self.resume_reading, "too fast")

    def _on_first(self, body: bytes) -> None:
        """Read the greeting, which tells the identity of the other end."""
        try:
            greeting = wire.read_hello(body, self._sockets.hello)
            node, name = self._sockets.identify(self, cast(asyncio.Transport, self._transport), greeting)
        except PeerError as error:
            self.close(str(error))
            return
        self._cancel_timeout()
        self.node, self.name, self.address, self.features = node, name, greeting.address, greeting.features
        version = self.queue.version = wire.common_version(greeting, self._sockets.hello)
        self._read = self._sockets.make_reader(version)
        self._frame_bytes = self._sockets.limits.frame_bytes
        self.is_up = True
        self._sockets.on_up(self)
        self._settle()

    def _on_no_greeting(self) -> None:
        self._timeout = None
        self.close("no greeting came in time")

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()

    def _release_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _end(self) -> None:
        self.is_ending = True
        self._transport = None
        self.queue.clear()
        self._drop_rest()
        self._cancel_timeout()
        self._release_waiters()
        self._settle()

    def _settle(self) -> None:
        if not self.greeted.done():
            self.greeted.set_result(None)
