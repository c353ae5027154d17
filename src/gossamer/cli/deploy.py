"""`gossamer deploy`: the files with which the nodes of a plan run on their hosts."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_json, print_table, working
from gossamer.cli.options import Force, Json, Out, manifest
from gossamer.cli.results import SHOWN
from gossamer.systems import DEFAULT_PLANNED


def deploy(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of `gossamer plan`, or its peers.json.")],
    out: Out,
    hosts: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A file with the columns service (or node) and host: HOST or HOST:PORT of each node; without a port, "
            "ports from 7400 on.",
        ),
    ],
    system: Annotated[
        str, typer.Option(metavar="NAME", help="planned: keep the plan's links; omen-planned: mend them as OMen does.")
    ] = DEFAULT_PLANNED,
    authority: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The output of `gossamer keys init`; by default a new one, OUT/authority."),
    ] = None,
    place: Annotated[
        str, typer.Option(metavar="FOLDER", help="The folder on the hosts that the nodes' folders are copied to.")
    ] = "/etc/gossamer",
    command: Annotated[
        str, typer.Option(metavar="PATH", help="The path of the command gossamer on the hosts.")
    ] = "/opt/gossamer/bin/gossamer",
    force: Force = False,
    json: Json = False,
) -> None:
    """Write the files that run a plan on its hosts.

    For each node, OUT/nodes/NAME has node.toml (name, address, topics, peers), peers.json, keys for TLS and a systemd unit.
    OUT/authority, if it is made, can add nodes to the network: keep it off the nodes. Names with signs that files do not
    take are shortened to plain letters and a hash; the table and manifest.json show them.

    Example: gossamer deploy out/plan out/deploy --hosts hosts.csv
    """
    from gossamer.live.api.plans import PEERS, read_plan
    from gossamer.live.api.stacks import find_stack
    from gossamer.live.operations.deployment import addresses_of, write_deployment
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_manifest
    from gossamer.model.values.errors import InputError
    from gossamer.workloads.named import read_pairs

    started = time.monotonic()
    inputs = [plan, hosts, *([authority] if authority else [])]
    check_output(out, force, inputs)
    if not find_stack(system).takes_plan:
        raise InputError(f"system={system!r} does not start from a plan; use planned or omen-planned")
    nodes = read_plan(plan)
    addresses = addresses_of(nodes, read_pairs(hosts, "user", "address"), str(hosts))
    with working(f"making keys and settings of {len(nodes)} nodes"), output_folder(out, force, inputs) as folder:
        folders = write_deployment(folder, nodes, addresses, system, authority, place, command)
        files = {"plan": plan / PEERS if plan.is_dir() else plan, "hosts": hosts}
        hashes = {name: {"sha256": file_sha256(path)} for name, path in files.items()}
        content = manifest("deploy", None, started, hashes, {"nodes": len(nodes)}, folders=folders, system=system)
        write_manifest(folder, content)
    rows = [
        [name, addresses[name], str(len(node.topics)), str(len(node.peers)), folders[name]]
        for name, node in nodes.items()
    ]
    columns = ["node", "address", "topics", "peers", "folder"]
    if json:
        print_json({"folder": str(out), "nodes": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    print_table(f"{len(nodes)} nodes in {out}", columns, rows[:SHOWN])
    if len(rows) > SHOWN:
        typer.echo(f"... and {len(rows) - SHOWN} more.")
    typer.echo(f"Copy each folder to its host as {place}/NAME, and start its unit. Keep OUT/authority off the nodes.")
