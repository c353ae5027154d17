"""A fleet from a plan: one member for each node of the plan, by name, with the plan's links and topics."""

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gossamer.live.api.plans import PEERS, read_plan
from gossamer.live.fleet.member import MemberSettings
from gossamer.model.values.errors import InputError


def planned_members(plan: Path, folder: Path, rate: float, seed: int, most: int, **same: Any) -> list[MemberSettings]:
    """The settings of every node of a plan. Topics share the rate equally, and so do the publishers of each topic.

    The publishers of a topic are the nodes that only publish on it, or all its followers if there is no such node.
    """
    nodes = read_plan(plan)
    if len(nodes) > most:
        raise InputError(
            f"{plan} has {len(nodes):,} nodes; one machine runs at most {most:,}: make a plan of fewer with "
            "`gossamer plan --nodes`"
        )
    numbers = {topic: number for number, topic in enumerate(dict.fromkeys(t for n in nodes.values() for t in n.topics))}
    publishers, followers = dict.fromkeys(numbers, 0), dict.fromkeys(numbers, 0)
    for node in nodes.values():
        for topic in node.topics:
            (publishers if topic in node.publishes else followers)[topic] += 1
    heard = {topic for topic in numbers if publishers[topic] + followers[topic] > 1 and followers[topic]}
    if not heard:
        raise InputError(f"{plan} has no topic that one node could publish to another; every topic has a single node")

    def rate_of(topic: str, only_publishes: bool) -> float:
        sharing = publishers[topic] or followers[topic]
        return rate / len(heard) / sharing if topic in heard and only_publishes == bool(publishers[topic]) else 0.0

    addresses = dict(zip(nodes, free_addresses(len(nodes)), strict=True))
    return [
        MemberSettings(
            index=index,
            topics=tuple(numbers[topic] for topic in node.topics),
            rates=tuple(rate_of(topic, topic in node.publishes) for topic in node.topics),
            topic_names=tuple(node.topics),
            publishes=tuple(numbers[topic] for topic in node.publishes),
            name=name,
            plan=str((plan / PEERS if plan.is_dir() else plan).absolute()),
            addresses={peer: addresses[peer] for peer in node.peers if peer in addresses},
            listen=addresses[name],
            join=(),
            folder=str(folder),
            seed=seed,
            **same,
        )
        for index, (name, node) in enumerate(nodes.items())
    ]


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine that nobody listens on; all are taken at once, so that they differ."""
    with ExitStack() as open_things:
        sockets = [open_things.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
