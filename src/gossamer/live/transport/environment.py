"""The environment of a node: sockets, clocks and random bytes.

`gossamer.testing` replaces all of them, so that real nodes run in memory and in virtual time.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from gossamer.live.transport.addresses import join_address


class Environment(Protocol):
    """The sockets, clocks and random bytes of one node."""

    # Whether connections can use TLS.
    @property
    def has_tls(self) -> bool: ...  # noqa: D102
    # The monotonic clock that the loop's timers use, in seconds and in nanoseconds.
    @property
    def monotonic(self) -> Callable[[], float]: ...  # noqa: D102
    @property
    def monotonic_ns(self) -> Callable[[], int]: ...  # noqa: D102
    # Nanoseconds since 1970.
    @property
    def time_ns(self) -> Callable[[], int]: ...  # noqa: D102
    # Returns the given number of random bytes.
    @property
    def random_bytes(self) -> Callable[[int], bytes]: ...  # noqa: D102

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host, as HOST:PORT; an OSError if there are none."""
        ...

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As `loop.create_server`."""
        ...

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As `loop.create_connection`."""
        ...


class RealEnvironment:
    """The operating system's sockets, clocks and random bytes.

    The clocks are the functions of `time` without a wrapper, because links call them for every read of a socket.
    """

    has_tls = True
    monotonic = staticmethod(time.monotonic)
    monotonic_ns = staticmethod(time.monotonic_ns)
    time_ns = staticmethod(time.time_ns)
    random_bytes = staticmethod(os.urandom)

    async def resolve(self, host: str, port: int) -> list[str]:
        """See `Environment`."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(join_address(str(where[0]), port) for *_, where in found))

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """See `Environment`."""
        return await asyncio.get_running_loop().create_server(factory, host, port, **options)

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """See `Environment`."""
        return await asyncio.get_running_loop().create_connection(factory, host, port, **options)


REAL = RealEnvironment()
