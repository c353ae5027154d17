"""For your own tests: a network of nodes in memory and in virtual time, seeded faults, and the checkers.

    import gossamer.testing

    def test_prices_arrive_after_a_partition():
        async def scenario(network):
            async with network.node() as one, network.node(join=[one.address]) as other:
                async with other.subscribe("prices") as messages:
                    await one.publish("prices", b"1.07")
                    assert (await anext(messages)).payload == b"1.07"

        gossamer.testing.run(scenario, seed=1)

The nodes are real `gossamer.Node`s: their frames travel through memory instead of sockets, so no port is opened. Time
is virtual: `asyncio.sleep(60)` returns at once, and a test never waits. One seed decides latencies, identities and
draws, so a failing test fails again with the same seed. Connections behave like TCP: bytes arrive in order, or the
connection breaks; bytes that a partition held back are sent again at growing intervals, up to a minute after its end.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gossamer.live.api.node import Node
from gossamer.live.transport.virtual import VirtualConnection, VirtualLoop, VirtualServer
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.simulator.checkers import all_checkers

__all__ = ["VirtualNetwork", "all_checkers", "run"]

Result = TypeVar("Result")
# Chosen: a connection attempt to an absent node fails after one second.
DIAL_FAILS_SECONDS = 1.0
# The time of the wall clock when a run starts, in seconds since 1970: 2001-09-09.
EPOCH_SECONDS = 1_000_000_000


def __getattr__(name: str) -> Any:
    # The checkers need the extra `gossamer[sim]`.
    if name != "all_checkers":
        raise AttributeError(f"module 'gossamer.testing' has no attribute {name!r}")
    from gossamer.simulator.checkers import all_checkers

    return all_checkers


def run(
    scenario: Callable[["VirtualNetwork"], Awaitable[Result]],
    seed: int = 0,
    latency_us: tuple[int, int] = (1_000, 5_000),
) -> Result:
    """Run a scenario in a new event loop with virtual time. At the end, all nodes that still run are stopped."""
    low_us, high_us = latency_us
    if not 0 <= low_us <= high_us:
        raise InputError(f"latency_us must be (low, high) with 0 <= low <= high, got {latency_us}")
    loop = VirtualLoop()
    network = VirtualNetwork(loop, seed, latency_us)

    async def main() -> Result:
        try:
            return await scenario(network)
        finally:
            await network.stop()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


class VirtualNetwork:
    """Creates nodes that communicate through memory, and injects faults into their connections."""

    def __init__(self, loop: VirtualLoop, seed: int, latency_us: tuple[int, int]) -> None:
        self.loop = loop
        self._seed = seed
        self._latency_us = latency_us
        self._nodes: list[Node] = []
        self._servers: dict[int, tuple[_Endpoint, Callable[[], Any]]] = {}
        self._connections: list[VirtualConnection] = []
        self._dialled = 0
        self._names: dict[str, list[str]] = {}
        # Which side of the partition each endpoint is on; None while there is no partition.
        self._sides: dict[int, int] | None = None

    def node(self, *, clock_offset_seconds: float = 0.0, **options: Any) -> Node:
        """A new node of this network; `options` are those of `gossamer.Node`, except `listen`.

        `clock_offset_seconds`: how far the node's wall clock is ahead of the other nodes' clocks.
        """
        endpoint = _Endpoint(self, len(self._nodes), clock_offset_seconds)
        node = Node(environment=endpoint, **options)
        self._nodes.append(node)
        return node

    @property
    def now_seconds(self) -> float:
        """Virtual seconds since the run began."""
        return self.loop.time()

    def set_name(self, host: str, nodes: list[Node]) -> None:
        """Let a name stand for the addresses of these nodes, for `join="HOST:PORT"` with any port."""
        self._names[host] = [node.address for node in nodes]

    def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a name that `set_name` gave; an OSError for any other."""
        if host not in self._names:
            raise OSError(f"the virtual network has no name {host!r}")
        return list(self._names[host])

    def partition(self, *sides: list[Node]) -> None:
        """Hold back bytes between nodes on different sides until `heal`. Nodes not listed are on the first side."""
        places = {node: place for place, node in enumerate(self._nodes)}
        self._sides = {places[node]: side for side, nodes in enumerate(sides) for node in nodes}

    def heal(self) -> None:
        """End the partition: the bytes that it held back arrive in order, each connection's when TCP sends them again."""
        self._sides = None
        for connection in list(self._connections):
            connection.flush()

    def break_connections(self, share: float = 1.0) -> int:
        """Reset this share of the connections, chosen by the seed; return how many were reset."""
        broken = 0
        for place, connection in enumerate(list(self._connections)):
            if self._draw(place, 1_000_000) < share * 1_000_000:
                connection.reset()
                broken += 1
        return broken

    async def crash(self, node: Node) -> None:
        """Crash a node: its connections are reset, and no goodbye leaves it."""
        place = self._nodes.index(node)
        for connection in list(self._connections):
            if place in connection.places:
                connection.reset()
        self._servers = {port: entry for port, entry in self._servers.items() if entry[0].place != place}
        await node.stop()

    async def stop(self) -> None:
        """Stop every node that still runs."""
        for node in self._nodes:
            if node.is_running:
                await node.stop()

    def is_cut(self, one: int, other: int) -> bool:
        """Whether a partition separates two endpoints."""
        return self._sides is not None and self._sides.get(one, 0) != self._sides.get(other, 0)

    def delay_seconds(self, connection: int, chunk: int) -> float:
        """The latency of a chunk of bytes."""
        low_us, high_us = self._latency_us
        return (low_us + self._draw(connection, high_us - low_us + 1, chunk)) / 1_000_000

    def entropy(self, place: int) -> Callable[[int], bytes]:
        """A node's source of random bytes, determined by the seed and the node's number."""
        count = 0

        def random_bytes(size: int) -> bytes:
            nonlocal count
            count += 1
            return hashlib.shake_128(f"{self._seed}/{place}/{count}".encode()).digest(size)

        return random_bytes

    def _draw(self, item: int, bound: int, counter: int = 0) -> int:
        return below(draw(self._seed, item, Purpose.LINK, counter), bound)

    def forget(self, connection: VirtualConnection) -> None:
        """A connection has ended."""
        if connection in self._connections:
            self._connections.remove(connection)

    def listen(self, endpoint: "_Endpoint", factory: Callable[[], Any], port: int) -> int:
        """Register a server; port 0 takes the next free one."""
        port = port or 1_024 + len(self._servers)
        while port in self._servers:
            port += 1
        self._servers[port] = (endpoint, factory)
        return port

    def unlisten(self, port: int) -> None:
        """The server is closed."""
        self._servers.pop(port, None)

    async def dial(self, endpoint: "_Endpoint", factory: Callable[[], Any], port: int) -> tuple[Any, Any]:
        """Connect to a server, or raise ConnectionRefusedError."""
        wait = DIAL_FAILS_SECONDS
        while (found := self._servers.get(port)) is not None and self.is_cut(endpoint.place, found[0].place):
            # No answer comes; the system asks again, and the node gives up after `Limits.dial_seconds`.
            await asyncio.sleep(wait)
            wait *= 2
        if found is None:
            await asyncio.sleep(DIAL_FAILS_SECONDS)
            raise ConnectionRefusedError(f"no node listens on port {port} of the virtual network")
        other, serve = found
        self._dialled += 1
        connection = VirtualConnection(self, self._dialled, (endpoint.place, other.place), (factory(), serve()), port)
        self._connections.append(connection)
        connection.open()
        return connection.ends[0], connection.ends[0].protocol


class _Endpoint:
    """One node's sockets, clocks and random bytes (`live.transport.environment.Environment`)."""

    has_tls = False

    def __init__(self, network: VirtualNetwork, place: int, clock_offset_seconds: float) -> None:
        self.place = place
        self.random_bytes = network.entropy(place)
        self.monotonic = network.loop.time
        self._network = network
        self._clock_offset_ns = round(clock_offset_seconds * 1e9)

    def monotonic_ns(self) -> int:
        """The loop's virtual clock."""
        return round(self.monotonic() * 1e9)

    def time_ns(self) -> int:
        """The wall clock of every run starts at `EPOCH_SECONDS`; a node's own clock may be ahead or behind."""
        return EPOCH_SECONDS * 1_000_000_000 + self.monotonic_ns() + self._clock_offset_ns

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses that `VirtualNetwork.set_name` gave to a name."""
        return self._network.resolve(host, port)

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> VirtualServer:
        """As `loop.create_server`, without TLS."""
        return VirtualServer(self._network, self._network.listen(self, factory, port))

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As `loop.create_connection`, without TLS."""
        return await self._network.dial(self, factory, port)
