"""Starts the processes of a run and causes their faults at the times of the schedule."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.live.chaos import journal, schedule
from tests.live.chaos.journal import Journal

ROOT = Path(__file__).parents[3]
# The journal of the process that causes the faults.
FAULTS = "faults.journal"
# Below the ports that a system gives to outgoing connections: a node that returns must find its port free.
FIRST_PORT, LAST_PORT = 15_000, 30_000
# The run has settled when no journal grew for this time.
QUIET_SECONDS = 12.0
SETTLE_SECONDS_MAX = 120.0
# A member that needs longer to stop is killed, and the run has failed.
STOP_SECONDS = 30.0


class Fleet:
    """The processes of one run."""

    def __init__(self, folder: Path, seed: int, seconds: float) -> None:
        self._folder = folder
        self._seed, self._seconds = seed, seconds
        self._processes: dict[int, subprocess.Popen] = {}
        self._lives = [0] * schedule.NODES
        self._journal = Journal(folder / FAULTS)

    async def run(self) -> None:
        """Run the schedule, let the network settle, and stop all processes."""
        addresses = [f"127.0.0.1:{port}" for port in _free_ports(schedule.NODES, self._seed)]
        began = time.monotonic() + 1.0
        settings = {"seed": self._seed, "seconds": self._seconds, "began": began, "addresses": addresses}
        (self._folder / "run.json").write_text(json.dumps(settings))
        try:
            for index in range(schedule.NODES):
                self._start(index)
            faults = schedule.faults(self._seed, self._seconds)
            await asyncio.gather(*(self._cause(fault, began) for fault in faults))
            await asyncio.sleep(max(began + self._seconds - time.monotonic(), 0))
            await self._settled()
            await asyncio.gather(*(self._stop(index) for index in range(schedule.NODES)))
        finally:
            for process in self._processes.values():
                if process.poll() is None:
                    process.kill()
                process.wait()
            self._journal.close()

    async def _cause(self, fault: schedule.Fault, began: float) -> None:
        await asyncio.sleep(max(began + fault.at - time.monotonic(), 0))
        process, node = self._processes[fault.node], fault.node
        if process.poll() is not None:
            self._journal.write(journal.DIED, node, process.returncode)
        elif fault.kind == "pause":
            self._journal.write(journal.PAUSED, node)
            os.kill(process.pid, signal.SIGSTOP)
            await asyncio.sleep(fault.seconds)
            os.kill(process.pid, signal.SIGCONT)
            self._journal.write(journal.RESUMED, node)
            return
        elif fault.kind == "kill":
            process.kill()
            process.wait()
            self._journal.write(journal.KILLED, node)
        else:
            await self._stop(node)
            self._journal.write(journal.CLEANLY_STOPPED, node)
        await asyncio.sleep(fault.seconds)
        self._start(node)

    def _start(self, index: int) -> None:
        self._lives[index] += 1
        command = [sys.executable, "-m", "tests.live.chaos.member", self._folder, str(index), str(self._lives[index])]
        with (self._folder / f"{index:02d}.log").open("ab") as log:
            self._processes[index] = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=log)

    async def _stop(self, index: int) -> None:
        process = self._processes[index]
        process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        if process.poll() is None:
            process.kill()
            process.wait()
        # A process that has just started does not handle the signal yet.
        if process.returncode not in (0, -signal.SIGTERM):
            self._journal.write(journal.DIED, index, process.returncode)

    async def _settled(self) -> None:
        """Wait until no journal grows."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        size, since = self._size(), time.monotonic()
        while time.monotonic() < min(since + QUIET_SECONDS, deadline):
            await asyncio.sleep(0.25)
            if self._size() != size:
                size, since = self._size(), time.monotonic()

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._folder.glob("*.journal"))


def _free_ports(count: int, seed: int) -> list[int]:
    found: list[int] = []
    draws = schedule.Draws(seed, os.getpid(), "ports")
    while len(found) < count:
        port = int(draws.between(FIRST_PORT, LAST_PORT))
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
