"""Small samples of real data sets in memory, for experiments: a part of a graph, and the churn of some machines.

`gossamer sample` and `gossamer churn` do the same on Spark for data of any size.
"""

import gzip
from pathlib import Path

import numpy as np

from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.types import Integers
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.workloads.social import interests_of_graph, read_pairs

U64 = np.uint64
# Machine events: a machine becomes available, or is removed. Others (updates of a machine) are left out.
ADD, REMOVE = 0, 1


def sample_graph(path: Path, node_count: int | None, starts: int, seed: int, directed: bool) -> Interest:
    """The friend or follower workload of the first `node_count` nodes that a breadth-first search reaches; None: of all.

    The search starts at a few random nodes and goes along edges in both directions. Nodes of one hop come in a random
    order. All edges between sampled nodes are kept.
    """
    ids, places = np.unique(read_pairs(path, "edges"), return_inverse=True)
    source, target = places.reshape(-1, 2).T
    node_count = len(ids) if node_count is None else node_count
    if not 1 <= starts <= node_count <= len(ids):
        raise InputError(f"a sample needs 1 to {len(ids)} nodes and at most as many starts, got {node_count}, {starts}")
    keys = draws(U64(seed), U64(Purpose.SAMPLE), U64(0), len(ids))
    order = np.argsort(keys, kind="stable")
    visited = np.zeros(len(ids), np.bool_)
    frontier = order[:starts]
    visited[frontier] = True
    count = starts
    while count < node_count:
        inside = np.zeros(len(ids), np.bool_)
        inside[frontier] = True
        reached = np.unique(np.concatenate((target[inside[source]], source[inside[target]])))
        fresh = reached[~visited[reached]]
        if not len(fresh):
            # The component is exhausted: the next random node starts another search.
            fresh = order[~visited[order]][:1]
        frontier = fresh[np.argsort(keys[fresh], kind="stable")][: node_count - count]
        visited[frontier] = True
        count += len(frontier)
    number = np.cumsum(visited) - 1
    among = visited[source] & visited[target] & (source != target)
    u, v = number[source[among]], number[target[among]]
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    pairs = np.unique(u * node_count + v)
    return interests_of_graph(*np.divmod(pairs, node_count), node_count, directed)


def sample_churn(path: Path, node_count: int, event_count: int, seed: int) -> tuple[Integers, Integers]:
    """Joins and leaves of randomly chosen machines of a trace, in order.

    Returns the nodes that are absent at first, and a row (node, whether it joins) for each event. A trace with fewer
    events is repeated: where it would remove an absent machine or add a present one, the row is left out.
    """
    rows = _read_events(path)
    machines = np.unique(rows[:, 1])
    if len(machines) < node_count:
        raise InputError(f"{path} has {len(machines)} machines, fewer than the {node_count} nodes")
    keys = draws(U64(seed), U64(Purpose.SAMPLE), U64(1), len(machines))
    chosen = np.sort(machines[np.argsort(keys, kind="stable")[:node_count]])
    rows = rows[np.isin(rows[:, 1], chosen)]
    nodes, joins = np.searchsorted(chosen, rows[:, 1]), rows[:, 2] == ADD
    first = rows[:, 0] == 0
    present = np.zeros(node_count, np.bool_)
    present[nodes[first & joins]] = True
    absent = np.flatnonzero(~present)
    later = list(zip(nodes[~first].tolist(), joins[~first].tolist(), strict=True))
    found: list[tuple[int, bool]] = []
    while len(found) < event_count:
        before = len(found)
        for node, is_join in later:
            if present[node] != is_join and len(found) < event_count:
                present[node] = is_join
                found.append((node, is_join))
        if len(found) == before:
            raise InputError(f"{path} has no events of the chosen machines")
    return absent, np.array(found, np.int64).reshape(-1, 2)


def _read_events(path: Path) -> Integers:
    """(time, machine, event) of additions and removals, by time."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            rows = [tuple(map(int, line.split(",")[:3])) for line in lines]
        table = np.array(rows, np.int64).reshape(-1, 3)
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a table of machine events (time, machine, event): {error}") from None
    table = table[np.isin(table[:, 2], (ADD, REMOVE))]
    return table[np.argsort(table[:, 0], kind="stable")]


# Chosen: the share of machines that are absent when the trace of Google's cluster begins.
ABSENT_SHARE = 0.01


def make_churn_events(node_count: int, event_count: int, seed: int) -> tuple[Integers, Integers]:
    """Joins and leaves of the shape of that trace, as `sample_churn` returns them: few nodes are absent at a time.

    An absent node joins with probability 1/2, and otherwise a present node leaves; each is drawn at random.
    """
    absent = list(range(max(1, round(ABSENT_SHARE * node_count))))
    first = np.array(absent, np.int64)
    present = list(range(len(absent), node_count))
    if len(present) < 2:
        raise InputError(f"churn needs more than {node_count} nodes")
    found = []
    for number in range(event_count):
        bits = draw(seed, 0, Purpose.CHURN_PRESENT, number)
        is_join = len(present) < 2 or (bool(absent) and bool(bits & 1))
        source, target = (absent, present) if is_join else (present, absent)
        place = below(bits, len(source))
        source[place], source[-1] = source[-1], source[place]
        target.append(source.pop())
        found.append((target[-1], is_join))
    return first, np.array(found, np.int64).reshape(-1, 2)
