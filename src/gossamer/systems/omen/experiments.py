"""The measurements behind the exhibits: functions (seed, arguments) -> metrics (`System.experiments`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.planners.greedy import GM, MINMAXODA, Draft, GreedyRule, lowoda, plan
from gossamer.protocols.contract.system import load, read_parameters
from gossamer.simulator.measure import disconnected_topics, measure_topics
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.omen.network_churn import NodesUnderChurn
from gossamer.systems.omen.parameters import OmenGParameters, OmenParameters
from gossamer.systems.omen.sequential import MendedOverlay
from gossamer.workloads.interests import make_interests
from gossamer.workloads.samples import make_churn_events, sample_churn, sample_graph

# Chosen: a breadth-first search from three users; the paper says "a few".
STARTS = 3
# Chosen: cycles in which SpiderCast repairs each churn event.
SPIDERCAST_CYCLES = 3


def backup_sets(seed: int, law: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The backup sets of all nodes (Figures 3 and 4): sizes, in-degrees, and what the most loaded nodes serve."""
    interest = make_interests(seed=seed, **law)
    nothing = Overlay.from_links(np.zeros(0, np.int32), np.zeros(0, np.int32), interest.node_count)
    mended = MendedOverlay(OmenGParameters(**parameters), seed, interest, nothing)
    loads = np.array([len(of) for of in mended.backup_of])
    busy = [of for of in mended.backup_of if len(of) > 100]
    return {
        "size_mean_percent": 100 * float(np.mean([len(each) for each in mended.backups.values()])) / len(loads),
        "load_least": int(loads.min()),
        "load_most": int(loads.max()),
        "below_five_percent": 100 * float((loads < 5).mean()),
        "above_hundred_percent": 100 * len(busy) / len(loads),
        "served_by_those_percent": 100 * len(set().union(*busy)) / len(loads) if busy else 0.0,
    }


def mend_generated(
    seed: int,
    law: Mapping[str, Any],
    events: int,
    every: int,
    parameters: Mapping[str, Any],
    rivals: Sequence[str] = (),
) -> dict[str, Any]:
    """Churn on a generated workload, one event after another (Figure 5)."""
    interest = make_interests(seed=seed, **law)
    absent, churn = make_churn_events(interest.node_count, events, seed)
    return _mend(seed, interest, absent, churn, every, parameters, rivals)


def mend(
    seed: int,
    nodes: int,
    events: int,
    every: int,
    parameters: Mapping[str, Any],
    graph: str,
    trace: str,
    directed: bool = False,
    rivals: Sequence[str] = (),
    diameters: bool = False,
) -> dict[str, Any]:
    """Churn of a real trace on a sample of a real graph (Figures 8, 9 and 11)."""
    interest = sample_graph(Path(graph), nodes, STARTS, seed, directed)
    absent, churn = sample_churn(Path(trace), nodes, events, seed)
    return _mend(seed, interest, absent, churn, every, parameters, rivals, diameters)


def local_views(
    seed: int, nodes: int, parameters: Mapping[str, Any], graph: str, directed: bool = False
) -> dict[str, Any]:
    """The nodes that the first successor of a node keeps for it: neighbours and backups (Figures 6 and 8a)."""
    interest = sample_graph(Path(graph), nodes, STARTS, seed, directed)
    settings = OmenGParameters(**parameters)
    mended = MendedOverlay(settings, seed, interest, plan(interest, lowoda(settings.rho)))
    sizes = np.array([len(mended.neighbours[node].union(mended.backups[node])) for node in range(nodes)])
    return {
        "mean": float(sizes.mean()),
        "at_most_80_percent": 100 * float((sizes <= 80).mean()),
        "under_5_percent_of_nodes": 100 * float((sizes < 0.05 * nodes).mean()),
    }


def follow_counts(seed: int, nodes: int, counts: Sequence[int], graph: str, directed: bool = False) -> dict[str, Any]:
    """The share of users with at least so many followers and followees, in a graph and in a sample of it (Figure 7)."""
    found: dict[str, Any] = {}
    whole = sample_graph(Path(graph), None, STARTS, seed, directed)
    for name, interest in {"graph": whole, "sample": sample_graph(Path(graph), nodes, STARTS, seed, directed)}.items():
        for kind, each in {"followers": interest.popularity, "followees": interest.sizes}.items():
            found[f"{name}: {kind}"] = [100 * float((each >= count).mean()) for count in counts]
    return found


def nodes_under_churn(
    seed: int,
    nodes: int,
    events: int,
    parameters: Mapping[str, Any],
    graph: str,
    trace: str,
    directed: bool = False,
    rivals: Sequence[str] = (),
) -> dict[str, Any]:
    """The trace on nodes that run OMen, and on OMen with complete knowledge (Figure 12, section 6.5)."""
    interest = sample_graph(Path(graph), nodes, STARTS, seed, directed)
    absent, churn = sample_churn(Path(trace), nodes, events, seed)
    network = NodesUnderChurn(OmenParameters(**parameters), seed, interest, absent.tolist())
    shared = {name: value for name, value in parameters.items() if name in OmenGParameters.__struct_fields__}
    found = _mend(seed, interest, absent, churn, 1, shared, rivals)
    for node, is_join in churn.tolist():
        network.change(node, bool(is_join))
    return {**found, **{f"nodes: {name}": values for name, values in network.found.items()}}


