"""Push and pull beside flood, tree and gossip on the same overlays: copies of a message, control frames, bytes, time."""

from collections import Counter
from collections.abc import Sequence
from time import process_time
from typing import Any

import msgspec
import numpy as np

from bench.report import show
from gossamer.kernels.flood import flood
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.events import Event, Publish
from gossamer.protocols.contract.messages import data_in
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.execute import execute
from gossamer.simulator.network import Network, UniformLatency
from gossamer.simulator.recorder import DeliveryLog
from gossamer.systems import find_system
from gossamer.systems.gossip.kernel import disseminate_many
from gossamer.systems.push_pull.kernel import spread_many
from gossamer.systems.push_pull.parameters import PushPullParameters, linger_rounds, rounds_limit
from gossamer.workloads.interests import make_interests

U64 = np.uint64
SECOND_US = 1_000_000
# Each node follows ten of a hundred topics; SpiderCast covers each topic three times greedily and once at random.
KERNEL_SIZES = (1_000, 5_000, 20_000)
EVENTS = 400
# Each node follows two of eight topics.
MACHINE_SIZES = (40, 120, 360)
PARAMETERS = {"random_coverage": 1}


def run() -> None:
    """Run all measurements of push and pull."""
    rows = []
    for nodes in KERNEL_SIZES:
        rows += _kernel_rows(nodes)
    show(
        f"Copies of a message, on SpiderCast's overlay (3, 1), {EVENTS} messages, kernels",
        ["nodes", "dissemination", "copies a subscriber", "subscribers reached", "calls", "wake-ups", "rate"],
        rows,
        "Calls and wake-ups are control frames a subscriber, for one message on a quiet topic.",
    )
    for title, together in (("one message a second on each topic", 1), ("ten messages a second on each topic", 10)):
        rows = [
            row
            for nodes in MACHINE_SIZES
            for row in (_machine_row(nodes, name, settings, together) for name, settings in STACKS)
        ]
        show(
            f"Machines on SpiderCast's overlay (3, 1), {title}, payload of 100 bytes",
            ["nodes", "dissemination", "copies", "control frames", "bytes", "delivered", "p50", "p99"],
            rows,
            "Copies, frames and bytes are sums of all nodes divided by the deliveries, without the overlay's own frames.",
        )
    _without_the_age_rule()


STACKS: tuple[tuple[str, dict[str, object]], ...] = (
    ("flood", {}),
    ("tree", {}),
    ("gossip", {"gamma": 0.1}),
    ("push-pull", {}),
    ("push-pull", {"repeat_pushes": True, "quiet_calls": True}),
)


def _kernel_rows(nodes: int) -> list[list[str]]:
    law = WorkloadLaw(nodes=nodes, topics=100, subscriptions="10", popularity="rss")
    built = execute(Run(system="spidercast", seed=1, workload=law, parameters=PARAMETERS), exact=False)
    overlay, interest = built.overlay, built.workload.interest
    places = np.arange(EVENTS) * 7919 % interest.subscription_count
    publishers, topics = interest.owners[places].astype(np.int64), interest.node_topics[places].astype(np.int64)
    others = interest.popularity[topics] - 1
    links = interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours
    _flood(overlay, interest, publishers[:1], topics[:1])
    began = process_time()
    reached, copies = _flood(overlay, interest, publishers, topics)
    rows = [_row(nodes, "flood", copies / others, reached / (others + 1), process_time() - began)]
    began = process_time()
    found = disseminate_many(U64(1), publishers, np.arange(EVENTS), topics, *links, 0.1, 64)
    rows.append(_row(nodes, "gossip", found[:, 2] / others, found[:, 1] / (others + 1), process_time() - began))
    limits = np.array([rounds_limit(int(size) + 1, PushPullParameters().spare_rounds) for size in others], np.int64)
    linger = np.array([linger_rounds(int(limit)) for limit in limits], np.int64)
    for name, repeat in (("push-pull", False), ("push-pull, repeat_pushes", True)):
        began = process_time()
        found = spread_many(U64(1), 100_000, repeat, publishers, topics, limits, linger, *links)
        spent, sizes = process_time() - began, others + 1
        row = _row(nodes, name, (found[:, 1] + found[:, 2]) / others, found[:, 0] / sizes, spent)
        row[4:6] = [f"{(found[:, 3] / sizes).mean():.1f}", f"{(found[:, 4] / sizes).mean():.1f}"]
        rows.append(row)
    return rows


