"""One node process of a fleet: follows its topics, publishes when asked, logs every message by id.

`python -m gossamer.live.fleet.member FD...` loads the code once and forks a node for each socket: fifty start in the time of a few,
and share the memory of the code. Each talks to whoever started it over its socket, a line of JSON each way; a socket that
ends is the order to leave. Not asyncio's business: the forks happen before there is a loop.
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
from contextlib import AsyncExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from gossamer.live.api.node import Node
from gossamer.live.api.subscription import Subscription
from gossamer.live.operations.http import serve_status
from gossamer.live.operations.logs import log_to
from gossamer.model.values.draw import Purpose, draw, unit

# Chosen: how often a batch of messages is published, and the log written.
TICK_SECONDS = 0.02
LOG_SECONDS = 0.25
# Chosen: a line with the neighbours on thousands of topics.
LINE_BYTES_MAX = 16 * 1024 * 1024

# One entry of a log: what, topic, publisher, number, nanoseconds of the machine's monotonic clock, which all processes share.
# The number is the traffic's own and travels in the payload: what is counted does not rest on what is measured.
ENTRY = struct.Struct("<BIQQQ")
PUBLISHED, DELIVERED = 1, 2
NUMBER_BYTES = 8


class Task(Struct, frozen=True, kw_only=True):
    """What a member is to do."""

    index: int
    # Topics that it follows, and messages a second that it publishes on each.
    topics: tuple[int, ...]
    rates: tuple[float, ...]
    seeds: tuple[str, ...]
    folder: str
    seed: int
    payload_bytes: int
    system: str
    settings: dict[str, Any]
    dissemination: str | None
    dissemination_settings: dict[str, Any]
    record: bool


class Hello(Struct, frozen=True):
    """What a member says first, once it listens."""

    pid: int
    node: str
    address: str
    metrics: str


class Counts(Struct, frozen=True):
    """How a member is doing. `published` stands in the order of its topics, `delivered` by publisher."""

    published: tuple[int, ...]
    delivered: dict[str, int]
    # Neighbours that a publication was not queued for.
    refused: int
    links: int
    frames: int
    bytes: int
    rss_bytes: int
    cpu_seconds: float
    # What was dropped, refused or went wrong.
    reasons: dict[str, int]


class Order(Struct, frozen=True):
    """One line to a member: start, counts, peers, publish, quiet or stop."""

    do: str
    task: Task | None = None


def topic_name(topic: int) -> str:
    """A topic's name on the network."""
    return f"topic/{topic}"


def log_path(folder: Path, index: int) -> Path:
    """Where a member logs."""
    return folder / f"member-{index:04d}.messages"


class Member:
    """One node and its traffic."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._log: BinaryIO = log_path(Path(task.folder), task.index).open("wb", buffering=0)
        self._entries = bytearray()
        self._published = [0] * len(task.topics)
        self._delivered: Counter[str] = Counter()
        self._refused = 0
        self._names = [topic_name(topic) for topic in task.topics]
        record = Path(task.folder) / f"member-{task.index:04d}.record" if task.record else None
        self._node = Node(
            join=task.seeds,
            system=task.system,
            settings=task.settings,
            dissemination=task.dissemination,
            dissemination_settings=task.dissemination_settings,
            record=record,
        )
        self._traffic: asyncio.Task[None] | None = None

    async def start(self, open_things: AsyncExitStack) -> Hello:
        """Join, follow, serve the status."""
        await open_things.enter_async_context(self._node)
        for topic, name in zip(self._task.topics, self._names, strict=True):
            subscription = await open_things.enter_async_context(self._node.subscribe(name))
            self._begin(open_things, self._read(topic, subscription))
        self._begin(open_things, self._write_log())
        server = await serve_status(self._node, "127.0.0.1:0")
        open_things.push_async_callback(server.close)
        return Hello(os.getpid(), self._node.hex_id, self._node.address, server.address)

    def counts(self) -> Counts:
        """See `Counts`."""
        status = self._node.status()
        links = status.links
        return Counts(
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
        """Begin with the traffic."""
        self._traffic = asyncio.ensure_future(self._publish())

    async def quiet(self) -> None:
        """End the traffic."""
        if self._traffic is not None:
            self._traffic.cancel()
            await asyncio.gather(self._traffic, return_exceptions=True)
            self._traffic = None

    def close(self) -> None:
        """Write the rest of the log."""
        self._flush()
        self._log.close()

    def _begin(self, open_things: AsyncExitStack, work: Any) -> None:
        task = asyncio.ensure_future(work)
        open_things.callback(task.cancel)

    async def _read(self, topic: int, subscription: Subscription) -> None:
        pack, entries = ENTRY.pack, self._entries
        async for message in subscription:
            self._delivered[message.publisher] += 1
            number = int.from_bytes(message.payload[:NUMBER_BYTES], "big")
            entries += pack(DELIVERED, topic, int(message.publisher, 16), number, time.monotonic_ns())

    async def _publish(self) -> None:
        task = self._task
        rate = sum(task.rates)
        if not rate:
            return
        rates = list(accumulate(task.rates))
        filling = bytes(task.payload_bytes - NUMBER_BYTES)
        me = self._node.id
        # Members begin at different moments of a tick, so that a thousand messages a second are not fifty bursts of twenty.
        await asyncio.sleep(unit(draw(task.seed, task.index, Purpose.PUBLISH_TIME, 0)) * TICK_SECONDS)
        began, number = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began) * rate)
            while number < due:
                number += 1
                share = unit(draw(task.seed, task.index, Purpose.PUBLISH_TOPIC, number)) * rate
                place = min(bisect(rates, share), len(rates) - 1)
                self._published[place] += 1
                self._entries += ENTRY.pack(PUBLISHED, task.topics[place], me, number, time.monotonic_ns())
                payload = number.to_bytes(NUMBER_BYTES, "big") + filling
                receipt = await self._node.publish(self._names[place], payload)
                self._refused += len(receipt.refused)
            await asyncio.sleep(TICK_SECONDS)

    async def _write_log(self) -> None:
        while True:
            await asyncio.sleep(LOG_SECONDS)
            self._flush()

    def _flush(self) -> None:
        if self._entries:
            self._log.write(self._entries)
            self._entries.clear()


async def _live(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_BYTES_MAX)
    orders = msgspec.json.Decoder(Order)
    encode = msgspec.json.encode
    line = await reader.readline()
    if not line:
        return
    task = orders.decode(line).task
    assert task is not None
    member = Member(task)
    async with AsyncExitStack() as open_things:
        open_things.callback(member.close)
        answer: Any = await member.start(open_things)
        while True:
            writer.write(encode(answer) + b"\n")
            line = await reader.readline()
            if not line:
                break
            what = orders.decode(line).do
            answer = None
            if what == "counts":
                answer = member.counts()
            elif what == "peers":
                answer = member.peers()
            elif what == "publish":
                member.publish()
            elif what == "quiet":
                await member.quiet()
            elif what == "stop":
                break
        await member.quiet()
    writer.close()


def _rss_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main(sockets: list[int]) -> None:
    """Fork a node for each socket, and wait for them all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is shared stays shared: the collector does not write to objects of before the forks.
    gc.freeze()
    for mine in sockets:
        if os.fork() == 0:
            for other in sockets:
                if other != mine:
                    os.close(other)
            log_to(sys.stderr, "text")
            asyncio.run(_live(socket.socket(fileno=mine)))
            sys.stderr.flush()
            os._exit(0)
    for each in sockets:
        os.close(each)
    for _ in sockets:
        os.wait()


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
