"""`gossamer theory`: how far gossip carries events, answered by formulas; and what it takes to carry them further."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, print_table, progress_bar
from gossamer.cli.options import Json, WorkloadFolder
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.model.arrays.degrees import DegreeLaw
    from gossamer.model.arrays.overlay import Overlay

app = typer.Typer(
    help="Gossip on unstructured overlays by formulas: reach, thresholds, and what it takes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

OVERLAY = "overlay:"
NODES_MAX = 10_000_000

Degree = Annotated[
    str,
    typer.Option(
        metavar="LAW",
        help="poisson:MEAN, regular:DEGREE, power:EXPONENT[:CUTOFF], scale-free:A:B, given:DEGREE=SHARE,... or "
        "overlay:FOLDER (the degrees.parquet that `build` writes).",
    ),
]
Subscribers = Annotated[float, typer.Option(metavar="SIGMA", help="The share of nodes that subscribe.")]
GossipShare = Annotated[float, typer.Option("--gossip", metavar="GAMMA", help="Gossip probability to all others.")]
Loss = Annotated[float, typer.Option(metavar="P", help="The share of copies that are lost on their way.")]
Target = Annotated[float, typer.Option(metavar="SHARE", help="The share of subscribers to reach, over all events.")]
Nodes = Annotated[
    int | None,
    typer.Option(help="Nodes of the network; 10,000 where neither this nor the law says how many."),
]
Check = Annotated[bool, typer.Option("--check", help="Simulate beside it: 20 networks, 400 events each.")]
CheckSeed = Annotated[int, typer.Option("--seed", min=0, max=2**63, help="For --check: the first network's seed.")]

ASSUMPTIONS = (
    "Links are random given the degrees (a large network without clustering); every node subscribes with the same "
    "probability, whatever its links; publishers are random; no time-to-live ends an event; buffers never fill."
)


def _find_law(text: str, nodes: int | None) -> "tuple[DegreeLaw, int]":
    """The law, and how many nodes a network of it has."""
    from gossamer.model.arrays.degrees import degree_law, law_of_counts, read_scale_free
    from gossamer.model.tables.schemas import read_table

    if nodes is not None and not 2 <= nodes <= NODES_MAX:
        raise InputError(f"--nodes must lie between 2 and {NODES_MAX:,}, got {nodes}")
    if text.startswith(OVERLAY):
        if nodes is not None:
            raise InputError("an overlay says itself how many nodes it has; leave --nodes out")
        path = Path(text.removeprefix(OVERLAY))
        table = read_table("degrees", path / "degrees.parquet" if path.is_dir() else path)
        degrees, counts = (table.column(name).to_numpy() for name in ("degree", "nodes"))
        return law_of_counts(text, degrees, counts), int(counts.sum())
    law = degree_law(text)
    if text.startswith("scale-free:"):
        return law, nodes or int(read_scale_free(text)[1].sum())
    return law, nodes or 10_000


def _simulated(text: str, nodes: int, subscribers: float, gossip: float, seed: int) -> dict[str, Any]:
    from gossamer.systems.gossip.check import check_gossip

    with progress_bar() as progress:
        return check_gossip(_network(text, nodes), nodes, subscribers, gossip, seed, progress)


def _network(text: str, nodes: int) -> "str | Overlay":
    """What a check runs on: the overlay itself, or networks drawn by the law."""
    if not text.startswith(OVERLAY):
        return text
    import numpy as np

    from gossamer.model.arrays.overlay import Overlay
    from gossamer.model.tables.schemas import read_table

    folder = Path(text.removeprefix(OVERLAY))
    table = read_table("overlay", folder / "overlay.parquet")
    ids, places = np.unique(np.stack([table.column(name).to_numpy() for name in "uv"]), return_inverse=True)
    u, v = places.reshape(2, -1)
    if len(ids) > nodes:
        raise InputError(f"{folder} has links between {len(ids)} nodes, and degrees of {nodes}; build it anew")
    # Nodes without links are in no row of it; they are counted in.
    return Overlay.from_links(u, v, nodes)


def _print_check(theory: dict[str, Any], simulated: dict[str, Any]) -> None:
    rows = []
    for name, value in theory.items():
        if name in simulated and isinstance(value, float):
            other = simulated[name]
            deviation = f"{other / value - 1:+.1%}" if value else ""
            rows.append([name.replace("_", " "), f"{value:,.4g}", f"{other:,.4g}", deviation])
    print_table("Theory and simulation", ["", "theory", "simulated", "deviation"], rows)


@app.command("reach")
def reach(
    degree: Degree,
    subscribers: Subscribers,
    gossip: GossipShare,
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """How far an event gets: whether it percolates, how often it takes off, whom it reaches, what it costs.

    Example: gossamer theory reach --degree poisson:5 --subscribers 0.1 --gossip 0.3 --check
    """
    from dataclasses import asdict

    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    law, count = _find_law(degree, nodes)
    found = asdict(find_reach(law, GossipSettings(subscribers, gossip, loss), count))
    if check and loss:
        raise InputError("--check simulates without loss; leave --loss out")
    beside = _simulated(degree, count, subscribers, gossip, seed) if check else None
    assumptions = f"{ASSUMPTIONS} Messages and receivers are those of {count:,} nodes."
    if json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**found, "nodes": count, **more, "assumptions": assumptions})
        return
    shown = {name: value if value is not None else "infinite, by equation 17" for name, value in found.items()}
    print_facts(f"{degree}, {subscribers:g} subscribe, gossip {gossip:g}", shown)
    if beside is not None:
        below = {"receivers_per_event", "messages_per_event", "subscribers_per_event"}
        if found["percolates"]:
            _print_check(found, beside)
        else:
            _print_check({name: value for name, value in found.items() if name in below}, beside)
    typer.echo(assumptions)


@app.command("threshold")
def threshold(
    degree: Degree,
    subscribers: Annotated[
        float | None, typer.Option(metavar="SIGMA", help="Asks for the smallest gossip probability.")
    ] = None,
    gossip: Annotated[float | None, typer.Option(metavar="GAMMA", help="Asks for the smallest share.")] = None,
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Where events begin to percolate: by links, by gossip probability for a share of subscribers, or the other way.

    With --check events are simulated at some shares of the threshold, below it and above.

    Example: gossamer theory threshold --degree poisson:5 --subscribers 0.1
    """
    from gossamer.theory.percolation import check_share, gossip_threshold, subscriber_threshold
    from gossamer.theory.percolation import threshold as find_threshold

    law, count = _find_law(degree, nodes)
    check_share("loss", loss)
    if check and loss:
        raise InputError("--check simulates without loss; leave --loss out")
    links = find_threshold(law)
    found: dict[str, Any] = {
        "link_probability": links if links <= 1 else None,
        "mean_degree": law.mean,
        "mean_excess_degree": law.mean_excess if law.mean_excess != float("inf") else None,
        "percolates_at_all": links < 1,
    }
    if subscribers is not None:
        found["gossip"] = gossip_threshold(law, subscribers, loss)
    if gossip is not None:
        found["subscribers"] = subscriber_threshold(law, gossip, loss)
    beside = _around_threshold(degree, count, links, subscribers, gossip, seed) if check else None
    if json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**found, **more, "assumptions": ASSUMPTIONS})
        return
    print_facts(f"Threshold of {degree}", {name: "none" if value is None else value for name, value in found.items()})
    if beside:
        rows = [[f"{value:.4g}" for value in row.values()] for row in beside]
        print_table(f"Simulated, {count:,} nodes", [name.replace("_", " ") for name in beside[0]], rows)
    typer.echo(
        "An event percolates when a link carries it with a probability above the first line: sigma + (1 - sigma) gamma.\n"
        f"{ASSUMPTIONS}"
    )


