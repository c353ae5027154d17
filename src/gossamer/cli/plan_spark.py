"""`gossamer plan --spark`: plan an overlay as Spark tasks, for workloads that are too large for one machine."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.options import manifest
from gossamer.cli.results import show_metrics
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.planners.plan import PlanRequest


def check_for_spark(wanted: "PlanRequest", has_kept_links: bool, bounds: bool) -> None:
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
    }
    for flag, (given, default) in refused.items():
        if given != default:
            raise InputError(f"{flag} needs the whole overlay in one process; leave out {flag} or plan without --spark")


def plan_on_spark(
    workload: Path,
    out: Path,
    parts: int | None,
    master: str | None,
    remote: str | None,
    force: bool,
    json: bool,
) -> None:
    """Plan, write the folder and print the figures."""
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.workload import INTERESTS
    from gossamer.pipeline.plan import SparkPlan, check_workload, write_plan
    from gossamer.pipeline.session import spark_session

    started = time.monotonic()
    check_output(out, force, [workload])
    check_workload(workload)
    with (
        progress_bar() as progress,
        spark_session(master, remote) as session,
        output_folder(out, force, [workload]) as folder,
    ):
        found = write_plan(SparkPlan(session, workload, folder, parts, progress))
        metrics: dict[str, Any] = {**found, "planning_seconds": round(time.monotonic() - started, 3)}
        write_json(folder / "metrics.json", metrics)
        rows = {"overlay": found["links"], "topics": found["topics"], "nodes": found["nodes"]}
        hashes = {"interests": {"sha256": file_sha256(workload / INTERESTS)}}
        write_manifest(folder, manifest("plan", None, started, hashes, rows, parts=parts))
    show_metrics(f"plan for {workload}", metrics, json)
    if not json:
        typer.echo(
            f"Every topic is connected; no plan has fewer than {metrics['links_at_least']} links or a maximum degree below "
            f"{metrics['max_degree_at_least']}."
        )
