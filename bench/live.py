"""Live messaging, side by side in one run: ours, a bare asyncio floor, pyzmq, zenoh, libp2p.

Rivals come from the extra `rivals` (`make bench-live` installs it); one that is not installed is left out and named.
"""

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

from bench.report import show

MODULES = {"gossamer": "gossamer", "asyncio": "asyncio", "pyzmq": "zmq", "zenoh": "zenoh", "libp2p": "libp2p"}
# Messages for each measurement, by how fast a contender is known to be.
COUNTS = {1: 200_000, 10: 40_000}
SLOW_COUNTS = {1: 2_000, 10: 300}
RATE = 100
PACED = 500


def run() -> None:
    """Rates, latencies, and what a message costs on a shared link."""
    present = [name for name, module in MODULES.items() if find_spec(module)]
    absent = [name for name in MODULES if name not in present]
    note = f"Not installed here, and left out: {', '.join(absent)} (make bench-live)." if absent else ""
    _throughput(present, note)
    _latency(present)
    _start()


def _throughput(names: list[str], note: str) -> None:
    rows = []
    for subscribers in (1, 10):
        for size in (100, 1024):
            for name in names:
                counts = SLOW_COUNTS if name == "libp2p" else COUNTS
                results = _measure(name, subscribers, size, counts[subscribers], 0)
                rows.append([f"1 to {subscribers}", f"{size:,}", name, *_rates(results, counts[subscribers])])
    show(
        "Lossless rate: messages a second at each subscriber, as fast as they go, on this machine's loopback",
        ["publisher to subscribers", "bytes", "what", "messages/s", "missing", "out of order", "CPU us/message, all"],
        rows,
        f"Wanted of gossamer at 100 bytes: 100,000 (1 to 1) and 20,000 (1 to 10). {note}",
    )


def _latency(names: list[str]) -> None:
    rows = []
    for name in names:
        results = _measure(name, 1, 100, PACED, RATE)
        found = results["subscribers"][0]
        rows.append([name, f"{found['p50_ms']:.3f}", f"{found['p99_ms']:.3f}", f"{found['rss_mb']:.0f}"])
    show(
        f"Latency at {RATE} messages a second, 1 to 1, 100 bytes; memory of the subscriber's process",
        ["what", "p50 ms", "p99 ms", "MB"],
        rows,
        "Wanted of gossamer: p50 under 0.5 ms, p99 under 3 ms, under 45 MB.",
    )


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


def _rates(results: dict[str, Any], count: int) -> list[str]:
    found = results["subscribers"]
    slowest = max(each["seconds"] for each in found)
    cpu = results["publisher"]["cpu_seconds"] + sum(each["cpu_seconds"] for each in found)
    return [
        f"{(count - 1) / slowest:,.0f}",
        f"{sum(each['missing'] for each in found):,}",
        f"{sum(each['disordered'] for each in found):,}",
        f"{cpu / count * 1e6:,.1f}",
    ]


def _measure(name: str, subscribers: int, size: int, count: int, rate: int) -> dict[str, Any]:
    """One publisher, some subscribers, each a process."""
    settings = {"size": size, "count": count, "rate": rate, "subscribers": subscribers}
    publisher = _start_one(name, "publisher", settings)
    processes = [publisher]
    try:
        address = _read(publisher)["address"]
        others = [_start_one(name, "subscriber", {**settings, "address": address}) for _ in range(subscribers)]
        processes += others
        for other in others:
            _read(other)
        time.sleep(1.0)
        _go(publisher)
        sent = _read(publisher)
        received = [_read(other) for other in others]
        for process in processes:
            _go(process)
        return {"publisher": sent, "subscribers": received}
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _start_one(name: str, role: str, settings: dict[str, Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.contenders", name, role, json.dumps(settings)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    while line := process.stdout.readline():
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            return answer
    sys.exit("a process of the benchmark has ended early; see above")


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
    except BrokenPipeError:
        return
