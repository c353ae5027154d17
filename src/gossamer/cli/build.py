"""`gossamer build`: an overlay for a workload, by any system."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Bounds, Force, Json, Out, Seed, Settings, WorkloadFolder, manifest, read_settings
from gossamer.protocols.systems import find_system, read_parameters


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

    Writes OUT/overlay.parquet (u, v with u < v), topics.parquet, degrees.parquet, metrics.json, manifest.json.

    Example: gossamer build cyclon out/w out/cyclon --seed 1 --set view_size=30
    """
    read_parameters(find_system(system), read_settings(settings))

    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import INTERESTS, write_overlay
    from gossamer.model.values.run import Run
    from gossamer.simulator.execute import execute

    started = time.monotonic()
    check_output(out, force)
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
    with output_folder(out, force) as folder:
        rows = {"overlay": write_overlay(folder, result.overlay, result.workload.node_ids)}
        for name, columns in result.tables.items():
            rows[name] = write_table(name, folder / f"{name}.parquet", columns)
        write_json(folder / "metrics.json", result.metrics)
        source = Path(workload) / INTERESTS
        inputs = {"interests": {"sha256": file_sha256(source), "rows": result.workload.interest.subscription_count}}
        write_manifest(folder, manifest("build", seed, started, inputs, rows, run=run))
    show_metrics(f"{system} on {workload}", result.metrics, json)
    if not json:
        typer.echo(ending_sentence(result.metrics))


def show_metrics(title: str, metrics: dict[str, Any], json: bool) -> None:
    """All of it for a script; for a person, nested values one a line."""
    if json:
        print_json(metrics)
        return
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            flat |= {f"{name}: {inner}": deeper for inner, deeper in value.items()}
        else:
            flat[name] = value
    print_facts(title, flat)


def ending_sentence(metrics: dict[str, Any]) -> str:
    """Why the build stopped."""
    cycles = metrics["cycles"]
    if metrics["stopped_by"] == "rest":
        return f"Stopped after {cycles} cycles: no link had changed for ten."
    return f"Stopped at the limit of {cycles} cycles: links were still changing."
