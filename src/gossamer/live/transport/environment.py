"""What a node takes from the machine that it runs on: sockets, clocks and random bytes.

`gossamer.testing` replaces all of it, so that real nodes run in memory and in virtual time.
"""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any, Protocol


class Environment(Protocol):
    """The outside world of one node."""

    # Seconds and nanoseconds of a clock that never goes back: the one that the loop's timers use.
    @property
    def monotonic(self) -> Callable[[], float]: ...  # noqa: D102
    @property
    def monotonic_ns(self) -> Callable[[], int]: ...  # noqa: D102
    # Nanoseconds since 1970.
    @property
    def time_ns(self) -> Callable[[], int]: ...  # noqa: D102
    # So many random bytes.
    @property
    def random_bytes(self) -> Callable[[int], bytes]: ...  # noqa: D102

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As `loop.create_server`."""
        ...

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As `loop.create_connection`."""
        ...


class RealEnvironment:
    """The real one. Its clocks are the functions themselves, as links read them for every read of a socket."""

    monotonic = staticmethod(time.monotonic)
    monotonic_ns = staticmethod(time.monotonic_ns)
    time_ns = staticmethod(time.time_ns)
    random_bytes = staticmethod(os.urandom)

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """See `Environment`."""
        return await asyncio.get_running_loop().create_server(factory, host, port, **options)

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """See `Environment`."""
        return await asyncio.get_running_loop().create_connection(factory, host, port, **options)


REAL = RealEnvironment()
