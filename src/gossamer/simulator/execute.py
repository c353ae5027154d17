"""`execute(run)` carries out a run and returns its tables. A process pool or a Spark task calls the same function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.model.values.run import FRIENDS, GridLaw, Run
from gossamer.protocols.contract.system import System, load, read_parameters
from gossamer.simulator.build import build_by_cycles, build_by_events
from gossamer.simulator.churn_study import churn_by_cycles
from gossamer.simulator.columns import Tables, absent_tables, measured_tables
from gossamer.simulator.engine import Watcher
from gossamer.simulator.measure import (
    after_failure,
    interest_shape,
    measure_topics,
    overlay_diameter,
    summarise,
    top_intersection,
)
from gossamer.simulator.simulate import Simulation
from gossamer.systems import check_dissemination, check_recovery, find_dissemination, find_system
from gossamer.workloads.interests import make_grid_interests, make_interests
from gossamer.workloads.named import read_workload
from gossamer.workloads.social import read_friends


@dataclass(frozen=True)
class Result:
    """The result of a run: the last overlay, its metrics, and the columns of each table by name."""

    workload: Workload
    overlay: Overlay
    metrics: dict[str, Any]
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Settings:
    """The parameters of everything that a run names, checked."""

    system: System
    parameters: Any
    # None where the run has no dissemination or no recovery.
    dissemination: Any
    recovery: Any
    # Carries messages over an overlay that does not change, where the dissemination can do so.
    on_static_overlay: str | None

    def described(self) -> dict[str, Any]:
        """The parameters as the metrics show them."""
        named = {"dissemination_parameters": self.dissemination, "recovery_parameters": self.recovery}
        given = {name: msgspec.to_builtins(value) for name, value in named.items() if value is not None}
        return {"parameters": msgspec.to_builtins(self.parameters), **given}


@dataclass
class _Outcome:
    """What an engine gives: the last overlay, the interests and the nodes that are present, facts and tables."""

    overlay: Overlay
    facts: dict[str, Any]
    workload: Workload
    present: NDArray[np.bool_]
    tables: Tables = field(default_factory=dict)


def execute(
    run: Run,
    progress: Progress = silent,
    exact: bool = True,
    record: BinaryIO | None = None,
    watchers: Sequence[Watcher] = (),
) -> Result:
    """Carry out a run: build an overlay where the run has no end, simulate where it has one.

    `exact=False` gives bounds on topic diameters. `record` takes the record of a simulation. `watchers` see every event
    that a machine handles and every action that it answers with (`engine.Watcher`).
    """
    settings = _check(run)
    if watchers and run.engine != "event":
        raise InputError(
            f"watchers see the events of machines, and a run with engine={run.engine!r} has none; use engine='event'"
        )
    workload = find_workload(run)
    outcome = _carry_out(run, settings, workload, progress, record, watchers)
    if run.until_us is None and settings.dissemination is not None:
        # The overlay no longer changes, so the messages need no engine. Exact diameters would double the time, and the
        # question here is how far messages get.
        exact = False
        assert settings.on_static_overlay is not None
        carry = load(settings.on_static_overlay)
        outcome.facts |= carry(
            outcome.overlay, outcome.workload.interest, settings.dissemination, run.seed, run.event_count
        )
    return _measured(run, settings, outcome, exact, progress)


def _check(run: Run) -> _Settings:
    """Check everything that can be checked before any work is done."""
    on_static_overlay = find_dissemination(run.dissemination).on_static_overlay if run.dissemination else None
    needs_engine = run.dissemination is not None and on_static_overlay is None
    if run.until_us is None and (run.churn or run.loss or run.partitions or needs_engine or run.recovery is not None):
        raise InputError(
            "churn, loss, partitions, dissemination and recovery need an end: set `until_us`; "
            "a run without it is a build"
        )
    if run.links is not None and (run.until_us is None or run.engine != "event"):
        raise InputError("`links` are given to the nodes of a simulation: set `until_us`, and engine='event'")
    system = find_system(run.system, run.module)
    parameters = read_parameters(system, run.parameters)
    carried = recovery = None
    if run.dissemination is not None:
        carried = check_dissemination(system, run.dissemination, run.dissemination_parameters)
    if run.recovery is not None:
        recovery = check_recovery(system, run.dissemination, run.recovery)
    if (recovery is not None and recovery.stores) != (run.history_bytes > 0):
        raise InputError(
            "a history on disk needs both recovery with stores=true and its size: set `recovery` and `history_bytes`, or "
            "give --recovery and --history-size"
        )
    return _Settings(system, parameters, carried, recovery, on_static_overlay)


def _carry_out(
    run: Run,
    settings: _Settings,
    workload: Workload,
    progress: Progress,
    record: BinaryIO | None,
    watchers: Sequence[Watcher],
) -> _Outcome:
    """Choose the engine by the run."""
    system, parameters = settings.system, settings.parameters
    all_nodes = np.ones(workload.interest.node_count, np.bool_)
    if run.until_us is not None and run.engine == "cycle":
        overlay, facts, interest, present = churn_by_cycles(run, system, parameters, progress)
        return _Outcome(overlay, facts, replace(workload, interest=interest), present)
    if run.until_us is not None:
        simulation = Simulation(run, system, parameters, workload, record, watchers)
        overlay, facts, tables, up = simulation.carry_out(progress)
        present = np.zeros(workload.interest.node_count, np.bool_)
        present[up] = True
        return _Outcome(overlay, facts, workload, present, tables)
    if run.engine == "event":
        overlay, facts, tables = build_by_events(run, system, parameters, workload, progress, watchers)
    else:
        overlay, facts, tables = build_by_cycles(run, system, parameters, workload, progress)
    return _Outcome(overlay, facts, workload, all_nodes, tables)


def _measured(run: Run, settings: _Settings, outcome: _Outcome, exact: bool, progress: Progress) -> Result:
    """Measure the overlay among the nodes that are present."""
    overlay, present = outcome.overlay, outcome.present
    interest = outcome.workload.interest.among(present)
    topics = measure_topics(overlay, interest, exact, progress, run.lengths)
    metrics = {
        "system": run.system,
        **settings.described(),
        "engine": run.engine,
        "seed": run.seed,
        **summarise(overlay, interest, topics, present, run.lengths),
        **outcome.facts,
        **_further_metrics(run, overlay, interest),
    }
    measured = measured_tables(overlay, outcome.workload, topics, present)
    tables = {**outcome.tables, **measured, **absent_tables(outcome.workload, present)}
    return Result(outcome.workload, overlay, metrics, tables)


def _further_metrics(run: Run, overlay: Overlay, interest: Interest) -> dict[str, Any]:
    """Metrics that cost more, and that only some runs ask for."""
    metrics: dict[str, Any] = {}
    if run.interest_shape:
        metrics |= interest_shape(interest)
    if run.tdi_depth:
        metrics["tdi_percent"] = top_intersection(interest, run.tdi_depth)
    if run.failed_share:
        metrics |= after_failure(overlay, interest, run.failed_share, run.seed)
    if run.overlay_diameter:
        metrics["overlay_diameter"] = overlay_diameter(overlay)
    return metrics


def find_workload(run: Run) -> Workload:
    """Read the workload of a run, or make it by the run's law."""
    law = run.workload
    if isinstance(law, str):
        if not law.startswith(FRIENDS):
            return read_workload(Path(law))
        interest = read_friends(Path(law.removeprefix(FRIENDS)))
        return Workload(interest, np.arange(interest.node_count), np.arange(interest.topic_count))
    if isinstance(law, GridLaw):
        interest = make_grid_interests(law, run.seed)
    else:
        interest = make_interests(law.nodes, law.topics, law.subscriptions, law.popularity, run.seed)
    return Workload(interest, np.arange(law.nodes), np.arange(law.topics))
