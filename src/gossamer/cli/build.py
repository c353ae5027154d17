"""`gossamer build`: build an overlay for a workload with any system."""

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.options import (
    Bounds,
    Force,
    Json,
    OptionalSeed,
    Out,
    SystemArgument,
    WorkloadFolder,
    read_system_settings,
)
from gossamer.cli.results import show_metrics, write_result
from gossamer.model.values.errors import InputError
from gossamer.systems import find_system, read_parameters


class Engine(StrEnum):
    """What runs the build."""

    cycle = "cycle"
    event = "event"


def build(
    system: SystemArgument,
    workload: WorkloadFolder,
    out: Out,
    seed: OptionalSeed = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; repeatable.")
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="cycle: the compiled kernel; event: the protocol's machines, 20 ms latency.")
    ] = Engine.cycle,
    cycles: Annotated[int, typer.Option(min=1, help="Stop after this many cycles even if links still change.")] = 100,
    bounds: Bounds = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Build an overlay with one system and measure it.

    The build ends when no link has changed for ten cycles, or at --cycles. Writes OUT/overlay.parquet (u, v with u < v),
    topics.parquet, degrees.parquet, metrics.json and manifest.json. A system that keeps a view for each topic also gets
    views.parquet (topic, node, peer) and view_degrees.parquet. Planners that draw nothing at random need no --seed.

    Example: gossamer build cyclon out/w out/cyclon --seed 1 --set view_size=30
    """
    found = find_system(system)
    parameters = read_system_settings(settings)
    read_parameters(found, parameters)
    if seed is None and getattr(found, "needs_seed", True):
        raise InputError(f"{system} draws at random; give --seed")

    from gossamer.model.tables.folders import check_output, output_folder
    from gossamer.model.values.run import Run
    from gossamer.simulator.execute import execute

    started = time.monotonic()
    check_output(out, force, [workload])
    run = Run(
        system=system,
        parameters=parameters,
        seed=seed or 0,
        workload=str(workload),
        engine=engine.value,
        cycle_limit=cycles,
    )
    with progress_bar() as progress:
        result = execute(run, progress, exact=not bounds)
    with output_folder(out, force, [workload]) as folder:
        write_result(folder, result, run, "build", started)
    show_metrics(f"{system} on {workload}", result.metrics, json)
    if not json:
        typer.echo(ending_sentence(result.metrics))


def ending_sentence(metrics: dict[str, Any]) -> str:
    """The reason why the build stopped."""
    cycles = metrics["cycles"]
    if metrics["stopped_by"] == "plan":
        return "Planned centrally in one step."
    if metrics["stopped_by"] == "rest":
        return f"Stopped after {cycles} cycles: no link had changed for ten cycles."
    return f"Stopped at the limit of {cycles} cycles: links were still changing."
