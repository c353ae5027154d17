"""Links of a node by the number of topics that it follows: Gossamer, simulated and live, against a mesh for each topic.

Draws `docs/pictures/links-per-topic.svg`. A mesh has six links in every topic, as in gossipsub; a link that several
topics share counts once. A node cannot have more links than there are other nodes.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from bench.report import show
from gossamer import Node
from gossamer.model.arrays.interest import Interest
from gossamer.planners.per_topic import mesh_per_topic
from gossamer.protocols.contract.system import load, read_parameters
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

FOLLOWED = (10, 20, 50, 100, 200, 500)
TOPICS = 1_000
SIMULATED_NODES = 1_000
LIVE_NODES = 50
MESH = 6
CYCLES = 80
PICTURE = Path("docs/pictures/links-per-topic.svg")


def run() -> None:
    """Measure, print and draw."""
    rows = []
    for followed in FOLLOWED:
        many = make_interests(SIMULATED_NODES, TOPICS, str(followed), "rss", seed=1)
        few = make_interests(LIVE_NODES, TOPICS, str(followed), "rss", seed=1)
        rows.append((followed, _ours(many), _mesh(many), asyncio.run(_live(few)), _ours(few), _mesh(few)))
        print(f"{followed} topics a node: done", file=sys.stderr)
    show(
        f"Average links of a node, {TOPICS:,} topics (RSS popularity)",
        [
            "topics a node",
            f"ours, {SIMULATED_NODES:,} simulated",
            f"mesh of {MESH}, {SIMULATED_NODES:,}",
            f"ours, {LIVE_NODES} live",
            f"ours, {LIVE_NODES} simulated",
            f"mesh of {MESH}, {LIVE_NODES}",
        ],
        [[str(followed), *(f"{value:.1f}" for value in values)] for followed, *values in rows],
        f"No node can have more than {SIMULATED_NODES - 1} and {LIVE_NODES - 1}.",
    )
    _draw(rows)


def _ours(interest: Interest) -> float:
    simulated = find_system("spidercast")
    assert simulated.population is not None
    population = load(simulated.population)(read_parameters(simulated, {}), 1, interest, (), 0)
    for _ in range(CYCLES):
        population.cycle()
    return float(population.overlay().degrees.mean())


def _mesh(interest: Interest) -> float:
    return float(mesh_per_topic(interest, MESH, 1).degrees.mean())


async def _live(interest: Interest) -> float:
    """The mean number of links of the live nodes, after that number has been stable for a while."""
    async with AsyncExitStack() as stack:
        nodes: list[Node] = []
        for index in range(interest.node_count):
            node = await stack.enter_async_context(Node(join=[nodes[0].address] if nodes else []))
            nodes.append(node)
            for topic in interest.topics_of(index).tolist():
                await stack.enter_async_context(node.subscribe(f"topic/{topic}"))
        history: list[float] = []
        for _ in range(120):
            await asyncio.sleep(1)
            kept = [sum(link.kept for link in node.status().links) for node in nodes]
            history.append(sum(kept) / len(kept))
            if len(history) > 10 and max(history[-10:]) - min(history[-10:]) < 0.01 * history[-1]:
                break
        return history[-1]


def _draw(rows: list[tuple[int, float, float, float, float, float]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "gossamer"
    followed, ours, mesh, live, few, few_mesh = zip(*rows, strict=True)
    figure, axes = pyplot.subplots(figsize=(7.5, 5.2))
    axes.plot(followed, mesh, "s--", color="tab:red", label=f"mesh of {MESH} a topic, {SIMULATED_NODES:,} nodes")
    axes.plot(
        followed, ours, "o-", color="tab:blue", label=f"Gossamer (SpiderCast), {SIMULATED_NODES:,} simulated nodes"
    )
    axes.plot(followed, few_mesh, "s:", color="tab:orange", label=f"mesh of {MESH} a topic, {LIVE_NODES} nodes")
    axes.plot(followed, few, "-", color="tab:cyan", label=f"Gossamer, {LIVE_NODES} simulated nodes")
    axes.plot(followed, live, "D", color="tab:green", label=f"Gossamer, {LIVE_NODES} live nodes")
    for nodes in (SIMULATED_NODES, LIVE_NODES):
        axes.axhline(nodes - 1, color="grey", linewidth=0.8)
        axes.annotate(
            f"all others ({nodes - 1})", (FOLLOWED[0], nodes - 1), (0, 3), textcoords="offset points", fontsize=8
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(FOLLOWED, [str(value) for value in FOLLOWED])
    axes.set_xlabel(f"topics that a node follows (of {TOPICS:,})")
    axes.set_ylabel("average links of a node")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncol=2)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
