"""`gossamer analyse`: measure an overlay and a simulation's traffic on Spark."""

import time
from enum import StrEnum
from typing import Annotated

import typer

from gossamer.cli.console import working
from gossamer.cli.options import Conf, DriverMemory, Force, Json, Master, OutPlace, Remote, WorkloadPlace, manifest
from gossamer.cli.results import connected_sentence, show_metrics


class AnalysisMethod(StrEnum):
    """How the measures are computed; the results are the same."""

    auto = "auto"
    shuffle = "shuffle"
    files = "files"


def analyse(
    overlay: Annotated[
        str, typer.Argument(metavar="OVERLAY", help="An overlay.parquet, or the folder of a build or simulation.")
    ],
    workload: WorkloadPlace,
    out: OutPlace,
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
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure an overlay on Spark, topic by topic.

    The same measures as `gossamer check`, for sizes beyond one machine. Writes OUT/topics.parquet, degrees.parquet, metrics.json and manifest.json; for a simulation also
    delivery_windows.parquet (share delivered and latency quantiles by topic and window) and control_windows.parquet.
    For topics of more than 20,000 nodes the diameter is a bound.

    Example: gossamer analyse out/spidercast out/w out/analysis
    """
    from gossamer.model.tables.workload import INTERESTS
    from gossamer.model.values.errors import InputError
    from gossamer.model.values.time import duration_us
    from gossamer.pipeline.analyse import links_of, write_analysis
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.storage import check_local, fingerprint, output_place, read_place, write_facts, write_object
    from gossamer.pipeline.traffic import has_traffic, write_traffic

    started = time.monotonic()
    window_us = duration_us(window, "--window")
    if window_us < 1:
        raise InputError(f"--window must be longer than 0, got {window}")
    links, interests, out_place = (read_place(text) for text in (overlay, workload, out))
    check_local(out_place, force, [links, interests])
    with (
        spark_session(master, remote, driver_memory, conf or ()) as spark,
        working("analysing"),
        output_place(spark, out_place, force, [links, interests]) as folder,
    ):
        found = write_analysis(spark, links, interests, folder, way.value, not components_only)
        rows = {"topics": found["topics"], "nodes": found["nodes"]}
        if has_traffic(spark, links):
            rows |= write_traffic(spark, links, folder, window_us)
        write_object(spark, folder / "metrics.json", found)
        inputs = {
            "overlay": fingerprint(spark, links_of(spark, links)),
            "interests": fingerprint(spark, interests / INTERESTS),
        }
        write_facts(spark, folder, manifest("analyse", None, started, inputs, rows))
    show_metrics(f"{overlay} on {workload}", found, json)
    if not json:
        typer.echo(connected_sentence(found))
