"""`gossamer ingest` and `gossamer sample`: raw data into tables, and a part of it into a workload, on Spark."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Force, Json, Master, Out, Remote, Seed, manifest
from gossamer.cli.results import show_metrics


class Kind(StrEnum):
    """What the lines of a file say."""

    edges = "edges"
    memberships = "memberships"
    machine_events = "machine-events"
    latency = "latency"


class Graph(StrEnum):
    """Who subscribes to what."""

    friends = "friends"
    followers = "followers"
    memberships = "memberships"


def ingest(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="edges, memberships, machine-events or latency.")],
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="A file, a folder, or a glob in quotes; plain or gzip.")
    ],
    out: Out,
    directed: Annotated[bool, typer.Option("--directed", help="edges: source follows target, not friendship.")] = False,
    max_bad: Annotated[
        float, typer.Option(min=0, max=1, help="Refuse the input when more than this share of its lines is wrong.")
    ] = 0.25,
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Turn raw text into tables; what cannot be read goes to OUT/quarantine.parquet with its line and reason.

    edges: OUT/edges.parquet (source, target); memberships: OUT/interests.parquet (node, topic); machine-events:
    OUT/machine_events.parquet (at_us, node, event); latency: OUT/latency.parquet (matrix, source, target, rtt_us), one file a
    matrix of round trips in milliseconds. Names are in OUT/names.parquet (id, name).

    Example: gossamer ingest edges friends.txt.gz out/graph
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_manifest
    from gossamer.pipeline.ingest import ingest_edges, ingest_machine_events, ingest_memberships
    from gossamer.pipeline.latency import ingest_latency
    from gossamer.pipeline.lines import input_files
    from gossamer.pipeline.session import spark_session

    started = time.monotonic()
    files = input_files(source)
    check_output(out, force, files)
    with (
        spark_session(master, remote) as spark,
        working(f"reading {len(files)} files"),
        output_folder(out, force, files) as folder,
    ):
        if kind is Kind.edges:
            found = ingest_edges(spark, files, folder, directed, max_bad)
        elif kind is Kind.memberships:
            found = ingest_memberships(spark, files, folder, max_bad)
        elif kind is Kind.latency:
            found = ingest_latency(spark, files, folder, max_bad)
        else:
            found = ingest_machine_events(spark, files, folder, max_bad)
        facts = {**vars(found.counts), **{f"{name}_named": count for name, count in found.names.items()}}
        inputs = {file.name: {"sha256": file_sha256(file)} for file in files}
        write_manifest(folder, manifest("ingest", None, started, inputs, facts, kind=kind.value, directed=directed))
    show_metrics(f"{kind.value} from {source}", facts, json)
    if not json:
        typer.echo(_balance(facts))


def _balance(facts: dict[str, Any]) -> str:
    return (
        f"{facts['lines']:,} lines = {facts['comments']:,} comments + {facts['quarantined']:,} quarantined + "
        f"{facts['self_loops']:,} self-loops + {facts['merged']:,} merged + {facts['rows']:,} rows."
    )


def sample(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="A folder that `gossamer ingest` wrote.")],
    out: Out,
    nodes: Annotated[int, typer.Option(help="How many nodes.")],
    seed: Seed,
    seeds: Annotated[int, typer.Option(help="How many random nodes the search begins at.")] = 3,
    kind: Annotated[
        Graph,
        typer.Option(
            help="friends: both ends subscribe to each other; followers: the source to the target; memberships: users to "
            "their groups."
        ),
    ] = Graph.friends,
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Sample breadth-first and make a workload. Of a graph all edges among the sampled stay, and every user is a topic; of
    memberships the sampled users keep all their groups.

    Example: gossamer sample out/graph out/w --nodes 2000 --seed 1
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_manifest
    from gossamer.pipeline.sample import write_sample
    from gossamer.pipeline.session import spark_session

    started = time.monotonic()
    check_output(out, force, [graph])
    with spark_session(master, remote) as spark, working("sampling"), output_folder(out, force, [graph]) as folder:
        rows = write_sample(spark, graph, folder, nodes, seeds, seed, kind.value)
        table = "interests" if kind is Graph.memberships else "edges"
        inputs = {table: {"sha256": file_sha256(graph / f"{table}.parquet")}}
        write_manifest(folder, manifest("sample", seed, started, inputs, rows, kind=kind.value, seeds=seeds))
    show_metrics(f"sample of {graph}", rows, json)
