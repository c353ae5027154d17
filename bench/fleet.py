"""Fleets of processes compared: Gossamer, zenoh peers, a pyzmq mesh and libp2p's gossipsub, with the same traffic.

    python -m bench fleet --nodes 50 --rate 300 --contenders gossamer,zenoh --busy

Every process follows some of the topics and publishes on them; every delivery is counted by the id of its message.
Start-up ends when one probe on each topic has reached all of the topic's followers. The figures of the steady state belong
to the time after a warm-up: CPU is user and system time of all processes from `/proc`, bytes are those that loopback carried
(with headers and acknowledgements) in the fleet's own network namespace, latency is from the call of publish to the delivery.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.fleet_contenders import MODULES
from bench.fleet_counters import Mark, connection_counts, mark, memory_bytes
from bench.report import show
from gossamer.live.fleet.count import MessageCount, count_messages
from gossamer.workloads.interests import make_interests

NODES = (10, 50, 100)
RATES = (100, 300, 1_000)
PAYLOAD_BYTES = 100
POPULARITY = "rss"
SEED = 1
# All other members join through the first three, one after another.
FIRST_MEMBERS = 3
START_SECONDS = 60.0
PROBE_SECONDS = 0.5
WARM_UP_SECONDS = 10.0
STEADY_SECONDS = 20.0
# Traffic goes on a little after the measured time, which may begin late on a busy machine.
SPARE_SECONDS = 2.0
# After the last message: the longest wait, and the wait without any delivery.
DRAIN_SECONDS, QUIET_SECONDS = 30.0, 5.0
ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class Result:
    """One fleet's figures: of its start, of its steady state, and the counts of all its messages."""

    start_seconds: float
    start_cpu_seconds: float
    connections: list[int]
    # Resident and proportional memory of each process, in bytes.
    memory: list[tuple[int, int]]
    before: Mark
    after: Mark
    seconds: float
    count: MessageCount


class NotFinished(Exception):
    """A fleet did not start, or a process ended or stopped answering."""


