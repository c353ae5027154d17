"""What telemetry (one message in 256 traced) costs a live node: CPU time at 10,000 messages a second, and the rate at full speed, without and with it.

One publisher and one subscriber in this process, both with telemetry or both without it, in turns.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.report import show
from gossamer import Node

RATE, SECONDS = 10_000, 4
TICK_SECONDS = 0.01
MESSAGES = 100_000
TURNS = 5
PAYLOAD = bytes(100)


def run() -> None:
    """Measure and print."""
    found: dict[tuple[bool, str], list[float]] = {}
    for _ in range(TURNS):
        for writes in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                spool = Path(folder) if writes else None
                cpu, wall = asyncio.run(_measure(spool, RATE * SECONDS, RATE))
                found.setdefault((writes, "cpu"), []).append(cpu / (RATE * SECONDS) * 1e6)
                found.setdefault((writes, "cores"), []).append(cpu / wall)
                cpu, _ = asyncio.run(_measure(spool, MESSAGES, None))
                found.setdefault((writes, "full"), []).append(cpu / MESSAGES * 1e6)
    rows = [
        ["yes" if writes else "no", *(f"{median(found[writes, name]):.2f}" for name in ("cpu", "cores", "full"))]
        for writes in (False, True)
    ]
    columns = [
        "telemetry",
        f"us of CPU a message at {RATE:,}/s",
        "cores at that rate",
        "us of CPU a message at full speed",
    ]
    show(f"Telemetry, 1 to 1, {len(PAYLOAD)} bytes, median of {TURNS}", columns, rows)


async def _measure(spool: Path | None, count: int, rate: int | None) -> tuple[float, float]:
    """CPU seconds and seconds for so many messages, published and delivered."""
    async with (
        Node(telemetry=spool) as one,
        Node(join=[one.address], telemetry=spool) as other,
        other.subscribe("prices", slow="block") as messages,
        one.publisher("prices"),
    ):
        await one.ready("prices")
        reading = asyncio.ensure_future(_read(messages, count))
        cpu, began = time.process_time(), time.monotonic()
        for number in range(count):
            await one.publish("prices", PAYLOAD)
            if rate is not None and number % (due := int(rate * TICK_SECONDS)) == due - 1:
                await asyncio.sleep(max(began + (number + 1) / rate - time.monotonic(), 0))
        await reading
        return time.process_time() - cpu, time.monotonic() - began


async def _read(messages: object, count: int) -> None:
    for _ in range(count):
        await anext(messages)  # type: ignore[call-overload]
