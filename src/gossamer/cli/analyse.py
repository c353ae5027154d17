"""`gossamer analyse`: what `gossamer check` measures, and a simulation's traffic, on Spark."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Force, Json, Master, Out, Remote, WorkloadFolder, manifest
from gossamer.cli.results import show_metrics


class Way(StrEnum):
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
        Way,
        typer.Option(
            help="shuffle: rows alone; files: arrays that every worker reads; auto: files where a probe says so."
        ),
    ] = Way.auto,
    components_only: Annotated[
        bool, typer.Option("--components-only", help="Neither diameters nor clustering, which cost most.")
    ] = False,
    window: Annotated[str, typer.Option(help="A simulation's traffic is counted by windows of this length.")] = "10s",
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure an overlay on Spark: what `gossamer check` says, topic by topic. For sizes past one machine.

    Writes OUT/topics.parquet, degrees.parquet, metrics.json and manifest.json; for a simulation also
    delivery_windows.parquet (share delivered and latency quantiles by topic and window) and control_windows.parquet.
    Diameters of topics of over 20,000 nodes are bounds.

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
        raise InputError("--window must be longer than nothing")
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
    parted = found["partitioned_topics"]
    if not json:
        typer.echo("Every topic is connected." if not parted else f"{parted} of {found['topics']} topics are parted.")
