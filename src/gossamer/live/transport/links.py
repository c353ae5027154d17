"""One link: a socket, a greeting, frames in and out.

Frames that are written in one turn of the event loop leave together, but for the first after a pause, which leaves at
once. A link counts what it could not read and ends when that is too much; it never raises because of its peer.
"""

import asyncio
from collections.abc import Sequence
from socket import SO_RCVBUF, SO_SNDBUF, SOL_SOCKET
from time import monotonic
from typing import TYPE_CHECKING, cast

from gossamer.live.transport import wire
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId

if TYPE_CHECKING:
    from gossamer.live.transport.sockets import Sockets

# Chosen: what is written in one go; a system call for so many bytes costs little for each frame.
GATHER_BYTES = 64 * 1024
# Chosen: a link over which nothing left for so long is idle, and what is written next leaves at once. Where the other end has
# a processor of its own it comes 45 us sooner (200 to 250 us in all).
IDLE_SECONDS = 0.001
# Chosen: what the system keeps of a link, each way. Left to itself it keeps megabytes, and what a node says of itself then
# comes seconds late to a neighbour that is behind.
SOCKET_BYTES = 256 * 1024
_PREFIX = wire.PREFIX_BYTES


class Link(asyncio.BufferedProtocol):
    """Both ends run this; `dialled` is whoever opened it."""

    __slots__ = (
        "_budget",
        "_budget_at",
        "_flushed_at",
        "_handshake",
        "_holds",
        "_is_ending",
        "_loop",
        "_pending",
        "_pending_bytes",
        "_rest",
        "_sockets",
        "_transport",
        "_waiters",
        "_written_bytes",
        "address",
        "bytes_in",
        "dialled",
        "expected",
        "flush_is_due",
        "frames_in",
        "frames_out",
        "greeted",
        "hung_up",
        "is_slow",
        "is_stuck",
        "is_up",
        "name",
        "node",
        "offences",
        "used_at",
    )

    def __init__(self, sockets: "Sockets", dialled: bool, expected: NodeId = 0) -> None:
        self.dialled = dialled
        # Whom the dialler means to reach; 0: whoever answers.
        self.expected = expected
        self.node: NodeId = 0
        # The name in the other end's certificate; empty without TLS.
        self.name = ""
        self.address = b""
        self.is_up = False
        # More is queued than a publisher should add to; and nobody waits for it any more.
        self.is_slow = False
        self.is_stuck = False
        self.used_at = 0.0
        # The other end said goodbye, and is still there.
        self.hung_up = False
        self.offences = 0
        self.frames_in = self.frames_out = self.bytes_in = 0
        self._sockets = sockets
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._handshake: asyncio.TimerHandle | None = None
        # Done when the other end has greeted, or never will.
        self.greeted: asyncio.Future[None] = self._loop.create_future()
        self._rest = b""
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._written_bytes = 0
        self._flushed_at = 0.0
        # Whether what is queued waits for the end of the loop's turn.
        self.flush_is_due = False
        # The link is closing: what still comes is not read.
        self._is_ending = False
        self._holds: set[str] = set()
        self._waiters: list[asyncio.Future[None]] = []
        self._budget = float(sockets.limits.frames_per_second)
        self._budget_at = monotonic()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket stands (and TLS with it): greet."""
        self._transport = cast(asyncio.Transport, transport)
        limits = self._sockets.limits
        self._transport.set_write_buffer_limits(high=limits.queue_bytes_slow)
        socket = self._transport.get_extra_info("socket")
        for option in (SO_SNDBUF, SO_RCVBUF):
            socket.setsockopt(SOL_SOCKET, option, SOCKET_BYTES)
        self.used_at = monotonic()
        self._sockets.made(self)
        self._handshake = self._loop.call_later(limits.handshake_seconds, self._on_no_greeting)
        self._transport.write(wire.frame(self._sockets.hello))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where what comes is put: one place for all links, as each read is dealt with before the next."""
        return self._sockets.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Cut what came into frames, and hand them to the machine; what it could not read is held against the peer."""
        self.used_at = now = monotonic()
        self.bytes_in += nbytes
        data = bytes(self._sockets.buffer[:nbytes])
        if self._rest:
            data = self._rest + data
        position, size = 0, len(data)
        limits, unpack = self._sockets.limits, wire.PREFIX.unpack_from
        bodies: list[bytes] = []
        too_long = False
        while size - position >= _PREFIX:
            start = position + _PREFIX
            (length,) = unpack(data, position)
            end = start + length
            too_long = length > limits.frame_bytes
            if too_long or end > size:
                break
            position = end
            if self.is_up:
                bodies.append(data[start:end])
                continue
            self._on_first(data[start:end])
            if self._is_ending:
                return
        self._rest = data[position:]
        if bodies:
            self.frames_in += len(bodies)
            bad, count = self._sockets.receive(self.node, bodies, self.name)
            for body in bad:
                self._sockets.on_offence(self, body)
                if self._is_ending:
                    return
            # Frames, and each message of a burst, are paid for from a budget that refills with time.
            rate = limits.frames_per_second
            self._budget = min(self._budget + (now - self._budget_at) * rate, rate) - count
            self._budget_at = now
            if self._budget < 0:
                self._hold_back(rate)
        if too_long:
            what = "frame too long" if self.is_up else "speaks another protocol: its first bytes are no frame"
            self.close(what, offence=True)

    def pause_writing(self) -> None:
        """More is queued than a publisher should add to."""
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

    def write(self, frames: Sequence[bytes]) -> None:
        """Queue frames; they leave in this turn of the loop, and at once where none did for a while."""
        self._pending += frames
        self._pending_bytes += sum(map(len, frames))
        if self._pending_bytes >= GATHER_BYTES:
            self.flush()
        elif not self.flush_is_due:
            if monotonic() - self._flushed_at > IDLE_SECONDS:
                self.flush()
            self.flush_is_due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Hand all that is queued to the socket, and what the driver has gathered meanwhile."""
        try:
            self._sockets.leave()
        finally:
            self.flush_is_due = False
        if self._pending and self._transport is not None:
            self._written_bytes += self._pending_bytes
            self.frames_out += len(self._pending)
            self._transport.write(b"".join(self._pending))
            self._pending.clear()
            self._pending_bytes = 0
            self.used_at = self._flushed_at = monotonic()

    @property
    def queued_bytes(self) -> int:
        """What has not yet left this process."""
        return self._pending_bytes + (self._transport.get_write_buffer_size() if self._transport else 0)

    @property
    def sent_bytes(self) -> int:
        """What has left this process."""
        return self._written_bytes + self._pending_bytes - self.queued_bytes

    def hold(self, why: str) -> None:
        """Read no further for a while; several may ask for it."""
        if not self._holds and self._transport is not None:
            self._transport.pause_reading()
        self._holds.add(why)

    @property
    def is_held(self) -> bool:
        """Whether it is not read from just now."""
        return bool(self._holds)

    def release(self, why: str) -> None:
        """Read on, unless somebody else still holds."""
        if why in self._holds:
            self._holds.discard(why)
            if not self._holds and self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    async def drained(self) -> None:
        """Wait while the link is slow, as long as anybody should."""
        while self.is_slow and not self.is_stuck and self._transport is not None:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    async def emptied(self) -> bool:
        """Wait until all that is queued now has left this process; says whether it has."""
        self.flush()
        mark = self._written_bytes
        # Asyncio tells of a queue that gets short, not of one that is empty; a look a millisecond is enough.
        while self._transport is not None and not self.is_stuck and self.sent_bytes < mark:
            await asyncio.sleep(0.001)
        return self.sent_bytes >= mark

    def give_up_waiting(self) -> None:
        """It takes too long: from now on frames to it are refused until it has drained."""
        self.is_stuck = True
        self._release_waiters()

    def close(self, reason: str = "", offence: bool = False) -> None:
        """End the link, saying why; what is queued still leaves."""
        if self._transport is None or self._is_ending:
            return
        self._is_ending = True
        if offence or (reason and not self.is_up):
            self._sockets.on_refused(self, reason)
        # What was published before goes before the goodbye.
        self._sockets.leave()
        if reason:
            self._pending.append(wire.frame(wire.Bye(reason[:500])))
            self._pending_bytes += len(self._pending[-1])
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """End the link at once; what is queued is lost."""
        self._is_ending = True
        if self._transport is not None:
            self._transport.abort()

    # Within.

    def _hold_back(self, rate: int) -> None:
        """The peer is too fast: read on when its budget is no longer overdrawn."""
        self._sockets.on_too_fast(self)
        self.hold("too fast")
        self._loop.call_later(-self._budget / rate, self.release, "too fast")

    def _on_first(self, body: bytes) -> None:
        """The greeting: from here on the other end has an identity."""
        try:
            greeting = wire.read_hello(body, self._sockets.hello)
            node, name = self._sockets.identity_of(cast(asyncio.Transport, self._transport), greeting)
        except PeerError as error:
            self.close(str(error))
            return
        if self._handshake is not None:
            self._handshake.cancel()
            self._handshake = None
        self.node, self.name, self.address = node, name, greeting.address
        self.is_up = True
        self._sockets.on_up(self)
        self._settle()

    def _on_no_greeting(self) -> None:
        self._handshake = None
        self.close("no greeting came in time")

    def _release_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _end(self) -> None:
        self._is_ending = True
        self._transport = None
        self._pending.clear()
        self._pending_bytes = 0
        if self._handshake is not None:
            self._handshake.cancel()
        self._release_waiters()
        self._settle()

    def _settle(self) -> None:
        if not self.greeted.done():
            self.greeted.set_result(None)