class Member:
    """The benchmark's end of one process's socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(ANSWER_SECONDS)
        self._lines = connection.makefile("rwb")
        self.pid = 0
        self.address = ""

    def send(self, command: dict[str, Any]) -> None:
        """Send a command or the settings."""
        try:
            self._lines.write(json.dumps(command).encode() + b"\n")
            self._lines.flush()
        except OSError:
            raise NotFinished("a process ended") from None

    def read(self) -> dict[str, Any]:
        """Wait for an answer."""
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise NotFinished(f"a process did not answer within {ANSWER_SECONDS:g} s") from None
        except OSError:
            line = b""
        if not line:
            raise NotFinished("a process ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def started(self) -> None:
        """Wait until the process listens."""
        hello = self.read()
        self.pid, self.address = hello["pid"], hello["address"]


def run(flags: Sequence[str] = ()) -> None:
    """Measure the fleets that the flags choose; without flags, all of them on a machine without busy loops."""
    chosen = _read(flags)
    absent = [name for name in chosen.contenders if not find_spec(MODULES[name])]
    if absent:
        print(f"Not installed: {', '.join(absent)} (make bench-fleet installs them).")
    for nodes in chosen.nodes:
        for rate in chosen.rate:
            rows = []
            for name in chosen.contenders:
                if name not in absent:
                    with busy_loops(chosen.busy):
                        rows.append([name, *_figures(name, nodes, rate, chosen.seconds)])
            _show(nodes, rate, chosen.busy, rows)


def _read(flags: Sequence[str]) -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    def names(text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in MODULES]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no contender {unknown[0]!r}; there are: {', '.join(MODULES)}")
        return text.split(",")

    parser = argparse.ArgumentParser("python -m bench fleet")
    parser.add_argument("--nodes", type=numbers, default=list(NODES), help="numbers of processes, such as 10,50")
    parser.add_argument("--rate", type=numbers, default=list(RATES), help="messages a second of the whole fleet")
    parser.add_argument("--contenders", type=names, default=list(MODULES), help="such as gossamer,zenoh")
    parser.add_argument("--seconds", type=float, default=STEADY_SECONDS, help="the time that is measured")
    parser.add_argument(
        "--busy", type=int, nargs="?", const=os.cpu_count(), default=0, help="busy loops (default: one for each core)"
    )
    return parser.parse_args(flags)


def _figures(name: str, nodes: int, rate: int, seconds: float) -> list[str]:
    try:
        found = measure(name, nodes, rate, seconds)
    except NotFinished as error:
        return [f"not finished: {error}"]
    steady = found.count.phases[2]
    delivered = steady.expected - steady.missing
    cpu = found.after.cpu_seconds - found.before.cpu_seconds
    others = found.after.machine_seconds - found.before.machine_seconds - cpu
    size = found.after.loopback_bytes - found.before.loopback_bytes
    resident, proportional = (sum(each) / nodes / 1e6 for each in zip(*found.memory, strict=True))
    return [
        f"{found.start_seconds:.1f}",
        f"{found.start_cpu_seconds:.1f}",
        f"{sum(found.connections) / nodes:.1f}",
        f"{cpu / max(delivered, 1) * 1e6:,.0f}",
        f"{size / max(delivered, 1):,.0f}",
        f"{resident:.0f} ({proportional:.0f})",
        f"{steady.latency_ms_p50:.1f}",
        f"{steady.latency_ms_p99:.1f}",
        f"{steady.latency_ms_max:,.0f}",
        f"{steady.missing:,} of {steady.expected:,}",
        f"{found.count.twice:,}",
        f"{steady.published / found.seconds:,.0f}",
        f"{others / found.seconds / (os.cpu_count() or 1):.0%}",
    ]


def _show(nodes: int, rate: int, busy: int, rows: list[list[str]]) -> None:
    topics, followed = workload(nodes)
    where = f", {busy} busy loops beside them" if busy else ""
    shared = "" if own_network() else " Bytes are those of the whole machine's loopback: unshare is not allowed here."
    show(
        f"{nodes} processes, {followed} of {topics} topics each, {rate:,} messages/s of {PAYLOAD_BYTES} bytes{where}",
        [
            "what",
            "start s",
            "CPU s",
            "links",
            "CPU us",
            "bytes",
            "MB",
            "p50 ms",
            "p99",
            "longest",
            "missing",
            "twice",
            "sent/s",
            "others",
        ],
        rows,
        "Start: seconds and CPU-seconds of all processes. CPU us and bytes are for each delivery, links are TCP connections of a process, MB resident (proportional) memory of "
        f"a process; others: the share of the machine's CPU that other processes used.{shared}",
    )


def workload(nodes: int) -> tuple[int, int]:
    """The number of topics, and how many of them each process follows.

    A small fleet has fewer topics, so that a topic still has several followers (five on average for ten processes).
    """
    return (40, 20) if nodes <= 10 else (200, 40)


def share_rate(interests: Sequence[Sequence[int]], rate: float) -> list[list[float]]:
    """Each member's rate on each of its topics. Topics share the rate equally, and so do the followers of each topic.

    A topic with one follower gets no messages.
    """
    followers = find_followers(interests)
    return [
        [rate / len(followers) / len(followers[topic]) if topic in followers else 0.0 for topic in held]
        for held in interests
    ]


def find_followers(interests: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """The members that follow each topic, for topics with several."""
    followers: dict[int, list[int]] = {}
    for member, held in enumerate(interests):
        for topic in held:
            followers.setdefault(topic, []).append(member)
    return {topic: members for topic, members in followers.items() if len(members) > 1}


def measure(name: str, nodes: int, rate: int, seconds: float) -> Result:
    """Run one fleet: start, warm-up, steady state, and a wait for the last deliveries."""
    topics, followed = workload(nodes)
    made = make_interests(nodes, topics, str(followed), POPULARITY, SEED)
    interests = [made.topics_of(node).tolist() for node in range(nodes)]
    with tempfile.TemporaryDirectory(prefix="gossamer-fleet-") as folder, _processes(name, nodes, folder) as members:
        began = time.monotonic()
        _start(members, interests, share_rate(interests, rate), folder)
        _probe(members, find_followers(interests), began)
        pids = [member.pid for member in members]
        ready, started = time.monotonic(), mark(pids)
        phases = [("start", 0), ("warm-up", time.monotonic_ns())]
        for member in members:
            member.send({"do": "publish", "seconds": WARM_UP_SECONDS + seconds + SPARE_SECONDS})
        time.sleep(WARM_UP_SECONDS)
        phases.append(("steady", time.monotonic_ns()))
        before = mark(pids)
        time.sleep(seconds)
        phases.append(("after", time.monotonic_ns()))
        after = mark(pids)
        for member in members:
            member.read()
        connections, memory = connection_counts(pids), [memory_bytes(pid) for pid in pids]
        _drain(members)
        ask_all(members, {"do": "end"})
        lasted = (phases[3][1] - phases[2][1]) / 1e9
        count = count_messages(Path(folder), interests, {index: index for index in range(nodes)}, (), phases)
    return Result(ready - began, started.cpu_seconds, connections, memory, before, after, lasted, count)


def _start(members: Sequence[Member], interests: list[list[int]], rates: list[list[float]], folder: str) -> None:
    addresses: list[str] = []
    for index, member in enumerate(members):
        settings = {"index": index, "topics": interests[index], "rates": rates[index], "join": list(addresses)}
        member.send({**settings, "folder": folder, "seed": SEED, "payload_bytes": PAYLOAD_BYTES})
        if index < FIRST_MEMBERS:
            member.started()
            addresses.append(member.address)
    for member in members[FIRST_MEMBERS:]:
        member.started()
    for member in members:
        member.send({"do": "connect", "addresses": [other.address for other in members if other is not member]})
    for member in members:
        member.read()


def _probe(members: Sequence[Member], followers: dict[int, list[int]], began: float) -> None:
    """Publish one message on each topic, twice a second, until one such round has reached all followers."""
    wanted = sum(len(found) - 1 for found in followers.values())
    number = 0
    while time.monotonic() - began < START_SECONDS:
        number += 1
        topics: dict[int, list[int]] = {}
        for topic, found in followers.items():
            topics.setdefault(found[number % len(found)], []).append(topic)
        for member, mine in topics.items():
            members[member].send({"do": "probe", "round": number, "topics": mine})
        for member in topics:
            members[member].read()
        time.sleep(PROBE_SECONDS)
        arrived = [answer["probes"] for answer in ask_all(members, {"do": "counts"})]
        for probe in range(1, number + 1):
            if sum(each.get(str(probe), 0) for each in arrived) == wanted:
                return
    raise NotFinished(f"no round of probes reached all followers within {START_SECONDS:g} s")


def _drain(members: Sequence[Member]) -> None:
    """Wait until no delivery has arrived for a while, or the time is up."""
    until = time.monotonic() + DRAIN_SECONDS
    latest, changed_at = -1, time.monotonic()
    while time.monotonic() < until and time.monotonic() - changed_at < QUIET_SECONDS:
        delivered = sum(answer["delivered"] for answer in ask_all(members, {"do": "counts"}))
        if delivered != latest:
            latest, changed_at = delivered, time.monotonic()
        time.sleep(0.5)


def ask_all(members: Sequence[Member], command: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a command to all members and wait for their answers."""
    for member in members:
        member.send(command)
    return [member.read() for member in members]


