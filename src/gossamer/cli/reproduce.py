"""`gossamer reproduce`: the papers' tables and figures, measured again and compared with the published values."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_json, print_table, progress_bar
from gossamer.cli.options import Json, manifest
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.analysis.exhibits.harness import Exhibit, JudgedExhibit, Point


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="An exhibit, a paper or `all`; without it, list the exhibits.")
    ] = "list",
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder for results; runs that it already has are not repeated.")
    ] = Path("out/reproduce"),
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version; prints what it leaves out.")] = False,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Real data sets, for the exhibits that need them.")
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="WORKLOAD",
            help="Draw the figure for this workload instead: a file with columns such as service,topic, or a folder.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write one HTML page of all these exhibits.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes; by default one per core.")] = None,
    json: Json = False,
) -> None:
    """Reproduce the papers' figures and tables, or list them.

    Writes a table (Parquet, CSV), a picture (SVG, PNG) and a verdict for each exhibit: met, missed or not compared. Values to
    which an experiment was fitted, and rival readings of the paper, are counted apart from predictions. A run is stored when
    it ends: a command that was interrupted goes on where it stopped.

    With --on, the runs of a figure over nodes or over a parameter are carried out on a workload of yours, without published
    values: over nodes, on a quarter to all of its nodes.

    Example: gossamer reproduce all --quick --html exhibits.html

    Example: gossamer reproduce spidercast/fig12 --on subs.csv --quick
    """
    from gossamer.analysis.exhibits.catalogue import all_exhibits, find_exhibits

    if name == "list":
        if json:
            print_json([{"name": exhibit.name, "title": exhibit.title} for exhibit in all_exhibits().values()])
        else:
            rows = [[exhibit.name, exhibit.title] for exhibit in all_exhibits().values()]
            print_table("Exhibits", ["name", "title"], rows)
        return

    from gossamer.analysis.exhibits.harness import judge, measured_at, spread_at, summary
    from gossamer.analysis.exhibits.overview import Entry, write_overview
    from gossamer.simulator.pool import execute_all, run_key

    exhibits = find_exhibits(name)
    if on is not None:
        exhibits = _on_workload(exhibits, on, out)
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise InputError(f"--html {html} must be the name of a file in a folder that exists")
    started = time.monotonic()
    points = {exhibit.name: [_located(point, data) for point in exhibit.points(quick)] for exhibit in exhibits}
    missing = {name: files for name, group in points.items() if (files := _missing(group))}
    if missing and (len(missing) == len(exhibits) or data is not None):
        names = ", ".join(sorted({file for group in missing.values() for file in group}))
        raise InputError(f"{next(iter(missing))} needs {names}; give the folder of the real data sets with --data")
    for skipped in missing:
        typer.echo(f"{skipped}: skipped, because it needs real data (--data FOLDER)", err=True)
    exhibits = [exhibit for exhibit in exhibits if exhibit.name not in missing]
    points = {exhibit.name: points[exhibit.name] for exhibit in exhibits}
    runs = [point.run for group in points.values() for point in group]
    out.mkdir(parents=True, exist_ok=True)
    with progress_bar() as progress:
        metrics = execute_all(runs, out / "runs", jobs or os.cpu_count() or 1, progress)
    outcomes, entries = [], []
    for exhibit in exhibits:
        found = [(point, metrics[run_key(point.run)]) for point in points[exhibit.name]]
        measured = [(point, measured_at(exhibit, point, each)) for point, each in found]
        outcome = judge(exhibit, quick, measured, [spread_at(exhibit, point, each) for point, each in found])
        seconds = sum({run_key(point.run): float(each["cpu_seconds"]) for point, each in found}.values())
        runs_of = [point.run for point in points[exhibit.name]]
        picture = _write(out / exhibit.name, outcome, runs_of, started, seconds)
        outcomes.append(outcome)
        entries.append(Entry(outcome, picture, _command(exhibit.name, quick, data), seconds))
    if html is not None:
        reasons = dict.fromkeys(missing, "it needs real data, --data FOLDER")
        write_overview(html, entries, reasons, sum(float(each["cpu_seconds"]) for each in metrics.values()))
    if json:
        print_json([_describe(entry.outcome, entry.cpu_seconds) for entry in entries])
        return
    for outcome in outcomes:
        _show(outcome, out)
    typer.echo(summary(outcomes))
    if html is not None:
        typer.echo(f"in {html}")


def _command(name: str, quick: bool, data: Path | None) -> str:
    """The command that repeats one exhibit."""
    return f"gossamer reproduce {name}{' --quick' if quick else ''}{f' --data {data}' if data else ''}"


def _on_workload(exhibits: "Sequence[Exhibit]", workload: Path, out: Path) -> "list[Exhibit]":
    """The exhibits with their runs on the user's workload, whose samples are kept in a folder named by its content."""
    from gossamer.analysis.exhibits.own_data import on_workload
    from gossamer.model.tables.folders import file_sha256
    from gossamer.workloads.named import interests_file, read_workload

    found = read_workload(workload)
    folder = out / "workloads" / f"{workload.stem}-{file_sha256(interests_file(workload))[:12]}"
    return [on_workload(exhibit, found, workload.stem, folder) for exhibit in exhibits]


