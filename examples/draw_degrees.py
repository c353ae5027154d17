"""Draw how many links nodes have with SpiderCast and with a ring for each topic."""

import sys

import matplotlib as mpl

import gossamer

mpl.use("Agg")
import matplotlib.pyplot as plt

out = sys.argv[1] if len(sys.argv) > 1 else "degrees.svg"
workload = gossamer.WorkloadLaw(nodes=2_000, topics=100, subscriptions="10", popularity="rss")

mpl.rcParams["svg.hashsalt"] = "gossamer"
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
for system, color in (("spidercast", "#2a7f8e"), ("ring-per-topic", "#c8c8c8")):
    overlay = gossamer.execute(gossamer.Run(system=system, seed=1, workload=workload)).overlay
    label = f"{system} (mean {overlay.degrees.mean():.1f})"
    axes.hist(overlay.degrees, bins=range(40), color=color, alpha=0.8, label=label)
axes.set(xlabel="degree (links of a node)", ylabel="nodes", title="2,000 nodes, 10 of 100 topics each")
axes.legend(frameon=False)
figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)
print(f"wrote {out}")
