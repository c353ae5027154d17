"""Flags that the commands of `gossamer theory` share, how a degree law is read, and the simulation of --check."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_table, progress_bar
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.model.arrays.degrees import DegreeLaw
    from gossamer.model.arrays.overlay import Overlay

OVERLAY = "overlay:"
NODES_MAX = 10_000_000

Degree = Annotated[
    str,
    typer.Option(
        metavar="LAW",
        help="Degrees of nodes: poisson:MEAN, regular:DEGREE, power:EXPONENT[:CUTOFF], scale-free:A:B, "
        "given:DEGREE=SHARE,... or overlay:FOLDER (the output of `gossamer build`).",
    ),
]
Subscribers = Annotated[float, typer.Option(metavar="SIGMA", help="The share of nodes that subscribe.")]
GossipShare = Annotated[
    float,
    typer.Option("--gossip", metavar="GAMMA", help="The probability to gossip to a node that does not subscribe."),
]
Loss = Annotated[float, typer.Option(metavar="P", help="The share of copies that the network loses.")]
Target = Annotated[
    float, typer.Option(metavar="SHARE", help="The share of subscribers to reach, averaged over all events.")
]
Nodes = Annotated[
    int | None,
    typer.Option(help="The number of nodes; by default that of the law, or 10,000."),
]
Check = Annotated[bool, typer.Option("--check", help="Also simulate: 20 networks, 400 events each.")]
CheckSeed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, max=2**63, help="With --check: the seed of the first network.")
]

ASSUMPTIONS = (
    "Links are random given the degrees (a large network without clustering); every node subscribes with the same "
    "probability, whatever its links; publishers are random; events have no time-to-live; buffers never fill."
)


def find_law(text: str, nodes: int | None) -> "tuple[DegreeLaw, int]":
    """The law, and the number of nodes in its network."""
    from gossamer.model.arrays.degrees import degree_law, law_of_counts, read_scale_free
    from gossamer.model.tables.schemas import read_table

    if nodes is not None and not 2 <= nodes <= NODES_MAX:
        raise InputError(f"--nodes must be between 2 and {NODES_MAX:,}, got {nodes}")
    if text.startswith(OVERLAY):
        if nodes is not None:
            raise InputError("an overlay has its own number of nodes; leave out --nodes")
        path = Path(text.removeprefix(OVERLAY))
        table = read_table("degrees", path / "degrees.parquet" if path.is_dir() else path)
        degrees, counts = (table.column(name).to_numpy() for name in ("degree", "nodes"))
        return law_of_counts(text, degrees, counts), int(counts.sum())
    law = degree_law(text)
    if text.startswith("scale-free:"):
        return law, nodes or int(read_scale_free(text)[1].sum())
    return law, nodes or 10_000


def simulate_gossip(text: str, nodes: int, subscribers: float, gossip: float, seed: int) -> dict[str, Any]:
    """What --check measures, on networks of a law or on an overlay."""
    with progress_bar() as progress:
        found: dict[str, Any] = theory_checks().check_gossip(
            _network(text, nodes), nodes, subscribers, gossip, seed, progress
        )
    return found


def theory_checks() -> Any:
    """The module of simulations that are set beside the theory: that of the dissemination that has one."""
    from gossamer.systems import all_disseminations, load

    return load(next(each.theory_checks for each in all_disseminations().values() if each.theory_checks))


def _network(text: str, nodes: int) -> "str | Overlay":
    """The overlay itself, or the law from which networks are drawn."""
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
        raise InputError(f"{folder} has links between {len(ids)} nodes but degrees of {nodes}; build it again")
    # The table has no row for nodes without links; `nodes` counts them too.
    return Overlay.from_links(u, v, nodes)


def print_check(theory: dict[str, Any], simulated: dict[str, Any]) -> None:
    """The values that theory and simulation both have, side by side."""
    rows = []
    for name, value in theory.items():
        if name in simulated and isinstance(value, float):
            other = simulated[name]
            deviation = f"{other / value - 1:+.1%}" if value else ""
            rows.append([name.replace("_", " "), f"{value:,.4g}", f"{other:,.4g}", deviation])
    print_table("Theory and simulation", ["", "theory", "simulated", "deviation"], rows)