def _mend(
    seed: int,
    interest: Interest,
    absent: NDArray[np.int64],
    churn: NDArray[np.int64],
    every: int,
    parameters: Mapping[str, Any],
    rivals: Sequence[str],
    diameters: bool = False,
) -> dict[str, Any]:
    """Every `every` events: the degrees of OMen and its rivals, and whether OMen's topics are connected."""
    settings = OmenGParameters(**parameters)
    rule = lowoda(settings.rho)
    present = np.ones(interest.node_count, np.bool_)
    present[absent] = False
    existing = plan(interest.among(present), rule)
    mended = MendedOverlay(settings, seed, interest, existing, absent.tolist())
    as_printed = None
    if "OMen-S" in rivals:
        inside = msgspec.structs.replace(settings, counted="inside")
        as_printed = MendedOverlay(inside, seed, interest, existing, absent.tolist())
    spidercasts = {name: _SpiderCast(name, seed, interest, absent) for name in rivals if name.startswith("SpiderCast")}
    found: dict[str, list[float]] = {}
    parted = 0
    for number, (node, is_join) in enumerate(churn.tolist(), 1):
        done = mended.join(node) if is_join else mended.leave(node)
        found.setdefault("shadow_sizes", []).append(done.shadow_size)
        found.setdefault("links_added", []).append(len(done.added))
        found.setdefault("links_dropped", []).append(len(mended.renew()))
        if as_printed is not None:
            (as_printed.join if is_join else as_printed.leave)(node)
            as_printed.renew()
        present[node] = is_join
        for spidercast in spidercasts.values():
            spidercast.change(node, bool(is_join))
        among = interest.among(present)
        if "LowODA-Inc" in rivals:
            existing = _incremental(among, existing, present, settings.rho)
        if number % every:
            continue
        overlays = {"OMen": mended.overlay()}
        parted += disconnected_topics(overlays["OMen"], among)
        if as_printed is not None:
            overlays["OMen-S"] = as_printed.overlay()
        overlays |= {name: plan(among, anew) for name, anew in _planners(rule).items() if name in rivals}
        if "LowODA-Inc" in rivals:
            overlays["LowODA-Inc"] = existing
        overlays |= {name: spidercast.overlay() for name, spidercast in spidercasts.items()}
        for name, spidercast in spidercasts.items():
            found.setdefault(f"{name} messages", []).append(spidercast.messages)
        for name, overlay in overlays.items():
            _note(found, name, overlay.degrees[present])
            if diameters:
                _note_diameters(found, name, overlay, among)
    return {**found, "parted_topics": parted}


def _planners(rule: GreedyRule) -> dict[str, GreedyRule]:
    """The rivals that plan a whole overlay anew after an event."""
    return {"LowODA-Re": rule, "GM": GM, "MinMaxODA": MINMAXODA}


def _note(found: dict[str, list[float]], name: str, degrees: NDArray[np.integer]) -> None:
    found.setdefault(f"{name} most", []).append(int(degrees.max()))
    found.setdefault(f"{name} mean", []).append(float(degrees.mean()))


def _note_diameters(found: dict[str, list[float]], name: str, overlay: Overlay, interest: Interest) -> None:
    """Of topics that are connected: SpiderCast may leave others."""
    topics = measure_topics(overlay, interest)
    known = topics.diameter[(topics.components == 1) & (topics.subscribers > 1)]
    found.setdefault(f"{name} diameter most", []).append(int(known.max()))
    found.setdefault(f"{name} diameter mean", []).append(float(known.mean()))


def _incremental(interest: Interest, before: Overlay, present: NDArray[np.bool_], rho: float) -> Overlay:
    """LowODA-Inc: the links that are left, and those that LowODA adds to them with all nodes in view."""
    u, v = before.links()
    left = present[u] & present[v]
    draft = Draft(interest, Overlay.from_links(u[left], v[left], interest.node_count))
    draft.connect(lowoda(rho))
    return draft.overlay()


class _SpiderCast:
    """SpiderCast (K_g, K_r) under the same churn, by its own kernel."""

    def __init__(self, name: str, seed: int, interest: Interest, absent: NDArray[np.int64]) -> None:
        system = find_system("spidercast")
        self._keep_alive = system.keep_alive_kinds
        self.messages = 0
        greedy, at_random = name.removeprefix("SpiderCast (").removesuffix(")").split(",")
        parameters = read_parameters(system, {"greedy_coverage": int(greedy), "random_coverage": int(at_random)})
        self._population = load(system.population or "")(parameters, seed, interest, absent.tolist(), 0)
        for _ in range(10 * SPIDERCAST_CYCLES):
            self._population.cycle()

    def change(self, node: int, is_join: bool) -> None:
        before = self._sent()
        joiners, crashes = ((node,), ()) if is_join else ((), (node,))
        self._population.cycle(CycleChanges((), crashes, joiners, {}))
        for _ in range(SPIDERCAST_CYCLES - 1):
            self._population.cycle()
        # The messages of the last event, without those that only keep links alive.
        self.messages = self._sent() - before

    def _sent(self) -> int:
        counts = self._population.messages()
        return sum(count for kind, count in counts.items() if kind not in self._keep_alive)

    def overlay(self) -> Overlay:
        overlay: Overlay = self._population.overlay()
        return overlay
