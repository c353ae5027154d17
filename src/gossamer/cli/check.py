"""`gossamer check`: measure an overlay for a workload."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Bounds, Json, WorkloadFolder
from gossamer.cli.results import connected_sentence


def check(
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or its folder.")],
    workload: WorkloadFolder,
    bounds: Bounds = False,
    json: Json = False,
) -> None:
    """Measure an overlay: connectivity, degrees, diameters.

    For the output of a simulation with churn, nodes that were absent at its end (absent.parquet) are left out.

    Example: gossamer check out/cyclon out/w --json
    """
    from gossamer.model.tables.workload import read_overlay, read_present, read_workload
    from gossamer.simulator.measure import measure

    found = read_workload(workload)
    links = read_overlay(overlay, found.node_ids)
    present = read_present(overlay, found.node_ids)
    with progress_bar() as progress:
        summary = measure(links, found, not bounds, progress, present)
    if json:
        print_json(summary)
        return
    print_facts(f"{overlay} on {workload}", summary)
    typer.echo(connected_sentence(summary))
