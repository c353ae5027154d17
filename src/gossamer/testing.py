"""For your own tests: a network of nodes in memory and virtual time, with seeded faults, and the checkers.

    import gossamer.testing

    def test_prices_arrive_after_a_partition():
        async def scenario(network):
            async with network.node() as one, network.node(join=[one.address]) as other:
                async with other.subscribe("prices") as messages:
                    await one.publish("prices", b"1.07")
                    assert (await anext(messages)).payload == b"1.07"

        gossamer.testing.run(scenario, seed=1)

The nodes are real `gossamer.Node`s: their frames travel through memory instead of sockets, so no port is opened. Time is
virtual: `asyncio.sleep(60)` returns at once, and a test never waits. One seed decides latencies, identities and draws, so a
failing test fails again with the same seed. Connections behave as TCP does: bytes arrive in order, later or not at all.
"""

import asyncio
import hashlib
import selectors
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gossamer.live.api.node import Node
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError, MachineMisuse

if TYPE_CHECKING:
    from gossamer.simulator.checkers import all_checkers

__all__ = ["VirtualNetwork", "all_checkers", "run"]

Result = TypeVar("Result")
# Chosen: a dial to a node that is not there fails after a second, as a refused TCP connection over a network does.
DIAL_FAILS_SECONDS = 1.0
# Where the wall clock of every run starts, in seconds since 1970: 2001-09-09.
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
    """Run a scenario in a loop of its own whose time is virtual; every node that is still up at the end is stopped."""
    low_us, high_us = latency_us
    if not 0 <= low_us <= high_us:
        raise InputError(f"latency_us must be (low, high) with 0 <= low <= high, got {latency_us}")
    loop = _VirtualLoop()
    network = VirtualNetwork(loop, seed, latency_us)

    async def main() -> Result:
        try:
            return await scenario(network)
        finally:
            await network.stop()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


class VirtualNetwork:
    """Makes nodes that reach each other through memory, and disturbs the connections between them."""

    def __init__(self, loop: "_VirtualLoop", seed: int, latency_us: tuple[int, int]) -> None:
        self.loop = loop
        self._seed = seed
        self._latency_us = latency_us
        self._nodes: list[Node] = []
        self._servers: dict[int, tuple[_Endpoint, Callable[[], Any]]] = {}
        self._connections: list[_Connection] = []
        self._dialled = 0
        # Which side of the partition each endpoint is on; None while there is no partition.
        self._sides: dict[int, int] | None = None

    def node(self, **options: Any) -> Node:
        """A node of this network; `options` are those of `gossamer.Node`, without `listen`."""
        endpoint = _Endpoint(self, len(self._nodes))
        node = Node(environment=endpoint, **options)
        self._nodes.append(node)
        return node

    @property
    def now_seconds(self) -> float:
        """Virtual seconds since the run began."""
        return self.loop.time()

    def partition(self, *sides: list[Node]) -> None:
        """Hold back all bytes between nodes of different sides until `heal`; nodes that are not named are on the first."""
        places = {node: place for place, node in enumerate(self._nodes)}
        self._sides = {places[node]: side for side, nodes in enumerate(sides) for node in nodes}

    def heal(self) -> None:
        """End the partition: bytes that were held back arrive, in order."""
        self._sides = None
        for connection in list(self._connections):
            connection.flush()

    def break_connections(self, share: float = 1.0) -> int:
        """Reset this share of the connections, drawn by the seed; returns how many."""
        broken = 0
        for place, connection in enumerate(list(self._connections)):
            if self._draw(place, 1_000_000) < share * 1_000_000:
                connection.reset()
                broken += 1
        return broken

    async def crash(self, node: Node) -> None:
        """The node vanishes without a word: its connections are reset, and nothing that it says gets out."""
        place = self._nodes.index(node)
        for connection in list(self._connections):
            if place in connection.places:
                connection.reset()
        self._servers = {port: entry for port, entry in self._servers.items() if entry[0].place != place}
        await node.stop()

    async def stop(self) -> None:
        """Stop every node that is still up."""
        for node in self._nodes:
            if node.is_running:
                await node.stop()

    def is_cut(self, one: int, other: int) -> bool:
        """Whether a partition stands between two endpoints."""
        return self._sides is not None and self._sides.get(one, 0) != self._sides.get(other, 0)

    def delay_seconds(self, connection: int, chunk: int) -> float:
        """How long a chunk of bytes takes."""
        low_us, high_us = self._latency_us
        return (low_us + self._draw(connection, high_us - low_us + 1, chunk)) / 1_000_000

    def entropy(self, place: int) -> Callable[[int], bytes]:
        """What a node takes for random bytes: decided by the seed and the node's number."""
        count = 0

        def random_bytes(size: int) -> bytes:
            nonlocal count
            count += 1
            return hashlib.shake_128(f"{self._seed}/{place}/{count}".encode()).digest(size)

        return random_bytes

    def _draw(self, item: int, bound: int, counter: int = 0) -> int:
        return below(draw(self._seed, item, Purpose.LINK, counter), bound)

    def forget(self, connection: "_Connection") -> None:
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
        """Connect to a server, or fail as a refused connection does."""
        found = self._servers.get(port)
        if found is None or self.is_cut(endpoint.place, found[0].place):
            await asyncio.sleep(DIAL_FAILS_SECONDS)
            raise ConnectionRefusedError(f"nobody listens at port {port} of the virtual network")
        other, serve = found
        self._dialled += 1
        connection = _Connection(self, self._dialled, (endpoint.place, other.place), (factory(), serve()), port)
        self._connections.append(connection)
        connection.open()
        return connection.ends[0], connection.ends[0].protocol


