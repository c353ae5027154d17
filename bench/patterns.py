"""Patterns against topics by name: deliveries, delays of first messages, links and traffic of a network in virtual time.

Topics appear one after another while the nodes run. Each belongs to one of the families; every pattern matches one family in
its own way. The node that publishes on a topic sends its first message when the topic appears, then one message every few
seconds. In the other run the same nodes follow the same topics by name, and know all names from the start.
"""

import asyncio
import itertools
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

import gossamer.testing
from bench.report import show
from gossamer import Node, Pattern
from gossamer.live.api.patterns import LivePatterns
from gossamer.live.transport.links import Link
from gossamer.live.transport.sockets import Sockets

PAYLOAD_BYTES = 100
EVERY_SECONDS = 2.0
SETTLE_SECONDS = 10.0
DRAIN_SECONDS = 5.0
SEED = 1
# The length of a frame, the head of its list, and the tag of a message of patterns.
FRAME_BYTES = 5
# Each matches all topics of one family.
SHAPES: tuple[Callable[[int], str], ...] = (
    lambda family: f"f{family}/*",
    lambda family: f"f{family}/**",
    lambda family: f"f{family}/item*",
    lambda family: f"**/f{family}/*",
)


@dataclass(frozen=True)
class Load:
    """The size of a run."""

    nodes: int = 50
    topics: int = 1_000
    patterns: int = 40
    topics_per_second: float = 50.0

    @property
    def families(self) -> int:
        """As many families as it takes for every pattern to be another text."""
        return -(-self.patterns // len(SHAPES))

    def pattern(self, number: int) -> Pattern:
        """The pattern of this number, which node `number` follows."""
        return Pattern(SHAPES[number // self.families](number % self.families))

    def topic(self, number: int) -> str:
        """The name of a topic."""
        return f"f{number % self.families}/item{number}"


@dataclass
class Figures:
    """What a run measured."""

    expected: int = 0
    delivered: int = 0
    twice: int = 0
    # Seconds from the call of `publish` to each delivery: of the first messages of topics, and of all others.
    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    links: float = 0.0
    sent_bytes: int = 0
    pattern_bytes: int = 0

    @property
    def missing(self) -> int:
        """Deliveries that did not happen."""
        return self.expected - self.delivered + self.twice


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the bytes that links carry, and those of patterns and names among them."""
    counts: Counter[str] = Counter()
    lose, send = Sockets.on_lost, LivePatterns._send

    def on_lost(sockets: Sockets, link: Link) -> None:
        counts["sent"] += link.sent_bytes
        lose(sockets, link)

    def send_counted(patterns: LivePatterns, node: int, message: Any, address: bytes = b"") -> str | None:
        counts["patterns"] += FRAME_BYTES + len(msgspec.msgpack.encode(message))
        return send(patterns, node, message, address)

    Sockets.on_lost, LivePatterns._send = on_lost, send_counted  # type: ignore[method-assign,assignment]
    try:
        yield counts
    finally:
        Sockets.on_lost, LivePatterns._send = lose, send  # type: ignore[method-assign]


@asynccontextmanager
async def started(load: Load, make: Callable[..., Node]) -> AsyncIterator[list[Node]]:
    """All nodes, joined through the first three."""
    async with AsyncExitStack() as stack:
        nodes: list[Node] = []
        for _ in range(load.nodes):
            nodes.append(await stack.enter_async_context(make(join=[node.address for node in nodes[:3]])))
            await asyncio.sleep(0.05)
        yield nodes


async def traffic(load: Load, nodes: list[Node], by_name: bool, now: Callable[[], float]) -> Figures:
    """Run the load; the nodes have started."""
    figures, counts = Figures(), Counter[tuple[int, str, bytes]]()
    sent_at: dict[tuple[str, bytes], float] = {}
    with counted() as sizes:
        async with AsyncExitStack() as stack:
            readers = []
            for place in range(load.patterns):
                pattern, node = load.pattern(place), nodes[place % load.nodes]
                names = [name for number in range(load.topics) if pattern.matches(name := load.topic(number))]
                for followed in names if by_name else [pattern]:
                    messages = await stack.enter_async_context(node.subscribe(followed))
                    readers.append(asyncio.create_task(_read(place, messages, counts, sent_at, figures, now)))
            await asyncio.sleep(SETTLE_SECONDS)
            sizes.clear()
            before = _open_bytes(nodes)
            publishers = []
            for number in range(load.topics):
                publishers.append(asyncio.create_task(_publish(load, nodes, number, sent_at, now)))
                await asyncio.sleep(1 / load.topics_per_second)
            await asyncio.sleep(EVERY_SECONDS)
            for task in publishers:
                task.cancel()
            await asyncio.sleep(DRAIN_SECONDS)
            figures.links = sum(link.kept for node in nodes for link in node.status().links) / len(nodes)
            figures.sent_bytes = sizes["sent"] + _open_bytes(nodes) - before
            figures.pattern_bytes = sizes["patterns"]
            for task in readers:
                task.cancel()
    takers = {
        load.topic(number): sum(load.pattern(place).matches(load.topic(number)) for place in range(load.patterns))
        for number in range(load.families)
    }
    by_family = {name.split("/")[0]: count for name, count in takers.items()}
    own = Counter(
        (load.topic(number))
        for number in range(load.topics)
        for place in range(load.patterns)
        if place % load.nodes == number % load.nodes and load.pattern(place).matches(load.topic(number))
    )
    # A node does not hear its own messages.
    figures.expected = sum(by_family[topic.split("/")[0]] - own[topic] for topic, _ in sent_at)
    figures.delivered, figures.twice = sum(counts.values()), sum(count - 1 for count in counts.values())
    return figures


async def _publish(load: Load, nodes: list[Node], number: int, sent_at: dict[Any, float], now: Any) -> None:
    node, topic = nodes[number % load.nodes], load.topic(number)
    for count in itertools.count():
        payload = b"%d" % count + bytes(PAYLOAD_BYTES - len(b"%d" % count))
        sent_at[topic, payload] = now()
        await node.publish(topic, payload)
        await asyncio.sleep(EVERY_SECONDS)


async def _read(place: int, messages: Any, counts: Any, sent_at: Any, figures: Figures, now: Any) -> None:
    async for message in messages:
        counts[place, message.topic, message.payload] += 1
        seconds = now() - sent_at[message.topic, message.payload]
        (figures.first if message.payload.startswith(b"0\0") else figures.later).append(seconds)


def _open_bytes(nodes: list[Node]) -> int:
    return sum(link.bytes_out for node in nodes for link in node.status().links)


def measure(load: Load, by_name: bool = False, seed: int = SEED) -> Figures:
    """One run in virtual time."""

    async def scenario(network: gossamer.testing.VirtualNetwork) -> Figures:
        async with started(load, network.node) as nodes:
            return await traffic(load, nodes, by_name, lambda: network.now_seconds)

    return gossamer.testing.run(scenario, seed)


async def _live(load: Load) -> Figures:
    async with started(load, Node) as nodes:
        return await traffic(load, nodes, False, time.monotonic)


def measure_live(load: Load) -> Figures:
    """One run on sockets, with all nodes in one process."""
    return asyncio.run(_live(load))


def _row(name: str, figures: Figures) -> list[str]:
    first, later = sorted(figures.first), sorted(figures.later)
    return [
        name,
        f"{figures.expected:,}",
        f"{figures.missing:,}",
        f"{figures.twice:,}",
        f"{1000 * first[len(first) // 2]:.0f} / {1000 * first[-1]:.0f}",
        f"{1000 * later[len(later) // 2]:.0f} / {1000 * later[-1]:.0f}",
        f"{figures.links:.1f}",
        f"{figures.sent_bytes / 1e6:.1f}",
        f"{figures.pattern_bytes / figures.sent_bytes:.2%}",
    ]


def run() -> None:
    """Measure and print."""
    load = Load()
    rows = []
    for name, by_name in (("patterns", False), ("topics by name", True)):
        rows.append(_row(name, measure(load, by_name)))
        print(f"{name}: done", file=sys.stderr)
    show(
        f"{load.nodes} nodes, {load.topics:,} new topics, {load.patterns} patterns, in virtual time",
        [
            "followed by",
            "deliveries",
            "missing",
            "twice",
            "first message, ms (median / most)",
            "others, ms",
            "links",
            "MB sent",
            "names",
        ],
        rows,
        "Latency of a link: 1 to 5 ms. The last column is the share of all bytes that tables of patterns and names take.",
    )