def _located(point: "Point", data: Path | None) -> "Point":
    """The point with its data files looked up in the folder of real data."""
    from dataclasses import replace

    from msgspec.structs import replace as changed

    from gossamer.model.values.run import FRIENDS, Run

    if data is None:
        return point
    if not isinstance(point.run, Run):
        files = {name: str(data / file) for name, file in point.run.data.items()}
        return replace(point, run=changed(point.run, data=files))
    workload = point.run.workload
    if not isinstance(workload, str) or not workload.startswith(FRIENDS):
        return point
    return replace(point, run=changed(point.run, workload=f"{FRIENDS}{data / workload.removeprefix(FRIENDS)}"))


def _missing(points: "Sequence[Point]") -> set[str]:
    """Data files that do not exist."""
    from gossamer.model.values.run import FRIENDS, Run

    names: set[str] = set()
    for run in (point.run for point in points):
        if not isinstance(run, Run):
            names.update(run.data.values())
        elif isinstance(run.workload, str) and run.workload.startswith(FRIENDS):
            names.add(run.workload.removeprefix(FRIENDS))
    return {name for name in names if not Path(name).is_file()}


def _write(folder: Path, outcome: "JudgedExhibit", runs: list[Any], started: float, seconds: float) -> Path:
    """Write the folder of an exhibit; returns its picture."""
    import csv
    from dataclasses import asdict

    from gossamer.analysis.exhibits.picture import draw
    from gossamer.model.tables.folders import output_folder, write_json, write_manifest
    from gossamer.model.tables.schemas import write_table
    from gossamer.simulator.pool import code_hash

    rows = [asdict(value) for value in outcome.values]
    with output_folder(folder, force=True) as making:
        write_table("values", making / "values.parquet", {name: [row[name] for row in rows] for name in rows[0]})
        with (making / "values.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        picture = draw(outcome, making)[0].name
        write_json(making / "verdict.json", _describe(outcome, seconds))
        made = manifest("reproduce", None, started, {}, {"values": len(rows)}, runs=runs, code_sha256=code_hash())
        write_manifest(making, made)
    return folder / picture


def _describe(outcome: "JudgedExhibit", seconds: float) -> dict[str, Any]:
    from dataclasses import asdict

    from gossamer.analysis.exhibits.harness import chosen_settings, claim_sources, published_source

    exhibit = outcome.exhibit
    sources = claim_sources(exhibit)

    def named(claims: "Sequence[tuple[str, str]]") -> list[dict[str, str]]:
        return [{"claim": text, "verdict": verdict, "source": sources.get(text, "")} for text, verdict in claims]

    return {
        "name": exhibit.name,
        "title": exhibit.title,
        "source": published_source(exhibit),
        "chosen": chosen_settings(exhibit),
        "verdict": outcome.verdict,
        "line": outcome.line(),
        "quick": outcome.quick,
        "left_out": exhibit.left_out if outcome.quick else "",
        "values": [asdict(value) for value in outcome.values],
        "claims": named(outcome.claims),
        "rival_claims": named(outcome.rival_claims),
        "remark": exhibit.remark,
        "cpu_seconds": round(seconds, 2),
    }


def _show(outcome: "JudgedExhibit", out: Path) -> None:
    from gossamer.analysis.exhibits.harness import MISSED, PREDICTION, chosen_settings, show_deviation

    exhibit = outcome.exhibit
    theory = any(value.expected is not None for value in outcome.values)
    rows = [
        [
            value.series,
            f"{value.x:g}",
            f"{value.measured:.4g} ± {value.high - value.measured:.2g}",
            *([_number(value.expected)] if theory else []),
            _number(value.published),
            show_deviation(value.deviation),
            f"{value.verdict or ''}{'' if value.ground in (None, PREDICTION) else f' ({value.ground})'}",
        ]
        for value in outcome.values
    ]
    if exhibit.is_histogram:
        typer.echo(f"{exhibit.name}: {exhibit.title} ({len(rows)} rows in values.csv)")
    else:
        print_table(
            f"{exhibit.name}: {exhibit.title}",
            [
                *("series", exhibit.x_label, f"measured {exhibit.y_label}, 95%"),
                *(["theory"] if theory else []),
                *("published", "deviation", "verdict"),
            ],
            rows,
        )
    for text, verdict in outcome.claims:
        typer.echo(f"  claim: {text}: {verdict}")
    for text, verdict in outcome.rival_claims:
        typer.echo(f"  rival reading of a claim: {text}: {verdict}")
    if chosen := chosen_settings(exhibit):
        typer.echo(f"  chosen, not published: {chosen}")
    if outcome.verdict == MISSED and exhibit.remark:
        typer.echo(f"  {exhibit.remark}")
    if exhibit.studies:
        typer.echo(f"  experiments: {', '.join(f'studies/tables/{name}.md' for name in exhibit.studies)}")
    if outcome.quick:
        typer.echo(f"  quick: left out {exhibit.left_out}")
    typer.echo(f"  {outcome.line()}")
    typer.echo(f"  in {out / exhibit.name}\n")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