def _row(nodes: int, name: str, copies: Any, reached: Any, spent: float) -> list[str]:
    return [f"{nodes:,}", name, f"{copies.mean():.2f}", f"{reached.mean():.2%}", "", "", f"{EVENTS / spent:,.0f}/s"]


def _flood(overlay: Overlay, interest: Interest, publishers: Any, topics: Any) -> tuple[Any, Any]:
    hops, copies = np.zeros(overlay.node_count, np.int32), np.zeros(overlay.node_count, np.int32)
    found = []
    for publisher, topic in zip(publishers.tolist(), topics.tolist(), strict=True):
        holds = np.zeros(overlay.node_count, np.bool_)
        holds[interest.nodes_of(topic)] = True
        sent = flood(publisher, holds, overlay.starts, overlay.neighbours, hops, copies)
        found.append((int((hops >= 0).sum()), sent))
    reached, sent_copies = np.array(found).T
    return reached, sent_copies


class Frames:
    """A watcher that counts what nodes send from `begin` on: copies of messages, other frames, and bytes of both."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.counting = False

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions if self.counting else ():
            if isinstance(action, Send):
                copies = len(data_in(action.message))
                size = len(msgspec.msgpack.encode(action.message)) + 4
                module = type(action.message).__module__
                if copies:
                    self.counts["copies"] += copies * len(action.to)
                elif "dissemination" in module or "gossip" in module or "push_pull" in module:
                    self.counts["control"] += len(action.to)
                else:
                    # The overlay's own frames are the same for all.
                    continue
                self.counts["bytes"] += size * len(action.to)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""


def _population(nodes: int, name: str, settings: dict[str, object]) -> tuple[EventPopulation, Frames, DeliveryLog]:
    interest = make_interests(nodes, 8, "2", "uniform", 1)
    system = find_system("spidercast")
    frames, log = Frames(), DeliveryLog()
    population = EventPopulation(
        system,
        read_parameters(system, PARAMETERS),
        1,
        interest,
        Network(UniformLatency(5_000, 50_000)),
        (frames, log),
        dissemination=name,
        settings=settings,
    )
    population.start_together(range(nodes))
    population.engine.run(20 * SECOND_US)
    frames.counting = True
    return population, frames, log


def _machine_row(nodes: int, name: str, settings: dict[str, object], rate: int) -> list[str]:
    """Ten seconds in which two nodes of each topic publish in turn."""
    population, frames, log = _population(nodes, name, settings)
    interest, engine = make_interests(nodes, 8, "2", "uniform", 1), population.engine
    expected = 0
    for turn in range(10 * rate):
        for topic in range(8):
            members = interest.nodes_of(topic)
            engine.give(int(members[turn % 2]), Publish(topic, bytes(100)))
            expected += len(members) - 1
        engine.run(engine.now_us + SECOND_US // rate)
    engine.run(engine.now_us + 3 * SECOND_US)
    facts, counts = log.facts(expected), frames.counts
    title = name if len(settings) < 2 else f"{name}, the paper's rules"
    per = {kind: counts[kind] / facts["delivered"] for kind in ("copies", "control", "bytes")}
    return [
        f"{nodes}",
        title,
        f"{per['copies']:.2f}",
        f"{per['control']:.2f}",
        f"{per['bytes']:.0f}",
        f"{facts['delivery_ratio']:.3%}",
        f"{facts['latency_us_p50'] / 1000:.0f} ms",
        f"{facts['latency_us_p99'] / 1000:.0f} ms",
    ]


def _without_the_age_rule() -> None:
    rows = []
    for title, settings in (
        ("the default", {}),
        ("age_rule=false", {"age_rule": False}),
        ("age_rule=false, repeat_pushes=true", {"age_rule": False, "repeat_pushes": True}),
    ):
        population, frames, _ = _population(120, "push-pull", dict(settings))
        members = make_interests(120, 8, "2", "uniform", 1).nodes_of(0)
        population.engine.give(int(members[0]), Publish(0, bytes(100)))
        found = []
        for _ in range(3):
            frames.counts.clear()
            population.engine.run(population.engine.now_us + 10 * SECOND_US)
            found.append(f"{frames.counts['copies']} and {frames.counts['control']}")
        rows.append([title, *found])
    show(
        f"Copies and control frames of one message to {len(members) - 1} subscribers, by time since its publication",
        ["parameters", "0 to 10 s", "10 to 20 s", "20 to 30 s"],
        rows,
    )
