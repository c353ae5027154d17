"""`gossamer workload`: make a workload from laws, or describe one."""

import time
from collections import Counter
from enum import StrEnum
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Force, Json, Out, Seed, WorkloadFolder, manifest
from gossamer.cli.results import most, show_most

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

# With more nodes, comparing the interests of all pairs takes minutes.
PAIRS_NODES_MAX = 20_000


class WorkloadKind(StrEnum):
    """Which generator makes the interests."""

    popularity = "popularity"
    grid = "grid"
    douban = "douban"
    communities = "communities"
    friends = "friends"
    followers = "followers"


@app.callback()
def workload() -> None:
    """Make and describe workloads: which node follows which topics.

    Example: gossamer workload show out/w
    """


@app.command("make")
def make(
    out: Out,
    seed: Seed,
    nodes: Annotated[int | None, typer.Option(help="The number of nodes.")] = None,
    topics: Annotated[int | None, typer.Option(help="The number of topics; not for friends and followers.")] = None,
    subscriptions: Annotated[
        str | None, typer.Option(metavar="S|a:b", help="Topics per node: S, a:b (uniform) or power:a:b[:EXPONENT].")
    ] = None,
    popularity: Annotated[
        str, typer.Option(metavar="LAW", help="rss, zipf:A, nyse, uniform, expo or expo:RATE.")
    ] = "rss",
    kind: Annotated[WorkloadKind, typer.Option(help="The generator.")] = WorkloadKind.popularity,
    total: Annotated[int | None, typer.Option(help="For douban and communities: the total of subscriptions.")] = None,
    largest: Annotated[
        int | None, typer.Option(help="For douban and communities: the subscribers of the largest topic.")
    ] = None,
    degree: Annotated[float, typer.Option(help="For friends and followers: the social graph's mean degree.")] = 20.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a workload from laws.

    Writes OUT/interests.parquet (node, topic) and OUT/manifest.json. The kind communities has the figures of douban, and
    correlated interests: nodes that are close on a circle follow the same topics.

    Example: gossamer workload make out/w --nodes 1000 --topics 100 --subscriptions 10 --popularity rss --seed 1
    """
    from gossamer.model.tables.folders import check_output, output_folder, write_manifest
    from gossamer.model.tables.workload import write_interests
    from gossamer.workloads.make import generate_workload

    started = time.monotonic()
    check_output(out, force)
    flags = {"nodes": nodes, "topics": topics, "subscriptions": subscriptions, "total": total, "largest": largest}
    made = generate_workload(kind.value, flags, popularity, degree, seed)
    interest, facts = made.workload.interest, made.facts
    # Nodes and topics without subscriptions are not in the table, so their number is reported here.
    held = {
        "nodes": int((interest.sizes > 0).sum()),
        "topics": int((interest.popularity > 0).sum()),
        "subscriptions": interest.subscription_count,
    }
    with output_folder(out, force) as folder:
        rows = write_interests(folder, interest)
        parameters: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
        parameters |= {"popularity": popularity} if kind is WorkloadKind.popularity else {}
        parameters |= {"degree": degree} if kind in (WorkloadKind.friends, WorkloadKind.followers) else {}
        content = manifest(
            "workload make",
            seed,
            started,
            {},
            {"interests": rows},
            kind=kind.value,
            parameters=parameters,
            holding=held,
            **facts,
        )
        write_manifest(folder, content)
    summary = {"folder": str(out), **held, **facts}
    if json:
        print_json(summary)
    else:
        print_facts(f"made {out}", summary)


@app.command("show")
def show(workload: WorkloadFolder, json: Json = False) -> None:
    """Describe a workload: sizes, popularity, similarity of interests, largest topics and nodes.

    Example: gossamer workload show subs.csv
    """
    from gossamer.simulator.measure import describe_interest, interest_correlation, top_intersection
    from gossamer.workloads.named import read_workload

    found = read_workload(workload)
    interest = found.interest
    facts = describe_interest(interest)
    if interest.node_count <= PAIRS_NODES_MAX:
        with progress_bar() as progress:
            progress("comparing interests", 0, 2)
            facts["tdi_20_percent"] = top_intersection(interest, 20)
            progress("comparing interests", 1, 2)
            facts["pairs_correlated_at_95_percent"] = interest_correlation(interest, 0.95)
    topics = most(found.names_of_topics(), interest.popularity.tolist())
    nodes = most(found.names_of_nodes(), interest.sizes.tolist())
    zones = {} if found.zones is None else dict(Counter(found.zones.tolist()))
    if json:
        print_json({**facts, "largest_topics": topics, "nodes_with_most_topics": nodes, "zones": zones})
        return
    print_facts(str(workload), facts)
    show_most("Largest topics", topics, ["topic", "nodes"])
    show_most("Nodes with most topics", nodes, ["node", "topics"])
    if zones:
        show_most("Zones", zones, ["zone", "nodes"])
    if interest.node_count > PAIRS_NODES_MAX:
        typer.echo(f"The similarity of interests is left out for more than {PAIRS_NODES_MAX:,} nodes.")
