"""`gossamer analyse`: measure an overlay and a simulation's traffic on Spark."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Force, Json, Master, Out, Remote, WorkloadFolder, manifest
from gossamer.cli.results import connected_sentence, show_metrics


class AnalysisMethod(StrEnum):
    """How the measures are computed; the results are the same."""

    auto = "auto"
    shuffle = "shuffle"
    files = "files"


def analyse(
    overlay: Annotated[
        Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or the folder of a build or simulation.")
    ],
    workload: WorkloadFolder,
    out: Out,
    way: Annotated[
        AnalysisMethod,
        typer.Option(
            help="shuffle: pass rows between workers; files: arrays that every worker reads; auto: files if all workers "
            "can read OUT."
        ),
    ] = AnalysisMethod.auto,
    components_only: Annotated[
        bool, typer.Option("--components-only", help="Leave out diameters and clustering, the slowest measures.")
    ] = False,
    window: Annotated[
        str, typer.Option(metavar="TIME", help="Count a simulation's traffic in windows of this length.")
    ] = "10s",
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure an overlay on Spark, topic by topic.

    The same measures as `gossamer check`, for sizes beyond one machine. Writes OUT/topics.parquet, degrees.parquet, metrics.json and manifest.json; for a simulation also
    delivery_windows.parquet (share delivered and latency quantiles by topic and window) and control_windows.parquet.
    For topics of more than 20,000 nodes the diameter is a bound.

    Example: gossamer analyse out/spidercast out/w out/analysis
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.workload import INTERESTS, OVERLAY
    from gossamer.model.values.errors import InputError
    from gossamer.model.values.time import duration_us
    from gossamer.pipeline.analyse import write_analysis
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.traffic import has_traffic, write_traffic

    started = time.monotonic()
    window_us = duration_us(window, "--window")
    if window_us < 1:
        raise InputError(f"--window must be longer than 0, got {window}")
    check_output(out, force, [overlay, workload])
    with (
        spark_session(master, remote) as spark,
        working("analysing"),
        output_folder(out, force, [overlay, workload]) as folder,
    ):
        found = write_analysis(spark, overlay, workload, folder, way.value, not components_only)
        rows = {"topics": found["topics"], "nodes": found["nodes"]}
        if has_traffic(overlay):
            rows |= write_traffic(spark, overlay, folder, window_us)
        write_json(folder / "metrics.json", found)
        links = overlay / OVERLAY if (overlay / OVERLAY).exists() else overlay
        inputs = {
            name: {"sha256": file_sha256(path)}
            for name, path in (("overlay", links), ("interests", workload / INTERESTS))
        }
        write_manifest(folder, manifest("analyse", None, started, inputs, rows))
    show_metrics(f"{overlay} on {workload}", found, json)
    if not json:
        typer.echo(connected_sentence(found))
