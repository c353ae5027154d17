"""Counts messages in the members' logs: missing deliveries, duplicates, and deliveries out of order."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from gossamer.live.fleet.member import DELIVERED, ENTRY, PUBLISHED, log_path

# Chosen: this many missing messages are named in the result.
EXAMPLES_MAX = 10


class Phase(Struct):
    """A period of the traffic: the messages that surviving nodes published in it, and their deliveries at survivors."""

    name: str
    from_ns: int
    published: int = 0
    # Deliveries that should have happened, and how many of them did not.
    expected: int = 0
    missing: int = 0
    latency_ms_p50: float = 0.0
    latency_ms_p99: float = 0.0
    latency_ms_max: float = 0.0


class MessageCount(Struct):
    """The counts of a network's whole traffic."""

    phases: list[Phase]
    published: int = 0
    delivered: int = 0
    missing: int = 0
    twice: int = 0
    out_of_order: int = 0
    # Deliveries of messages that are in no log: a killed node had not yet written their publication.
    unknown: int = 0
    latency_ms_p50: float = 0.0
    latency_ms_p99: float = 0.0
    latency_ms_max: float = 0.0
    examples: list[str] = []


def read_log(path: Path) -> Iterator[tuple[int, int, int, int, int]]:
    """The entries of a member's log; an incomplete last entry is skipped."""
    content = path.read_bytes() if path.exists() else b""
    yield from ENTRY.iter_unpack(content[: len(content) // ENTRY.size * ENTRY.size])


def count_messages(
    folder: Path,
    topics: Sequence[Sequence[int]],
    nodes: Mapping[int, int],
    gone: Collection[int],
    phases: Iterable[tuple[str, int]],
    node_names: Mapping[int, str] | None = None,
    topic_names: Mapping[int, str] | None = None,
) -> MessageCount:
    """Count the traffic of a network.

    `topics` are the topics that each member followed, `nodes` the node id of each member, `gone` the members that were
    killed. `phases` are names with start times, in order. Messages from and to killed members are not expected to arrive.
    Missing messages are listed with the names of nodes and topics, by id, or with their ids.
    """
    count = MessageCount([Phase(name, from_ns) for name, from_ns in phases])
    followers: dict[int, set[int]] = {}
    for member, followed in enumerate(topics):
        for topic in followed:
            if member not in gone:
                followers.setdefault(topic, set()).add(member)
    # (publisher, number) -> topic, time, phase (-1 for messages of a killed node), deliveries so far.
    messages: dict[tuple[int, int], list[int]] = {}
    for member, node in nodes.items():
        for kind, topic, _, number, at_ns in read_log(log_path(folder, member)):
            if kind == PUBLISHED:
                messages[node, number] = [topic, at_ns, -1 if member in gone else _phase(count.phases, at_ns), 0]
    # By phase; those of killed nodes' messages come last.
    latencies = [array("d") for _ in (*count.phases, "killed")]
    for member in nodes:
        if member not in gone:
            _count_deliveries(read_log(log_path(folder, member)), messages, count, latencies)
    members = {node: member for member, node in nodes.items()}
    for (node, number), (topic, _, place, arrived) in messages.items():
        count.published += 1
        if place < 0:
            continue
        expected = len(followers.get(topic, ())) - (members[node] in followers.get(topic, ()))
        phase = count.phases[place]
        phase.published += 1
        phase.expected += expected
        phase.missing += expected - arrived
        if expected > arrived and len(count.examples) < EXAMPLES_MAX:
            count.examples.append(
                f"message {number} of {(node_names or {}).get(node, f'{node:016x}')} on topic "
                f"{(topic_names or {}).get(topic, topic)}: delivered at {arrived} of {expected} nodes"
            )
    count.missing = sum(phase.missing for phase in count.phases)
    for phase, found in zip(count.phases, latencies, strict=False):
        _set_latencies(phase, found)
    _set_latencies(count, chain.from_iterable(latencies))
    return count


def _set_latencies(where: Phase | MessageCount, latencies: Iterable[float]) -> None:
    if ordered := sorted(latencies):
        where.latency_ms_p50 = ordered[len(ordered) // 2]
        where.latency_ms_p99 = ordered[len(ordered) * 99 // 100]
        where.latency_ms_max = ordered[-1]


def _count_deliveries(
    entries: Iterable[tuple[int, int, int, int, int]],
    messages: Mapping[tuple[int, int], list[int]],
    count: MessageCount,
    latencies: Sequence["array[float]"],
) -> None:
    seen: set[tuple[int, int, int]] = set()
    latest: dict[tuple[int, int], int] = {}
    for kind, topic, publisher, number, at_ns in entries:
        if kind != DELIVERED:
            continue
        count.delivered += 1
        if (topic, publisher, number) in seen:
            count.twice += 1
            continue
        seen.add((topic, publisher, number))
        if number < latest.get((topic, publisher), 0):
            count.out_of_order += 1
        latest[topic, publisher] = number
        message = messages.get((publisher, number))
        if message is None or message[0] != topic:
            count.unknown += 1
        else:
            message[3] += 1
            latencies[message[2]].append((at_ns - message[1]) / 1e6)


def _phase(phases: Sequence[Phase], at_ns: int) -> int:
    place = 0
    for index, phase in enumerate(phases):
        if at_ns >= phase.from_ns:
            place = index
    return place
