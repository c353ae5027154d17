"""SpiderCast's dynamic setting (3.8): nodes leave and join all the time, each time with a new interest.

Kernels run it, one cycle for each maintenance period, with snapshots at the times that the paper names.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.churn import JOIN
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.system import System, load
from gossamer.simulator.cycle import Population
from gossamer.simulator.measure import Progress, measure_topics
from gossamer.simulator.population import CycleChanges, changes_by_cycle
from gossamer.workloads.churn import make_churn
from gossamer.workloads.interests import make_interests
from gossamer.workloads.laws import duration_law

# Paper: "every 200 seconds, we took a snapshot ... we excluded the nodes that joined the overlay in the interval
# [t - 2, t] seconds" (3.8).
SNAPSHOT_US = 200 * SECOND_US
YOUNG_US = 2 * SECOND_US
# Chosen: messages that are sent while the first nodes settle are not counted for joins and leaves.
SETTLED_US = 20 * SECOND_US
# Each new interest of a node has its own seed.
INTEREST_SEEDS = 1_000_003


@dataclass
class Snapshots:
    """The measures of each snapshot."""

    at_us: list[int] = field(default_factory=list)
    parted: list[int] = field(default_factory=list)
    degrees: list[float] = field(default_factory=list)

    def take(self, at_us: int, overlay: Overlay, interest: Interest, counted: NDArray[np.bool_]) -> None:
        """Measure the overlay between the nodes that are counted."""
        u, v = overlay.links()
        both = counted[u] & counted[v]
        among = Overlay.from_links(u[both], v[both], overlay.node_count)
        topics = measure_topics(among, interest.among(counted))
        self.at_us.append(at_us)
        self.parted.append(int((topics.components > 1).sum()))
        self.degrees.append(float(overlay.degrees[counted].mean()))


def churn_by_cycles(
    run: Run, system: System, parameters: Any, progress: Progress
) -> tuple[Overlay, dict[str, Any], Interest, NDArray[np.bool_]]:
    """Returns the last overlay, the facts of the snapshots, the last interests, and which nodes are present."""
    law, until_us = run.workload, run.until_us
    if not isinstance(law, WorkloadLaw) or system.population is None or run.churn is None or until_us is None:
        raise InputError("churn in the cycle engine needs a kernel, a workload made by a law, and a churn law")
    on_text, _, off_text = run.churn.partition("/")
    churn = make_churn(
        law.nodes, duration_law(on_text, "churn's on"), duration_law(off_text, "churn's off"), until_us, 0.0, run.seed
    )
    cycle_us = system.cycle_us(parameters)
    changes = changes_by_cycle(churn, cycle_us)
    current = make_interests(law.nodes, law.topics, law.subscriptions, law.popularity, run.seed)
    up = churn.present_at_start(law.nodes)
    room = int(current.sizes.max())
    population: Population = load(system.population)(parameters, run.seed, current, np.flatnonzero(~up).tolist(), room)
    joined_us = np.full(law.nodes, -YOUNG_US, np.int64)
    turns: Counter[int] = Counter()
    drawn: dict[int, Interest] = {}
    held = [tuple(current.topics_of(node).tolist()) for node in range(law.nodes)]
    snapshots = Snapshots()
    settled: dict[str, int] = {}
    for cycle in range(1, until_us // cycle_us + 1):
        now_us = cycle * cycle_us
        change = changes.get(cycle)
        if change is not None:
            interests = {}
            for node in change.joiners:
                turns[node] += 1
                seed = run.seed + turns[node] * INTEREST_SEEDS
                if turns[node] not in drawn:
                    drawn[turns[node]] = make_interests(law.nodes, law.topics, law.subscriptions, law.popularity, seed)
                interests[node] = held[node] = tuple(drawn[turns[node]].topics_of(node).tolist())
            change = CycleChanges(change.leavers, change.crashes, change.joiners, interests)
            up[[*change.leavers, *change.crashes]] = False
            up[list(change.joiners)] = True
            joined_us[list(change.joiners)] = now_us
        population.cycle(change)
        if now_us == SETTLED_US:
            settled = population.messages()
        if now_us % SNAPSHOT_US == 0:
            snapshots.take(now_us, population.overlay(), _interest(held, law), up & (joined_us < now_us - YOUNG_US))
        if cycle % 100 == 0:
            progress(f"{run.system}, cycles", cycle, until_us // cycle_us)
    counted = max(int((churn.at_us > SETTLED_US).sum()), 1)
    # Chosen: the paper does not say what it counts (3.8.1); all kinds but those that only keep links alive (docs/papers.md).
    control = {
        kind: (count - settled.get(kind, 0)) / counted
        for kind, count in population.messages().items()
        if kind not in system.keep_alive_kinds
    }
    facts = {
        "until_us": until_us,
        "snapshots": len(snapshots.at_us),
        "snapshot_partitioned_topics": sum(snapshots.parted),
        "snapshot_average_degree": float(np.mean(snapshots.degrees)),
        "joins": int((churn.events == JOIN).sum()),
        "joins_and_leaves": counted,
        "control_messages_per_join_or_leave": sum(control.values()),
        "control_messages_by_kind": control,
    }
    return population.overlay(), facts, _interest(held, law), up


def _interest(held: list[tuple[int, ...]], law: WorkloadLaw) -> Interest:
    sizes = [len(topics) for topics in held]
    nodes = np.repeat(np.arange(law.nodes), sizes)
    return Interest.from_pairs(nodes, np.concatenate([np.array(topics, int) for topics in held]), law.nodes, law.topics)
