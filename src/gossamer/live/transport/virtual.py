"""Connections in memory and a loop in virtual time, for `gossamer.testing`.

A connection behaves like TCP: bytes arrive in order, each chunk after its own latency, or the connection breaks. When
the loop has nothing left to do, its clock advances to the next timer; it never advances otherwise.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from gossamer.model.values.errors import MachineMisuse

# As Linux sends bytes again that were not acknowledged: first after 200 ms, then after twice the time, up to two minutes.
RETRANSMIT_SECONDS = 0.2
RETRANSMIT_SECONDS_MAX = 120.0


class VirtualWires(Protocol):
    """What a connection needs from its network."""

    loop: "VirtualLoop"

    def delay_seconds(self, connection: int, chunk: int) -> float:
        """The latency of a chunk of bytes."""
        ...

    def is_cut(self, one: int, other: int) -> bool:
        """Whether a partition separates two endpoints."""
        ...

    def forget(self, connection: "VirtualConnection") -> None:
        """A connection has ended."""
        ...

    def unlisten(self, port: int) -> None:
        """A server is closed."""
        ...


class VirtualServer:
    """A listening port of the virtual network, with the methods of `asyncio.Server` that a node uses."""

    def __init__(self, network: VirtualWires, port: int) -> None:
        self._network = network
        self._port = port
        self.sockets = (self,)

    def getsockname(self) -> tuple[str, int]:
        """The address, as `socket.getsockname`."""
        return "127.0.0.1", self._port

    def close(self) -> None:
        """Stop listening."""
        self._network.unlisten(self._port)


class VirtualConnection:
    """A connection with two ends. Bytes arrive in order, each chunk after its own latency."""

    def __init__(
        self, network: VirtualWires, number: int, places: tuple[int, int], protocols: tuple[Any, Any], port: int
    ) -> None:
        self.network = network
        self.number = number
        self.places = places
        self.ends = (VirtualTransport(self, 0, protocols[0], port), VirtualTransport(self, 1, protocols[1], port))
        self.is_open = True
        self._chunks = 0

    def open(self) -> None:
        """Notify both protocols, the dialling end first, as with TCP."""
        for end in self.ends:
            end.protocol.connection_made(end)

    def carry(self, sender: int, chunk: bytes | None) -> None:
        """Send bytes to the other end; None is the end of the stream."""
        self._chunks += 1
        loop, receiver = self.network.loop, self.ends[1 - sender]
        receiver.due = max(receiver.due, loop.time() + self.network.delay_seconds(self.number, self._chunks))
        # The loop may fire timers with equal times in any order, so each timer takes the oldest chunk instead of its
        # own.
        receiver.on_the_way.append(chunk)
        loop.call_at(receiver.due, receiver.arrive)

    def flush(self) -> None:
        """Deliver the bytes that a partition held back."""
        for end in self.ends:
            end.deliver()

    def reset(self) -> None:
        """Both ends lose the connection at once."""
        if self.is_open:
            self.is_open = False
            for end in self.ends:
                end.lose(ConnectionResetError("the virtual network reset the connection"))

    def ended(self) -> None:
        """Forget the connection when both ends have lost it."""
        if all(end.is_lost for end in self.ends):
            self.is_open = False
            self.network.forget(self)


class VirtualTransport(asyncio.Transport):
    """One end of a connection, as its protocol sees it."""

    def __init__(self, connection: VirtualConnection, side: int, protocol: Any, port: int) -> None:
        super().__init__()
        self.protocol = protocol
        # Chunks in flight to this end, and when the last of them arrives.
        self.on_the_way: deque[bytes | None] = deque()
        self.due = 0.0
        self._connection = connection
        self._side = side
        self._port = port
        self._received: deque[bytes | None] = deque()
        # When a partition first held back bytes to this end that have not arrived since.
        self._held_since: float | None = None
        self._is_paused = self._is_closing = self._is_aborted = self.is_lost = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The socket and the addresses, as `asyncio.BaseTransport.get_extra_info`."""
        if name == "socket":
            return self
        return ("127.0.0.1", self._port) if name in ("peername", "sockname") else default

    def setsockopt(self, *option: Any) -> None:
        """Accepts every option and ignores it: there is no socket."""

    def set_protocol(self, protocol: Any) -> None:
        """See `asyncio.Transport`."""
        self.protocol = protocol

    def get_protocol(self) -> Any:
        """See `asyncio.Transport`."""
        return self.protocol

    def is_closing(self) -> bool:
        """See `asyncio.Transport`."""
        return self._is_closing

    def write(self, data: Any) -> None:
        """Send bytes to the other end."""
        if not self._is_closing and self._connection.is_open:
            self._connection.carry(self._side, bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        """Send bytes to the other end."""
        self.write(b"".join(bytes(data) for data in list_of_data))

    def get_write_buffer_size(self) -> int:
        """The bytes that wait at the other end because it has paused reading."""
        other = self._connection.ends[1 - self._side]
        return sum(len(chunk or b"") for chunk in other._received)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignored: unread bytes wait at the other end, which has no limit."""

    def pause_reading(self) -> None:
        """Bytes wait until reading resumes."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Hand the bytes that waited to the protocol."""
        self._is_paused = False
        self._connection.network.loop.call_soon(self.deliver)

    def is_reading(self) -> bool:
        """See `asyncio.Transport`."""
        return not self._is_paused

    def close(self) -> None:
        """Close this end. Bytes that were written before still arrive."""
        if not self._is_closing:
            self._is_closing = True
            self._connection.carry(self._side, None)
            self._connection.network.loop.call_soon(self.lose, None)

    def abort(self) -> None:
        """Both ends lose the connection; the other end learns it from the answer to its next bytes if a partition is between."""
        self._is_closing = self._is_aborted = True
        if self._connection.network.is_cut(*self._connection.places):
            self.lose(None)
        else:
            self._connection.reset()

    def arrive(self) -> None:
        """Receive the oldest chunk. It waits while a partition separates the ends or this end has paused reading."""
        self._received.append(self.on_the_way.popleft())
        self.deliver()

    def deliver(self) -> None:
        """Hand received chunks to the protocol."""
        while self._received and not self._is_paused:
            if self._is_held_back():
                return
            if self.is_lost:
                if self._is_aborted:
                    self._connection.reset()
                return
            chunk = self._received.popleft()
            if chunk is None:
                self.lose(None)
            else:
                self._hand_over(chunk)

    def _is_held_back(self) -> bool:
        """Whether a partition holds bytes back, or is over and they have not been sent again yet."""
        loop = self._connection.network.loop
        if self._connection.network.is_cut(*self._connection.places):
            self._held_since = loop.time() if self._held_since is None else self._held_since
            return True
        if self._held_since is None:
            return False
        wait = RETRANSMIT_SECONDS
        due = self._held_since + wait
        while due < loop.time():
            wait = min(2 * wait, RETRANSMIT_SECONDS_MAX)
            due += wait
        if due > loop.time():
            loop.call_at(due, self.deliver)
            return True
        self._held_since = None
        return False

    def _hand_over(self, chunk: bytes) -> None:
        if not isinstance(self.protocol, asyncio.BufferedProtocol):
            self.protocol.data_received(chunk)
            return
        while chunk and not self.is_lost:
            buffer: Any = self.protocol.get_buffer(len(chunk))
            size = min(len(buffer), len(chunk))
            buffer[:size] = chunk[:size]
            chunk = chunk[size:]
            self.protocol.buffer_updated(size)

    def lose(self, reason: Exception | None) -> None:
        """Tell the protocol, once, that the connection is gone."""
        if not self.is_lost:
            self.is_lost = self._is_closing = True
            self.protocol.connection_lost(reason)
            self._connection.ended()


class _VirtualSelector(selectors.DefaultSelector):
    """Never waits: it advances the time to the next timer instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Called by the loop with the time until its next timer, or None if no timer is set."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise MachineMisuse("every task waits and no timer is set: the scenario would never end")
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock advances only when nothing is left to do."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """Call the function at once in this thread, because another thread would run in real time."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done
