"""Measures against networkx and igraph on the same graph, and at a million nodes."""

from collections.abc import Callable
from functools import partial

import igraph
import networkx as nx
import numpy as np

from bench.report import seconds, show
from gossamer.kernels import measures as kernel
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.simulator.measure import overlay_clustering
from gossamer.workloads.interests import make_interests


def run() -> None:
    """Ratios on 5,000 nodes; growth of topic components over three sizes."""
    interest, overlay = _case(5_000, 100, 10)
    links = list(zip(*(end.tolist() for end in overlay.links()), strict=True))
    slow, middle = nx.Graph(links), igraph.Graph(n=overlay.node_count, edges=links)
    slow.add_nodes_from(range(overlay.node_count))
    members = [interest.nodes_of(topic).tolist() for topic in range(interest.topic_count)]
    arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    topics = interest.topic_count
    contests: dict[str, tuple[Callable[[], float], ...]] = {
        "components of all topics": (
            lambda: int(kernel.topic_components(*arrays, 0, topics)[0].sum()),
            lambda: sum(nx.number_connected_components(slow.subgraph(group)) for group in members),
            lambda: sum(len(middle.induced_subgraph(group).connected_components()) for group in members),
        ),
        "diameters of all topics": (
            lambda: int(kernel.topic_diameters(*arrays, 0, topics, True)[0].max()),
            lambda: max(map(_diameter, map(slow.subgraph, members))),
            lambda: max(middle.induced_subgraph(group).diameter(unconn=True) for group in members),
        ),
        "clustering of the overlay": (
            lambda: round(overlay_clustering(overlay), 12),
            lambda: round(nx.average_clustering(slow), 12),
            lambda: round(middle.transitivity_avglocal_undirected(mode="zero"), 12),
        ),
    }
    rows = []
    for name, (ours, theirs, others) in contests.items():
        answers: list[float] = []
        mine, slower, faster = (
            seconds(partial(_answer, way, answers), repeats) for way, repeats in ((ours, 5), (theirs, 1), (others, 3))
        )
        assert len(set(answers)) == 1, f"{name}: the answers differ: {set(answers)}"
        rows.append([name, f"{mine * 1e3:.1f} ms", f"{slower / mine:,.0f}x", f"{faster / mine:.1f}x"])
    show(
        f"Measures on {overlay.node_count:,} nodes, {overlay.link_count:,} links, {topics} topics: same answers",
        ["measure", "Gossamer", "networkx takes", "igraph takes"],
        rows,
    )
    rows = []
    for node_count in (10_000, 100_000, 1_000_000):
        interest, overlay = _case(node_count, 1_000, 20)
        arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
        elapsed = seconds(partial(kernel.topic_components, *arrays, 0, 1_000), 2)
        rows.append([f"{node_count:,}", f"{elapsed:.2f} s", f"{elapsed / interest.subscription_count * 1e9:.0f} ns"])
    show(
        "Components of 1,000 topics, 20 subscriptions and 10 links a node, one core (wanted: under 10 s at 10^6)",
        ["nodes", "time", "a subscription"],
        rows,
    )


def _answer(way: Callable[[], float], answers: list[float]) -> None:
    answers.append(way())


def _diameter(graph: nx.Graph) -> int:
    """The largest finite distance, as igraph and our kernel count it."""
    return max((max(lengths.values()) for _, lengths in nx.all_pairs_shortest_path_length(graph)), default=0)


def _case(node_count: int, topic_count: int, subscriptions: int) -> tuple[Interest, Overlay]:
    interest = make_interests(node_count, topic_count, str(subscriptions), "rss", seed=1)
    ends = np.random.default_rng(1).integers(0, node_count, (2, node_count * 5))
    overlay = Overlay.from_links(ends[0], ends[1], node_count)
    _ = interest.topic_nodes
    return interest, overlay
