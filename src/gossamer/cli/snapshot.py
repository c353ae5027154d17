"""`gossamer snapshot`: the overlay and the interests of running nodes, as files for every other command."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.console import print_facts, print_json, print_sentence
from gossamer.cli.options import Force, Json, manifest
from gossamer.cli.results import some
from gossamer.cli.status import addresses_of, ask
from gossamer.model.values.errors import GossamerError, InputError, PeerError

if TYPE_CHECKING:
    from gossamer.live.operations.status import NodeStatus
    from gossamer.model.arrays.overlay import Overlay
    from gossamer.model.tables.workload import Workload


def snapshot(
    places: Annotated[
        list[str],
        typer.Argument(metavar="[URL...] OUT", help="The --metrics addresses of nodes, then the folder to write."),
    ],
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="FOLDER", help="All nodes of `gossamer up --out` or of `gossamer deploy`."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.001, metavar="SECONDS", help="How long to wait for each answer.")
    ] = 5.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write the overlay of running nodes, and what they follow.

    OUT is a workload (interests.parquet with names) and has overlay.parquet, so it can be given to `check`, `what-if` and
    `plan --keep`. A link counts if both of its nodes keep it. Nodes without an answer are left out; exit code 1 if nobody
    answers.

    Example: gossamer snapshot 127.0.0.1:9400 127.0.0.1:9401 out/live

    Example: gossamer snapshot --dir out/up out/live
    """
    from gossamer.model.tables.folders import check_output, output_folder, write_manifest
    from gossamer.model.tables.workload import write_overlay, write_workload

    started = time.monotonic()
    *urls, last = places
    out = Path(last)
    asked = addresses_of([_address(url) for url in urls], folder)
    check_output(out, force)
    answers = asyncio.run(ask(asked, timeout))
    found = [answer for answer in answers if not isinstance(answer, PeerError)]
    silent = [str(answer) for answer in answers if isinstance(answer, PeerError)]
    if not found:
        raise GossamerError(f"no node answered: {silent[0]}")
    workload, overlay, unknown = read_statuses(found)
    with output_folder(out, force) as making:
        rows = {"overlay": write_overlay(making, overlay, workload.node_ids), **write_workload(making, workload)}
        write_manifest(making, manifest("snapshot", None, started, {}, rows, asked=asked, silent=silent))
    facts = {
        "nodes": workload.interest.node_count,
        "topics": workload.interest.topic_count,
        "links": overlay.link_count,
        "silent": len(silent),
        "neighbours_not_asked": len(unknown),
    }
    if json:
        print_json({"folder": str(out), **facts})
    else:
        print_facts(f"snapshot in {out}", facts)
    for sentence in silent[:5]:
        print_sentence(f"left out: {sentence}")
    if unknown:
        print_sentence(f"{len(unknown)} neighbours were not asked and are left out: {some(unknown)}")


def _address(url: str) -> str:
    """HOST:PORT of a URL such as http://127.0.0.1:9400/status."""
    return url.partition("://")[2].partition("/")[0] if "://" in url else url


def read_statuses(found: "list[NodeStatus]") -> "tuple[Workload, Overlay, list[str]]":
    """The workload and the overlay of nodes by their status, and neighbours whose status is not there."""
    import numpy as np

    from gossamer.model.arrays.interest import Interest
    from gossamer.model.arrays.overlay import Overlay
    from gossamer.model.tables.workload import Workload
    from gossamer.model.values.ids import Role

    nodes = {status.node: status for status in found}
    named = [status.name for status in nodes.values() if status.name]
    # A name that two nodes have tells neither of them apart.
    names = {
        node: status.name if status.name and named.count(status.name) == 1 else node for node, status in nodes.items()
    }
    place = {node: number for number, node in enumerate(sorted(nodes, key=names.__getitem__))}
    topics = sorted({topic.topic for status in found for topic in status.topics if topic.follows or topic.publishes})
    if not topics:
        raise InputError("the nodes neither follow nor publish any topic: there is nothing to study")
    number = {topic: place for place, topic in enumerate(topics)}
    rows = [
        (place[node], number[topic.topic], Role.FOLLOWS * topic.follows | Role.PUBLISHES * topic.publishes)
        for node, status in nodes.items()
        for topic in status.topics
        if topic.follows or topic.publishes
    ]
    owners, held, roles = np.array(rows, np.int64).T
    kept = {(status.node, link.node) for status in found for link in status.links if link.kept}
    links = [(place[one], place[other]) for one, other in kept if (other, one) in kept]
    u, v = np.array(links, np.int64).reshape(-1, 2).T
    unknown = {link.node: link.name or link.node for status in found for link in status.links if link.kept}
    interest = Interest.from_pairs(owners, held, len(place), len(topics), roles)
    node_names = np.array([names[node] for node in place], object)
    workload = Workload(interest, np.arange(len(place)), np.arange(len(topics)), node_names, np.array(topics, object))
    return workload, Overlay.from_links(u, v, len(place)), [unknown[node] for node in unknown if node not in nodes]
