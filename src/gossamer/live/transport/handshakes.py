"""TLS handshakes of peers that dial this node: bounded in time and number; a failed one is counted and logged.

Asyncio's own TLS server drops a failed handshake without telling anybody. Here a socket is accepted without TLS and then
upgraded, so that this node knows which handshakes are under way and why one failed.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from gossamer.live.transport.links import Link
from gossamer.live.transport.refusals import peer_address
from gossamer.live.transport.running_time import running_timeout
from gossamer.live.transport.tls import Tls

if TYPE_CHECKING:
    from gossamer.live.transport.sockets import Sockets

# Longer than any limit of a handshake: asyncio's own timeout does not know the time in which this process did not run.
ASYNCIO_SECONDS = 86_400.0


class Handshakes:
    """The handshakes that are under way. `most` answers how many there may be now."""

    def __init__(self, sockets: "Sockets", tls: Tls, most: Callable[[], int]) -> None:
        self._sockets = sockets
        self._tls = tls
        self._most = most
        # Oldest first.
        self._tasks: dict[asyncio.Transport, asyncio.Task[None]] = {}

    def accept(self) -> asyncio.Protocol:
        """The protocol of a socket that a peer opened."""
        return _Accepted(self)

    def begin(self, transport: asyncio.Transport) -> None:
        """Shake hands on a new socket. If there are too many, the one that began first ends."""
        while self._tasks and len(self._tasks) >= self._most():
            self._sockets.counts["links closed: too many handshakes"] += 1
            self._abort(next(iter(self._tasks)))
        self._tasks[transport] = asyncio.get_running_loop().create_task(self._shake_hands(transport))

    def close(self) -> None:
        """End all handshakes."""
        for transport in list(self._tasks):
            self._abort(transport)

    @property
    def count(self) -> int:
        """The number of handshakes under way."""
        return len(self._tasks)

    def _abort(self, transport: asyncio.Transport) -> None:
        self._tasks.pop(transport).cancel()
        transport.abort()

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        peer, early = peer_address(transport), _EarlyBytes()
        upgraded: asyncio.Transport | None = None
        problem: Exception = ConnectionResetError()
        try:
            async with running_timeout(self._sockets.limits.handshake_seconds):
                upgraded = await asyncio.get_running_loop().start_tls(
                    transport, early, self._tls.server, server_side=True, ssl_handshake_timeout=ASYNCIO_SECONDS
                )
        except (ssl.SSLError, OSError) as error:
            problem = error
            transport.abort()
        finally:
            self._tasks.pop(transport, None)
        # Without an exception and without a transport, the peer closed the connection at the end of the handshake.
        if upgraded is None:
            self._sockets.refusals.add(self._tls.why_refused(problem), peer, dialled=False)
        else:
            self._open_link(upgraded, early.content)

    def _open_link(self, transport: asyncio.Transport, early: bytearray) -> None:
        """Give the connection to a link, with the bytes that arrived before this task went on."""
        link = Link(self._sockets, dialled=False)
        transport.set_protocol(link)
        link.connection_made(transport)
        while early:
            buffer = link.get_buffer(-1)
            size = min(len(buffer), len(early))
            buffer[:size] = early[:size]
            del early[:size]
            link.buffer_updated(size)


class _Accepted(asyncio.Protocol):
    """A socket before its handshake begins."""

    def __init__(self, handshakes: Handshakes) -> None:
        self._handshakes = handshakes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer opened the socket."""
        assert isinstance(transport, asyncio.Transport)
        self._handshakes.begin(transport)


class _EarlyBytes(asyncio.Protocol):
    """Keeps what a peer sends right behind its handshake: at most what asyncio reads in one turn of the loop."""

    def __init__(self) -> None:
        self.content = bytearray()

    def data_received(self, data: bytes) -> None:
        """Keep the bytes."""
        self.content += data
