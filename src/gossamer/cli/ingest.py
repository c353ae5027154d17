"""`gossamer ingest` and `gossamer sample`: turn raw data into tables, and a sample into a workload, on Spark."""

import time
from contextlib import ExitStack
from enum import StrEnum
from typing import Annotated, Any

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Conf, DriverMemory, Force, Json, Master, OutPlace, Remote, Seed, manifest
from gossamer.cli.results import show_metrics


class InputKind(StrEnum):
    """The kind of raw data."""

    edges = "edges"
    memberships = "memberships"
    machine_events = "machine-events"
    latency = "latency"


class SampleKind(StrEnum):
    """How edges or memberships become subscriptions."""

    friends = "friends"
    followers = "followers"
    memberships = "memberships"


def ingest(
    kind: Annotated[InputKind, typer.Argument(metavar="KIND", help="edges, memberships, machine-events or latency.")],
    source: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob in quotes, or a URI; plain, gzip or Parquet."),
    ],
    out: OutPlace,
    directed: Annotated[
        bool, typer.Option("--directed", help="For edges: the source follows the target; without it, both are friends.")
    ] = False,
    max_bad: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Refuse an input with a larger share of bad lines.")
    ] = 0.25,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN", help="What separates columns: a character, tab or whitespace; found if not given."
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names columns; found if not given."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The columns to read, by name or number from 1, for example user_id,genre."),
    ] = None,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Turn raw text into tables.

    Lists separated by whitespace, CSV, TSV, JSON lines and Parquet are read. The format of each file is found, printed,
    and written to OUT/manifest.json (formats). Bad lines go to OUT/quarantine.parquet with their line number and the reason. edges: OUT/edges.parquet (source,
    target). memberships: OUT/interests.parquet (node, topic). machine-events: OUT/machine_events.parquet (at_us, node,
    event). latency: OUT/latency.parquet (matrix, source, target, rtt_us); each input file is a matrix of round trips in
    milliseconds. Names are in OUT/names.parquet (id, name).

    Example: gossamer ingest edges friends.txt.gz out/graph
    """
    from gossamer.model.values.errors import InputError
    from gossamer.pipeline.ingest import ingest_edges, ingest_machine_events, ingest_memberships
    from gossamer.pipeline.inputs import file_labels, find_inputs
    from gossamer.pipeline.latency import ingest_latency
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.storage import check_local, fingerprint, is_remote, output_place, read_place, write_facts
    from gossamer.workloads.formats import Reading

    started = time.monotonic()
    out_place = read_place(out)
    # Local files are looked for before Spark starts.
    inputs_found = None if is_remote(source) else find_inputs(source)
    columns_named = tuple(name.strip() for name in columns.split(",")) if columns is not None else None
    reading = Reading(delimiter, header, columns_named)
    reading.delimiter_character()
    if kind is InputKind.latency and reading != Reading():
        raise InputError("`delimiter`, `header` and `columns` do not apply to latency: a file is a matrix of numbers")
    check_local(out_place, force, inputs_found.files if inputs_found else ())
    with spark_session(master, remote, driver_memory, conf or ()) as spark, ExitStack() as stack:
        inputs_found = inputs_found or find_inputs(source, spark)
        files = inputs_found.files
        stack.enter_context(working(f"reading {len(files)} files"))
        folder = stack.enter_context(output_place(spark, out_place, force, files))
        if kind is InputKind.edges:
            found = ingest_edges(spark, files, folder, directed, max_bad, reading)
        elif kind is InputKind.memberships:
            found = ingest_memberships(spark, files, folder, max_bad, reading)
        elif kind is InputKind.latency:
            found = ingest_latency(spark, files, folder, max_bad)
        else:
            found = ingest_machine_events(spark, files, folder, max_bad, reading)
        facts = {**vars(found.counts), **{f"{name}_named": count for name, count in found.names.items()}}
        inputs = {label: fingerprint(spark, file) for file, label in file_labels(files).items()}
        about = {
            "kind": kind.value,
            "directed": directed,
            "formats": found.format_facts(),
            "skipped": [path.name for path in inputs_found.skipped],
        }
        write_facts(spark, folder, manifest("ingest", None, started, inputs, facts, **about))
    show_metrics(f"{kind.value} from {source}", facts, json)
    if not json:
        for sentence in dict.fromkeys(format.sentence() for format in found.formats.values()):
            named = [file.name for file, format in found.formats.items() if format.sentence() == sentence]
            typer.echo(f"{named[0]}{f' and {len(named) - 1} more' if len(named) > 1 else ''}: {sentence}.")
        if inputs_found.skipped:
            typer.echo(inputs_found.skipped_sentence())
        typer.echo(_balance(facts))


def _balance(facts: dict[str, Any]) -> str:
    return (
        f"{facts['lines']:,} lines = {facts['comments']:,} comments + {facts['headers']:,} headers + "
        f"{facts['quarantined']:,} quarantined + "
        f"{facts['self_loops']:,} self-loops + {facts['merged']:,} merged + {facts['rows']:,} rows."
    )


def sample(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="The output of `gossamer ingest`.")],
    out: OutPlace,
    nodes: Annotated[int, typer.Option(help="The number of nodes to sample.")],
    seed: Seed,
    starts: Annotated[int, typer.Option(help="The number of random nodes at which the search starts.")] = 3,
    kind: Annotated[
        SampleKind,
        typer.Option(
            help="friends: both ends of an edge subscribe to each other; followers: the source to the target; "
            "memberships: users to their groups."
        ),
    ] = SampleKind.friends,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Sample a graph breadth-first and make a workload.

    From a graph, all edges between sampled users are kept, and every user is a topic. From memberships, the sampled users
    keep all their groups.

    Example: gossamer sample out/graph out/w --nodes 2000 --seed 1
    """
    from gossamer.pipeline.sample import write_sample
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.storage import check_local, fingerprint, output_place, read_place, write_facts

    started = time.monotonic()
    source, out_place = read_place(graph), read_place(out)
    check_local(out_place, force, [source])
    with (
        spark_session(master, remote, driver_memory, conf or ()) as spark,
        working("sampling"),
        output_place(spark, out_place, force, [source]) as folder,
    ):
        rows = write_sample(spark, source, folder, nodes, starts, seed, kind.value)
        table = "interests" if kind is SampleKind.memberships else "edges"
        inputs = {table: fingerprint(spark, source / f"{table}.parquet")}
        write_facts(spark, folder, manifest("sample", seed, started, inputs, rows, kind=kind.value, seeds=starts))
    show_metrics(f"sample of {graph}", rows, json)
    without = rows.get("nodes_without_interests", 0)
    if without and not json:
        typer.echo(
            f"{without:,} of the {rows['nodes']:,} sampled nodes subscribe to nothing within the sample, so the workload "
            f"has {rows['nodes'] - without:,} subscribers."
        )
