"""`gossamer simulate`: run a system in virtual time, with churn, latency and loss."""

import time
from contextlib import nullcontext
from math import ceil
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.options import (
    Bounds,
    Force,
    Json,
    Out,
    Seed,
    Settings,
    SystemArgument,
    WorkloadFolder,
    read_set_flags,
)
from gossamer.cli.results import show_metrics, write_result
from gossamer.model.values.errors import InputError
from gossamer.model.values.sizes import size_bytes
from gossamer.model.values.time import SECOND_US, duration_us
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import check_dissemination, check_recovery, find_live, find_system

RECORD = "record.bin"
TELEMETRY = "telemetry"
RATE_MAX = 1_000_000


def simulate(
    system: SystemArgument,
    workload: WorkloadFolder,
    out: Out,
    seed: Seed,
    settings: Settings = None,
    dissemination: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="How messages travel over the overlay; `gossamer systems` lists the choices."
        ),
    ] = None,
    recovery: Annotated[
        bool,
        typer.Option("--recovery", help="Deliver in each publisher's order, request missing messages, keep history."),
    ] = False,
    history_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="With --recovery: each node's history on disk, such as 1MB; off by default."),
    ] = None,
    history_age: Annotated[
        str, typer.Option(metavar="TIME", help="With --history-size: how old messages on disk may become.")
    ] = "7d",
    events: Annotated[int | None, typer.Option(min=1, help="Publish this many messages in total.")] = None,
    rate: Annotated[float | None, typer.Option(metavar="R", help="Publish R messages per second.")] = None,
    churn: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A churn table, as `gossamer churn make` writes it.")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="OVERLAY",
            help="Start with the links of a plan or another overlay. SYSTEM is then planned (keeps them, and mends as "
            "SpiderCast does) or omen-planned (mends as OMen does), as for live nodes.",
        ),
    ] = None,
    latency: Annotated[
        str,
        typer.Option(metavar="LAW", help="20ms, uniform:5-50ms, or matrix:FILE (round trips in ms: text or ingested)."),
    ] = "20ms",
    loss: Annotated[float, typer.Option(metavar="SHARE", help="The share of messages that are lost.")] = 0.0,
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="FROM-UNTIL:SHARE", help="Cut off a random share of the nodes; repeatable."),
    ] = None,
    until: Annotated[str, typer.Option(metavar="TIME", help="The virtual time at which the simulation ends.")] = "600s",
    record: Annotated[
        bool, typer.Option("--record", help="Record every event and action for `gossamer replay`.")
    ] = False,
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="Write telemetry records to OUT/telemetry, as live nodes do.")
    ] = False,
    bounds: Bounds = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Simulate a system on the event engine.

    Safety checkers watch every simulation. Writes the tables publications, deliveries, links, control, topics, degrees
    and the final overlay to OUT, and absent if nodes are absent at the end.

    Example: gossamer simulate planned subs.csv out/sim --links out/plan --seed 1 --until 60s

    Example: gossamer simulate cyclon out/w out/sim --seed 1 --latency uniform:5-50ms --loss 0.01 --until 300s
    """
    given = read_set_flags(settings, dissemination)
    parameters: dict[str, object] = dict(given.system)
    shown = system
    if links is not None:
        start = find_live(system)
        if not start.takes_plan:
            raise InputError(f"{system} does not start from given links; with --links, SYSTEM takes a plan")
        system, parameters = start.system, {**start.settings, **parameters}
    found = find_system(system)
    read_parameters(found, parameters)
    if dissemination is not None:
        check_dissemination(found, dissemination, given.dissemination)
    if recovery:
        check_recovery(found, dissemination, given.recovery)
    elif given.recovery:
        raise InputError(
            f"--set recovery.{next(iter(given.recovery))} sets a parameter of recovery; give --recovery too"
        )
    history_bytes = 0 if history_size is None else size_bytes(history_size, "--history-size")
    if history_bytes and not recovery:
        raise InputError("--history-size keeps the messages of recovery on disk; give --recovery too")
    if events is not None and rate is not None:
        raise InputError("give --events or --rate, not both")
    if rate is not None and not 0 < rate <= RATE_MAX:
        raise InputError(f"--rate must be above 0 and at most {RATE_MAX:,} messages per second, got {rate:g}")
    until_us = duration_us(until, "--until")
    if until_us < 1:
        raise InputError(f"--until must be longer than 0, got {until}")

    from gossamer.model.spool.files import SpoolWriter
    from gossamer.model.tables.folders import check_output, output_folder
    from gossamer.model.values.run import Run
    from gossamer.simulator.execute import execute
    from gossamer.simulator.recorder import TelemetrySpool

    started = time.monotonic()
    sources = [path for path in (workload, churn, links) if path is not None]
    check_output(out, force, sources)
    run = Run(
        system=system,
        parameters=parameters,
        seed=seed,
        workload=str(workload),
        engine="event",
        until_us=until_us,
        churn=None if churn is None else str(churn),
        links=None if links is None else str(links),
        dissemination=dissemination,
        dissemination_parameters=given.dissemination,
        recovery={**given.recovery, **({"stores": True} if history_bytes else {})} if recovery else None,
        history_bytes=history_bytes,
        history_age_us=duration_us(history_age, "--history-age"),
        event_count=events or ceil((rate or 0.0) * until_us / SECOND_US),
        latency=latency,
        loss=loss,
        partitions=tuple(partition or ()),
    )
    with output_folder(out, force, sources) as folder:
        log = (folder / RECORD).open("wb") if record else nullcontext()
        with progress_bar() as progress, log as file:
            spools = (
                [TelemetrySpool(SpoolWriter(folder / TELEMETRY, "simulation", simulated=True))] if telemetry else []
            )
            result = execute(run, progress, exact=not bounds, record=file, watchers=spools)
            for spool in spools:
                spool.close()
        write_result(folder, result, run, "simulate", started)
    show_metrics(f"{shown} on {workload}", result.metrics, json)
    if record and not json:
        typer.echo(f"The record is {out / RECORD}; replay it with: gossamer replay {out / RECORD}")
