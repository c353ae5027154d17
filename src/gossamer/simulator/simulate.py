"""Simulations: machines in virtual time until an end, with churn, loss, partitions and published messages."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from gossamer.model.arrays.churn import CRASH, JOIN, LEAVE, Churn
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload, read_churn, read_overlay
from gossamer.model.values.draw import Purpose, draw, unit
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import Run
from gossamer.model.values.time import SECOND_US, duration_us
from gossamer.protocols.contract.record import Answer, Header
from gossamer.protocols.contract.system import System
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.columns import Tables, link_columns, view_tables, with_workload_ids
from gossamer.simulator.disks import SimulatedDisks
from gossamer.simulator.engine import Watcher
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook, ViewBook
from gossamer.simulator.network import Network, Partition, read_latency
from gossamer.simulator.publications import Publications
from gossamer.simulator.recorder import ControlCounter, DeliveryLog, Recorder

# Progress is reported this many times.
STEPS = 100


class Simulation:
    """One run in the event engine, with the watchers that fill its tables."""

    def __init__(
        self,
        run: Run,
        system: System,
        parameters: Any,
        workload: Workload,
        record: BinaryIO | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        if run.event_count and run.dissemination is None:
            raise InputError(
                f"{run.event_count} messages need a dissemination to carry them; "
                "set `dissemination`, or leave `event_count` out"
            )
        self._run, self._system, self._workload = run, system, workload
        self._node_count = workload.interest.node_count
        self._churn = read_churn(Path(run.churn), workload) if run.churn else Churn.none()
        self._links, self._views = LinkBook(keep_history=True), ViewBook()
        self._control, self._deliveries = ControlCounter(SECOND_US), DeliveryLog()
        disks = SimulatedDisks(run.history_bytes, run.history_age_us) if run.history_bytes else None
        checkers = all_checkers(run.dissemination, system.discloses, run.recovery is not None, disks is not None)
        watching: list[Watcher] = [self._links, self._control, self._deliveries, *checkers]
        if system.keeps_views:
            watching.append(self._views)
        # The answers of interest views, which a record needs for its replay.
        answers: list[Answer] | None = None
        if record is not None:
            answers = []
            watching.append(Recorder(record, record_header(run, parameters), answers))
        self._population = EventPopulation(
            system,
            parameters,
            run.seed,
            workload.interest,
            make_network(run, self._node_count),
            [*watching, *watchers],
            answers,
            run.dissemination,
            run.dissemination_parameters,
            run.recovery,
            disks,
            read_overlay(Path(run.links), workload) if run.links else None,
        )
        self._publications = Publications(self._population, workload.interest, run.seed)

    def carry_out(self, progress: Progress) -> tuple[Overlay, dict[str, Any], Tables, list[int]]:
        """Run until the end.

        Returns the last overlay, facts for the metrics, tables, and the nodes that are present.
        """
        run, engine = self._run, self._population.engine
        assert run.until_us is not None
        self._population.start_together(np.flatnonzero(self._churn.present_at_start(self._node_count)).tolist())
        first_views = self._views.views()
        schedule_churn(self._population, self._churn)
        self._publications.schedule(run.event_count, run.until_us)
        steps = min(STEPS, run.until_us)
        for step in range(1, steps + 1):
            engine.run(run.until_us * step // steps)
            progress(f"{run.system}, virtual time", step, steps)
        facts, tables = self._facts(), self._tables()
        if self._system.keeps_views:
            interest = self._workload.interest.among(engine.present_flags(self._node_count))
            more, further = view_tables(first_views, self._views.views(), self._workload, interest)
            facts, tables = {**facts, **more}, {**tables, **further}
        return self._links.overlay(self._node_count), facts, tables, engine.present

    def _facts(self) -> dict[str, Any]:
        engine = self._population.engine
        facts = {
            "until_us": self._run.until_us,
            "present": len(engine.present),
            "handled_events": engine.handled_count,
            "lost_messages": engine.lost_count,
        }
        if self._run.dissemination is not None:
            facts |= {**self._publications.facts(), **self._deliveries.facts(self._publications.expected)}
        if self._run.history_bytes:
            facts |= self._missed_facts()
        return facts

    def _missed_facts(self) -> dict[str, Any]:
        """How many of the messages that present nodes missed while they were away they got afterwards."""
        missed = self._publications.missed_by(set(self._population.engine.present))
        got = sum(self._deliveries.was_delivered(*pair) for pair in missed)
        ratio = got / len(missed) if missed else 1.0
        return {"missed_while_away": len(missed), "missed_and_delivered": got, "missed_delivery_ratio": ratio}

    def _tables(self) -> Tables:
        return {
            "links": link_columns(self._links, self._workload),
            "control": with_workload_ids(self._control.columns(), self._workload),
            "deliveries": with_workload_ids(self._deliveries.columns(), self._workload),
            "publications": with_workload_ids(self._publications.columns(), self._workload),
        }


def record_header(run: Run, parameters: Any) -> Header:
    """The header of a run's record: all that a replay needs to make the same machines."""
    return Header(
        system=run.system,
        parameters=msgspec.to_builtins(parameters),
        seed=run.seed,
        dissemination=run.dissemination,
        dissemination_parameters=run.dissemination_parameters,
        recovery=run.recovery,
    )


def make_network(run: Run, node_count: int) -> Network:
    """The network of a run: latency, loss and partitions."""
    partitions = tuple(read_partition(text, node_count, run.seed) for text in run.partitions)
    return Network(read_latency(run.latency, run.seed), run.loss, partitions)


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


def schedule_churn(population: EventPopulation, churn: Churn) -> None:
    """Have the engine carry out every join, leave and crash at its time."""
    calls = {JOIN: population.join, LEAVE: population.leave, CRASH: population.crash}
    for at_us, node, event in zip(churn.at_us.tolist(), churn.nodes.tolist(), churn.events.tolist(), strict=True):
        if event in calls:
            population.engine.call_at(at_us, partial(calls[event], node))
