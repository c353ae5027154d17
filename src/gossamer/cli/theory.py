"""`gossamer theory`: results by formulas. Here: how far gossip spreads an event, and which settings reach a target."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, print_table, progress_bar
from gossamer.cli.options import Json, WorkloadFolder
from gossamer.cli.theory_coverage import bubble, ln_cover
from gossamer.cli.theory_options import (
    ASSUMPTIONS,
    OVERLAY,
    Check,
    CheckSeed,
    Degree,
    GossipShare,
    Loss,
    Nodes,
    Subscribers,
    Target,
    find_law,
    print_check,
    simulate_gossip,
    theory_checks,
)
from gossamer.model.values.errors import InputError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


NEAR_THRESHOLD = "unknown at the threshold"
CHECK_WITHOUT_LOSS = "--check simulates without loss; leave out --loss"


@app.callback()
def theory() -> None:
    """Predict by formulas: gossip, coverage of topics, searches.

    Example: gossamer theory reach --degree poisson:5 --subscribers 0.1 --gossip 0.3
    """


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
    """Predict how far an event spreads and what it costs.

    Whether events percolate, how often one takes off, which share of nodes it reaches, and how many messages it needs.

    Example: gossamer theory reach --degree poisson:5 --subscribers 0.1 --gossip 0.3 --check
    """
    from dataclasses import asdict

    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    law, count = find_law(degree, nodes)
    found = asdict(find_reach(law, GossipSettings(subscribers, gossip, loss), count))
    if check and loss:
        raise InputError(CHECK_WITHOUT_LOSS)
    beside = simulate_gossip(degree, count, subscribers, gossip, seed) if check else None
    assumptions = f"{ASSUMPTIONS} Messages and receivers are those of {count:,} nodes."
    if json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**found, "nodes": count, **more, "assumptions": assumptions})
        return
    shown = {name: value if value is not None else _not_given(name) for name, value in found.items()}
    print_facts(f"{degree}, {subscribers:g} subscribe, gossip {gossip:g}", shown)
    if beside is not None:
        below = {"receivers_per_event", "messages_per_event", "subscribers_per_event"}
        if found["percolates"]:
            print_check(found, beside)
        else:
            print_check({name: value for name, value in found.items() if name in below}, beside)
    typer.echo(assumptions)


def _not_given(name: str) -> str:
    """Why a field of `Reach` has no value."""
    return "infinite, by equation 17" if name.startswith("mean_") else NEAR_THRESHOLD


@app.command("threshold")
def threshold(
    degree: Degree,
    subscribers: Annotated[
        float | None,
        typer.Option(metavar="SIGMA", help="The share of subscribers; prints the threshold as a gossip probability."),
    ] = None,
    gossip: Annotated[
        float | None,
        typer.Option(metavar="GAMMA", help="The gossip probability; prints the threshold as a share of subscribers."),
    ] = None,
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Find the threshold above which events percolate.

    As the probability that a link carries an event; with --subscribers also as a gossip probability, with --gossip as a
    share of subscribers. --check simulates events below and above the threshold.

    Example: gossamer theory threshold --degree poisson:5 --subscribers 0.1
    """
    from gossamer.theory.percolation import check_share, gossip_threshold, subscriber_threshold
    from gossamer.theory.percolation import threshold as find_threshold

    law, count = find_law(degree, nodes)
    check_share("loss", loss)
    if check and loss:
        raise InputError(CHECK_WITHOUT_LOSS)
    links = find_threshold(law)
    found: dict[str, Any] = {
        "link_probability": links if links < 1 else None,
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
        "An event percolates if a link carries it with a probability, sigma + (1 - sigma) gamma, above the first line.\n"
        f"{ASSUMPTIONS}"
    )


# The multiples of the threshold that --check simulates.
_AROUND = (0.5, 0.8, 1.25, 2.0)


