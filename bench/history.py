"""History on disk: the share of missed messages that a returning node gets, simulated and live, and what keeping costs."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import show
from gossamer import DiskHistory, Node
from gossamer.live.history.disk import HistoryDisk
from gossamer.protocols.contract.actions import Action, Deliver, Load
from gossamer.protocols.contract.events import Event, Publish
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.disks import SimulatedDisks
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import Network, read_latency
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

SECOND_US = 1_000_000
MIB = 2**20
PAYLOAD = bytes(100)
# Simulated: nodes on one topic, of which node 0 publishes; the others leave this long before they all return.
NODES, RATE, SEEDS = 16, 10, (1, 2, 3)
AWAY_SECONDS = {1: 60, 2: 300, 3: 900}
SIZES_MB = (0.25, 1, 4)
# As on a node with many busy topics. With its default of 8,192 messages a topic, memory hides the small disks.
MEMORY_MESSAGES = 64
SETTLE_SECONDS = 120
# Live: nodes of one process.
LIVE_NODES, LIVE_MESSAGES = 6, 50_000
LIVE_SIZES_MIB = (1, 4, 16)
# Ids and numbers as long as those of live nodes.
TOPIC, PUBLISHER, EPOCH_US = 2**63 + 7, 2**63 + 9, 1_700_000_000_000_000


def run() -> None:
    """Print all tables."""
    _show_simulated()
    _show_live()
    _show_cost()


class _Got:
    """Watches which messages of node 0 the other nodes deliver."""

    def __init__(self) -> None:
        self.names: dict[int, set[int]] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if type(action) is Deliver:
                self.names.setdefault(node, set()).add(action.sequence)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""


def _simulate(size_bytes: int, seed: int) -> dict[int, float]:
    """The share of the missed messages that each node gets after its return; without a disk if the size is 0."""
    system, got = find_system("spidercast"), _Got()
    disks = SimulatedDisks(size_bytes, 86_400 * SECOND_US) if size_bytes else None
    population = EventPopulation(
        system,
        read_parameters(system, {}),
        seed,
        make_interests(NODES, 1, "1", "zipf:0.5", seed),
        Network(read_latency("uniform:5-50ms", seed), 0.001),
        [got, *all_checkers("tree", True, recovers=True, has_disk=disks is not None)],
        dissemination="tree",
        recovery={"stores": disks is not None, "history": MEMORY_MESSAGES},
        disks=disks,
    )
    engine = population.engine
    population.start_together(range(NODES))
    engine.run(20 * SECOND_US)
    back_us = engine.now_us + (max(AWAY_SECONDS.values()) + 10) * SECOND_US
    for node, seconds in AWAY_SECONDS.items():
        engine.call_at(back_us - seconds * SECOND_US, lambda node=node: population.crash(node))  # type: ignore[misc]
        engine.call_at(back_us, lambda node=node: population.join(node))  # type: ignore[misc]
    sent: list[int] = []
    while engine.now_us < back_us + SETTLE_SECONDS * SECOND_US:
        if engine.now_us < back_us + SETTLE_SECONDS * SECOND_US // 2:
            sent.append(engine.now_us)
            engine.give(0, Publish(0, PAYLOAD))
        engine.run(engine.now_us + SECOND_US // RATE)
    numbers = sorted(set.union(*got.names.values()))
    at_us = dict(zip(numbers, sent, strict=True))
    shares = {}
    for node, seconds in AWAY_SECONDS.items():
        missed = {number for number in numbers if back_us - seconds * SECOND_US <= at_us[number] < back_us}
        shares[node] = len(missed & got.names[node]) / len(missed)
    return shares


def _show_simulated() -> None:
    rows = []
    for size_mb in (0, *SIZES_MB):
        found = [_simulate(int(size_mb * 10**6), seed) for seed in SEEDS]
        cells = []
        for node in AWAY_SECONDS:
            shares = [100 * each[node] for each in found]
            cells.append(f"{sum(shares) / len(shares):.1f}% ({min(shares):.1f} to {max(shares):.1f})")
        rows.append([f"{size_mb:g} MB" if size_mb else "none", *cells])
    show(
        f"Simulated: {NODES} nodes on one topic, {RATE} messages/s of {len(PAYLOAD)} bytes, 0.1% loss, {len(SEEDS)} seeds",
        ["history on each disk", *(f"away for {seconds} s" for seconds in AWAY_SECONDS.values())],
        rows,
        "The share of the messages published while the node was away that it delivers within 2 minutes of its return.",
    )


def _show_live() -> None:
    rows = []
    for size_mib in LIVE_SIZES_MIB:
        with tempfile.TemporaryDirectory() as folder:
            share, seconds, kept = asyncio.run(_live(Path(folder), size_mib * MIB))
        caught_up = share * LIVE_MESSAGES / seconds
        rows.append([f"{size_mib} MiB", f"{kept:,}", f"{100 * share:.1f}%", f"{seconds:.1f} s", f"{caught_up:,.0f}/s"])
    show(
        f"Live: {LIVE_NODES} nodes in one process, {LIVE_MESSAGES:,} messages of {len(PAYLOAD)} bytes while one is away",
        ["history on each disk", "messages on a disk", "share that it gets", "after its return", "rate"],
        rows,
    )


async def _live(folder: Path, size_bytes: int) -> tuple[float, float, int]:
    """The share that a returning node gets, the time until its last message, and the messages on a holder's disk."""

    def node(name: str, join: Sequence[str] = ()) -> Node:
        history = DiskHistory(folder / name, size_bytes)
        return Node(join=join, identity_file=folder / f"{name}.id", history=history)

    async with node("0") as first, first.publisher("t"):
        others = [node(str(number), [first.address]) for number in range(1, LIVE_NODES - 1)]
        readers = []
        for other in others:
            await other.start()
            readers.append(asyncio.create_task(_drain(other)))
        async with node("away", [first.address]) as away, away.subscribe("t") as messages:
            await away.ready("t", timeout=60)
            await first.publish("t", PAYLOAD)
            await anext(messages)
        for _ in range(LIVE_MESSAGES):
            await first.publish("t", PAYLOAD)
        await asyncio.sleep(2)
        share, seconds = await _catch_up(node("away", [first.address]))
        for each in readers:
            each.cancel()
        for other in others:
            await other.stop()
    disk = HistoryDisk(folder / "1" / "messages.sqlite", size_bytes, 10**15)
    kept = disk.count()
    disk.close()
    return share, seconds, kept


