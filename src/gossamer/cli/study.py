"""`gossamer study`: from raw data to a report on Spark; `gossamer sweep`: the same without the report."""

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.console import print_json, progress_bar
from gossamer.cli.options import Conf, DriverMemory, Json, Master, Remote

if TYPE_CHECKING:
    from gossamer.pipeline.stages import Stages
    from gossamer.pipeline.study_settings import Study


class StudyKind(StrEnum):
    """The kind of an input that is named on the command line."""

    edges = "edges"
    memberships = "memberships"
    workload = "workload"


Source = Annotated[
    str | None,
    typer.Argument(
        metavar="[INPUT]",
        help="STUDY.toml, a file of edges or memberships, or the folder of a workload; without it, the default study.",
    ),
]
Kind = Annotated[
    StudyKind | None,
    typer.Option(metavar="KIND", help="What INPUT is: edges, memberships or workload; found if not given."),
]
# The names of these arguments differ from the fields `nodes` and `max_links` of STUDY.toml, so that errors about the file
# name the field and not the flag.
Nodes = Annotated[
    int | None,
    typer.Option("--nodes", min=1, metavar="N", help="The nodes of the sample; a smaller input is used whole."),
]
MaxLinks = Annotated[
    int | None,
    typer.Option("--max-links", min=1, metavar="N", help="Recommend no system that gives a node more links than this."),
]
StudyOut = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="The folder for results; finished stages are not repeated.")
]
Tables = Annotated[
    str | None,
    typer.Option(
        "--tables", metavar="URI", help="Where tables that grow with the input are written; by default in OUT."
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Study the real data sets in this folder, not generated ones."),
]


def study(
    source: Source = None,
    out: StudyOut = Path("out/study"),
    kind: Kind = None,
    node_count: Nodes = None,
    links_limit: MaxLinks = None,
    data: DataFolder = None,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    tables: Tables = None,
    json: Json = False,
) -> None:
    """Go from raw data to a report in one command.

    Raw data -> tables -> a workload -> every system -> measurements -> report.html, with every figure as SVG, PNG and CSV
    in OUT/figures. The default study generates its own raw data, bad lines included. INPUT is a file of edges (two users
    on a line) or memberships (a user and a group on a line), the folder of a workload, or a STUDY.toml, which may set
    seeds, samples, systems with several values of a parameter, and more (docs/study.md). If the command was stopped or a
    run failed (exit code 1), run it again: finished stages and runs are not repeated.

    Example: gossamer study subs.csv --max-links 50 --out out/study
    """
    from gossamer.analysis.report import write_report

    wanted = _wanted(out, source, kind, node_count, links_limit, data)
    stages = _run(wanted, out, tables, master, remote, driver_memory, conf)
    report = out / "report.html"
    write_report(out, report, wanted.max_links)
    _show(stages, json, {"report": str(report)}, f"The report is {report}")


def sweep(
    source: Source = None,
    out: StudyOut = Path("out/study"),
    kind: Kind = None,
    node_count: Nodes = None,
    data: DataFolder = None,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    tables: Tables = None,
    json: Json = False,
) -> None:
    """Execute a study's runs without the report.

    Each run is a Spark task, and each result is saved when it is finished. Writes OUT/results/results.parquet, and
    OUT/results/failures.parquet for runs that crashed or took longer than the study's run_seconds. With a failed run the
    exit code is 1. If the command was stopped or a run failed, run it again: finished runs are not repeated.

    Example: gossamer sweep study.toml --out out/study
    """
    wanted = _wanted(out, source, kind, node_count, None, data)
    stages = _run(wanted, out, tables, master, remote, driver_memory, conf)
    results = stages.folder / "results"
    _show(stages, json, {"results": str(results)}, f"The tables are in {results}")


def _wanted(
    out: Path,
    source: str | None,
    kind: StudyKind | None,
    node_count: int | None,
    links_limit: int | None,
    data: Path | None,
) -> "Study":
    """The study that the command line asks for, checked before Spark starts."""
    import msgspec

    from gossamer.model.values.errors import InputError
    from gossamer.pipeline.study_inputs import check_inputs, on_real_data, study_of
    from gossamer.pipeline.study_settings import read_study

    is_input = source is not None and not source.endswith(".toml")
    if kind is not None and not is_input:
        raise InputError("`kind` says what INPUT is; give a file of edges or memberships, or the folder of a workload")
    if data is not None and is_input:
        raise InputError("`data` names a folder of real data sets to study; it excludes INPUT")
    if source is not None and is_input:
        wanted, sentence = study_of(source, kind.value if kind else None)
        typer.echo(f"{sentence}.", err=True)
    else:
        wanted = on_real_data(read_study(Path(source) if source is not None else None), data)
    given = {"nodes": node_count, "max_links": links_limit}
    wanted = msgspec.structs.replace(wanted, **{name: value for name, value in given.items() if value is not None})
    wanted.check()
    check_inputs(wanted, out)
    return wanted


def _run(
    wanted: "Study",
    out: Path,
    tables: str | None,
    master: str | None,
    remote: str | None,
    driver_memory: str | None,
    conf: list[str] | None,
) -> "Stages":
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.storage import read_place
    from gossamer.pipeline.study import run_study

    started = time.monotonic()

    def say(text: str) -> None:
        typer.echo(f"[{time.monotonic() - started:5.0f} s] {text}", err=True)

    say("starting Spark ...")
    try:
        with spark_session(master, remote, driver_memory, conf or ()) as spark, progress_bar() as progress:
            return run_study(spark, wanted, out, progress, say, read_place(tables) if tables else None)
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
