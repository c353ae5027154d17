"""`gossamer study`: raw data to report in one command, on Spark."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_json, progress_bar
from gossamer.cli.options import Json, Master, Remote


def study(
    definition: Annotated[
        Path | None, typer.Argument(metavar="[STUDY.toml]", help="What to study; without it the default study.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the study goes; finished stages there are not done again.")] = Path(
        "out/study"
    ),
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Study the real data sets in this folder instead of made ones.")
    ] = None,
    master: Master = None,
    remote: Remote = None,
    json: Json = False,
) -> None:
    """Raw data -> tables -> a workload -> every system -> measurements -> report.html.

    The default study makes its own raw data, flaws and all. A STUDY.toml may set edges, events (files to read instead),
    nodes, seeds, systems and more. Stopped anywhere, the same command goes on.

    Example: gossamer study --out out/study
    """
    from gossamer.analysis.report import write_report
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.study import on_real_data, read_study, run_study

    wanted = on_real_data(read_study(definition), data)
    started = time.monotonic()

    def say(what: str) -> None:
        typer.echo(f"[{time.monotonic() - started:5.0f} s] {what}", err=True)

    say("starting Spark ...")
    try:
        with spark_session(master, remote) as spark, progress_bar() as progress:
            stages = run_study(spark, wanted, out, progress, say)
    except KeyboardInterrupt:
        typer.echo("Finished stages are kept: the same command goes on from there.", err=True)
        raise typer.Exit(130) from None
    report = out / "report.html"
    write_report(out, report)
    facts = {name: stage["rows"] for name, stage in stages.done.items()}
    if json:
        print_json({"report": str(report), "stages": facts})
        return
    failed = facts["results"]["failures"]
    typer.echo(f"{facts['results']['results']} runs done, {failed} failed. The report is {report}")