async def _drain(node: Node) -> None:
    async with node.subscribe("t", slow="block") as messages:
        async for _ in messages:
            pass


async def _catch_up(node: Node) -> tuple[float, float]:
    """Return, and read until nothing arrives for fifteen seconds."""
    began, last, count = time.monotonic(), 0.0, 0
    async with node, node.subscribe("t", slow="block") as messages:
        while True:
            try:
                async with asyncio.timeout(30 if not count else 15):
                    await anext(messages)
            except TimeoutError:
                return count / LIVE_MESSAGES, last - began if count else 0.0
            count, last = count + 1, time.monotonic()


def _show_cost() -> None:
    count, together = 100_000, 1_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "messages.sqlite"
        disk = HistoryDisk(path, 2**30, 10**15)
        kept = [
            (TOPIC, Data(TOPIC, PUBLISHER, number + 1, 1, number, PAYLOAD, number), number)
            for number in range(EPOCH_US, EPOCH_US + count)
        ]
        began = time.perf_counter()
        for first in range(0, count, together):
            disk.write(kept[first : first + together], 0)
        write_us = (time.perf_counter() - began) / count * 1e6
        row_bytes = disk.used_bytes / count - len(PAYLOAD)
        began = time.perf_counter()
        for after in range(EPOCH_US, EPOCH_US + count, 256):
            disk.read(Load(1, TOPIC, PUBLISHER, after, 2**60, 1, 256, 2**18), 0)
        read_us = (time.perf_counter() - began) / count * 1e6
        disk.close()
        size = os.path.getsize(path)
    rows = [
        ["write", f"{write_us:.2f} us"],
        ["read, in pages of 256", f"{read_us:.2f} us"],
        ["bytes on disk besides the payload", f"{row_bytes:.0f}"],
        ["size of the file", f"{size / MIB:.1f} MiB"],
    ]
    show(f"The disk of a live node: {count:,} messages of {len(PAYLOAD)} bytes", ["a message", "cost"], rows)