class _Endpoint:
    """One node's sockets, clocks and random bytes (`live.transport.environment.Environment`)."""

    def __init__(self, network: VirtualNetwork, place: int) -> None:
        self.place = place
        self.random_bytes = network.entropy(place)
        self.monotonic = network.loop.time
        self._network = network

    def monotonic_ns(self) -> int:
        """The loop's virtual clock."""
        return round(self.monotonic() * 1e9)

    def time_ns(self) -> int:
        """The wall clock of every run starts at `EPOCH_SECONDS`."""
        return EPOCH_SECONDS * 1_000_000_000 + self.monotonic_ns()

    async def create_server(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> "_Server":
        """As the loop's; TLS is not simulated."""
        self._refuse_tls(options)
        return _Server(self._network, self._network.listen(self, factory, port))

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int, **options: Any) -> Any:
        """As the loop's; TLS is not simulated."""
        self._refuse_tls(options)
        return await self._network.dial(self, factory, port)

    @staticmethod
    def _refuse_tls(options: dict[str, Any]) -> None:
        if options.get("ssl") is not None:
            raise InputError("a virtual network carries no TLS: leave the keys out in tests that use it")


class _Server:
    """A listening port of the virtual network, with the little that a node asks of an `asyncio.Server`."""

    def __init__(self, network: VirtualNetwork, port: int) -> None:
        self._network = network
        self._port = port
        self.sockets = (self,)

    def getsockname(self) -> tuple[str, int]:
        """As a socket's."""
        return "127.0.0.1", self._port

    def close(self) -> None:
        """Listen no longer."""
        self._network.unlisten(self._port)


class _Connection:
    """Two ends, bytes in order, each chunk after its own latency."""

    def __init__(
        self, network: VirtualNetwork, number: int, places: tuple[int, int], protocols: tuple[Any, Any], port: int
    ) -> None:
        self.network = network
        self.number = number
        self.places = places
        self.ends = (_End(self, 0, protocols[0], port), _End(self, 1, protocols[1], port))
        self.is_open = True
        self._chunks = 0

    def open(self) -> None:
        """Tell both protocols; the dialling end learns of it first, as with TCP."""
        for end in self.ends:
            end.protocol.connection_made(end)

    def carry(self, sender: int, chunk: bytes | None) -> None:
        """Bytes on their way to the other end; None is the end of the stream."""
        self._chunks += 1
        loop, receiver = self.network.loop, self.ends[1 - sender]
        receiver.due = max(receiver.due, loop.time() + self.network.delay_seconds(self.number, self._chunks))
        # The loop may fire timers of one time in any order, so that each takes the oldest chunk, whichever set it.
        receiver.on_the_way.append(chunk)
        loop.call_at(receiver.due, receiver.arrive)

    def flush(self) -> None:
        """Deliver what a partition held back."""
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


class _End(asyncio.Transport):
    """One end of a connection, as its protocol sees it."""

    def __init__(self, connection: _Connection, side: int, protocol: Any, port: int) -> None:
        super().__init__()
        self.protocol = protocol
        # Chunks on their way to this end, and when the last of them arrives.
        self.on_the_way: deque[bytes | None] = deque()
        self.due = 0.0
        self._connection = connection
        self._side = side
        self._port = port
        self._received: deque[bytes | None] = deque()
        self._is_paused = self._is_closing = self.is_lost = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The names that a node asks for."""
        if name == "socket":
            return self
        return ("127.0.0.1", self._port) if name in ("peername", "sockname") else default

    def setsockopt(self, *option: Any) -> None:
        """As a socket's: there is no socket to set it on."""

    def set_protocol(self, protocol: Any) -> None:
        """As a transport's."""
        self.protocol = protocol

    def get_protocol(self) -> Any:
        """As a transport's."""
        return self.protocol

    def is_closing(self) -> bool:
        """As a transport's."""
        return self._is_closing

    def write(self, data: Any) -> None:
        """Send bytes to the other end."""
        if not self._is_closing and self._connection.is_open:
            self._connection.carry(self._side, bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        """Send bytes to the other end."""
        self.write(b"".join(bytes(data) for data in list_of_data))

    def get_write_buffer_size(self) -> int:
        """Bytes that the other end does not read yet, where it has paused."""
        other = self._connection.ends[1 - self._side]
        return sum(len(chunk or b"") for chunk in other._received)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is no buffer to limit: bytes wait at the other end."""

    def pause_reading(self) -> None:
        """Bytes wait until reading resumes."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Bytes that waited are handed over."""
        self._is_paused = False
        self._connection.network.loop.call_soon(self.deliver)

    def is_reading(self) -> bool:
        """As a transport's."""
        return not self._is_paused

    def close(self) -> None:
        """No more bytes; those that were written still arrive."""
        if not self._is_closing:
            self._is_closing = True
            self._connection.carry(self._side, None)
            self._connection.network.loop.call_soon(self.lose, None)

    def abort(self) -> None:
        """Both ends lose the connection."""
        self._is_closing = True
        self._connection.reset()

    def arrive(self) -> None:
        """The oldest chunk has come; a partition may hold it back, or this end may read it later."""
        self._received.append(self.on_the_way.popleft())
        self.deliver()

    def deliver(self) -> None:
        """Hand what has come to the protocol."""
        network = self._connection.network
        while self._received and not self._is_paused and not self.is_lost:
            if network.is_cut(*self._connection.places):
                return
            chunk = self._received.popleft()
            if chunk is None:
                self.lose(None)
            else:
                self._hand_over(chunk)

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
    """Waits for nothing: time moves on to when the next timer is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Called by the loop with the time until its next timer; None where it has none."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise MachineMisuse("every task waits and no timer is set: the scenario would wait for ever")
        if not ready and timeout:
            self.now += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves only when nothing is left to do."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """At once, in this thread: a thread would run in real time."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done