def _around_threshold(
    degree: str, count: int, links: float, subscribers: float | None, gossip: float | None, seed: int
) -> list[dict[str, float]]:
    """Simulated events at multiples of the threshold's link probability."""
    rows = []
    for share in _AROUND:
        link = share * links
        sigma, gamma = subscribers or 0.0, gossip or 0.0
        if subscribers is not None or gossip is None:
            gamma = (link - sigma) / (1 - sigma) if sigma < 1 else -1.0
        else:
            sigma = (link - gamma) / (1 - gamma) if gamma < 1 else -1.0
        if 0 <= sigma <= 1 and 0 <= gamma <= 1:
            simulated = simulate_gossip(degree, count, sigma, gamma, seed)
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
    """Find the smallest gossip probability for a target.

    Example: gossamer theory gossip-for --target 0.9 --degree poisson:5 --subscribers 0.1
    """
    from gossamer.theory.inverse import gossip_for as find_gossip
    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    law, count = find_law(degree, nodes)
    gamma = find_gossip(law, subscribers, target, loss)
    found = find_reach(law, GossipSettings(subscribers, gamma, loss), count)
    answer: dict[str, Any] = {"gossip": gamma, "subscribers_reached": found.subscribers_reached}
    answer |= {"messages_per_event": found.messages_per_event}
    _answer(f"Gossip for {target:g} of the subscribers", answer, degree, count, subscribers, gamma, check, seed, json)


