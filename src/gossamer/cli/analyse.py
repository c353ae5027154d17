"""`gossamer analyse`: what `gossamer check` measures, on Spark."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Force, Json, Master, Out, Remote, WorkloadFolder, manifest
from gossamer.cli.results import show_metrics


def analyse(
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or the folder it is in.")],
    workload: WorkloadFolder,
    out: Out,
    master: Master = None,
    remote: Remote = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure an overlay on Spark: components and links of every topic, and degrees. For sizes past one machine.

    Writes OUT/topics.parquet, degrees.parquet, metrics.json and manifest.json. `gossamer check` adds diameters and
    clustering, in process.

    Example: gossamer analyse out/spidercast out/w out/analysis
    """
    from gossamer.model.tables.folders import check_output, file_sha256, output_folder, write_json, write_manifest
    from gossamer.model.tables.workload import INTERESTS, OVERLAY
    from gossamer.pipeline.analyse import write_analysis
    from gossamer.pipeline.session import spark_session

    started = time.monotonic()
    check_output(out, force, [overlay, workload])
    with (
        spark_session(master, remote) as spark,
        working("analysing"),
        output_folder(out, force, [overlay, workload]) as folder,
    ):
        found = write_analysis(spark, overlay, workload, folder)
        write_json(folder / "metrics.json", found)
        links = overlay / OVERLAY if (overlay / OVERLAY).exists() else overlay
        inputs = {
            name: {"sha256": file_sha256(path)}
            for name, path in (("overlay", links), ("interests", workload / INTERESTS))
        }
        rows = {"topics": found["topics"], "nodes": found["nodes"]}
        write_manifest(folder, manifest("analyse", None, started, inputs, rows))
    show_metrics(f"{overlay} on {workload}", found, json)
    parted = found["partitioned_topics"]
    if not json:
        typer.echo("Every topic is connected." if not parted else f"{parted} of {found['topics']} topics are parted.")
