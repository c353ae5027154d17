"""`gossamer study`: from raw data to a report on Spark; `gossamer sweep`: the same without the report."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.console import print_json, progress_bar
from gossamer.cli.options import Json, Master, Remote

if TYPE_CHECKING:
    from gossamer.pipeline.stages import Stages

Definition = Annotated[
    Path | None, typer.Argument(metavar="[STUDY.toml]", help="The study's definition; without it, the default study.")
]
StudyOut = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="The folder for results; finished stages are not repeated.")
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Study the real data sets in this folder, not generated ones."),
]


def study(
    definition: Definition = None,
    out: StudyOut = Path("out/study"),
    data: DataFolder = None,
    master: Master = None,
    remote: Remote = None,
    json: Json = False,
) -> None:
    """Go from raw data to a report in one command.

    Raw data -> tables -> a workload -> every system -> measurements -> report.html. The default study generates its own
    raw data, bad lines included. A STUDY.toml may set edges, events (files to read instead), nodes, seeds, systems and
    more. If the command was stopped or a run failed (exit code 1), run it again: finished stages and runs are not
    repeated.

    Example: gossamer study --out out/study
    """
    from gossamer.analysis.report import write_report

    stages = _run(definition, out, data, master, remote)
    report = out / "report.html"
    write_report(out, report)
    _show(stages, json, {"report": str(report)}, f"The report is {report}")


def sweep(
    definition: Definition = None,
    out: StudyOut = Path("out/study"),
    data: DataFolder = None,
    master: Master = None,
    remote: Remote = None,
    json: Json = False,
) -> None:
    """Execute a study's runs without the report.

    Each run is a Spark task, and each result is saved when it is finished. Writes OUT/results/results.parquet, and
    OUT/results/failures.parquet for runs that crashed or took longer than the study's run_seconds. With a failed run the
    exit code is 1. If the command was stopped or a run failed, run it again: finished runs are not repeated.

    Example: gossamer sweep study.toml --out out/study
    """
    stages = _run(definition, out, data, master, remote)
    results = stages.folder / "results"
    _show(stages, json, {"results": str(results)}, f"The tables are in {results}")


def _run(definition: Path | None, out: Path, data: Path | None, master: str | None, remote: str | None) -> "Stages":
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.study import on_real_data, read_study, run_study

    wanted = on_real_data(read_study(definition), data)
    started = time.monotonic()

    def say(text: str) -> None:
        typer.echo(f"[{time.monotonic() - started:5.0f} s] {text}", err=True)

    say("starting Spark ...")
    try:
        with spark_session(master, remote) as spark, progress_bar() as progress:
            return run_study(spark, wanted, out, progress, say)
    except KeyboardInterrupt:
        typer.echo("Finished stages and runs are kept; run the same command again to continue.", err=True)
        raise typer.Exit(130) from None


def _show(stages: "Stages", json: bool, where: dict[str, str], sentence: str) -> None:
    """Print what was done. Failed runs are named on standard error, and the exit code is 1."""
    facts = {name: stage["rows"] for name, stage in stages.done.items()}
    results = facts["results"]
    if json:
        print_json({**where, "stages": facts})
    else:
        typer.echo(f"{results['results']} runs done, {results['failures']} failed. {sentence}")
    if results["failures"]:
        for failed in results["failed"]:
            typer.echo(failed, err=True)
        typer.echo("Run the same command again to repeat the failed runs.", err=True)
        raise typer.Exit(1)