@app.command("degree-for")
def degree_for(
    target: Target,
    subscribers: Subscribers,
    gossip: GossipShare,
    family: Annotated[str, typer.Option(help="poisson or regular.")] = "poisson",
    loss: Loss = 0.0,
    nodes: Nodes = None,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Find the smallest mean degree for a target.

    Example: gossamer theory degree-for --target 0.99 --subscribers 0.1 --gossip 0.3
    """
    from gossamer.theory.inverse import degree_for as find_degree
    from gossamer.theory.percolation import GossipSettings
    from gossamer.theory.percolation import reach as find_reach

    mean = find_degree(family, GossipSettings(subscribers, gossip, loss), target)
    text = f"{family}:{mean:.12g}"
    law, count = find_law(text, nodes)
    found = find_reach(law, GossipSettings(subscribers, gossip, loss), count)
    answer: dict[str, Any] = {"mean_degree": mean, "subscribers_reached": found.subscribers_reached}
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
    beside = simulate_gossip(degree, count, subscribers, gossip, seed) if check else None
    if json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**answer, "nodes": count, **more, "assumptions": ASSUMPTIONS})
        return
    print_facts(title, {name: NEAR_THRESHOLD if value is None else value for name, value in answer.items()})
    if beside is not None:
        print_check(answer, beside)
    typer.echo(f"{ASSUMPTIONS} Messages are those of {count:,} nodes.")


@app.command("load-for")
def load_for(
    allowed: Annotated[
        float, typer.Option("--loss", metavar="P", help="The largest share of copies that may be lost.")
    ],
    degree: Degree,
    subscribers: Subscribers,
    gossip: GossipShare,
    buffer: Annotated[int, typer.Option(help="The size of a node's buffer, in copies.")] = 64,
    handled: Annotated[
        float, typer.Option("--rate", metavar="R", help="Copies that a node handles per second.")
    ] = 1000.0,
    nodes: Nodes = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also simulate 600 events, on 100 nodes or those of a scale-free law.")
    ] = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Find the largest rate of events for a limit on loss.

    Copies are lost when buffers are full.

    Example: gossamer theory load-for --loss 0.01 --degree poisson:5 --subscribers 0.1 --gossip 0.3 --buffer 64
    """
    from gossamer.theory.buffers import load_for as find_load
    from gossamer.theory.percolation import GossipSettings

    law, count = find_law(degree, nodes)
    found = find_load(law, GossipSettings(subscribers, gossip), allowed, buffer, handled, count)
    answer = {
        "events_per_second": found.events_per_second,
        "utilisation": found.utilisation,
        "messages_per_event": found.messages_per_event,
        "subscribers_reached": found.subscribers_reached,
    }
    more = (
        " Copies arrive at a node at random, in proportion to its links, and each takes the same time to handle. Real "
        "copies arrive in bursts, one burst per event: simulated losses below 10% are up to three times as large, and a "
        "node with more links than places in its buffer loses copies of every event at any rate."
    )
    assumptions = ASSUMPTIONS.replace("; buffers never fill", "") + more
    beside = None
    if check:
        checks = theory_checks()

        if degree.startswith(OVERLAY):
            raise InputError("--check draws networks from a law and takes no overlay; leave out --check")
        # A scale-free law determines the number of nodes.
        simulated = count if degree.startswith("scale-free:") else checks.LOAD_NODES
        rate = found.events_per_second
        with progress_bar() as progress:
            beside = checks.check_load(degree, simulated, subscribers, gossip, rate, buffer, handled, seed, progress)
    if json:
        more_facts = {"simulated": beside} if beside is not None else {}
        print_json({**answer, "nodes": count, **more_facts, "assumptions": assumptions})
        return
    print_facts(f"Load for a loss of {allowed:g}", answer)
    if beside is not None:
        print_check({"loss": allowed, **answer}, beside)
    typer.echo(f"{assumptions} Events are those of all {count:,} nodes together.")


@app.command("topics")
def topics(
    workload: WorkloadFolder,
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or its folder.")],
    gossip: GossipShare,
    loss: Loss = 0.0,
    check: Annotated[
        bool, typer.Option("--check", help="Also simulate 400 events on each topic, over the overlay.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63, help="With --check: the seed of the first topic.")
    ] = 1,
    json: Json = False,
) -> None:
    """Predict which topics of a workload percolate on an overlay.

    The formulas use the overlay's degrees and each topic's share of subscribers. If links join nodes with similar
    interests, events spread further than predicted; --check shows how much.

    Example: gossamer theory topics out/w out/spidercast --gossip 0.1 --check
    """
    from gossamer.model.arrays.degrees import law_of_overlay
    from gossamer.model.tables.workload import read_overlay, read_present
    from gossamer.theory.inverse import topics_on
    from gossamer.workloads.named import read_workload

    found = read_workload(workload)
    links = read_overlay(overlay, found)
    if read_present(overlay, found) is not None:
        raise InputError(
            f"{overlay} is the end of a simulation from which some nodes are absent; give an overlay of all nodes of the "
            "workload, such as the output of `gossamer build`"
        )
    rows = [
        {
            "topic": found.names_of_topics([topic.topic])[0],
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
            raise InputError(CHECK_WITHOUT_LOSS)
        check_topics = theory_checks().check_topics

        with progress_bar() as progress:
            beside = check_topics(links, found.interest, gossip, seed, progress)
        for row, simulated in zip(rows, beside, strict=True):
            row |= {f"simulated_{name}": simulated[name] for name in ("takes_off", "subscribers_reached")}
    spread = sum(1 for row in rows if row["percolates"])
    if json:
        summary = {"topics": len(rows), "percolating": spread, "by_topic": rows, "assumptions": ASSUMPTIONS}
        print_json(summary)
        return
    # The topics with the lowest reach first.
    shown = sorted(rows, key=lambda row: (row["subscribers_reached"], row["subscribers"]))[:20]
    print_table(
        f"{overlay} on {workload}, gossip {gossip:g}: the {len(shown)} topics with the lowest reach",
        list(shown[0]),
        [[_cell(value) for value in row.values()] for row in shown],
    )
    typer.echo(f"{spread} of {len(rows)} topics percolate.\n{ASSUMPTIONS}")


def _cell(value: Any) -> str:
    if value is None:
        return NEAR_THRESHOLD
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# Last, so that the help lists the commands about gossip first.
app.command("ln-cover")(ln_cover)
app.command("bubble")(bubble)
