"""This checkout beside another one: the same work in both, alternated, so that a change of the machine's speed hits both.

    python -m bench.compare ../other-checkout

Each piece of work runs in a process of its own, ten times in each checkout. Printed are the medians of processor seconds (of
rates for live nodes), each with the interval between the second and the ninth of ten values, which holds the true median with
97.9% probability, and the ratio of the medians.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.report import show

RUNS = 10
HERE = Path(__file__).resolve().parents[1] / "src"

# Runs in both checkouts, so that it uses the command line only, which stays the same longest.
COMMAND = """
import json, resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "gossamer", *sys.argv[1:]], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps(used.ru_utime + used.ru_stime))
"""

# One publisher and some subscribers, each in a process of its own: messages a second at the slowest subscriber.
LIVE = """
import asyncio, json, subprocess, sys, time
import gossamer

COUNT, SIZE = 60_000, 100
# The keyword of earlier versions.
JOIN = "join" if "join" in gossamer.Node.__init__.__annotations__ else "seeds"

async def subscriber(address):
    async with gossamer.Node(**{JOIN: [address]}) as node, node.subscribe("t") as messages:
        got, began = 0, 0.0
        async for message in messages:
            began = began or time.monotonic()
            got += 1
            if got == COUNT:
                print(json.dumps(COUNT / (time.monotonic() - began)), flush=True)
                await asyncio.sleep(1)
                return

async def publisher(readers):
    async with gossamer.Node() as node, node.publisher("t") as publisher:
        children = [
            subprocess.Popen([sys.executable, "-c", sys.argv[2], "read", sys.argv[2], node.address], stdout=subprocess.PIPE)
            for _ in range(readers)
        ]
        await node.ready("t", peers=min(readers, 2), timeout=60)
        await asyncio.sleep(3)
        for _ in range(COUNT):
            await publisher.publish(b"x" * SIZE)
        rates = await asyncio.to_thread(lambda: [float(child.communicate(timeout=120)[0]) for child in children])
        print(json.dumps(min(rates)))

asyncio.run(subscriber(sys.argv[3]) if sys.argv[1] == "read" else publisher(int(sys.argv[1])))
"""

BUILD = ["--nodes", "20000", "--topics", "200", "--subscriptions", "10", "--popularity", "rss", "--seed", "1"]
SMALL = ["--nodes", "300", "--topics", "30", "--subscriptions", "5", "--popularity", "rss", "--seed", "1"]
WORK = {
    "kernel: build spidercast, 10,000 nodes": [
        "build",
        "spidercast",
        "{large}",
        "{out}",
        "--seed",
        "1",
        "--cycles",
        "40",
        "--bounds",
    ],
    "kernel: build stan, 10,000 nodes": [
        "build",
        "stan",
        "{large}",
        "{out}",
        "--seed",
        "1",
        "--cycles",
        "5",
        "--bounds",
    ],
    "event engine: flooding, 300 nodes, 60 s": [
        *("simulate", "spidercast", "{small}", "{out}", "--seed", "1", "--dissemination", "flood"),
        *("--events", "2000", "--latency", "uniform:5-50ms", "--until", "60s"),
    ],
}
RATES = {"live: 1 to 1, 100 bytes": 1, "live: 1 to 10, 100 bytes": 10}


Values = dict[str, list[float]]


def main() -> None:
    """Print a row for each piece of work."""
    parser = argparse.ArgumentParser(description="Compare this checkout with another one.")
    parser.add_argument("base", type=Path, help="the other checkout")
    parser.add_argument("--only", default="", help="only work whose name contains this")
    arguments = parser.parse_args()
    trees = {"base": arguments.base.resolve() / "src", "here": HERE}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in (("large", BUILD), ("small", SMALL)):
            _python(HERE, ["-m", "gossamer", "workload", "make", f"{folder}/{name}", *flags])
        for name, words in WORK.items():
            if arguments.only in name:
                rows.append(_row(name, "CPU s", _alternate(trees, partial(_seconds, words=words, folder=folder))))
        for name, readers in RATES.items():
            if arguments.only in name:
                rows.append(_row(name, "messages/s", _alternate(trees, partial(_rate, readers=readers))))
    show(f"Medians of {RUNS} alternated runs", ["work", "unit", "base", "here", "here / base"], rows)


def _alternate(trees: dict[str, Path], measure: Callable[[Path], float]) -> Values:
    found: Values = {name: [] for name in trees}
    for _ in range(RUNS):
        for name, tree in trees.items():
            found[name].append(measure(tree))
    return found


def _seconds(tree: Path, words: list[str], folder: str) -> float:
    with tempfile.TemporaryDirectory() as out:
        names = {"large": f"{folder}/large", "small": f"{folder}/small", "out": f"{out}/made"}
        return float(json.loads(_python(tree, ["-c", COMMAND, *(word.format(**names) for word in words)])))


def _rate(tree: Path, readers: int) -> float:
    return float(json.loads(_python(tree, ["-c", LIVE, str(readers), LIVE])))


def _python(tree: Path, words: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def _row(name: str, unit: str, found: Values) -> list[str]:
    middles = {tree: median(values) for tree, values in found.items()}
    shown = [f"{middles[tree]:,.4g} [{sorted(found[tree])[1]:,.4g}, {sorted(found[tree])[-2]:,.4g}]" for tree in found]
    return [name, unit, *shown, f"{middles['here'] / middles['base']:.3f}"]


if __name__ == "__main__":
    main()