# Where a check of the threshold looks.
_AROUND = (0.5, 0.8, 1.25, 2.0)


def _around_threshold(
    degree: str, count: int, links: float, subscribers: float | None, gossip: float | None, seed: int
) -> list[dict[str, float]]:
    """Simulated events where links carry them with some shares of the threshold's probability."""
    rows = []
    for share in _AROUND:
        link = share * links
        sigma, gamma = subscribers or 0.0, gossip or 0.0
        if subscribers is not None or gossip is None:
            gamma = (link - sigma) / (1 - sigma) if sigma < 1 else -1.0
        else:
            sigma = (link - gamma) / (1 - gamma) if gamma < 1 else -1.0
        if 0 <= sigma <= 1 and 0 <= gamma <= 1:
            simulated = _simulated(degree, count, sigma, gamma, seed)
            figures = {name: simulated[name] for name in ("takes_off", "receivers_per_event", "messages_per_event")}
            rows.append({"of_threshold": share, "subscribers": sigma, "gossip": gamma, **figures})
    return rows


@app.command("gossip-for")
def gossip_for(
    target: Target,
    degree: Degree,
    subscribers: Subscribers,
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """The smallest gossip probability that reaches a share of the subscribers.

    Example: gossamer theory gossip-for --target 0.9 --degree poisson:5 --subscribers 0.1
    """
    from gossamer.theory.inverse import gossip_for as find_gossip
    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    law, count = _find_law(degree, nodes)
    gamma = find_gossip(law, subscribers, target, loss)
    found = find_reach(law, GossipSettings(subscribers, gamma, loss), count)
    answer = {"gossip": gamma, "subscribers_reached": found.subscribers_reached}
    answer |= {"messages_per_event": found.messages_per_event}
    _answer(f"Gossip for {target:g} of the subscribers", answer, degree, count, subscribers, gamma, check, seed, json)


@app.command("degree-for")
def degree_for(
    target: Target,
    subscribers: Subscribers,
    gossip: GossipShare,
    family: Annotated[str, typer.Option(help="poisson (a mean) or regular (a whole number).")] = "poisson",
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """The smallest mean degree that reaches a share of the subscribers.

    Example: gossamer theory degree-for --target 0.99 --subscribers 0.1 --gossip 0.3
    """
    from gossamer.theory.inverse import degree_for as find_degree
    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    mean = find_degree(family, GossipSettings(subscribers, gossip, loss), target)
    text = f"{family}:{mean:.12g}"
    law, count = _find_law(text, nodes)
    found = find_reach(law, GossipSettings(subscribers, gossip, loss), count)
    answer = {"mean_degree": mean, "subscribers_reached": found.subscribers_reached}
    answer |= {"messages_per_event": found.messages_per_event}
    _answer(f"Degree for {target:g} of the subscribers", answer, text, count, subscribers, gossip, check, seed, json)


def _answer(
    title: str,
    answer: dict[str, Any],
    degree: str,
    count: int,
    subscribers: float,
    gossip: float,
    check: bool,
    seed: int,
    json: bool,
) -> None:
    beside = _simulated(degree, count, subscribers, gossip, seed) if check else None
    if json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**answer, "nodes": count, **more, "assumptions": ASSUMPTIONS})
        return
    print_facts(title, answer)
    if beside is not None:
        _print_check(answer, beside)
    typer.echo(f"{ASSUMPTIONS} Messages are those of {count:,} nodes.")


