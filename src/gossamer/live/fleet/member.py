"""One node process of a fleet: it follows its topics, publishes on command, and logs every message.

`python -m gossamer.live.fleet.member FD...` loads the code once and forks one process for each socket, before any asyncio
loop exists. This starts fifty processes in the time of a few, and they share the memory of the code. Each process takes
commands over its socket and answers them, one line of JSON each. It leaves the network when the socket closes.
"""

import asyncio
import gc
import os
import signal
import socket
import struct
import sys
import time
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from gossamer.live.api.node import Node
from gossamer.live.api.options import PlanEntry, Telemetry
from gossamer.live.api.subscription import Subscription
from gossamer.live.operations.logs import log_to
from gossamer.live.operations.status_server import serve_status
from gossamer.model.values.draw import Purpose, draw, unit
from gossamer.model.values.errors import GossamerError

# Chosen: the time between two batches of publications, and between two writes to the log.
TICK_SECONDS = 0.02
LOG_SECONDS = 0.25
# Chosen: how long a message on a topic that the member does not hold waits for a neighbour that holds it.
SAY_SECONDS = 3.0
# Chosen: enough for a line with the neighbours on thousands of topics.
LINE_BYTES_MAX = 16 * 1024 * 1024

# One entry of a log: kind, topic, publisher, number, and time in nanoseconds of the monotonic clock, which all processes of
# the machine share. The number is in the payload, so that counting does not depend on the sequence numbers of the protocol.
ENTRY = struct.Struct("<BIQQQ")
PUBLISHED, DELIVERED = 1, 2
NUMBER_BYTES = 8
# The spool folder of a fleet, below its folder.
TELEMETRY = "telemetry"


class MemberSettings(Struct, frozen=True, kw_only=True):
    """The stack and the traffic of one member."""

    index: int
    # The topics that the member follows, and how many messages a second it publishes on each.
    topics: tuple[int, ...]
    rates: tuple[float, ...]
    # Addresses of nodes to join the network through.
    join: tuple[str, ...]
    folder: str
    seed: int
    payload_bytes: int
    system: str
    settings: dict[str, Any]
    dissemination: str | None
    dissemination_settings: dict[str, Any]
    record: bool
    # Whether the member logs every message, for `count`.
    logs: bool = True
    # One message in so many is traced in the member's telemetry; 0: it writes none.
    trace: int = 0
    # For a network from a plan: the names of the topics, the topics that the member only publishes on, the member's
    # name, the plan, the addresses of its nodes, and its own.
    topic_names: tuple[str, ...] = ()
    publishes: tuple[int, ...] = ()
    name: str = ""
    plan: str | None = None
    addresses: dict[str, str] = {}
    listen: str = "127.0.0.1:0"


class MemberHello(Struct, frozen=True):
    """The answer to "start": the member listens on these addresses."""

    pid: int
    node: str
    address: str
    metrics: str
    name: str = ""


class MemberCounts(Struct, frozen=True):
    """The answer to "counts". `published` is in the order of the member's topics, `delivered` is by publisher."""

    published: tuple[int, ...]
    delivered: dict[str, int]
    # How often a publication was refused by the queue of a neighbour.
    refused: int
    links: int
    frames: int
    bytes: int
    rss_bytes: int
    cpu_seconds: float
    # How often something was dropped, refused or failed, by reason.
    reasons: dict[str, int]


class MemberCommand(Struct, frozen=True):
    """One line to a member.

    "start" with settings, "counts", "peers", "publish" (start traffic), "quiet" (stop traffic), "say" (publish one message
    on the first of `topics`), "follow" (exactly these `topics`), "refuse" (cut off these `nodes` and no others).
    """

    name: str
    settings: MemberSettings | None = None
    topics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    payload: str = ""


def topic_name(topic: int) -> str:
    """The name of a topic in the network."""
    return f"topic/{topic}"


