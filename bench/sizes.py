"""Sizes of topics by two estimates: counts among subscribers (AAP), and shares in random views. Errors and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from bench.report import show
from gossamer.model.values.draw import finish
from gossamer.protocols.aggregation import AggregationParameters, EpochCount
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.shares import TopicShares

NETWORKS = (300, 1_000, 3_000)
# Cycles after which errors are measured, within the first epoch.
AFTER = (5, 10, 20)
# Repetitions with other random numbers; errors are medians over all of them.
SEEDS = (1, 2, 3)
# Random peers that a node sees in a cycle: the shuffle length of Ma, Wang, Sun (2014).
SEEN = 10
TOPIC = 2**60 + 12_345
ENCODER = msgspec.msgpack.Encoder()


@dataclass
class _Estimates:
    """Relative errors of the subscribers after some cycles, and bytes of one exchange (request and answer)."""

    errors: list[float] = field(default_factory=list)
    exchange_bytes: float = 0.0


def run() -> None:
    """Compare both estimates on topics of four sizes in three networks."""
    rows = []
    for nodes in NETWORKS:
        for size in (2, 10, 50, nodes // 10):
            counted = _pooled([_count(size, seed) for seed in SEEDS])
            shared = _pooled([_share(nodes, size, seed) for seed in SEEDS])
            rows.append([f"{nodes:,}", str(size), *_cells(counted), *_cells(shared)])
    after = ", ".join(map(str, AFTER))
    show(
        f"Size of a topic: median relative error of its subscribers after {after} cycles, bytes of an exchange",
        ["nodes", "subscribers", "AAP: errors", "bytes", "shares: errors", "bytes"],
        rows,
        f"AAP: 16 instances, ids of 64 bits. Shares: {SEEN} random peers a cycle; the true size of the "
        "network is given. In each cycle a subscriber exchanges with one random subscriber.",
    )
    rows = []
    for nodes in NETWORKS:
        rows.append([f"{nodes:,}", *_cells(_count(nodes, SEEDS[0]))])
    show(f"Size of the network by AAP, after {after} cycles", ["nodes", "errors", "bytes"], rows)


def _pooled(found: Sequence[_Estimates]) -> _Estimates:
    errors = np.median([each.errors for each in found], axis=0).tolist()
    return _Estimates(errors, float(np.mean([each.exchange_bytes for each in found])))


def _cells(found: _Estimates) -> list[str]:
    return [" ".join(f"{error:.1%}" for error in found.errors), f"{found.exchange_bytes:,.0f}"]


def _partners(generator: np.random.Generator, count: int) -> list[int]:
    """One random other node for each node."""
    others = generator.integers(0, count - 1, count)
    partners: list[int] = (others + (others >= np.arange(count))).tolist()
    return partners


def _count(size: int, seed: int) -> _Estimates:
    generator = np.random.default_rng(seed)
    nodes = [EpochCount(AggregationParameters(), seed, finish(node + 1), TOPIC) for node in range(size)]
    found, sent, exchanges = _Estimates(), 0, 0
    for cycle in range(AFTER[-1]):
        for node, partner in zip(nodes, _partners(generator, size), strict=True):
            node.tick()
            offer = node.offer()
            answer = nodes[partner].answer(offer)
            node.take(answer)
            sent += len(ENCODER.encode(offer)) + len(ENCODER.encode(answer))
            exchanges += 1
        if cycle + 1 in AFTER:
            found.errors.append(_error([node.present for node in nodes], size))
    found.exchange_bytes = sent / exchanges
    return found


def _share(nodes: int, size: int, seed: int) -> _Estimates:
    generator = np.random.default_rng(seed)
    holders = [TopicShares() for _ in range(size)]
    for holder in holders:
        holder.hold(TOPIC)
    held, other = Digest(0, 1, (TOPIC,)), Digest(0, 1, (1,))
    found, sent, exchanges = _Estimates(), 0, 0
    for cycle in range(AFTER[-1]):
        for holder, partner in zip(holders, _partners(generator, size), strict=True):
            holder.tick()
            # Peers other than the node itself; the first size - 1 of them hold the topic.
            for peer in generator.integers(0, nodes - 1, SEEN):
                holder.observe(held if peer < size - 1 else other)
            offer = holder.offer((TOPIC,))
            answer = holders[partner].answer(offer)
            holder.take(answer)
            sent += len(ENCODER.encode(offer)) + len(ENCODER.encode(answer))
            exchanges += 1
        if cycle + 1 in AFTER:
            found.errors.append(_error([holder.size(TOPIC, nodes) for holder in holders], size))
    found.exchange_bytes = sent / exchanges
    return found


def _error(sizes: Sequence[float | None], truth: int) -> float:
    """The median over nodes of the relative error; a node without an estimate counts only itself."""
    return float(np.median([abs((size or 1.0) / truth - 1) for size in sizes]))
