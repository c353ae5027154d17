"""Live messaging compared: Gossamer, plain asyncio as a lower bound on cost, pyzmq, zenoh and libp2p.

The extra `rivals` has the other libraries (`make bench-live` installs it); the output names libraries that are not
installed.
"""

import asyncio
import json
import subprocess
import sys
import threading
import time
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any

from bench.report import show
from gossamer import Node

MODULES = {"gossamer": "gossamer", "asyncio": "asyncio", "pyzmq": "zmq", "zenoh": "zenoh", "libp2p": "libp2p"}
# The number of messages of each measurement, chosen by the known speed of each library.
COUNTS = {1: 200_000, 10: 100_000}
SLOW_COUNTS = {1: 2_000, 10: 300}
RATE = 100
PACED = 500
# The wait before the first message, in which the overlay is built and checked for disconnected topics.
SETTLE_SECONDS = {"gossamer": 10.0}
# A measurement that takes longer counts as not finished.
LIMIT_SECONDS = 120.0
SHARED = (1, 40)
SHARED_COUNT = 4_000
SHARED_RATE = 1_000


def run() -> None:
    """Measure rates, latencies, and the bytes of a message on a shared link."""
    present = [name for name, module in MODULES.items() if find_spec(module)]
    absent = [name for name in MODULES if name not in present]
    note = f"Not installed: {', '.join(absent)} (make bench-live installs them)." if absent else ""
    _throughput(present, note)
    _latency(present)
    _shared_link()
    _start()


def _throughput(names: list[str], note: str) -> None:
    rows = []
    for subscribers in (1, 10):
        for size in (100, 1024):
            for name in names:
                counts = SLOW_COUNTS if name == "libp2p" else COUNTS
                results = measure(name, subscribers, size, counts[subscribers], 0)
                rows.append([str(subscribers), f"{size:,}", name, *rates(results, counts[subscribers])])
    show(
        "Lossless rate: messages a second at each subscriber, unthrottled, loopback, one repetition",
        ["1 to", "bytes", "what", "messages/s", "missing", "twice", "out of order", "CPU us/message, all"],
        rows,
        f"Wanted of gossamer at 100 bytes: 100,000 (1 to 1) and 20,000 (1 to 10). {note}",
    )


def _latency(names: list[str]) -> None:
    rows = []
    for name in names:
        results = measure(name, 1, 100, PACED, RATE)
        if results is None:
            rows.append([name, "did not finish", "", "", ""])
            continue
        found = results["subscribers"][0]
        figures = [f"{found['p50_ms']:.3f}", f"{found['p99_ms']:.3f}", f"{found['rss_mb']:.0f}"]
        rows.append([name, *figures, f"{found['missing']:,}"])
    show(
        f"Latency at {RATE} messages a second, 1 to 1, 100 bytes; memory of the subscriber's process",
        ["what", "p50 ms", "p99 ms", "MB", "missing"],
        rows,
        "Wanted of gossamer: p50 under 0.5 ms, p99 under 3 ms, under 45 MB.",
    )


def _shared_link() -> None:
    """Measure bytes on a shared link. Both nodes run in this process, which does not change the bytes."""
    found = {topics: asyncio.run(_cost(topics)) for topics in SHARED}
    one, many = found[SHARED[0]][1], found[SHARED[-1]][1]
    show(
        f"Bytes on the wire (both directions, all frames) if topics share a link, 100-byte payloads, {SHARED_RATE:,}/s",
        ["topics", "links", "bytes until ready", "bytes/message"],
        [[str(topics), str(links), f"{before:,}", f"{each:.1f}"] for topics, (links, before, each) in found.items()],
        f"{SHARED[-1]} links of one topic each would be {SHARED[-1]} handshakes and {SHARED[-1] * one:,} bytes until "
        f"ready, not 1 and {many:,}; with TLS, {SHARED[-1]} TLS handshakes more.",
    )


