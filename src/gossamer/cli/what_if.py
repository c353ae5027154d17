"""`gossamer what-if`: what happens to an overlay when nodes, zones or the machines of a trace are lost."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_json, print_table, progress_bar
from gossamer.cli.options import SEED_MAX, Force, Json, Out, WorkloadFolder, manifest
from gossamer.cli.results import SHOWN, some
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.model.tables.workload import Workload
    from gossamer.simulator.what_if import Loss, WhatIf

# The value of --mend for a central plan.
CENTRALLY = "plan"


def what_if(
    overlay: Annotated[
        Path,
        typer.Argument(
            metavar="OVERLAY", help="An overlay.parquet or its folder: of `plan`, `build`, `simulate` or `snapshot`."
        ),
    ],
    workload: WorkloadFolder,
    out: Out,
    fail: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Lose a random share of the nodes, in --draws draws.")
    ] = None,
    remove: Annotated[str | None, typer.Option(metavar="NAMES", help="Lose these nodes, for example a,b.")] = None,
    zones: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Lose each zone in turn: a file of (node, zone), or the folder of a plan with zones."
        ),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="CHURN", help="Every moment of a churn table, as `churn make` writes it.")
    ] = None,
    mend: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="plan: centrally, with few links; planned: as live SpiderCast nodes do that start with these links; "
            "omen-planned: as OMen does. The last two are simulated (slower).",
        ),
    ] = CENTRALLY,
    draws: Annotated[int, typer.Option(min=1, max=10_000, help="For --fail: how many random draws.")] = 10,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=SEED_MAX, help="The seed of the draws and of --mend.")
    ] = 1,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show what the loss of nodes does to an overlay.

    Of every loss: the topics that fall apart, and the subscriptions and nodes that are cut off (outside the largest part of a
    topic). Of the worst loss: links, degrees and hops before it, after it, and after mending. Also lists the nodes that are the single point of failure of a topic. Writes
    OUT/what-if.json, cases.parquet, single_points.parquet and manifest.json.

    Example: gossamer what-if out/plan subs.csv out/zones --zones zones.csv --mend omen-planned

    Example: gossamer what-if out/plan subs.csv out/loss --fail 0.2
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import OVERLAY, read_overlay, read_present, write_names
    from gossamer.simulator.what_if import mend_by_nodes, mend_by_plan
    from gossamer.simulator.what_if import what_if as find_out
    from gossamer.workloads.named import interests_file, read_workload

    started = time.monotonic()
    if sum(given is not None for given in (fail, remove, zones, trace)) != 1:
        raise InputError("give one of --fail, --remove, --zones and --trace")
    inputs = [path for path in (overlay, workload, zones, trace) if path is not None]
    check_output(out, force, inputs)
    found = read_workload(workload)
    links, present = read_overlay(overlay, found), read_present(overlay, found)
    losses = _losses(found, fail, remove, zones, trace, draws, seed)
    with progress_bar() as progress:
        how = mend_by_plan if mend == CENTRALLY else mend_by_nodes(mend, seed)
        result = find_out(links, found, losses, present, how, progress)
    facts = _named(found, result)
    with output_folder(out, force, inputs) as folder:
        columns = {name: [case[name] for case in result.cases] for name in result.cases[0]}
        nodes, topics, cut = (
            (list(column) for column in zip(*result.single_points, strict=True))
            if result.single_points
            else ([], [], [])
        )
        points = {"node": found.node_ids[nodes], "topic": found.topic_ids[topics], "cut_off": cut}
        rows = {
            "cases": write_table("cases", folder / "cases.parquet", columns),
            "single_points": write_table("single_points", folder / "single_points.parquet", points),
            **write_names(folder, found),
        }
        write_json(folder / "what-if.json", facts)
        files = {"overlay": overlay / OVERLAY if overlay.is_dir() else overlay, "interests": interests_file(workload)}
        hashes = {name: {"sha256": file_sha256(path)} for name, path in files.items()}
        asked = {"fail": fail, "remove": remove, "zones": zones and str(zones), "trace": trace and str(trace)}
        asked["mend"] = mend
        write_manifest(folder, manifest("what-if", seed if fail else None, started, hashes, rows, **asked))
    if json:
        print_json(facts)
    else:
        _show(facts, result, f"{overlay} on {workload}")


def _losses(
    found: "Workload",
    fail: float | None,
    remove: str | None,
    zones: Path | None,
    trace: Path | None,
    draws: int,
    seed: int,
) -> "list[Loss]":
    import numpy as np

    from gossamer.model.tables.workload import read_churn
    from gossamer.simulator.what_if import Loss, random_losses, trace_losses, zone_losses
    from gossamer.workloads.zones import numbered_zones, with_zones

    count = found.interest.node_count
    if fail is not None:
        return random_losses(count, fail, draws, seed)
    if remove is not None:
        left = np.ones(count, np.bool_)
        left[found.places_of([name.strip() for name in remove.split(",")], "--remove")] = False
        return [Loss(remove, left)]
    if zones is not None:
        return zone_losses(*numbered_zones(with_zones(found, zones)))
    assert trace is not None
    return trace_losses(read_churn(trace, found), count)


def _named(found: "Workload", result: "WhatIf") -> dict[str, Any]:
    """The result for a script, with the names of nodes and topics."""
    nodes, topics = found.names_of_nodes(), found.names_of_topics()
    points: dict[str, dict[str, int]] = {}
    for node, topic, cut in result.single_points:
        points.setdefault(nodes[node], {})[topics[topic]] = cut
    return {
        "worst": result.worst,
        "before": result.before,
        "after": result.after,
        "mended": result.mended,
        "new_links": result.new_links,
        "lost_nodes": [nodes[place] for place in result.lost_nodes],
        "disconnected_topics": [topics[place] for place in result.disconnected_topics],
        "cut_off_nodes": [nodes[place] for place in result.cut_off_nodes],
        "cases": result.cases,
        # By node: each topic for which it is the single point of failure, and how many nodes it cuts off there.
        "single_points": dict(sorted(points.items(), key=lambda item: -sum(item[1].values()))),
    }


def _show(facts: dict[str, Any], result: "WhatIf", title: str) -> None:
    names = ("case", "nodes", "topics", "topics_disconnected", "subscriptions_cut_off", "nodes_cut_off")
    worst = sorted(result.cases, key=lambda case: -case["subscriptions_cut_off"])[:SHOWN]
    print_table(
        f"{title}: the worst of {len(result.cases)} losses" if len(result.cases) > 1 else title,
        [name.replace("_", " ") for name in names],
        [[_cell(case[name]) for name in names] for case in worst],
    )
    states = (facts["before"], facts["after"], facts["mended"])
    rows = [[name.replace("_", " "), *(_cell(state[name]) for state in states)] for name in facts["before"]]
    print_table(f"The worst loss: {facts['worst']}", ["", "before", "after", "mended"], rows)
    points = facts["single_points"]
    if points:
        rows = [
            [node, f"{len(topics):,}", f"{sum(topics.values()):,}", some(list(topics))]
            for node, topics in list(points.items())[:SHOWN]
        ]
        columns = ["node", "topics", "subscriptions it cuts off", "topics that need it"]
        print_table(f"{len(points):,} nodes are the single point of failure of a topic", columns, rows)
    disconnected, cut = facts["disconnected_topics"], facts["cut_off_nodes"]
    if disconnected:
        typer.echo(
            f"{len(disconnected)} topics fall apart ({some(disconnected)}), and {len(cut)} nodes are cut off in some topic "
            f"({some(cut)}). {_mending(facts)}"
        )
    else:
        typer.echo("No topic falls apart.")


def _mending(facts: dict[str, Any]) -> str:
    links = f"{facts['new_links']:,} new links"
    apart = facts["mended"]["topics_disconnected"]
    return f"{links} mend it." if not apart else f"{links} leave {apart} topics disconnected."


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else str(value)