def log_path(folder: Path, index: int) -> Path:
    """The path of a member's log of messages."""
    return folder / f"member-{index:04d}.messages"


class Member:
    """One node and its traffic."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._log: BinaryIO | None = None
        if settings.logs:
            self._log = log_path(Path(settings.folder), settings.index).open("wb", buffering=0)
        self._entries = bytearray()
        self._published = [0] * len(settings.topics)
        self._delivered: Counter[str] = Counter()
        self._refused = 0
        self._names = list(settings.topic_names) or [topic_name(topic) for topic in settings.topics]
        record = Path(settings.folder) / f"member-{settings.index:04d}.record" if settings.record else None
        self._node = Node(
            settings.listen,
            settings.join,
            system=settings.system,
            settings=settings.settings,
            dissemination=settings.dissemination,
            dissemination_settings=settings.dissemination_settings,
            plan=None if settings.plan is None else PlanEntry(settings.plan, settings.name, settings.addresses),
            record=record,
            telemetry=Telemetry(Path(settings.folder) / TELEMETRY, settings.trace) if settings.trace else None,
        )
        self._traffic: asyncio.Task[None] | None = None
        # The topics that the member follows now, by name, and the tasks that read them.
        self._following: dict[str, Subscription] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self, open_things: AsyncExitStack) -> MemberHello:
        """Join the network, follow the topics, and serve the status."""
        await open_things.enter_async_context(self._node)
        publishes = dict(zip(self._settings.topics, self._names, strict=True))
        for topic in self._settings.publishes:
            await open_things.enter_async_context(self._node.publisher(publishes[topic]))
        await self.follow([name for topic, name in publishes.items() if topic not in self._settings.publishes])
        writing = asyncio.ensure_future(self._write_log())
        open_things.callback(writing.cancel)
        server = await serve_status(self._node, "127.0.0.1:0")
        open_things.push_async_callback(server.close)
        return MemberHello(os.getpid(), self._node.hex_id, self._node.address, server.address, self._settings.name)

    def counts(self) -> MemberCounts:
        """See `MemberCounts`."""
        status = self._node.status()
        links = status.links
        return MemberCounts(
            tuple(self._published),
            dict(self._delivered),
            self._refused,
            links=sum(link.kept for link in links),
            frames=sum(link.frames_out for link in links),
            bytes=sum(link.bytes_out for link in links),
            rss_bytes=_rss_bytes(),
            cpu_seconds=time.process_time(),
            reasons=status.counts,
        )

    def peers(self) -> list[list[str]]:
        """The neighbours on each topic, as this node sees them."""
        return [self._node.peers(name) for name in self._names]

    def publish(self) -> None:
        """Start the traffic."""
        self._traffic = asyncio.ensure_future(self._publish())

    async def quiet(self) -> None:
        """Stop the traffic."""
        if self._traffic is not None:
            self._traffic.cancel()
            await asyncio.gather(self._traffic, return_exceptions=True)
            self._traffic = None

    async def follow(self, names: Sequence[str]) -> None:
        """Follow exactly these topics from now on."""
        for name in [name for name in self._following if name not in names]:
            self._following.pop(name).close()
        topics = dict(zip(self._names, self._settings.topics, strict=True))
        for name in names:
            if name not in self._following:
                self._following[name] = await self._node.subscribe(name).__aenter__()
                reader = asyncio.ensure_future(self._read(topics.get(name), self._following[name]))
                self._readers.add(reader)
                reader.add_done_callback(self._readers.discard)

    async def say(self, name: str, payload: str) -> None:
        """Publish one message."""
        await self._node.publish(name, payload.encode(), timeout=SAY_SECONDS)

    def refuse(self, nodes: Sequence[str]) -> None:
        """Cut off these nodes and no others."""
        self._node.refuse(nodes)

    def close(self) -> None:
        """Write the remaining entries and close the log."""
        for reader in self._readers:
            reader.cancel()
        self._flush()
        if self._log is not None:
            self._log.close()

    async def _read(self, topic: int | None, subscription: Subscription) -> None:
        pack, entries = ENTRY.pack, self._entries
        async for message in subscription:
            self._delivered[message.publisher] += 1
            if topic is None or self._log is None:
                continue
            number = int.from_bytes(message.payload[:NUMBER_BYTES], "big")
            entries += pack(DELIVERED, topic, int(message.publisher, 16), number, time.monotonic_ns())

    async def _publish(self) -> None:
        settings = self._settings
        rate = sum(settings.rates)
        if not rate:
            return
        rates = list(accumulate(settings.rates))
        filling = bytes(settings.payload_bytes - NUMBER_BYTES)
        me = self._node.id
        # Members start at different moments within a tick, so that their batches do not coincide.
        await asyncio.sleep(unit(draw(settings.seed, settings.index, Purpose.PUBLISH_TIME, 0)) * TICK_SECONDS)
        began, number = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began) * rate)
            while number < due:
                number += 1
                share = unit(draw(settings.seed, settings.index, Purpose.PUBLISH_TOPIC, number)) * rate
                place = min(bisect(rates, share), len(rates) - 1)
                if self._names[place] not in self._following:
                    continue
                self._published[place] += 1
                self._entries += ENTRY.pack(PUBLISHED, settings.topics[place], me, number, time.monotonic_ns())
                payload = number.to_bytes(NUMBER_BYTES, "big") + filling
                receipt = await self._node.publish(self._names[place], payload)
                self._refused += len(receipt.refused)
            await asyncio.sleep(TICK_SECONDS)

    async def _write_log(self) -> None:
        while True:
            await asyncio.sleep(LOG_SECONDS)
            self._flush()

    def _flush(self) -> None:
        if self._entries and self._log is not None:
            self._log.write(self._entries)
        self._entries.clear()


async def _run(connection: socket.socket) -> None:
    """Take commands from the socket until it closes."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_BYTES_MAX)
    commands = msgspec.json.Decoder(MemberCommand)
    encode = msgspec.json.encode
    line = await reader.readline()
    if not line:
        return
    settings = commands.decode(line).settings
    assert settings is not None
    member = Member(settings)
    async with AsyncExitStack() as open_things:
        open_things.callback(member.close)
        answer: Any = await member.start(open_things)
        while True:
            writer.write(encode(answer) + b"\n")
            line = await reader.readline()
            if not line:
                break
            answer = await _obey(member, commands.decode(line))
        await member.quiet()
    writer.close()


