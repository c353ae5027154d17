"""`gossamer status`: the state of running nodes."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_json, print_table
from gossamer.cli.options import Json
from gossamer.model.values.errors import GossamerError, InputError, PeerError

if TYPE_CHECKING:
    from gossamer.live.operations.status import NodeStatus

# Chosen: nodes that are asked at the same time.
AT_ONCE = 32
# Chosen: nodes without an answer that the error names.
NAMED = 5


def status(
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="HOST:PORT...", help="The --metrics addresses of nodes.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="FOLDER", help="The --out folder of a running `gossamer up`.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.001, metavar="SECONDS", help="How long to wait for each answer.")
    ] = 5.0,
    json: Json = False,
) -> None:
    """Show links, topics, queues and drops of running nodes.

    Exit code 1 if a node does not answer.

    Example: gossamer status 127.0.0.1:9400
    """
    answers = asyncio.run(ask(addresses_of(addresses or [], folder), timeout))
    found = [answer for answer in answers if not isinstance(answer, PeerError)]
    silent = [str(answer) for answer in answers if isinstance(answer, PeerError)]
    if json:
        print_json({"nodes": found, "silent": silent})
    elif found:
        _show(found)
    if silent:
        others = f"; nor do {len(silent) - NAMED} others answer" if len(silent) > NAMED else ""
        raise GossamerError("; ".join(silent[:NAMED]) + others)


def addresses_of(addresses: list[str], folder: Path | None) -> list[str]:
    """The addresses that were given, and those of the members in the folder of a network."""
    from gossamer.live.transport.addresses import split_address

    asked = list(addresses)
    if folder is not None:
        from gossamer.live.fleet.network import read_members

        asked += [member.metrics for member in read_members(folder)]
    if not asked:
        raise InputError(
            "give the --metrics address (HOST:PORT) of each node, or --dir with the folder of `gossamer up`"
        )
    for address in asked:
        split_address(address)
    return asked


async def ask(addresses: list[str], timeout: float) -> "list[NodeStatus | PeerError]":
    """The status of each node, or why it did not answer."""
    from gossamer.live.operations.status_server import fetch_status

    turns = asyncio.Semaphore(AT_ONCE)

    async def fetch(address: str) -> "NodeStatus | PeerError":
        async with turns:
            try:
                return await fetch_status(address, timeout)
            except PeerError as error:
                return error

    return await asyncio.gather(*map(fetch, addresses))


def _show(found: "list[NodeStatus]") -> None:
    columns = [
        "node",
        "address",
        "links",
        "kept",
        "slow",
        "queued bytes",
        "topics",
        "covered",
        "published",
        "delivered",
    ]
    rows = []
    for node in found:
        numbers: list[Any] = [
            len(node.links),
            sum(link.kept for link in node.links),
            sum(link.slow for link in node.links),
            sum(link.queued_bytes for link in node.links),
            len(node.topics),
            node.covered,
            node.published,
            node.delivered,
        ]
        rows.append([node.name or node.node, node.address, *(f"{number:,}" for number in numbers)])
    print_table("Nodes (a topic is covered if at least one neighbour has it)", columns, rows)
    counts = [[node.name or node.node, reason, f"{count:,}"] for node in found for reason, count in node.counts.items()]
    if counts:
        print_table("Drops, refusals and errors", ["node", "reason", "times"], counts)
    unanswered = [[node.name or node.node, address, why] for node in found for address, why in node.unanswered.items()]
    if unanswered:
        print_table("Nodes to join that did not answer", ["node", "address", "reason"], unanswered)
    if len(found) == 1:
        _show_one(found[0])


def _show_one(node: "NodeStatus") -> None:
    links = [
        [link.node, link.name, link.address, "yes" if link.kept else "no", f"{link.queued_bytes:,}"]
        + [f"{number:,}" for number in (link.frames_in, link.frames_out, link.bytes_in, link.bytes_out)]
        for link in node.links
    ]
    columns = ["peer", "name", "address", "kept", "queued bytes", "frames in", "frames out", "bytes in", "bytes out"]
    print_table("Links", columns, links)
    topics = [
        [topic.topic, "yes" if topic.follows else "no", "yes" if topic.publishes else "no"]
        + [f"{number:,}" for number in (topic.peers, topic.waiting, topic.dropped)]
        for topic in node.topics
    ]
    patterns = [[each.pattern, f"{len(each.topics):,}", _first_names(each.topics)] for each in node.patterns]
    if patterns:
        print_table("Patterns", ["pattern", "topics that match", "names"], patterns)
    print_table("Topics", ["topic", "follows", "publishes", "neighbours", "waiting", "dropped"], topics)


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
