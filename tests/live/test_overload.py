"""Overload is not failure: fifty processes with a tenth of the CPU that they need. Slow: takes minutes."""

import asyncio
import os
import signal
import time
from pathlib import Path

import msgspec
import pytest

from gossamer.live.fleet.count import count_messages, read_log
from gossamer.live.fleet.member import DELIVERED, PUBLISHED, MemberSettings, log_path
from gossamer.live.fleet.network import Fleet
from gossamer.protocols.contract.record import read_record
from gossamer.workloads.interests import make_interests

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NODES, TOPICS, FOLLOWED = 50, 100, "20"
# Messages a second of all nodes together: fifty processes then need about a third of a core.
RATE = 20.0
SHARE, STARVED_SECONDS, NORMAL_AFTER_SECONDS = 0.1, 30.0, 5.0
NS = 1_000_000_000


def cpu_seconds(pid):
    """The CPU time that a process has used; it has one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / NS


async def needed(pids, seconds=8.0):
    """The share of a core that each process uses while it has all the CPU that it needs."""
    before, began = {pid: cpu_seconds(pid) for pid in pids}, time.monotonic()
    await asyncio.sleep(seconds)
    return {pid: (cpu_seconds(pid) - before[pid]) / (time.monotonic() - began) for pid in pids}


async def starve(pids, need):
    """Give each process a tenth of the CPU that it needs: it is stopped while it has used more."""
    before, began, stopped = {pid: cpu_seconds(pid) for pid in pids}, time.monotonic(), set()
    try:
        while (passed := time.monotonic() - began) < STARVED_SECONDS:
            for pid in pids:
                is_over = cpu_seconds(pid) - before[pid] > SHARE * need[pid] * passed
                if is_over != (pid in stopped):
                    os.kill(pid, signal.SIGSTOP if is_over else signal.SIGCONT)
                    stopped ^= {pid}
            await asyncio.sleep(0.004)
        return sum(cpu_seconds(pid) - before[pid] for pid in pids)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def members(folder):
    interest = make_interests(NODES, TOPICS, FOLLOWED, "rss", 1)
    followed = [interest.topics_of(node).tolist() for node in range(NODES)]
    followers = {topic: len(interest.nodes_of(topic)) for topic in range(TOPICS)}
    shared = [topic for topic, count in followers.items() if count > 1]
    return [
        MemberSettings(
            index=index,
            topics=tuple(topics),
            rates=tuple(RATE / len(shared) / followers[topic] if topic in shared else 0.0 for topic in topics),
            join=(),
            folder=str(folder),
            seed=1,
            payload_bytes=100,
            system="spidercast",
            settings={},
            dissemination=None,
            dissemination_settings={},
            record=True,
        )
        for index, topics in enumerate(followed)
    ]


def facts(folder, name):
    """When nodes stated a fact, in seconds since 1970, from their records."""
    found = []
    for path in folder.glob("*.record"):
        with path.open("rb") as record:
            for step in read_record(record)[1]:
                for action in msgspec.msgpack.decode(step.actions):
                    if action[0] == "observe" and action[1][0] == name:
                        found.append(step.at_us / 1e6)
    return found


def deliveries(folder):
    """For every delivery: when its message was published, and when it was delivered (monotonic, nanoseconds)."""
    entries = [entry for index in range(NODES) for entry in read_log(log_path(folder, index))]
    published = {}
    for index in range(NODES):
        for kind, topic, node, number, at_ns in read_log(log_path(folder, index)):
            if kind == PUBLISHED:
                published[topic, node, number] = at_ns
    return [
        (published[topic, node, number], at_ns)
        for kind, topic, node, number, at_ns in entries
        if kind == DELIVERED and (topic, node, number) in published
    ]


async def run(folder):
    """Run the network; returns its members, and when it had too little CPU (monotonic, ns), and the share that it had."""
    settings = members(folder)
    async with Fleet(folder, settings, lambda text: None) as fleet:
        await fleet.start()
        assert await fleet.connected(60)
        # The overlay drops redundant links for some seconds after it is connected.
        await asyncio.sleep(10)
        await fleet.tell("publish")
        await asyncio.sleep(4)
        pids = [member.hello.pid for member in fleet.members]
        need = await needed(pids)
        began_ns = time.monotonic_ns()
        used = await starve(pids, need)
        relief_ns = time.monotonic_ns()
        await asyncio.sleep(2 * NORMAL_AFTER_SECONDS)
        await fleet.tell("quiet")
        ended_ns = time.monotonic_ns()
        await asyncio.sleep(NORMAL_AFTER_SECONDS)
        assert not fleet.died
        nodes = {member.settings.index: int(member.hello.node, 16) for member in fleet.members}
    share = used / (sum(need.values()) * STARVED_SECONDS)
    return settings, nodes, (began_ns, relief_ns, ended_ns), share


def test_fifty_processes_with_a_tenth_of_their_cpu_lose_nothing_and_are_normal_soon_after(tmp_path):
    settings, nodes, (began_ns, relief_ns, ended_ns), share = asyncio.run(run(tmp_path))
    assert share < 0.15, "the processes were starved"
    count = count_messages(tmp_path, [each.topics for each in settings], nodes, (), [("all", 0)])
    assert (count.missing, count.twice, count.out_of_order) == (0, 0, 0)
    assert count.phases[0].expected > 5_000
    assert not facts(tmp_path, "lost")
    offset = (time.time_ns() - time.monotonic_ns()) / NS
    dropped = [at - offset for at in facts(tmp_path, "neighbour_down")]
    assert not [at for at in dropped if began_ns / NS <= at < relief_ns / NS], "no neighbour was dropped meanwhile"
    delivered = deliveries(tmp_path)
    starved = [at_ns for published_ns, at_ns in delivered if began_ns <= published_ns < relief_ns]
    assert max(starved) < relief_ns + NORMAL_AFTER_SECONDS * NS
    normal_ns = relief_ns + NORMAL_AFTER_SECONDS * NS
    after = sorted(at_ns - published_ns for published_ns, at_ns in delivered if normal_ns <= published_ns < ended_ns)
    assert after[len(after) // 2] < NS
