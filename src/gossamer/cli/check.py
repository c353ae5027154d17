"""`gossamer check`: measure an overlay for a workload."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Bounds, Json, WorkloadFolder
from gossamer.cli.results import connected_sentence, most, show_most


def check(
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or its folder.")],
    workload: WorkloadFolder,
    bounds: Bounds = False,
    json: Json = False,
) -> None:
    """Measure an overlay: connectivity, degrees, diameters.

    For the output of a simulation with churn, nodes that were absent at its end (absent.parquet) are left out.

    Topics and nodes are named as in the workload.

    Example: gossamer check out/cyclon out/w --json
    """
    from gossamer.model.tables.workload import read_overlay, read_present
    from gossamer.simulator.measure import measure_topics, summarise
    from gossamer.workloads.named import read_workload

    found = read_workload(workload)
    links, present = read_overlay(overlay, found), read_present(overlay, found)
    interest = found.interest if present is None else found.interest.among(present)
    with progress_bar() as progress:
        topics = measure_topics(links, interest, not bounds, progress)
    summary = summarise(links, interest, topics, present)
    named: dict[str, Any] = {
        "disconnected_topics": found.names_of_topics(topics.components > 1),
        "nodes_with_most_links": most(found.names_of_nodes(), links.degrees.tolist()),
    }
    if json:
        print_json({**summary, **named})
        return
    print_facts(f"{overlay} on {workload}", summary)
    show_most("Nodes with most links", named["nodes_with_most_links"], ["node", "links"])
    typer.echo(connected_sentence({**summary, **named}))
