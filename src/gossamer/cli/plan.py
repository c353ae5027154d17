"""`gossamer plan`: plan an overlay centrally, with its distance from the optimum and a file of peers for live nodes."""

import resource
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_json, progress_bar
from gossamer.cli.options import (
    Bounds,
    Conf,
    DriverMemory,
    Force,
    Json,
    Master,
    OutPlace,
    Remote,
    WorkloadPlace,
    manifest,
)
from gossamer.cli.plan_spark import check_for_spark, plan_on_spark
from gossamer.cli.results import most, show_metrics, show_most, some

if TYPE_CHECKING:
    from gossamer.model.tables.workload import Workload


class Objective(StrEnum):
    """What the greedy algorithm minimises."""

    average = "average"
    maximum = "maximum"
    balanced = "balanced"


def plan(
    source: WorkloadPlace,
    target: OutPlace,
    objective: Annotated[
        Objective,
        typer.Option(
            help="average: fewest links (GM); maximum: smallest maximum degree (MinMaxODA); balanced: both (LowODA)."
        ),
    ] = Objective.balanced,
    rho: Annotated[
        float, typer.Option(help="For balanced: a link may raise the maximum degree if it is RHO times better.")
    ] = 3.0,
    redundancy: Annotated[
        int, typer.Option(metavar="N", help="Every topic stays connected without any N - 1 of its nodes.")
    ] = 1,
    degree_budget: Annotated[
        int | None,
        typer.Option(metavar="LINKS", help="The most links that a node may have; lists topics that do not fit."),
    ] = None,
    diameter: Annotated[
        int | None, typer.Option(metavar="HOPS", help="The largest diameter that a topic's overlay may have.")
    ] = None,
    improve: Annotated[
        bool, typer.Option("--improve", help="Improve the plan by local search: slower, fewer links.")
    ] = False,
    parts: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Plan the nodes in N parts and connect the parts; with --spark, N follows from the size."
        ),
    ] = None,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark", help="Plan as Spark tasks, for 10^6 nodes and more; --master, --remote and URIs imply it."
        ),
    ] = False,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="OVERLAY", help="Links to keep: an overlay.parquet or its folder.")
    ] = None,
    zones: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of (node, zone): prefer links inside a zone, and keep topics connected without any one zone. A "
            "column `zone` of WORKLOAD does the same.",
        ),
    ] = None,
    ignore_zones: Annotated[bool, typer.Option("--ignore-zones", help="Plan as if WORKLOAD had no zones.")] = False,
    nodes: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Plan for the first N nodes only, such as for a trial.")
    ] = None,
    bounds: Bounds = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Plan a topic-connected overlay centrally.

    Also prints lower bounds on links and maximum degree, which no plan can beat. Writes OUT/overlay.parquet (u, v with u
    < v), peers.json (each node's topics and peers by name), topics.parquet, degrees.parquet, metrics.json,
    manifest.json, and the workload itself, so that OUT is also a WORKLOAD. With --spark there is neither peers.json nor
    the workload, and diameters are not measured.

    Example: gossamer plan subs.csv out/plan --objective balanced --diameter 8

    Example: gossamer plan out/w out/plan --spark
    """
    import numpy as np

    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.peers import write_peers
    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import OVERLAY, read_overlay, write_overlay, write_workload
    from gossamer.pipeline.storage import is_remote, read_place
    from gossamer.planners.plan import PlanRequest
    from gossamer.planners.plan import plan as make_plan
    from gossamer.simulator.columns import measured_tables
    from gossamer.simulator.measure import measure_topics, summarise
    from gossamer.workloads.named import interests_file, read_workload
    from gossamer.workloads.zones import with_zones

    wanted = PlanRequest(
        objective.value,
        rho,
        redundancy,
        degree_budget,
        diameter,
        improve,
        1 if parts is None else parts,
        by_zones=not ignore_zones,
    )
    if spark or master or remote or is_remote(source) or is_remote(target):
        from gossamer.pipeline.session import spark_session

        check_for_spark(wanted, keep is not None, bounds, zones is not None, nodes)
        session = spark_session(master, remote, driver_memory, conf or ())
        plan_on_spark(read_place(source), read_place(target), parts, session, force, json)
        return
    workload, out = Path(source), Path(target)
    inputs = [path for path in (workload, keep, zones) if path is not None]
    started = time.monotonic()
    check_output(out, force, inputs)
    found = read_workload(workload)
    found = with_zones(found, zones) if zones else found
    found = found if nodes is None else found.of_nodes(np.arange(min(nodes, found.interest.node_count)))
    existing = read_overlay(keep, found) if keep else None
    with progress_bar() as progress:
        planned = make_plan(found, wanted, existing, progress)
        elapsed = time.monotonic() - started
        topics = measure_topics(planned.overlay, found.interest, not bounds, progress)
    metrics: dict[str, Any] = {
        **summarise(planned.overlay, found.interest, topics),
        "links_at_least": planned.bounds.links,
        "links_over_bound": planned.overlay.link_count / max(planned.bounds.links, 1),
        "max_degree_at_least": planned.bounds.max_degree,
        **planned.facts,
        "planning_seconds": round(elapsed, 3),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "nodes_with_most_links": most(found.names_of_nodes(), planned.overlay.degrees.tolist()),
    }
    planned.check(topics.components)
    if degree_budget is not None:
        metrics["topics_given_up"] = _names(found, planned.disconnected_topics)
    if redundancy > 1:
        metrics["topics_too_small_for_redundancy"] = _names(found, planned.small_topics)
    with output_folder(out, force, inputs) as folder:
        rows = {
            "overlay": write_overlay(folder, planned.overlay, found.node_ids),
            "peers": write_peers(folder, found, planned.overlay),
            **write_workload(folder, found),
        }
        for name, table in measured_tables(planned.overlay, found, topics).items():
            rows[name] = write_table(name, folder / f"{name}.parquet", table)
        write_json(folder / "metrics.json", metrics)
        files = {"interests": interests_file(workload)}
        if zones:
            files["zones"] = zones
        if keep:
            files["kept"] = keep / OVERLAY if keep.is_dir() else keep
        hashes = {name: {"sha256": file_sha256(path)} for name, path in files.items()}
        write_manifest(folder, manifest("plan", None, started, hashes, rows, wanted=wanted))
    if json:
        print_json(metrics)
        return
    largest = metrics.pop("nodes_with_most_links")
    shown = {name: value if not isinstance(value, list) else len(value) for name, value in metrics.items()}
    show_metrics(f"plan for {workload}", shown, False)
    show_most("Nodes with most links", largest, ["node", "links"])
    typer.echo(_ending(metrics))


def _names(workload: "Workload", topics: list[int]) -> list[str]:
    """The names of these topic ids."""
    places = {number: place for place, number in enumerate(workload.topic_ids.tolist())}
    return workload.names_of_topics([places[topic] for topic in topics])


def _ending(metrics: dict[str, Any]) -> str:
    """Whether every topic is connected, and the lower bounds."""
    gap = f"no plan has fewer than {metrics['links_at_least']} links or a maximum degree below {metrics['max_degree_at_least']}"
    given_up = metrics.get("topics_given_up", [])
    if given_up:
        return f"{len(given_up)} topics do not fit in the budget ({some(given_up)}); for the others {gap}."
    too_small = metrics.get("topics_too_small_for_redundancy", [])
    if too_small:
        return (
            f"Every topic is connected; {len(too_small)} topics with too few nodes for this redundancy are complete graphs "
            f"({some(too_small)}); {gap}."
        )
    return f"Every topic is connected{_without_zone(metrics)}; {gap}."


def _without_zone(metrics: dict[str, Any]) -> str:
    if "zones" not in metrics:
        return ""
    inside = metrics["links_inside_zones"] / max(metrics["links"], 1)
    return f", also without any one of {metrics['zones']} zones ({inside:.0%} of the links are inside a zone)"
