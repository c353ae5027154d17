"""`gossamer theory ln-cover` and `gossamer theory bubble`: the two theorems about covered topics and searches."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Json
from gossamer.cli.theory_options import CheckSeed, print_check
from gossamer.model.values.errors import InputError

NetworkSize = Annotated[int, typer.Option("--nodes", metavar="N", help="The number of nodes in the network.")]
TopicSize = Annotated[int, typer.Option("--size", metavar="n", help="The number of subscribers of the topic.")]
Check = Annotated[bool, typer.Option("--check", help="Also simulate, with the system that implements it.")]

SAMPLES = "Samples are independent and uniform over all nodes, and every node subscribes whatever else it holds."


def ln_cover(
    nodes: NetworkSize,
    size: TopicSize,
    random: Annotated[int, typer.Option(metavar="C1", help="Random nodes that a node samples in a cycle.")] = 10,
    similar: Annotated[int, typer.Option(metavar="C2", help="Similar nodes that a node samples in a cycle.")] = 40,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Predict the cycles until a topic is ln-covered.

    A subscription to a topic of n subscribers is ln-covered when the node has ln n neighbours that also subscribe. The
    paper (Ma et al. 2014) prints Theorem 1 in two forms; both are shown.

    Example: gossamer theory ln-cover --nodes 10000 --size 50 --random 10 --similar 40
    """
    from gossamer.theory.coverage import ln_cover as find_cover

    found = asdict(find_cover(nodes, size, random, similar))
    beside = _simulate("check_ln_cover", check, nodes, size, random, similar, seed)
    assumptions = (
        f"Theorem 1 as stated counts n / (n - ln n), section 3.2 n / (n - 1 - ln n). {SAMPLES} Both are expected values "
        "for one subscription: views of bounded size take longer."
    )
    _answer(f"Cycles to ln-cover {size} of {nodes:,} nodes", found, beside, assumptions, json)


def bubble(
    nodes: NetworkSize,
    size: TopicSize,
    shuffle: Annotated[int, typer.Option(metavar="C", help="Nodes that a node samples in a cycle.")] = 10,
    check: Check = False,
    seed: CheckSeed = 1,
    json: Json = False,
) -> None:
    """Predict the agents and the time to live of a search.

    A node asks agents to look for another subscriber of a topic in their random views (Ma et al. 2014, Theorem 2). A
    time to live of k makes up to 2^k agents; with the printed number of agents the search fails with a probability below
    1/N.

    Example: gossamer theory bubble --nodes 10000 --size 10 --shuffle 10
    """
    from gossamer.theory.coverage import bubble as find_bubble

    found = asdict(find_bubble(nodes, size, shuffle))
    beside = _simulate("check_bubble", check, nodes, size, shuffle, seed)
    assumptions = f"The theorem's n is the number of other subscribers, {size - 1}. {SAMPLES}"
    if found["is_capped"]:
        assumptions += f" The theorem asks for more agents than there are: {nodes - 1:,} agents take part instead."
    _answer(f"A search for one of {size} among {nodes:,} nodes", found, beside, assumptions, json)


def _simulate(name: str, is_wanted: bool, *arguments: int) -> dict[str, Any] | None:
    """The figures of the simulation that a system offers under this name."""
    if not is_wanted:
        return None
    simulation = system_check(name)
    with progress_bar() as progress:
        figures: dict[str, Any] = simulation(*arguments, progress)
    return figures


def system_check(name: str) -> Callable[..., dict[str, Any]]:
    """The simulation of this name in the first system that has one (`System.theory_checks`)."""
    from gossamer.systems import all_systems, load

    for system in all_systems().values():
        checks = load(system.theory_checks) if system.theory_checks else None
        if hasattr(checks, name):
            simulation: Callable[..., dict[str, Any]] = getattr(checks, name)
            return simulation
    raise InputError("no installed system offers a simulation of this theorem; leave out --check")


def _answer(title: str, found: dict[str, Any], beside: dict[str, Any] | None, assumptions: str, as_json: bool) -> None:
    if as_json:
        more = {"simulated": beside} if beside is not None else {}
        print_json({**found, **more, "assumptions": assumptions})
        return
    print_facts(title, found)
    if beside is not None:
        print_check(found, beside)
    typer.echo(assumptions)
