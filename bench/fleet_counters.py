"""The kernel's counters of processes: CPU, memory, connections, and bytes on loopback."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
ESTABLISHED = "01"


@dataclass(frozen=True)
class Mark:
    """Counters at one moment: CPU-seconds of the processes and of the whole machine, and bytes on loopback."""

    cpu_seconds: float
    machine_seconds: float
    loopback_bytes: int


def mark(pids: Sequence[int]) -> Mark:
    """Read the counters. Loopback is that of the network namespace of these processes."""
    cpu = sum(cpu_seconds(Path(f"/proc/{pid}/stat").read_text()) for pid in pids)
    loopback = interface_bytes(Path(f"/proc/{pids[0]}/net/dev").read_text(), "lo")
    return Mark(cpu, busy_seconds(Path("/proc/stat").read_text()), loopback)


def cpu_seconds(stat: str) -> float:
    """User and system time of a process and all its threads, from `/proc/PID/stat`."""
    # The name of the program stands in parentheses and may contain anything.
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_seconds(stat: str) -> float:
    """The time for which all CPUs of the machine were not idle, from `/proc/stat`."""
    user, nice, system, _, _, irq, softirq = map(int, stat.splitlines()[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def interface_bytes(dev: str, name: str) -> int:
    """The bytes that an interface sent, with the headers of IP and TCP, from `/proc/PID/net/dev`."""
    for line in dev.splitlines():
        interface, _, fields = line.partition(":")
        if interface.strip() == name:
            return int(fields.split()[8])
    raise ValueError(f"there is no interface {name}")


def established_inodes(tcp: str) -> set[int]:
    """The inodes of established TCP sockets, from `/proc/PID/net/tcp`."""
    rows = (line.split() for line in tcp.splitlines()[1:])
    return {int(row[9]) for row in rows if row[3] == ESTABLISHED}


def connection_counts(pids: Sequence[int]) -> list[int]:
    """The established TCP connections of each process; one between two processes counts at both.

    All processes are in the same network namespace.
    """
    tables = (Path(f"/proc/{pids[0]}/net/{name}").read_text() for name in ("tcp", "tcp6"))
    established = set().union(*map(established_inodes, tables))
    return [len(established & _sockets(pid)) for pid in pids]


def memory_bytes(pid: int) -> tuple[int, int]:
    """Resident memory, and its proportional part, in which memory that n processes share counts 1/n at each."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return memory_field(rollup, "Rss"), memory_field(rollup, "Pss")


def memory_field(rollup: str, name: str) -> int:
    """A field of `/proc/PID/smaps_rollup`, in bytes."""
    for line in rollup.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"there is no field {name}")


def _sockets(pid: int) -> set[int]:
    inodes = set()
    for descriptor in os.scandir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(descriptor.path)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(int(target[8:-1]))
    return inodes
