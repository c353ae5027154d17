"""`gossamer plan --spark`: plan an overlay as Spark tasks, for workloads that are too large for one machine."""

import time
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.options import manifest
from gossamer.cli.results import show_metrics
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from gossamer.pipeline.storage import Place
    from gossamer.planners.plan import PlanRequest


def check_for_spark(
    wanted: "PlanRequest", has_kept_links: bool, bounds: bool, has_zones: bool, nodes: int | None
) -> None:
    """Refuse options that need the whole overlay in one process."""
    from gossamer.planners.plan import PlanRequest

    plain = PlanRequest(parts=wanted.parts)
    refused = {
        "--objective": (wanted.objective, plain.objective),
        "--rho": (wanted.rho, plain.rho),
        "--redundancy": (wanted.redundancy, plain.redundancy),
        "--degree-budget": (wanted.degree_budget, plain.degree_budget),
        "--diameter": (wanted.diameter, plain.diameter),
        "--improve": (wanted.improve, plain.improve),
        "--keep": (has_kept_links, False),
        "--bounds": (bounds, False),
        "--zones": (has_zones, False),
        "--nodes": (nodes, None),
    }
    for flag, (given, default) in refused.items():
        if given != default:
            raise InputError(f"{flag} needs the whole overlay in one process; leave out {flag} or plan without --spark")


def plan_on_spark(
    workload: "Place",
    out: "Place",
    parts: int | None,
    session: "AbstractContextManager[SparkSession]",
    force: bool,
    json: bool,
) -> None:
    """Plan, write the folder and print the figures."""
    from gossamer.model.tables.workload import INTERESTS
    from gossamer.pipeline.plan import SparkPlan, check_workload, write_plan
    from gossamer.pipeline.storage import check_local, fingerprint, output_place, write_facts, write_object

    started = time.monotonic()
    check_local(out, force, [workload])
    check_workload(workload)
    with (
        progress_bar() as progress,
        session as spark,
        output_place(spark, out, force, [workload]) as folder,
    ):
        found = write_plan(SparkPlan(spark, workload, folder, parts, progress))
        metrics: dict[str, Any] = {**found, "planning_seconds": round(time.monotonic() - started, 3)}
        write_object(spark, folder / "metrics.json", metrics)
        rows = {"overlay": found["links"], "topics": found["topics"], "nodes": found["nodes"]}
        hashes = {"interests": fingerprint(spark, workload / INTERESTS)}
        write_facts(spark, folder, manifest("plan", None, started, hashes, rows, parts=parts))
    show_metrics(f"plan for {workload}", metrics, json)
    if not json:
        typer.echo(
            f"Every topic is connected; no plan has fewer than {metrics['links_at_least']} links or a maximum degree below "
            f"{metrics['max_degree_at_least']}."
        )
