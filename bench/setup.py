"""The cost of set-up: compiling every kernel with an empty cache, and generating a large workload."""

import os
import subprocess
import sys
import tempfile
import time
from functools import partial

from bench.report import seconds, show
from gossamer.workloads.interests import make_interests


def run() -> None:
    """Compile with an empty cache, and generate workloads of up to a million nodes with twenty subscriptions each."""
    with tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        subprocess.run([sys.executable, "-m", "gossamer.systems"], check=True, env=environment, capture_output=True)
        cold = time.perf_counter() - began
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "gossamer.systems"], check=True, env=environment, capture_output=True)
        warm = time.perf_counter() - began
    show(
        "Compiling all kernels",
        ["from cold", "from the cache", "wanted"],
        [[f"{cold:.1f} s", f"{warm:.1f} s", "under 60 s"]],
    )
    make_interests(10, 10, "2", "rss", 1)
    rows = []
    for node_count in (10_000, 100_000, 1_000_000):
        elapsed = seconds(partial(make_interests, node_count, 1_000, "20", "rss", 1), 2)
        rows.append([f"{node_count:,} x 20 of 1,000", f"{elapsed:.2f} s", f"{elapsed / node_count / 20 * 1e9:.0f} ns"])
    show("Generating a workload, popularity rss", ["nodes x subscriptions", "time", "a subscription"], rows)
