"""The cost of a message for one node with recovery: received, delivered and relayed; and published."""

import time

from bench.report import show
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    Subscribe,
)
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import RecoveryParameters
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import TreeData

COUNT, TOPIC, PAYLOAD = 100_000, 7, bytes(100)


class Three:
    """An overlay of three neighbours."""

    def neighbours_on(self, topic: int) -> tuple[int, ...]:
        """See `TopicNeighbours`."""
        return (2, 3, 4)


def run() -> None:
    """Measure `handle` of the whole machine for a message from one of three neighbours, and for a published message."""
    received: list[Event] = [
        MessageReceived(2, TreeData(TOPIC, 9, number + 1, 0, number, PAYLOAD, number)) for number in range(COUNT)
    ]
    published: list[Event] = [Publish(TOPIC, PAYLOAD)] * COUNT
    wanted = {"received, delivered, relayed to two": (received, 6.0), "published to three": (published, 5.0)}
    rows = []
    for name, (events, most_us) in wanted.items():
        cost_us = min(_cost_us(events) for _ in range(5))
        rows.append([name, f"{cost_us:.2f} us", f"{most_us:.0f} us", f"{most_us / cost_us:.1f}x"])
    show(
        "One node's machine, a tree with recovery, 100-byte payload, one core",
        ["a message", "cost", "wanted at most", "ratio"],
        rows,
    )


def _cost_us(events: list[Event]) -> float:
    parameters = RecoveryParameters()
    held = DeliveryState(1, history=History(parameters.history, parameters.history_bytes), recovers=True)
    overlay = Three()
    tree = Tree(overlay, 1, held)
    machine = NodeMachine((held.require_announcements(overlay), tree, Recovery(parameters, overlay, held, 1)))
    machine.handle(Subscribe(TOPIC, int(Role.BOTH)), 0)
    began = time.perf_counter()
    for event in events:
        machine.handle(event, 5)
    return (time.perf_counter() - began) / len(events) * 1e6
