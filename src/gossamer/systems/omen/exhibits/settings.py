"""The workloads and experiments of the paper's evaluation (section 6)."""

from collections.abc import Callable
from typing import Any

from gossamer.analysis.exhibits.harness import Metrics
from gossamer.model.values.run import Experiment

SYSTEM = "omen-g"
# Paper: 2,000 nodes, 200 topics, 10 to 90 subscriptions by a power law (6.1). Chosen: its exponent, 4.5, which fits the
# shares of greedy backup sets.
LAWS = {"Unif": "uniform", "Zipf": "zipf:2", "Expo": "expo"}
NODES, TOPICS, SUBSCRIPTIONS = 2_000, 200, "power:10:90:4.5"
SEEDS = (1, 2, 3, 4, 5)
# Paper: 2,000 churn rounds (6.5). Chosen: every twentieth is measured.
EVENTS, EVERY = 2_000, 20
GRAPHS = {
    "ego-facebook": "ego-facebook/facebook_combined.txt.gz",
    "Cornell": "facebook100-cornell5/cornell5_edges.txt.gz",
}
# Directed: a user is followed.
FOLLOWERS = {"Twitter": "twitter-ego-followers/bofa_careers_edges.txt.gz"}
TRACE = "google-2011-machines/part-00000-of-00001.csv.gz"


def law(name: str) -> dict[str, Any]:
    """A synthetic workload."""
    return {"node_count": NODES, "topic_count": TOPICS, "subscriptions": SUBSCRIPTIONS, "law": LAWS[name]}


def sets(name: str, seed: int, backups: str) -> Experiment:
    """The backup sets of a synthetic workload. Paper: lambda is 3 (6.3)."""
    arguments = {"law": law(name), "parameters": {"coverage": 3, "backups": backups}}
    return Experiment(system=SYSTEM, name="backup_sets", arguments=arguments, seed=seed)


def mend(
    graph: str,
    seed: int,
    nodes: int,
    events: int,
    rivals: tuple[str, ...] = (),
    every: int = EVERY,
    diameters: bool = False,
    **parameters: Any,
) -> Experiment:
    """Churn of the real trace on a friend graph."""
    arguments = {"nodes": nodes, "events": events, "every": every, "parameters": parameters, "rivals": list(rivals)}
    if diameters:
        arguments["diameters"] = True
    return _on_graph("mend", graph, seed, arguments, {"trace": TRACE})


def views(graph: str, seed: int, nodes: int, coverage: int) -> Experiment:
    """What the first successor of each node keeps for it."""
    return _on_graph("local_views", graph, seed, {"nodes": nodes, "parameters": {"coverage": coverage}}, {})


def follows(graph: str, seed: int, nodes: int, counts: tuple[int, ...]) -> Experiment:
    """Numbers of followers and followees."""
    return _on_graph("follow_counts", graph, seed, {"nodes": nodes, "counts": list(counts)}, {})


def on_nodes(graph: str, seed: int, nodes: int, events: int, rivals: tuple[str, ...] = ()) -> Experiment:
    """Churn of the real trace on nodes that run OMen. Paper: L is 1 (6.3). Chosen: turns of ten seconds; no bridges."""
    parameters = {"period_us": 10_000_000, "mend_us": 0, "resilience": 1}
    arguments = {"nodes": nodes, "events": events, "parameters": parameters, "rivals": list(rivals)}
    return _on_graph("nodes_under_churn", graph, seed, arguments, {"trace": TRACE})


def _on_graph(name: str, graph: str, seed: int, arguments: dict[str, Any], data: dict[str, str]) -> Experiment:
    if graph in FOLLOWERS:
        arguments = {**arguments, "directed": True}
    data = {"graph": {**GRAPHS, **FOLLOWERS}[graph], **data}
    return Experiment(system=SYSTEM, name=name, arguments=arguments, data=data, seed=seed)


def metric(name: str) -> Callable[[Metrics], float]:
    """The measure that reads this metric."""
    return lambda metrics: float(metrics[name])


def at_end(name: str) -> Callable[[Metrics], float]:
    """The measure that reads the last of a metric's values."""
    return lambda metrics: float(metrics[name][-1])


def average(name: str) -> Callable[[Metrics], float]:
    """The mean of a metric's values."""
    return lambda metrics: float(sum(metrics[name]) / len(metrics[name]))
