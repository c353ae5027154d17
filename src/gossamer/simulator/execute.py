"""`execute(run)`: from a value to tables. A process pool or a Spark task calls the same function."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.churn import CRASH, JOIN, LEAVE, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.tables.workload import Workload, read_churn, read_workload
from gossamer.model.values.draw import Purpose, draw, unit
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import FRIENDS, QUIET_CYCLES, GridLaw, Run
from gossamer.model.values.time import SECOND_US, duration_us
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.record import Header
from gossamer.protocols.contract.system import System, load, read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.churn_study import churn_by_cycles
from gossamer.simulator.cycle import Population
from gossamer.simulator.engine import Watcher
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook, ViewBook
from gossamer.simulator.measure import (
    Progress,
    TopicMeasures,
    after_failure,
    interest_shape,
    measure_topics,
    overlay_diameter,
    silent,
    summarise,
    top_intersection,
)
from gossamer.simulator.network import Network, Partition, read_latency
from gossamer.simulator.publications import Publications
from gossamer.simulator.recorder import ControlCounter, DeliveryLog, Recorder
from gossamer.simulator.view_measures import directed_shape, measure_views, view_degree_columns, view_facts
from gossamer.systems import check_dissemination, check_recovery, find_dissemination, find_system
from gossamer.workloads.interests import make_grid_interests, make_interests
from gossamer.workloads.social import read_friends


@dataclass(frozen=True)
class Result:
    """What a run gave: the last overlay, figures, and the columns of each table by name."""

    workload: Workload
    overlay: Overlay
    metrics: dict[str, Any]
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def execute(run: Run, progress: Progress = silent, exact: bool = True, record: BinaryIO | None = None) -> Result:
    """Carry out a run: build where it has no end, simulate where it has one."""
    on_static_overlay = find_dissemination(run.dissemination).on_static_overlay if run.dissemination else None
    needs_engine = run.dissemination is not None and on_static_overlay is None
    if run.until_us is None and (run.churn or run.loss or run.partitions or needs_engine or run.recovery is not None):
        raise InputError(
            "churn, loss, partitions, dissemination and recovery need an end: a run without until_us is a build"
        )
    system = find_system(run.system, run.module)
    parameters = read_parameters(system, run.parameters)
    carried = None
    if run.dissemination is not None:
        carried = check_dissemination(system, run.dissemination, run.dissemination_parameters)
    recovery = None
    if run.recovery is not None:
        recovery = check_recovery(system, run.dissemination, run.recovery)
    workload = find_workload(run)
    present = np.ones(workload.interest.node_count, np.bool_)
    tables: dict[str, Mapping[str, Any]] = {}
    if run.until_us is not None and run.engine == "cycle":
        overlay, facts, interest, present = churn_by_cycles(run, system, parameters, progress)
        workload = replace(workload, interest=interest)
    elif run.until_us is not None:
        overlay, facts, tables, up = _simulate(run, system, parameters, workload, progress, record)
        present = np.zeros(workload.interest.node_count, np.bool_)
        present[up] = True
    elif run.engine == "event":
        overlay, facts, tables = _build_by_events(run, system, parameters, workload, progress)
    else:
        overlay, facts, tables = _build_by_cycles(run, system, parameters, workload, progress)
    if run.until_us is None and carried is not None:
        # An overlay that no longer changes needs no engine. The question is how far messages get; exact diameters
        # would double the time.
        exact = False
        assert on_static_overlay is not None
        facts |= load(on_static_overlay)(overlay, workload.interest, carried, run.seed, run.event_count)
    interest = workload.interest.among(present)
    topics = measure_topics(overlay, interest, exact, progress)
    metrics = {
        "system": run.system,
        "parameters": msgspec.to_builtins(parameters),
        **({"dissemination_parameters": msgspec.to_builtins(carried)} if run.dissemination is not None else {}),
        **({"recovery_parameters": msgspec.to_builtins(recovery)} if recovery is not None else {}),
        "engine": run.engine,
        "seed": run.seed,
        **summarise(overlay, interest, topics, present),
        **facts,
    }
    if run.interest_shape:
        metrics |= interest_shape(interest)
    if run.tdi_depth:
        metrics["tdi_percent"] = top_intersection(interest, run.tdi_depth)
    if run.failed_share:
        metrics |= after_failure(overlay, interest, run.failed_share, run.seed)
    if run.overlay_diameter:
        metrics["overlay_diameter"] = overlay_diameter(overlay)
    measured = {"topics": topic_columns(workload, topics), "degrees": degree_columns(overlay, present)}
    return Result(workload, overlay, metrics, {**tables, **measured})


def find_workload(run: Run) -> Workload:
    """Read the run's workload, or make it by its law."""
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


