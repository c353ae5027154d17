"""Versions 2 and 3 of the wire format: bytes of a frame on a settled link, and the CPU time to encode and to decode it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.report import show
from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel, SendQueue
from gossamer.protocols.contract.compact import Writer
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import TreeBurst, TreeData

START_US, PAYLOAD, COUNT = 1_700_000_000_000_000, bytes(100), 2_000
TOPICS = [each * 0x9E3779B97F4A7C15 % 2**64 for each in range(1, 41)]
PUBLISHERS = [each * 0xC2B2AE3D27D4EB4F % 2**64 for each in range(1, 51)]
BURST, NAMES = 64, 10


def run() -> None:
    """Measure a single message, a burst, an announcement and a list of tails, from 50 publishers on 40 topics."""
    kinds: dict[str, Callable[[int], Any]] = {
        "single, 100 bytes": _data,
        f"burst of {BURST}, 100 bytes": _burst,
        f"announcement of {NAMES}": lambda number: Announce(tuple(_each(MessageRun, number, 500))),
    }
    rows = []
    for name, make in kinds.items():
        messages = [make(number) for number in range(COUNT)]
        rows += [[name, str(version), *_measure(version, messages)] for version in wire.VERSIONS]
    columns = ["frame", "version", "bytes", "encode, 1 link", "encode, 10 links", "decode"]
    show("The wire format, CPU time for a frame, best of five", columns, rows)


def _each(kind: type, number: int, *further: int) -> list[Any]:
    return [
        kind(TOPICS[(number + each) % 40], PUBLISHERS[(number * 3 + each) % 50], START_US + number + each, *further)
        for each in range(NAMES)
    ]


def _data(number: int) -> TreeData:
    topic, publisher, sequence = TOPICS[number % 40], PUBLISHERS[number % 50], START_US + number
    return TreeData(topic, publisher, sequence, 2, START_US + number * 1_000, PAYLOAD, sequence - 3)


def _burst(number: int) -> TreeBurst:
    items = tuple((START_US + number * 1_000 + each, PAYLOAD) for each in range(BURST))
    sequence = START_US + number * BURST
    return TreeBurst(TOPICS[number % 40], PUBLISHERS[number % 50], sequence, 2, items, sequence - 1)


def _measure(version: int, messages: Sequence[Any]) -> list[str]:
    writer = Writer()
    queues = [_queue(version, writer) for _ in range(10)]
    read = wire.reader(version, (Tree, Recovery))
    for message in messages:
        # From here on the link has carried all definitions.
        read(_send(queues[:1], message)[wire.PREFIX_BYTES :])
    frames = [_send(queues[:1], message) for message in messages]
    bodies = [frame[wire.PREFIX_BYTES :] for frame in frames]
    costs = [
        _cost_us(lambda message: _send(queues[:1], message), messages),
        _cost_us(lambda message: _send(queues, message), messages),
        _cost_us(read, bodies),
    ]
    return [f"{max(map(len, frames)):,}", *(f"{cost:.2f} us" for cost in costs)]


def _queue(version: int, writer: Writer) -> SendQueue:
    queue = SendQueue(2**20, writer)
    queue.version = version
    return queue


def _send(queues: Sequence[SendQueue], message: Any) -> bytes:
    parcel = Parcel([message])
    for queue in queues:
        queue.add(parcel)
    first, *_ = [queue.take() for queue in queues]
    return first


def _cost_us(work: Callable[[Any], object], values: Sequence[Any]) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for value in values:
            work(value)
        best = min(best, time.process_time() - began)
    return best / len(values) * 1e6
