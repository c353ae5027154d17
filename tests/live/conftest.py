"""Live nodes for tests: started together, recorded, and audited after the test."""

import asyncio
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from gossamer import Limits, Node
from gossamer.live.operations.audit import audit_records
from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel, SendQueue
from gossamer.protocols.contract.compact import Writer
from tests.decoding import PART_CLASSES

# Both ends of the loopback answer at once, so that fractions of the default times are enough.
QUICK = {"heartbeat_us": 200_000, "period_us": 20_000, "connect_timeout_us": 200_000}


@pytest.fixture
def network(tmp_path):
    """A function that starts nodes which join the first one, and stops and audits them at the end."""
    records = []

    @asynccontextmanager
    async def start(count, audited=True, **settings):
        async with AsyncExitStack() as stack:
            nodes = []
            for _ in range(count):
                path = tmp_path / f"{len(records)}.record"
                records.append((path, audited))
                join = [nodes[0].address] if nodes else settings.get("join", [])
                node = Node(**{"settings": QUICK, **settings, "join": join, "record": path})
                nodes.append(await stack.enter_async_context(node))
            yield nodes

    yield start
    audit([path for path, audited in records if audited])


def audit(paths):
    """No data frame left the overlay of its topic, and nothing was delivered twice or out of order."""
    assert not audit_records(paths)


async def take(messages, count, seconds=10):
    """The next messages of a subscription."""
    found = []
    async with asyncio.timeout(seconds):
        async for message in messages:
            found.append(message)
            if len(found) == count:
                return found
    return found


def free_ports(count):
    """Ports of this machine that no process listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def framed(*messages):
    """A frame with these messages, as a node of the newest version writes it."""
    queue = SendQueue(2**20, Writer(numbered=False))
    queue.version = max(wire.VERSIONS)
    queue.add(Parcel(messages))
    return queue.take()


class RawPeer:
    """A peer that sends what the test wants, in the newest version of the wire format."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self._messages = []
        self._decode = wire.reader(max(wire.VERSIONS), PART_CLASSES)

    @classmethod
    async def dial(cls, address, **options):
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port), **options))

    @classmethod
    async def greet(cls, node, identity=7, stack=("spidercast", "tree"), versions=wire.VERSIONS):
        peer = await cls.dial(node.address)
        peer.writer.write(wire.frame(wire.Hello(wire.MAGIC, versions, (), identity, b"127.0.0.1:1", stack)))
        assert isinstance(await peer.read(), wire.Hello)
        return peer

    def send(self, message):
        self.writer.write(framed(message))

    async def read(self):
        """The next message of the other end; None after it has closed."""
        while not self._messages:
            async with asyncio.timeout(10):
                try:
                    prefix = await self.reader.readexactly(4)
                    body = await self.reader.readexactly(int.from_bytes(prefix, "big"))
                except (asyncio.IncompleteReadError, ConnectionError):
                    return None
            try:
                self._messages += [message for message in self._decode(body) if message is not None]
            except ValueError:
                # A greeting, or a goodbye before the greeting.
                self._messages.append(wire._hello_decoder.decode(body))
        return self._messages.pop(0)

    async def goodbye(self):
        """Read until the other end closes the link; answers the reason if it gave one."""
        while (message := await self.read()) is not None:
            if isinstance(message, wire.Bye):
                return message.reason
        return None

    async def close(self):
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@pytest.fixture
def quick_limits():
    return Limits(handshake_seconds=0.3, patience_seconds=0.5)
