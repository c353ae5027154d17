"""`gossamer analyse`: what `gossamer check` measures, on Spark."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, working
from gossamer.cli.options import Force, Json, Master, Out, Remote, WorkloadFolder, manifest


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
    from gossamer.model.tables.folders import check_output, output_folder, write_json, write_manifest
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
        inputs: dict[str, dict[str, Any]] = {"overlay": {"path": overlay.name}, "workload": {"path": workload.name}}
        rows = {"topics": found["topics"], "nodes": found["nodes"]}
        write_manifest(folder, manifest("analyse", None, started, inputs, rows))
    if json:
        print_json(found)
        return
    print_facts(f"{overlay} on {workload}", found)
    parted = found["partitioned_topics"]
    typer.echo("Every topic is connected." if not parted else f"{parted} of {found['topics']} topics are parted.")
