"""Draw how evenly Cyclon spreads in-degrees, beside a random graph's."""

import sys

import matplotlib as mpl
import numpy as np

from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.systems.cyclon.population import CyclonPopulation

mpl.use("Agg")
import matplotlib.pyplot as plt

NODES, CYCLES = 20_000, 60
out = sys.argv[1] if len(sys.argv) > 1 else "in-degrees.svg"


def in_degrees(population: CyclonPopulation) -> np.ndarray:
    """How many views each node stands in."""
    state = population.state
    used = np.arange(state.nodes.shape[1]) < state.sizes[:, None]
    return np.bincount(state.nodes[used], minlength=len(state.sizes))


population = CyclonPopulation(CyclonParameters(), seed=1, node_count=NODES)
at_start = in_degrees(population)
for _ in range(CYCLES):
    population.cycle()
settled = in_degrees(population)

mpl.rcParams["svg.hashsalt"] = "gossamer"
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
bins = np.arange(0, 42) - 0.5
axes.hist(at_start, bins, color="#c8c8c8", label=f"random contacts (spread {at_start.std():.2f})")
axes.hist(settled, bins, color="#2a7f8e", alpha=0.8, label=f"after {CYCLES} cycles (spread {settled.std():.2f})")
axes.axvline(20, color="#333333", linewidth=0.8, linestyle="--", label="view size")
axes.set(xlabel="in-degree (views that hold a node)", ylabel="nodes", title=f"Cyclon, {NODES:,} nodes, views of 20")
axes.legend(frameon=False)
figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)
print(f"wrote {out}")
