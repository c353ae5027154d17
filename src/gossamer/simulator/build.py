"""Builds: a system runs until its links stop changing, or up to a limit of cycles."""

from collections.abc import Sequence
from typing import Any

from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import QUIET_CYCLES, Run
from gossamer.protocols.contract.system import System, load
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.columns import Tables, view_tables
from gossamer.simulator.cycle import Population
from gossamer.simulator.engine import Watcher
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook, ViewBook
from gossamer.simulator.network import Network, read_latency
from gossamer.simulator.recorder import ControlCounter
from gossamer.simulator.view_measures import directed_shape, measure_views

# The overlay, facts for the metrics, and further tables.
_Built = tuple[Overlay, dict[str, Any], Tables]


def build_by_cycles(run: Run, system: System, parameters: Any, workload: Workload, progress: Progress) -> _Built:
    """Build an overlay with the system's planner or kernel."""
    if system.planner is not None:
        overlay: Overlay | None = load(system.planner)(parameters, run.seed, workload.interest, progress)
        if overlay is not None:
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
    more, tables = view_tables(first_views, views, workload, workload.interest)
    if run.overlay_diameter:
        more |= directed_shape(views, workload.interest.node_count)
    return population.overlay(), {**facts, **more}, tables


def build_by_events(
    run: Run, system: System, parameters: Any, workload: Workload, progress: Progress, watchers: Sequence[Watcher] = ()
) -> _Built:
    """Build an overlay with the system's machines in the event engine."""
    cycle_us = system.cycle_us(parameters)
    links, views = LinkBook(), ViewBook()
    control = ControlCounter(window_us=run.cycle_limit * cycle_us + 1)
    network = Network(read_latency(run.latency, run.seed))
    watching: list[Watcher] = [links, control]
    if system.keeps_views:
        watching.append(views)
    if not system.discloses:
        watching += all_checkers(discloses=False)
    population = EventPopulation(system, parameters, run.seed, workload.interest, network, [*watching, *watchers])
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
    more, tables = view_tables(first_views, views.views(), workload, workload.interest)
    return links.overlay(workload.interest.node_count), {**facts, **more}, tables


def _ending(cycles: int, quiet: int) -> dict[str, Any]:
    """Why a build ended: its links stopped changing, or it reached its limit."""
    return {"cycles": cycles, "stopped_by": "rest" if quiet >= QUIET_CYCLES else "limit"}