@contextmanager
def _processes(name: str, nodes: int, folder: str) -> Iterator[list[Member]]:
    """Fork the processes, in a session and, where that is allowed, a network namespace of their own.

    What they print goes to a file; its last line is shown if one of them ends.
    """
    pairs = [socket.socketpair() for _ in range(nodes)]
    numbers = [far.fileno() for _, far in pairs]
    command = [*own_network(), sys.executable, "-m", "bench.fleet_member", name, *map(str, numbers)]
    printed = Path(folder) / "printed.log"
    with printed.open("wb") as file:
        parent = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, pass_fds=numbers, start_new_session=True
        )
    for _, far in pairs:
        far.close()
    try:
        yield [Member(near) for near, _ in pairs]
    except NotFinished:
        print(*printed.read_text(errors="replace").splitlines()[-1:], file=sys.stderr)
        raise
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        for near, _ in pairs:
            near.close()


@cache
def own_network() -> tuple[str, ...]:
    """The command that starts a program in a new network namespace; empty where that is not possible."""
    command = ("unshare", "--map-root-user", "--net")
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    return command if allowed else ()


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Take the CPU with endless loops at normal priority.

    They run in one session and the fleet in another: a kernel that groups processes by session (sched_autogroup) shares
    the CPU equally between loops and fleet; another kernel shares it equally among all processes.
    """
    if not count:
        yield
        return
    loops = " & ".join(["while :; do :; done"] * count)
    shell = subprocess.Popen(["sh", "-c", f"{loops} & wait"], start_new_session=True)
    try:
        yield
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
