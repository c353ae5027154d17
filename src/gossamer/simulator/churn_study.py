"""SpiderCast's dynamic setting (3.8): nodes leave and join all the time, each time with a new interest.

Kernels run it, one cycle for each maintenance period, with snapshots at the times that the paper names.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.system import System, load
from gossamer.simulator.cycle import Population
from gossamer.simulator.measure import measure_topics
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
    disconnected: list[int] = field(default_factory=list)
    # The average degree of each snapshot in which at least one node is counted.
    degrees: list[float] = field(default_factory=list)

    def take(self, at_us: int, overlay: Overlay, interest: Interest, counted: NDArray[np.bool_]) -> None:
        """Measure the overlay between the nodes that are counted."""
        u, v = overlay.links()
        both = counted[u] & counted[v]
        among = Overlay.from_links(u[both], v[both], overlay.node_count)
        topics = measure_topics(among, interest.among(counted))
        self.at_us.append(at_us)
        self.disconnected.append(int((topics.components > 1).sum()))
        if counted.any():
            self.degrees.append(float(overlay.degrees[counted].mean()))

    def facts(self) -> dict[str, Any]:
        """The facts for the metrics of the run; the average degree is None if no snapshot counted any node."""
        return {
            "snapshots": len(self.at_us),
            "snapshot_partitioned_topics": sum(self.disconnected),
            "snapshot_average_degree": float(np.mean(self.degrees)) if self.degrees else None,
        }


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
    nodes = _ChangingNodes(law, run.seed, churn.present_at_start(law.nodes))
    room = int(nodes.first.sizes.max())
    absent = np.flatnonzero(~nodes.present).tolist()
    population: Population = load(system.population)(parameters, run.seed, nodes.first, absent, room)
    snapshots = Snapshots()
    cycle_us = system.cycle_us(parameters)
    cycle_count = until_us // cycle_us
    changes = changes_by_cycle(churn, cycle_us)
    counted = _Counted(SETTLED_US // cycle_us)
    for cycle in range(cycle_count + 1):
        now_us = cycle * cycle_us
        if cycle:
            change = nodes.apply(changes[cycle], now_us) if cycle in changes else None
            population.cycle(change)
            counted.note(cycle, change, population)
        # Snapshots fall between this cycle and the next one, or on this cycle.
        for at_us in _multiples(SNAPSHOT_US, now_us, min(now_us + cycle_us, until_us + 1)):
            snapshots.take(at_us, population.overlay(), nodes.interest(), nodes.settled(at_us))
        if cycle and cycle % 100 == 0:
            progress(f"{run.system}, cycles", cycle, cycle_count)
    facts = {"until_us": until_us, **snapshots.facts(), **counted.facts(system, population.messages())}
    return population.overlay(), facts, nodes.interest(), nodes.present


def _multiples(step: int, low: int, high: int) -> range:
    """The positive multiples of `step` that are at least `low` and below `high`."""
    return range(max(-(-low // step), 1) * step, high, step)


class _ChangingNodes:
    """The nodes that are present, and the interest of each, which is new at every join."""

    def __init__(self, law: WorkloadLaw, seed: int, present: NDArray[np.bool_]) -> None:
        self._law = law
        self._seed = seed
        self.first = self._make(seed)
        self.present = present
        self._topics = [tuple(self.first.topics_of(node).tolist()) for node in range(law.nodes)]
        self._joined_us = np.full(law.nodes, -YOUNG_US, np.int64)
        self._joins: Counter[int] = Counter()
        # The interests of all nodes at their first join, at their second join, and so on.
        self._drawn: dict[int, Interest] = {}

    def apply(self, change: CycleChanges, now_us: int) -> CycleChanges:
        """The changes of a cycle with a new interest for each node that joins."""
        interests = {}
        for node in change.joiners:
            interests[node] = self._topics[node] = self._next_topics(node)
        self.present[[*change.leavers, *change.crashes]] = False
        self.present[list(change.joiners)] = True
        self._joined_us[list(change.joiners)] = now_us
        return CycleChanges(change.leavers, change.crashes, change.joiners, interests)

    def settled(self, now_us: int) -> NDArray[np.bool_]:
        """Which nodes are present and did not join just now."""
        return self.present & (self._joined_us < now_us - YOUNG_US)

    def interest(self) -> Interest:
        """The current interests of all nodes."""
        sizes = [len(topics) for topics in self._topics]
        nodes = np.repeat(np.arange(self._law.nodes), sizes)
        topics = np.concatenate([np.array(topics, int) for topics in self._topics])
        return Interest.from_pairs(nodes, topics, self._law.nodes, self._law.topics)

    def _next_topics(self, node: int) -> tuple[int, ...]:
        self._joins[node] += 1
        count = self._joins[node]
        if count not in self._drawn:
            self._drawn[count] = self._make(self._seed + count * INTEREST_SEEDS)
        return tuple(self._drawn[count].topics_of(node).tolist())

    def _make(self, seed: int) -> Interest:
        law = self._law
        return make_interests(law.nodes, law.topics, law.subscriptions, law.popularity, seed)


class _Counted:
    """The joins and leaves that took effect, and the messages that were sent before the first nodes had settled."""

    def __init__(self, settled_cycle: int) -> None:
        self._settled_cycle = settled_cycle
        self._settled_messages: Mapping[str, int] = {}
        self._joins = 0
        # Joins and leaves after the first nodes had settled.
        self._later_changes = 0

    def note(self, cycle: int, change: CycleChanges | None, population: Population) -> None:
        """Count the changes of a cycle that has been carried out."""
        if change is not None:
            self._joins += len(change.joiners)
            if cycle > self._settled_cycle:
                self._later_changes += len(change.joiners) + len(change.leavers) + len(change.crashes)
        if cycle == self._settled_cycle:
            self._settled_messages = population.messages()

    def facts(self, system: System, messages: Mapping[str, int]) -> dict[str, Any]:
        """Control messages for each join or leave; None if there was no join and no leave to count."""
        # Chosen: the paper does not say which messages it counts (3.8.1); we count all kinds except those that only keep
        # links alive (docs/papers.md).
        control = {
            kind: (count - self._settled_messages.get(kind, 0)) / self._later_changes
            for kind, count in messages.items()
            if kind not in system.keep_alive_kinds and self._later_changes
        }
        return {
            "joins": self._joins,
            "joins_and_leaves": self._later_changes,
            "control_messages_per_join_or_leave": sum(control.values()) if self._later_changes else None,
            "control_messages_by_kind": control,
        }