Outcome = tuple[Overlay, dict[str, Any], dict[str, Mapping[str, Any]]]


def _build_by_cycles(run: Run, system: System, parameters: Any, workload: Workload, progress: Progress) -> Outcome:
    if system.planner is not None:
        overlay = load(system.planner)(parameters, run.seed, workload.interest, progress)
        return overlay, {"cycles": 0, "stopped_by": "plan"}, {}
    if system.population is None:
        raise InputError(f"{run.system} has no compiled kernel; use engine='event'")
    population: Population = load(system.population)(parameters, run.seed, workload.interest, (), 0)
    first_views = population.views()
    quiet = cycles = 0
    before = population.fingerprint()
    history: list[float] = []
    while quiet < QUIET_CYCLES and cycles < run.cycle_limit:
        population.cycle()
        now = population.fingerprint()
        quiet, before = (0 if now != before else quiet + 1), now
        cycles += 1
        if run.view_history and (views := population.views()) is not None:
            history.append(float(measure_views(views, workload.interest).unique.mean()))
        progress(f"{run.system}, cycles", cycles, run.cycle_limit)
    facts = {**_ending(cycles, quiet), "messages": population.messages()}
    if run.view_history:
        facts["view_unique_by_cycle"] = history
    views = population.views()
    if first_views is None or views is None:
        return population.overlay(), facts, {}
    more, tables = _measured_views(first_views, views, workload, workload.interest)
    if run.overlay_diameter:
        more |= directed_shape(views, workload.interest.node_count)
    return population.overlay(), {**facts, **more}, tables


def _build_by_events(run: Run, system: System, parameters: Any, workload: Workload, progress: Progress) -> Outcome:
    cycle_us = system.cycle_us(parameters)
    links, views = LinkBook(), ViewBook()
    control = ControlCounter(window_us=run.cycle_limit * cycle_us + 1)
    network = Network(read_latency(run.latency, run.seed))
    watchers: list[Watcher] = [links, control]
    if system.keeps_views:
        watchers.append(views)
    if not system.discloses:
        watchers += all_checkers(discloses=False)
    population = EventPopulation(system, parameters, run.seed, workload.interest, network, watchers)
    population.start_together(range(workload.interest.node_count))
    first_views = views.views()
    quiet = cycles = 0
    while quiet < QUIET_CYCLES and cycles < run.cycle_limit:
        before = links.fingerprint
        cycles += 1
        population.engine.run(cycles * cycle_us)
        quiet = 0 if links.fingerprint != before else quiet + 1
        progress(f"{run.system}, cycles", cycles, run.cycle_limit)
    facts = {**_ending(cycles, quiet), "messages": control.totals()}
    if not system.keeps_views:
        return links.overlay(workload.interest.node_count), facts, {}
    more, tables = _measured_views(first_views, views.views(), workload, workload.interest)
    return links.overlay(workload.interest.node_count), {**facts, **more}, tables


def _ending(cycles: int, quiet: int) -> dict[str, Any]:
    """How a build ended: at rest, or at its limit."""
    return {"cycles": cycles, "stopped_by": "rest" if quiet >= QUIET_CYCLES else "limit"}