async def _obey(member: Member, command: MemberCommand) -> Any:
    """Carry out a command; the answer, or None. A wrong topic or a topic without neighbours is a sentence."""
    if command.name == "counts":
        return member.counts()
    if command.name == "peers":
        return member.peers()
    try:
        if command.name == "publish":
            member.publish()
        elif command.name == "quiet":
            await member.quiet()
        elif command.name == "say":
            await member.say(command.topics[0], command.payload)
        elif command.name == "follow":
            await member.follow(command.topics)
        elif command.name == "refuse":
            member.refuse(command.nodes)
    except TimeoutError:
        return f"no neighbour of the node holds {command.topics[0]!r}"
    except GossamerError as error:
        return str(error)
    return None


def _rss_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main(sockets: list[int]) -> None:
    """Fork a process for each socket, and wait for all of them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The collector then never writes to objects from before the forks, so that the processes keep sharing their memory.
    gc.freeze()
    for mine in sockets:
        if os.fork() == 0:
            for other in sockets:
                if other != mine:
                    os.close(other)
            log_to(sys.stderr, "text")
            asyncio.run(_run(socket.socket(fileno=mine)))
            sys.stderr.flush()
            os._exit(0)
    for each in sockets:
        os.close(each)
    for _ in sockets:
        os.wait()


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
