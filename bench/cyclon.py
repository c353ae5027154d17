"""Cyclon: the kernel at three sizes, and against its own machine."""

import numpy as np

from bench.report import seconds, show
from gossamer.kernels.cyclon import CyclonState, cyclon_cycle, cyclon_state, start_together
from gossamer.kernels.draw import U64
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.lockstep import Lockstep
from gossamer.systems import find_system

# Measured earlier on similar hardware (PeerSim 1.0.5, view 20, shuffle 8).
PEERSIM = {10_000: 0.60, 100_000: 0.30, 1_000_000: 0.17}
PEERSIM_BYTES = 593


def run() -> None:
    """Node-cycles per second and bytes per node; kernel over machine."""
    parameters = CyclonParameters()
    rows = []
    for node_count, peersim in PEERSIM.items():
        state = cyclon_state(node_count, parameters.view_size)
        start_together(U64(1), state)
        rate = _kernel_rate(state, node_count, parameters)
        size = sum(array.nbytes for array in state) / node_count
        rows.append(
            [
                f"{node_count:,}",
                f"{rate / 1e6:.2f} M/s",
                f"{peersim:.2f} M/s",
                f"{rate / 1e6 / peersim:.1f}x",
                f"{size:.0f}",
                f"{PEERSIM_BYTES / size:.1f}x less",
            ]
        )
    show(
        "Cyclon kernel, view 20, shuffle 8, one core",
        ["nodes", "node-cycles", "PeerSim (quoted)", "ratio", "bytes a node", "than PeerSim"],
        rows,
        "PeerSim's figures are from an earlier measurement on similar hardware.",
    )
    node_count, cycles = 2_000, 5
    driver = Lockstep(find_system("cyclon"), parameters, 1, node_count, parameters.view_size)
    driver.start()
    machine = node_count / seconds(driver.cycle, cycles)
    state = cyclon_state(node_count, parameters.view_size)
    start_together(U64(1), state)
    kernel = _kernel_rate(state, node_count, parameters)
    show(
        "Cyclon, kernel against machine, 2,000 nodes, the same views",
        ["machine", "kernel", "ratio"],
        [[f"{machine:,.0f} node-cycles/s", f"{kernel:,.0f} node-cycles/s", f"{kernel / machine:,.0f}x"]],
    )


def _kernel_rate(state: CyclonState, node_count: int, parameters: CyclonParameters) -> float:
    counts = np.zeros(5, np.int64)
    cycles = max(3, 3_000_000 // node_count)
    clock = [0]

    def work() -> None:
        for _ in range(cycles):
            clock[0] += 1
            now_us = U64(clock[0])
            cyclon_cycle(U64(1), now_us, parameters.shuffle_length, parameters.walk_length, state, counts)

    work()
    return node_count * cycles / seconds(work)
