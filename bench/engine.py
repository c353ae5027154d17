"""The event engine under a flood: handled messages per second, and the memory of idle nodes."""

import gc
import time

import numpy as np

from bench.flood import FloodMachine
from bench.report import resident_bytes, show
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Publish, Started, Subscribe
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.engine import EventEngine
from gossamer.simulator.network import ConstantLatency, Network, UniformLatency
from gossamer.simulator.population import together
from gossamer.systems import find_system, make_machine

NODES, DEGREE, EVENTS = 10_000, 10, 12


def run() -> None:
    """Measure constant latency without watchers, and random latency and loss with all checkers."""
    _idle()
    generator = np.random.default_rng(1)
    ends = generator.integers(0, NODES, (2, NODES * DEGREE // 2))
    overlay = Overlay.from_links(ends[0], ends[1], NODES)
    neighbours = [tuple(overlay.neighbours_of(node).tolist()) for node in range(NODES)]
    settings = {
        "constant 20 ms, no watchers": (Network(ConstantLatency(20_000)), False, 400_000),
        "uniform 5-50 ms, 1% loss, all checkers": (Network(UniformLatency(5_000, 50_000), 0.01), True, 200_000),
    }
    rows = []
    for name, (network, checked, wanted) in settings.items():
        rate, duplicates = max(_flood(neighbours, network, checked) for _ in range(3))
        rows.append([name, f"{rate:,.0f}/s", f"{duplicates:.1%}", f"{wanted:,}/s", f"{rate / wanted:.1f}x"])
    show(
        f"Event engine, one core: {NODES:,} nodes, mean degree {DEGREE}, 100-byte payload, flooding",
        ["setting", "handled messages", "duplicates", "wanted", "ratio"],
        rows,
    )


def _flood(neighbours: list[tuple[int, ...]], network: Network, checked: bool) -> tuple[float, float]:
    watchers = all_checkers() if checked else ()
    engine = EventEngine(lambda node: FloodMachine(node, neighbours[node]), network, 1, watchers)
    for node in range(NODES):
        engine.start(node, Started())
        engine.give(node, Subscribe(0, Role.BOTH))
    before = engine.handled_count
    began = time.perf_counter()
    for number in range(EVENTS):
        engine.give(number * 97, Publish(0, b"x" * 100))
        engine.run(engine.now_us + 2_000_000)
    elapsed = time.perf_counter() - began
    handled = engine.handled_count - before - EVENTS
    return handled / elapsed, 1 - EVENTS * (NODES - 1) / handled


def _idle() -> None:
    node_count = 100_000
    system = find_system("cyclon")
    parameters = read_parameters(system, {})
    gc.collect()
    before = resident_bytes()
    engine = EventEngine(lambda node: make_machine(system, parameters, 1, node, None), Network(), 1)
    for node in range(node_count):
        engine.start(node, together(1, node, node_count, parameters.view_size))
    held = resident_bytes() - before
    show(
        "State of 100,000 idle Cyclon nodes with full views of 20",
        ["resident", "a node", "wanted"],
        [[f"{held / 2**20:,.0f} MiB", f"{held / node_count:,.0f} bytes", "under 1,024 MiB"]],
    )
    assert len(engine.present) == node_count
