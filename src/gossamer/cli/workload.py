"""`gossamer workload`: make a workload from laws, or describe one."""

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Force, Json, Out, Seed, WorkloadFolder, manifest
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.model.arrays.interest import Interest

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

# With more nodes, comparing the interests of all pairs takes minutes.
PAIRS_NODES_MAX = 20_000


class WorkloadKind(StrEnum):
    """Which generator makes the interests."""

    popularity = "popularity"
    grid = "grid"
    douban = "douban"
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
    total: Annotated[int | None, typer.Option(help="For douban: the total number of subscriptions.")] = None,
    largest: Annotated[int | None, typer.Option(help="For douban: the subscribers of the largest topic.")] = None,
    degree: Annotated[float, typer.Option(help="For friends and followers: the social graph's mean degree.")] = 20.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a workload from laws.

    Writes OUT/interests.parquet (node, topic) and OUT/manifest.json.

    Example: gossamer workload make out/w --nodes 1000 --topics 100 --subscriptions 10 --popularity rss --seed 1
    """
    from gossamer.model.tables.folders import check_output, output_folder, write_manifest
    from gossamer.model.tables.workload import write_interests

    started = time.monotonic()
    check_output(out, force)
    flags = {"nodes": nodes, "topics": topics, "subscriptions": subscriptions, "total": total, "largest": largest}
    _check_flags(kind, flags)
    interest, facts = _make(kind, flags, popularity, degree, seed)
    if not interest.subscription_count:
        raise InputError("with these numbers no node follows any topic; ask for more nodes or topics")
    # Nodes without topics and topics without nodes have no row in the table, so the counts here leave them out.
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
        made = manifest(
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
        write_manifest(folder, made)
    summary = {"folder": str(out), **held, **facts}
    if json:
        print_json(summary)
    else:
        print_facts(f"made {out}", summary)


_NEEDED = {
    WorkloadKind.popularity: ("nodes", "topics", "subscriptions"),
    WorkloadKind.grid: ("nodes", "topics"),
    WorkloadKind.douban: (),
    WorkloadKind.friends: ("nodes",),
    WorkloadKind.followers: ("nodes",),
}
_ALLOWED = {**_NEEDED, WorkloadKind.douban: ("nodes", "topics", "total", "largest")}


def _check_flags(kind: WorkloadKind, flags: dict[str, Any]) -> None:
    for name in _NEEDED[kind]:
        if flags[name] is None:
            raise InputError(f"a workload of kind {kind.value} needs --{name}")
    for name, value in flags.items():
        if value is not None and name not in _ALLOWED[kind]:
            raise InputError(f"--{name} has no effect on a workload of kind {kind.value}; leave it out")


def _make(
    kind: WorkloadKind, flags: dict[str, Any], popularity: str, degree: float, seed: int
) -> "tuple[Interest, dict[str, Any]]":
    import msgspec

    from gossamer.model.values.run import GridLaw
    from gossamer.workloads import interests, social

    if kind is WorkloadKind.popularity:
        made = interests.make_interests(flags["nodes"], flags["topics"], flags["subscriptions"], popularity, seed)
        return made, {}
    if kind is WorkloadKind.grid:
        grid = GridLaw(nodes=flags["nodes"], topics=flags["topics"])
        return interests.make_grid_interests(grid, seed), {"law": msgspec.to_builtins(grid)}
    if kind is WorkloadKind.douban:
        default = interests.DOUBAN
        wanted = interests.Figures(
            users=_or(flags["nodes"], default.users),
            topics=_or(flags["topics"], default.topics),
            subscriptions=_or(flags["total"], default.subscriptions),
            largest_topic=_or(flags["largest"], default.largest_topic),
        )
        interest, reached = interests.make_douban_interests(wanted, seed)
        return interest, {"wanted": msgspec.to_builtins(wanted), "reached": msgspec.to_builtins(reached)}
    directed = kind is WorkloadKind.followers
    law = social.SocialLaw(mean_degree=degree)
    source, target = social.make_social_graph(flags["nodes"], law, directed, seed)
    mean = len(source) * (1 if directed else 2) / flags["nodes"]
    interest = social.interests_of_graph(source, target, flags["nodes"], directed)
    return interest, {"edges": len(source), "mean_degree_reached": round(mean, 3)}


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


@app.command("show")
def show(workload: WorkloadFolder, json: Json = False) -> None:
    """Describe a workload: sizes, popularity, similarity of interests.

    Example: gossamer workload show out/w
    """
    from gossamer.model.tables.workload import read_workload
    from gossamer.simulator.measure import describe_interest, interest_correlation, top_intersection

    interest = read_workload(workload).interest
    facts = describe_interest(interest)
    if interest.node_count <= PAIRS_NODES_MAX:
        with progress_bar() as progress:
            progress("comparing interests", 0, 2)
            facts["tdi_20_percent"] = top_intersection(interest, 20)
            progress("comparing interests", 1, 2)
            facts["pairs_correlated_at_95_percent"] = interest_correlation(interest, 0.95)
    if json:
        print_json(facts)
        return
    print_facts(str(workload), facts)
    if interest.node_count > PAIRS_NODES_MAX:
        typer.echo(f"The similarity of interests is left out for more than {PAIRS_NODES_MAX:,} nodes.")
