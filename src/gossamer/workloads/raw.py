"""Generated raw data with flaws, as in real files, to test ingest and quarantine.

The formats are that of a social graph of SNAP and that of the machine events of the Google cluster trace. Flaws are at
fixed positions, so the number of lines that must be quarantined is known.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gossamer.kernels.sampling import units
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.workloads.social import SocialLaw, make_social_graph

U64 = np.uint64

# Lines that are not valid edges.
BAD_EDGES = ("", "12345", "1 2 3 4 5 6", "7 8 heavy", "9 10 1e999")
# Chosen: the number of lines for each flaw of a kind, as in typical public files.
FLAW_EVERY = 20_000
DAY_US = 86_400_000_000


@dataclass(frozen=True)
class RawCounts:
    """The number of lines of each kind that were written."""

    lines: int
    comments: int
    bad: int
    self_loops: int
    repeated: int


def write_raw_edges(path: Path, users: int, mean_degree: float, seed: int) -> RawCounts:
    """Write a friendship graph as text, two ids a line, with comments, bad lines, self-loops and repeated edges."""
    source, target = make_social_graph(users, SocialLaw(mean_degree=mean_degree), False, seed)
    head = ["# Undirected friendships, made by Gossamer", f"# Users: {users} Edges: {len(source)}"]
    bad = loops = repeated = 0
    with path.open("w") as file:
        file.write("\n".join(head) + "\n")
        for first in range(0, len(source), FLAW_EVERY):
            rows = slice(first, first + FLAW_EVERY)
            u, v = source[rows].tolist(), target[rows].tolist()
            lines = [f"{a}\t{b}" for a, b in zip(u, v, strict=True)]
            lines.append(BAD_EDGES[bad % len(BAD_EDGES)])
            lines.append(f"{u[0]}\t{u[0]}")
            lines.append(f"{v[0]}\t{u[0]}")
            bad, loops, repeated = bad + 1, loops + 1, repeated + 1
            file.write("\n".join(lines) + "\n")
    return RawCounts(len(head) + len(source) + bad + loops + repeated, len(head), bad, loops, repeated)


def write_raw_events(path: Path, machines: int, seed: int, days: int = 29) -> RawCounts:
    """Write machine events as gzip CSV (time, machine, event, platform, cpus, memory) by time, with a few bad lines."""
    rows: list[tuple[int, int, int]] = [(0, machine, 0) for machine in range(machines)]
    # Chosen: as in the trace of 2011, two fifths of the machines go down at least once, mostly for a quarter of an
    # hour.
    goes = units(U64(seed), U64(Purpose.CHURN_PRESENT), U64(1), machines) < 0.41
    for machine in np.flatnonzero(goes).tolist():
        at_us = 0
        for turn in range(1 + below(draw(seed, machine, Purpose.CHURN_ON, 0), 3)):
            up = int(-np.log(1 - _unit(seed, machine, turn, 0)) * days / 2 * DAY_US)
            down = int(-np.log(1 - _unit(seed, machine, turn, 1)) * 1_000_000_000)
            at_us += max(up, 1)
            if at_us >= days * DAY_US:
                break
            rows.append((at_us, machine, 1))
            at_us += max(down, 1)
            if at_us < days * DAY_US:
                rows.append((at_us, machine, 0))
    rows.sort()
    bad = 0
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for number, (at_us, machine, event) in enumerate(rows):
            file.write(f"{at_us},{machine},{event},platform,0.5,0.25\n".encode())
            if number % 5_000 == 4_999:
                file.write(b"%d,broken\n" % at_us)
                bad += 1
    return RawCounts(len(rows) + bad, 0, bad, 0, 0)


def _unit(seed: int, machine: int, turn: int, item: int) -> float:
    return draw(seed, machine, Purpose.CHURN_OFF, turn, item) / 2**64
