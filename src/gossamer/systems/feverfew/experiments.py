"""The measurements behind the exhibits: functions (seed, arguments) -> metrics (`System.experiments`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.msgpack import encode
from numpy.typing import NDArray

from gossamer.kernels import measures
from gossamer.kernels.draw import U64
from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Digest
from gossamer.protocols.contract.system import load
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_dissemination
from gossamer.systems.feverfew.check import search_figures
from gossamer.systems.feverfew.chord import lookup_hops
from gossamer.systems.feverfew.messages import Match, Search
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.planner import global_covers
from gossamer.systems.feverfew.population import FeverfewPopulation
from gossamer.workloads.make import make_workload
from gossamer.workloads.social import read_memberships

# Where the intervals of topic sizes begin, in Figure 5, and those of the number of subscriptions, in Figure 8(b).
SIZES = (2, 5, 10, 20, 30, 40, 60, 100, 200)
SUBSCRIPTIONS = (1, 10, 20, 40, 80, 160, 320)
# Chosen: lookups of the structured baseline.
LOOKUPS = 10_000


def formula(seed: int) -> dict[str, Any]:
    """Nothing is measured: the point of the exhibit is a closed form."""
    return {}


def search(seed: int, nodes: int, size: int, shuffle: int, at_once: bool = False) -> dict[str, Any]:
    """Isolated searches of BubbleSample (Tables 1 and 2)."""
    return search_figures(nodes, size, shuffle, seed, at_once)


def lookup(seed: int, nodes: int) -> dict[str, Any]:
    """Lookups in Chord."""
    found = lookup_hops(nodes, seed, LOOKUPS)
    return {"hops_mean": float(found.mean()), "hops_max": int(found.max())}


def workload(seed: int, kind: str, figures: Mapping[str, int]) -> dict[str, Any]:
    """The sizes of topics and of interests, largest first (Figures 1 and 4)."""
    interest = _interest(kind, figures, seed)
    return {
        "topic_sizes": np.sort(interest.popularity)[::-1].tolist(),
        "interest_sizes": np.sort(interest.sizes)[::-1].tolist(),
    }


def cover(
    seed: int,
    kind: str,
    nodes: int,
    figures: Mapping[str, int],
    parameters: Mapping[str, Any],
    cycles: int,
    topics: Sequence[int] = (),
) -> dict[str, Any]:
    """Nodes cover their subscriptions from empty views: coverage by topic size and cycle, links, shapes of topics.

    `topics` are sizes of topics: the shape of the topic nearest to each size is measured at the end.
    """
    return _cover(_interest(kind, {"nodes": nodes, **figures}, seed), seed, parameters, cycles, topics)


def cover_groups(seed: int, groups: str, parameters: Mapping[str, Any], cycles: int) -> dict[str, Any]:
    """The same on real memberships. `groups` is a file; topics with a single subscriber are left out."""
    return _cover(_groups(groups), seed, parameters, cycles, ())


def _cover(
    interest: Interest, seed: int, parameters: Mapping[str, Any], cycles: int, topics: Sequence[int]
) -> dict[str, Any]:
    population = FeverfewPopulation(FeverfewParameters(**parameters), seed, interest)
    places = np.searchsorted(SIZES, interest.popularity[interest.node_topics], side="right") - 1
    totals = np.bincount(places, minlength=len(SIZES))
    covered_share, by_size, links = [], [], []
    for _ in range(cycles):
        population.cycle()
        covered = population.covered()
        covered_share.append(float(covered.mean()))
        by_size.append((np.bincount(places[covered], minlength=len(SIZES)) / np.maximum(totals, 1)).tolist())
        links.append(float(population.node_views.cover_sizes.sum()) / len(covered))
    return {
        "covered_share": covered_share,
        "covered_by_size": by_size,
        "subscriptions_by_size": totals.tolist(),
        "links_per_subscription": links,
        "messages": population.messages(),
        **_bytes(interest, population, cycles),
        **_degrees(interest, population.node_views.cover_sizes),
        **_shapes(interest, population.overlay(), topics),
    }


def cover_globally(
    seed: int, kind: str, nodes: int, figures: Mapping[str, int], topics: Sequence[int] = ()
) -> dict[str, Any]:
    """The covers of nodes that know all interests, with the same metrics."""
    return _cover_globally(_interest(kind, {"nodes": nodes, **figures}, seed), seed, topics)


def cover_groups_globally(seed: int, groups: str) -> dict[str, Any]:
    """The same on real memberships."""
    return _cover_globally(_groups(groups), seed, ())


def _cover_globally(interest: Interest, seed: int, topics: Sequence[int]) -> dict[str, Any]:
    nodes = interest.node_count
    owners, chosen = global_covers(seed, interest)
    overlay = Overlay.from_links(np.minimum(owners, chosen), np.maximum(owners, chosen), nodes)
    return {
        "covered_share": [1.0],
        "links_per_subscription": [len(owners) / interest.subscription_count],
        **_degrees(interest, np.bincount(owners, minlength=nodes)),
        **_shapes(interest, overlay, topics),
    }


def _bytes(interest: Interest, population: FeverfewPopulation, cycles: int) -> dict[str, float]:
    """Bytes of searches and of shuffles for a node and a cycle, in the wire format with 64-bit ids.

    Searches are copies and notices, over the cycles of BubbleSample. Shuffles carry ten entries with interests, both ways.
    """
    large, address = 2**63 + 1, b"x" * 16
    digests = [Digest(1, int(size), (large,) * min(int(size), DIGEST_TOPICS)) for size in interest.sizes]
    digest_bytes = sum(len(encode(digest)) for digest in digests) / max(len(digests), 1)
    search_bytes = len(encode(Search(large, large, 12, address)))
    match_bytes = len(encode(Match(large, large, address))) + digest_bytes
    sent = population.search_copies() * search_bytes + population.messages()["Match"] * match_bytes
    searching = max(cycles - population.parameters.bubble_cycles, 1)
    entry_bytes = len(encode((large, 1, address))) + digest_bytes
    return {
        "search_bytes": sent / interest.node_count / searching,
        "shuffle_bytes": 2 * population.parameters.shuffle_length * entry_bytes,
    }


def _interest(kind: str, figures: Mapping[str, Any], seed: int) -> Interest:
    return make_workload(kind=kind, seed=seed, **figures).interest


def _groups(file: str) -> Interest:
    """Real memberships without the groups of one member, which nobody can cover."""
    interest = read_memberships(Path(file))
    kept = interest.popularity[interest.node_topics] > 1
    return Interest.from_pairs(
        interest.owners[kept], interest.node_topics[kept], interest.node_count, interest.topic_count
    )


def _degrees(interest: Interest, degrees: NDArray[np.integer]) -> dict[str, Any]:
    """Degrees are sizes of ln-covered views: their mean, and the means of nodes with as many subscriptions."""
    sizes = interest.sizes
    groups = np.searchsorted(SUBSCRIPTIONS, sizes, side="right") - 1
    by_group = [float(degrees[groups == group].mean()) if (groups == group).any() else None
                for group in range(len(SUBSCRIPTIONS))]  # fmt: skip
    subscribed = sizes > 0
    return {
        "degree_mean": float(degrees.mean()),
        "degree_by_subscriptions": by_group,
        "links_per_subscription_node_mean": float((degrees[subscribed] / sizes[subscribed]).mean()),
    }


def _shapes(interest: Interest, overlay: Overlay, sizes: Sequence[int]) -> dict[str, Any]:
    """Components, diameter and clustering of the topics nearest to these sizes, in the undirected overlay."""
    found = {}
    for size in sizes:
        topic = int(np.abs(interest.popularity - size).argmin())
        arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours, topic, topic + 1)
        components, _ = measures.topic_components(*arrays)
        diameters = measures.topic_diameters(*arrays, True)
        found[str(size)] = {
            "subscribers": int(interest.popularity[topic]),
            "components": int(components[0]),
            "diameter": int(diameters[0][0]),
            "clustering": float(measures.topic_clustering(*arrays)[0]),
        }
    return {"topics": found}


def spread(
    seed: int,
    kind: str,
    nodes: int,
    figures: Mapping[str, int],
    parameters: Mapping[str, Any],
    cycles: int,
    sizes: Sequence[int],
    covered_first: int = 0,
    substituted: float = 0.0,
    failed: float = 0.0,
    keep_messages: bool = True,
) -> dict[str, Any]:
    """Messages spread by push and pull, a round in each cycle, while the overlay changes: completion by cycle.

    The overlay first has `covered_first` cycles without churn. Then, in every cycle, the share `substituted` of the nodes
    crashes and the nodes that crashed in the cycle before return with empty views; or the share `failed` crashes once.
    One message is published on a topic of each of these sizes. With `keep_messages` a node that returns still has a
    message that it received, and completion is a share of all subscribers; otherwise it is a share of those present.
    """
    interest = _interest(kind, {"nodes": nodes, **figures}, seed)
    population = FeverfewPopulation(FeverfewParameters(**parameters), seed, interest)
    for _ in range(covered_first):
        population.cycle()
    order = np.argsort(draws(U64(seed), U64(Purpose.FAILED), U64(0), nodes), kind="stable")
    dead = order[: int(failed * nodes)]
    messages = _publish(interest, sizes, dead, seed)
    gone = np.zeros(0, np.int64)
    completion: dict[str, list[float]] = {str(size): [] for size in sizes}
    for cycle in range(1, cycles + 1):
        crashes = dead if failed and cycle == 1 else _substituted(population.present, gone, substituted, seed, cycle)
        changes = CycleChanges((), tuple(sorted(crashes.tolist())), tuple(sorted(gone.tolist())), {})
        population.cycle(changes)
        gone = crashes if substituted else gone
        overlay = population.overlay()
        for size, (spreading, holders) in messages.items():
            if not keep_messages:
                spreading.replace(np.intersect1d(crashes, np.flatnonzero(holders)))
            spreading.round(overlay, holders & population.present)
            counted = holders if keep_messages and not failed else holders & population.present
            completion[size].append(spreading.completion(counted))
    return {"completion": completion, "covered_share": float(population.covered().mean())}


def _publish(interest: Interest, sizes: Sequence[int], dead: NDArray[np.int64], seed: int) -> dict[str, Any]:
    """A message on a topic of each size, by one of its subscribers that does not fail, and who subscribes."""
    dissemination = find_dissemination("push-pull")
    if dissemination.by_rounds is None:
        raise InputError("push-pull cannot spread messages round by round")
    by_rounds = load(dissemination.by_rounds)
    found = {}
    for size in sizes:
        topic = int(np.abs(interest.popularity - size).argmin())
        holders = np.zeros(interest.node_count, np.bool_)
        holders[interest.nodes_of(topic)] = True
        alive = np.setdiff1d(interest.nodes_of(topic), dead)
        if not len(alive):
            raise InputError(f"all {size} subscribers of a topic fail; nobody can publish")
        # The paper's curves run far beyond the age limit of push and pull, so that it cannot have applied.
        parameters = dissemination.parameters(age_rule=False)
        spreading = by_rounds(parameters, seed, interest.node_count, topic, int(alive[0]), len(holders))
        found[str(size)] = (spreading, holders)
    return found


def _substituted(
    present: NDArray[np.bool_], gone: NDArray[np.int64], share: float, seed: int, cycle: int
) -> NDArray[np.int64]:
    """The nodes that crash in this cycle: a share of all nodes, drawn among those present."""
    here = np.flatnonzero(present)
    keys = draws(U64(seed), U64(Purpose.FAILED), U64(cycle), len(present))[here]
    return here[np.argsort(keys, kind="stable")[: round(share * len(present))]].astype(np.int64)