@app.command("load-for")
def load_for(
    allowed: Annotated[float, typer.Option("--loss", metavar="P", help="The share of copies that may be lost.")],
    degree: Degree,
    subscribers: Subscribers,
    gossip: GossipShare,
    buffer: Annotated[int, typer.Option(help="Copies that a node's buffer holds.")] = 64,
    handled: Annotated[
        float, typer.Option("--rate", metavar="R", help="Copies that a node handles a second.")
    ] = 1000.0,
    nodes: Nodes = None,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate 600 events, with 100 nodes or those of a scale-free law.")
    ] = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """The largest rate of events at which full buffers lose no more than a share of the copies.

    Example: gossamer theory load-for --loss 0.01 --degree poisson:5 --subscribers 0.1 --gossip 0.3 --buffer 64
    """
    from gossamer.theory.buffers import load_for as find_load
    from gossamer.theory.percolation import GossipSettings

    law, count = _find_law(degree, nodes)
    found = find_load(law, GossipSettings(subscribers, gossip), allowed, buffer, handled, count)
    answer = {
        "events_per_second": found.events_per_second,
        "utilisation": found.utilisation,
        "messages_per_event": found.messages_per_event,
        "subscribers_reached": found.subscribers_reached,
    }
    more = (
        " Copies come to a node by chance, in proportion to its links, and each takes the same time to handle. In fact they "
        "come in bursts, an event at a time: simulated losses below a tenth are up to three times as large, and nodes with "
        "more links than their buffers have places lose copies of every event, at any rate."
    )
    assumptions = ASSUMPTIONS.replace("; buffers never fill", "") + more
    beside = None
    if check:
        from gossamer.systems.gossip.check import LOAD_NODES, check_load

        if degree.startswith(OVERLAY):
            raise InputError("--check draws networks by a law, and an overlay is none; leave --check out")
        # Such a law says itself how many nodes its networks have.
        simulated = count if degree.startswith("scale-free:") else LOAD_NODES
        rate = found.events_per_second
        with progress_bar() as progress:
            beside = check_load(degree, simulated, subscribers, gossip, rate, buffer, handled, seed, progress)
    if json:
        more_facts = {"simulated": beside} if beside is not None else {}
        print_json({**answer, "nodes": count, **more_facts, "assumptions": assumptions})
        return
    print_facts(f"Load for a loss of {allowed:g}", answer)
    if beside is not None:
        _print_check({"loss": allowed, **answer}, beside)
    typer.echo(f"{assumptions} Events are those of all {count:,} nodes together.")