async def _cost(topics: int) -> tuple[int, int, float]:
    """The subscriber's links, the bytes until all topics are ready, and the bytes of each message after that."""
    names = [f"bench/{number}" for number in range(topics)]
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(Node())
        other = await stack.enter_async_context(Node(join=[one.address]))
        for name in names:
            await stack.enter_async_context(one.publisher(name))
            await stack.enter_async_context(other.subscribe(name, queue=SHARED_COUNT))
        for name in names:
            await one.ready(name)
            await other.ready(name)
        before = _bytes_in(one, other)
        began = time.perf_counter()
        for number in range(SHARED_COUNT):
            await asyncio.sleep(max(0.0, began + number / SHARED_RATE - time.perf_counter()))
            await one.publish(names[number % topics], b"." * 100)
        async with asyncio.timeout(LIMIT_SECONDS):
            while other.status().delivered < SHARED_COUNT:
                await asyncio.sleep(0.01)
        links = sum(link.kept for link in other.status().links)
        return links, before, (_bytes_in(one, other) - before) / SHARED_COUNT


def _bytes_in(*nodes: Node) -> int:
    return sum(link.bytes_in for node in nodes for link in node.status().links)


def _start() -> None:
    began = time.perf_counter()
    repeats = 10
    for _ in range(repeats):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    empty = (time.perf_counter() - began) / repeats
    began = time.perf_counter()
    for _ in range(repeats):
        subprocess.run([sys.executable, "-c", "import gossamer; gossamer.Node"], check=True)
    ours = (time.perf_counter() - began) / repeats
    show(
        "Import",
        ["python alone", "with gossamer.Node", "difference"],
        [[f"{empty:.3f} s", f"{ours:.3f} s", f"{ours - empty:.3f} s"]],
        "Wanted: under 0.25 s.",
    )


def rates(results: dict[str, Any] | None, count: int) -> list[str]:
    """The figures of a row; without a rate if messages are missing."""
    if results is None:
        return ["did not finish", "", "", "", ""]
    found = results["subscribers"]
    missing = sum(each["missing"] for each in found)
    slowest = max(each["seconds"] for each in found)
    cpu = results["publisher"]["cpu_seconds"] + sum(each["cpu_seconds"] for each in found)
    return [
        "did not finish" if missing else f"{(count - 1) / slowest:,.0f}",
        f"{missing:,}",
        f"{sum(each['twice'] for each in found):,}",
        f"{sum(each['disordered'] for each in found):,}",
        f"{cpu / count * 1e6:,.1f}",
    ]


def measure(name: str, subscribers: int, size: int, count: int, rate: int, **more: Any) -> dict[str, Any] | None:
    """Measure one publisher and some subscribers, each in its own process; None if they do not finish."""
    settings = {"size": size, "count": count, "rate": rate, "subscribers": subscribers, **more}
    publisher = _start_one(name, "publisher", settings)
    processes = [publisher]
    # If a process ends early, its output ends, and `_read` reports it as not finished.
    limit = threading.Timer(LIMIT_SECONDS, _kill, [processes])
    limit.start()
    try:
        address = _read(publisher)["address"]
        for number in range(subscribers):
            processes.append(_start_one(name, "subscriber", {**settings, "address": address, "number": number}))
        others = processes[1:]
        for other in others:
            _read(other)
        time.sleep(SETTLE_SECONDS.get(name, 1.0))
        _go(publisher)
        sent = _read(publisher)
        received = [_read(other) for other in others]
        for process in processes:
            _go(process)
        return {"publisher": sent, "subscribers": received}
    except EOFError:
        return None
    finally:
        limit.cancel()
        _kill(processes)
        for process in processes:
            process.wait()


def _kill(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()


def _start_one(name: str, role: str, settings: dict[str, Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.contenders", name, role, json.dumps(settings)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    while line := process.stdout.readline():
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            return answer
    raise EOFError


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
    except BrokenPipeError:
        return