def _simulate(
    run: Run,
    system: System,
    parameters: Any,
    workload: Workload,
    progress: Progress,
    record: BinaryIO | None,
) -> tuple[Overlay, dict[str, Any], dict[str, Mapping[str, Any]], list[int]]:
    if run.event_count and run.dissemination is None:
        raise InputError("events need a dissemination to carry them; give --dissemination, or leave --events out")
    assert run.until_us is not None
    node_count = workload.interest.node_count
    churn = read_churn(Path(run.churn), workload.node_ids) if run.churn else Churn.none()
    network = Network(
        read_latency(run.latency, run.seed),
        run.loss,
        tuple(read_partition(text, node_count, run.seed) for text in run.partitions),
    )
    links, control, deliveries = LinkBook(keep_history=True), ControlCounter(SECOND_US), DeliveryLog()
    checkers = all_checkers(run.dissemination, system.discloses, run.recovery is not None)
    watchers: list[Watcher] = [links, control, deliveries, *checkers]
    views = ViewBook()
    if system.keeps_views:
        watchers.append(views)
    answers: list[Peer | None] | None = None
    if record is not None:
        answers = []
        header = Header(
            system=run.system,
            parameters=msgspec.to_builtins(parameters),
            seed=run.seed,
            dissemination=run.dissemination,
            dissemination_parameters=run.dissemination_parameters,
            recovery=run.recovery,
        )
        watchers.append(Recorder(record, header, answers))
    population = EventPopulation(
        system,
        parameters,
        run.seed,
        workload.interest,
        network,
        watchers,
        answers,
        run.dissemination,
        run.dissemination_parameters,
        run.recovery,
    )
    engine = population.engine
    population.start_together(np.flatnonzero(churn.present_at_start(node_count)).tolist())
    first_views = views.views()
    _schedule_churn(population, churn)
    publications = Publications(population, workload.interest, run.seed)
    publications.schedule(run.event_count, run.until_us)
    steps = min(100, run.until_us)
    for step in range(1, steps + 1):
        engine.run(run.until_us * step // steps)
        progress(f"{run.system}, virtual time", step, steps)
    ids = workload.node_ids
    traffic = control.columns()
    tables: dict[str, Mapping[str, Any]] = {
        "links": _link_columns(links, ids),
        "control": {**traffic, "node": ids[np.array(traffic["node"], dtype=np.int64)]},
        "deliveries": _in_workload_ids(deliveries.columns(), workload),
        "publications": _in_workload_ids(publications.columns(), workload),
    }
    facts = {
        "until_us": run.until_us,
        "present": len(engine.present),
        "handled_events": engine.handled_count,
        "lost_messages": engine.lost_count,
    }
    if run.dissemination is not None:
        facts |= {**publications.facts(), **deliveries.facts(publications.expected)}
    if system.keeps_views:
        interest = workload.interest.among(engine.present_flags(node_count))
        more, view_tables = _measured_views(first_views, views.views(), workload, interest)
        facts, tables = {**facts, **more}, {**tables, **view_tables}
    return links.overlay(node_count), facts, tables, engine.present


def read_partition(text: str, node_count: int, seed: int) -> Partition:
    """`10s-20s:0.5`: from 10 s until 20 s half of the nodes, drawn at random, are cut off from the rest."""
    span, colon, share_text = text.partition(":")
    start, dash, end = span.partition("-")
    try:
        share = float(share_text)
    except ValueError:
        share = -1.0
    if not colon or not dash or not 0.0 < share < 1.0:
        raise InputError(f"a partition must be FROM-UNTIL:SHARE with a share between 0 and 1, got {text!r}")
    from_us, until_us = duration_us(start, "a partition's start"), duration_us(end, "a partition's end")
    if until_us <= from_us:
        raise InputError(f"a partition must end after it starts, got {text!r}")
    side = (node for node in range(node_count) if unit(draw(seed, node, Purpose.PARTITION, from_us)) < share)
    return Partition(from_us, until_us, frozenset(side))


def _schedule_churn(population: EventPopulation, churn: Churn) -> None:
    calls = {JOIN: population.join, LEAVE: population.leave, CRASH: population.crash}
    for at_us, node, event in zip(churn.at_us.tolist(), churn.nodes.tolist(), churn.events.tolist(), strict=True):
        if event in calls:
            population.engine.call_at(at_us, partial(calls[event], node))


def _measured_views(
    first: TopicViews, last: TopicViews, workload: Workload, interest: Interest
) -> tuple[dict[str, Any], dict[str, Mapping[str, Any]]]:
    """Facts and tables of a system that keeps a view for each topic."""
    measured = {"first": measure_views(first, interest), "last": measure_views(last, interest)}
    columns = {
        "topic": workload.topic_ids[last.topics],
        "node": workload.node_ids[last.nodes],
        "peer": workload.node_ids[last.peers],
    }
    return view_facts(measured), {"views": columns, "view_degrees": view_degree_columns(measured)}


def _link_columns(links: LinkBook, ids: Any) -> dict[str, Any]:
    rows = np.array(links.history, dtype=np.int64).reshape(-1, 4)
    return {"at_us": rows[:, 0], "u": ids[rows[:, 1]], "v": ids[rows[:, 2]], "up": rows[:, 3].astype(np.bool_)}


def _in_workload_ids(columns: Mapping[str, Any], workload: Workload) -> dict[str, Any]:
    nodes, topics = (np.array(columns[name], dtype=np.int64) for name in ("node", "topic"))
    return {**columns, "node": workload.node_ids[nodes], "topic": workload.topic_ids[topics]}


def topic_columns(workload: Workload, topics: TopicMeasures) -> dict[str, Any]:
    """The columns of `topics.parquet`; where `diameter_most` is larger, the true diameter lies between the two."""
    return {
        "topic": workload.topic_ids,
        "subscribers": topics.subscribers,
        "components": topics.components,
        "links": topics.links,
        "diameter": topics.diameter,
        "diameter_most": topics.diameter_most,
        "clustering": topics.clustering,
    }


def degree_columns(overlay: Overlay, present: NDArray[np.bool_] | None = None) -> dict[str, Any]:
    """The columns of `degrees.parquet`, of those present."""
    counted = overlay.degrees if present is None else overlay.degrees[present]
    degrees, nodes = np.unique(counted, return_counts=True)
    return {"degree": degrees, "nodes": nodes}
