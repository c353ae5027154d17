"""`gossamer churn`: make churn tables, the times at which nodes join and leave."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.console import print_facts, print_json, working
from gossamer.cli.options import Force, Json, Master, Out, Remote, Seed, manifest
from gossamer.model.values.errors import InputError
from gossamer.model.values.time import duration_us

if TYPE_CHECKING:
    from gossamer.model.arrays.churn import Churn

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def churn() -> None:
    """Make churn tables: when nodes join and leave.

    Example: gossamer churn make out/churn --nodes 1000 --on exp:300s --off exp:75s --until 1000s --seed 1
    """


@app.command("make")
def make(
    out: Out,
    seed: Seed,
    on: Annotated[str, typer.Option(metavar="LAW", help="Time online: exp:300s, fixed:10s or uniform:5s-50s.")],
    off: Annotated[str, typer.Option(metavar="LAW", help="Time offline, in the same form.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="The time at which the table ends.")] = "1000s",
    nodes: Annotated[int | None, typer.Option(metavar="N", help="The number of nodes; their ids are 0 to N-1.")] = None,
    workload: Annotated[
        Path | None, typer.Option(metavar="WORKLOAD", help="Use the nodes of this workload instead.")
    ] = None,
    crashes: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of departures that are crashes, without a goodbye.")
    ] = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a churn table from laws of online and offline times.

    Writes OUT/churn.parquet (at_us, node, event) and OUT/manifest.json.

    Example: gossamer churn make out/churn --workload out/w --on exp:300s --off exp:75s --crashes 0.2 --seed 1
    """
    import numpy as np

    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_manifest
    from gossamer.model.tables.workload import write_churn, write_names
    from gossamer.workloads.churn import make_churn
    from gossamer.workloads.interests import check_sizes
    from gossamer.workloads.laws import duration_law
    from gossamer.workloads.named import interests_file, read_workload

    started = time.monotonic()
    check_output(out, force, [] if workload is None else [workload])
    if (nodes is None) == (workload is None):
        raise InputError("give either --nodes or --workload")
    if nodes is not None:
        check_sizes(nodes, 1)
    found = None if workload is None else read_workload(workload)
    ids = np.arange(nodes or 0) if found is None else found.node_ids
    on_law, off_law = duration_law(on, "--on"), duration_law(off, "--off")
    table = make_churn(len(ids), on_law, off_law, duration_us(until, "--until"), crashes, seed)
    with output_folder(out, force) as folder:
        rows = {"churn": write_churn(folder, table, ids), **(write_names(folder, found) if found else {})}
        parameters = {"on": on, "off": off, "until": until, "crashes": crashes, "nodes": len(ids)}
        inputs = {} if workload is None else {"interests": {"sha256": file_sha256(interests_file(workload))}}
        write_manifest(folder, manifest("churn make", seed, started, inputs, rows, parameters=parameters))
    _show(out, table, len(ids), json)


@app.command("from-events")
def from_events(
    machines: Annotated[
        Path, typer.Argument(metavar="MACHINES", help="The output of `gossamer ingest machine-events`.")
    ],
    out: Out,
    workload: Annotated[Path, typer.Option(metavar="WORKLOAD", help="The workload whose nodes join and leave.")],
    seed: Seed,
    until: Annotated[
        str, typer.Option(metavar="TIME", help="The time at which the table ends; the trace is compressed to it.")
    ] = "600s",
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a churn table from a trace of machines.

    Each node of the workload gets the times of one random machine. Every departure is a crash.

    Example: gossamer churn from-events out/machines out/churn --workload out/w --until 600s --seed 1
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_manifest
    from gossamer.model.tables.workload import write_churn, write_names
    from gossamer.pipeline.events import churn_from_events
    from gossamer.pipeline.session import spark_session
    from gossamer.workloads.named import interests_file, read_workload

    started = time.monotonic()
    check_output(out, force, [machines, workload])
    found = read_workload(workload)
    ids = found.node_ids
    with spark_session(master, remote) as spark, working("reading the trace"):
        table = churn_from_events(spark, machines, len(ids), duration_us(until, "--until"), seed)
    with output_folder(out, force, [machines, workload]) as folder:
        rows = {"churn": write_churn(folder, table, ids), **write_names(folder, found)}
        inputs = {"interests": {"sha256": file_sha256(interests_file(workload))}}
        write_manifest(folder, manifest("churn from-events", seed, started, inputs, rows, until=until))
    _show(out, table, len(ids), json)


def _show(out: Path, table: "Churn", nodes: int, json: bool) -> None:
    import numpy as np

    from gossamer.model.arrays.churn import EVENT_NAMES

    counts = np.bincount(table.events, minlength=len(EVENT_NAMES))
    facts = {
        "nodes": nodes,
        "present_at_start": int(table.present_at_start(nodes).sum()),
        **{f"{name}_events": int(count) for name, count in zip(EVENT_NAMES, counts, strict=True)},
    }
    if json:
        print_json(facts)
    else:
        print_facts(f"made {out}", facts)