@app.command("topics")
def topics(
    workload: WorkloadFolder,
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or the folder it is in.")],
    gossip: GossipShare,
    loss: Loss = 0.0,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate 400 events on each topic, over the overlay.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63, help="For --check: the first topic's seed.")] = 1,
    json: Json = False,
) -> None:
    """Which topics of a workload percolate on an overlay, by their shares of subscribers and its degrees.

    Formulas know degrees alone. An overlay whose links join nodes of like interests carries events further: --check
    shows by how much.

    Example: gossamer theory topics out/w out/spidercast --gossip 0.1 --check
    """
    from gossamer.model.arrays.degrees import law_of_overlay
    from gossamer.model.tables.workload import read_overlay, read_workload
    from gossamer.theory.inverse import topics_on

    found = read_workload(workload)
    links = read_overlay(overlay, found.node_ids)
    rows = [
        {
            "topic": int(found.topic_ids[topic.topic]),
            "subscribers": topic.subscribers,
            "percolates": topic.reach.percolates,
            "takes_off": topic.reach.takes_off,
            "subscribers_reached": topic.reach.subscribers_reached,
            "messages_per_event": topic.reach.messages_per_event,
        }
        for topic in topics_on(law_of_overlay(str(overlay), links), found.interest, gossip, loss)
    ]
    if check:
        if loss:
            raise InputError("--check simulates without loss; leave --loss out")
        from gossamer.systems.gossip.check import check_topics

        with progress_bar() as progress:
            beside = check_topics(links, found.interest, gossip, seed, progress)
        for row, simulated in zip(rows, beside, strict=True):
            row |= {f"simulated_{name}": simulated[name] for name in ("takes_off", "subscribers_reached")}
    spread = sum(1 for row in rows if row["percolates"])
    if json:
        summary = {"topics": len(rows), "percolating": spread, "by_topic": rows, "assumptions": ASSUMPTIONS}
        print_json(summary)
        return
    # The rarest first: those are in doubt.
    shown = sorted(rows, key=lambda row: (row["subscribers_reached"], row["subscribers"]))[:20]
    print_table(
        f"{overlay} on {workload}, gossip {gossip:g}: the {len(shown)} topics reached least",
        list(shown[0]),
        [[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()] for row in shown],
    )
    typer.echo(f"{spread} of {len(rows)} topics percolate.\n{ASSUMPTIONS}")
