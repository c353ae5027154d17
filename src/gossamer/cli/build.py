"""`gossamer build`: an overlay for a workload, by any system."""

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.options import Bounds, Force, Json, Out, Seed, Settings, WorkloadFolder, read_settings
from gossamer.cli.results import show_metrics, write_result
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import find_system


class Engine(StrEnum):
    """What carries the build out."""

    cycle = "cycle"
    event = "event"


def build(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="`gossamer systems` lists them.")],
    workload: WorkloadFolder,
    out: Out,
    seed: Seed,
    settings: Settings = None,
    engine: Annotated[
        Engine, typer.Option(help="cycle: the compiled kernel; event: machines with 20 ms latency.")
    ] = Engine.cycle,
    cycles: Annotated[int, typer.Option(min=1, help="Stop after this many cycles even if links still change.")] = 100,
    bounds: Bounds = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Build an overlay until no link has changed for ten cycles, or up to a limit, and measure it.

    Writes OUT/overlay.parquet (u, v with u < v), topics.parquet, degrees.parquet, metrics.json, manifest.json; for stan also
    views.parquet (topic, node, peer) and view_degrees.parquet.

    Example: gossamer build cyclon out/w out/cyclon --seed 1 --set view_size=30
    """
    read_parameters(find_system(system), read_settings(settings))

    from gossamer.model.tables.folders import check_output, output_folder
    from gossamer.model.values.run import Run
    from gossamer.simulator.execute import execute

    started = time.monotonic()
    check_output(out, force, [workload])
    run = Run(
        system=system,
        parameters=read_settings(settings),
        seed=seed,
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
    """Why the build stopped."""
    cycles = metrics["cycles"]
    if metrics["stopped_by"] == "plan":
        return "Planned centrally, in one go."
    if metrics["stopped_by"] == "rest":
        return f"Stopped after {cycles} cycles: no link had changed for ten."
    return f"Stopped at the limit of {cycles} cycles: links were still changing."
