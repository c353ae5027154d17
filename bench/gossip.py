"""Gossip: disseminations a second of the kernel at three sizes, against its machine, and overlays by degree law."""

from time import process_time

import numpy as np

from bench.report import seconds, show
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.systems import find_system
from gossamer.systems.gossip.kernel import disseminate_many
from gossamer.systems.gossip.wiring import unstructured
from gossamer.workloads.interests import make_interests

U64 = np.uint64
SIZES = (1_000, 10_000, 100_000)
DEGREE, GAMMA = "poisson:5", 0.3


def run() -> None:
    """Run all measurements of gossip. Times are CPU times, so that other processes disturb them less."""
    rows = []
    for nodes in SIZES:
        building = seconds(lambda nodes=nodes: unstructured(DEGREE, nodes, 1))  # type: ignore[misc]
        overlay, interest = unstructured(DEGREE, nodes, 1), make_interests(nodes, 10, "1", "uniform", 1)
        events = 4_000_000 // nodes
        spent, messages = _kernel(overlay, interest, events)
        rows.append(
            [
                f"{nodes:,}",
                f"{building * 1e3:,.1f} ms",
                f"{events / spent:,.0f}/s",
                f"{messages / spent / 1e6:.1f} M/s",
                f"{spent / events / nodes * 1e9:.1f} ns",
            ]
        )
    show(
        f"Gossip kernel, {DEGREE}, sigma 0.1, gamma {GAMMA}, one core",
        ["nodes", "drawing the overlay", "disseminations", "messages", "a node and dissemination"],
        rows,
    )
    events = 200_000
    overlay, interest = unstructured(DEGREE, 1_000, 1), make_interests(1_000, 100, "1", "uniform", 1)
    spent, _ = _kernel(overlay, interest, events, gamma=0.1)
    show(
        "Below the threshold (sigma 0.01, gamma 0.1), 1,000 nodes",
        ["disseminations", "time", "rate"],
        [[f"{events:,}", f"{spent:.2f} s", f"{events / spent:,.0f}/s"]],
    )
    machine = _machines(1_000, 30)
    spent, _ = _kernel(unstructured(DEGREE, 1_000, 1), make_interests(1_000, 10, "1", "uniform", 1), 3_000)
    show(
        "Kernel against machines, 1,000 nodes, the same copies",
        ["machines", "kernel", "ratio"],
        [[f"{machine:,.0f}/s", f"{3_000 / spent:,.0f}/s", f"{3_000 / spent / machine:,.0f}x"]],
    )


def _kernel(overlay: Overlay, interest: Interest, events: int, gamma: float = GAMMA) -> tuple[float, int]:
    """The seconds and the messages that this number of published messages takes."""
    numbers = np.arange(events)
    publishers, topics = numbers * 7919 % overlay.node_count, numbers % interest.topic_count
    arrays = interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours
    best, messages = float("inf"), 0
    for _ in range(3):
        began = process_time()
        rows = disseminate_many(U64(1), publishers, numbers, topics, *arrays, gamma, 1_000_000)
        best, messages = min(best, process_time() - began), int(rows[:, 2].sum())
    return best, messages


def _machines(nodes: int, events: int) -> float:
    interest = make_interests(nodes, 10, "1", "uniform", 1)
    simulated = find_system("unstructured")
    population = EventPopulation(
        simulated,
        read_parameters(simulated, {"degree": DEGREE}),
        1,
        interest,
        Network(ConstantLatency(20_000)),
        dissemination="gossip",
        settings={"gamma": GAMMA},
    )
    population.start_together(range(nodes))
    population.engine.run(1_000_000)
    began = process_time()
    for node in range(events):
        population.engine.give(node, Publish(int(interest.topics_of(node)[0]), b"x"))
    population.engine.run(20_000_000)
    return events / (process_time() - began)
