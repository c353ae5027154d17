"""The report of a study: one HTML file that opens offline, and its figures as files.

First the page for a decision (`first_page.py`), then the measurements (`sections.py`), then an appendix with raw lines,
failed runs, parameters and versions.
"""

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from gossamer.analysis.advice import advise
from gossamer.analysis.charts import FigureFiles
from gossamer.analysis.first_page import check_sample, first_page
from gossamer.analysis.page import page, table
from gossamer.analysis.sections import (
    built_section,
    churn_section,
    failure_section,
    live_section,
    measures_section,
    workload_section,
)
from gossamer.analysis.standing import Row, standings
from gossamer.model.tables.measures import FIGURES

# The stages that read raw lines, with their names for readers.
_READ = {"graph": "input", "edges": "edges", "memberships": "memberships", "machines": "machine events"}


def write_report(study: Path, path: Path, max_links: int | None = None) -> None:
    """Write the report of a study's folder, and FIGURES beside it. Each is renamed when it is complete."""
    rows = pq.read_table(study / "results" / "results.parquet").to_pylist()
    failures = pq.read_table(study / "results" / "failures.parquet").to_pylist()
    stages = {
        folder.name: msgspec.json.decode((folder / "manifest.json").read_bytes())
        for folder in sorted(study.iterdir())
        if (folder / "manifest.json").is_file() and not folder.name.startswith(".") and folder.name != "figures"
    }
    named = study / "results" / FIGURES
    # Every run that the study asked for; runs without a result have failed.
    asked = stages["results"].get("inputs", {}).get("runs", [])
    kinds = ("build", "small", "live", "churn", "failure")
    wanted = {kind: Counter(each["label"] for each in asked if each["kind"] == kind) for kind in kinds}
    labels = msgspec.json.decode(named.read_bytes()) if named.exists() else {}
    found, small, live = (
        standings(rows, labels if kind == "build" else {}, wanted[kind], kind) for kind in ("build", "small", "live")
    )
    share = float(stages["failure"]["inputs"]["share"])
    profile = msgspec.json.decode((study / "profile" / "profile.json").read_bytes())
    check = check_sample(profile, stages["workload"]["rows"], max((each.topics for each in found), default=0))
    figures = FigureFiles()
    told = advise(found, live, wanted["build"], max_links, share)
    version = str(stages["results"]["gossamer"])
    body = [
        "<h1>Which overlay for this workload?</h1>",
        f'<p class="quiet">Gossamer {html.escape(version)}. The tables of this study are in the folders beside this file, '
        "its figures in the folder figures.</p>",
        first_page(told, found, rows, check, figures, share),
        built_section(found, figures),
        live_section(small, live),
        churn_section(rows, wanted["churn"], figures),
        failure_section(found, rows, share, wanted["failure"], figures),
        workload_section(study, rows, stages, figures),
        measures_section(found, figures),
        "<h2>Appendix</h2>",
        _raw_section(study, stages, failures),
        _settings_section(rows, stages),
    ]
    figures.write(study / "figures", version)
    making = path.with_name(f".{path.name}.making")
    making.write_text(page(body), encoding="utf-8")
    making.replace(path)


def _raw_section(study: Path, stages: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> str:
    names = ("lines", "comments", "headers", "quarantined", "self_loops", "merged", "rows")
    read = {name: label for name, label in _READ.items() if "lines" in stages.get(name, {}).get("rows", {})}
    counts = [[label, *(f"{stages[name]['rows'].get(what, 0):,}" for what in names)] for name, label in read.items()]
    section = "<h3>Lines of the raw data</h3>"
    section += table(["data", *(what.replace("_", "-") for what in names)], counts)
    bad = []
    for name in read:
        folder = study / name / "quarantine.parquet"
        if folder.exists():
            bad += [
                [row["source"], f"{row['line']:,}", row["text"][:60], row["reason"]]
                for row in pq.read_table(folder).slice(0, 20).to_pylist()
            ]
    if bad:
        section += "<p>Examples of lines in quarantine:</p>" + table(["file", "line", "text", "reason"], bad)
    section += "<h3>Failed runs</h3>"
    if not failures:
        return section + "<p>No run failed.</p>"
    return section + table(
        ["system", "seed", "reason"],
        [[str(each["system"]), str(each["seed"]), str(each["reason"])] for each in failures],
        long=(2,),
    )


def _settings_section(rows: Sequence[Row], stages: Mapping[str, Any]) -> str:
    seen: dict[str, str] = {}
    for row in rows:
        metrics = msgspec.json.decode(row["metrics"])
        parameters = ", ".join(f"{name}={value}" for name, value in metrics["parameters"].items())
        kind = {"live": " (as live nodes)", "small": " (smaller network)"}.get(str(row["kind"]), "")
        seen.setdefault(f"{row['label']}{kind}", parameters or "none")
    seeds = sorted({int(row["seed"]) for row in rows})
    times = [[name, f"{stage['stage_seconds']:.1f}"] for name, stage in stages.items()]
    results = stages["results"]
    versions = ", ".join(
        f"{name} {number}" for name, number in {"gossamer": results["gossamer"], **results["versions"]}.items()
    )
    return (
        f"<h3>Parameters, seeds, versions</h3><p>Seeds {', '.join(map(str, seeds))}. {html.escape(versions)}.</p>"
        + table(["system", "parameters"], [[label, text] for label, text in seen.items()], long=(1,))
        + table(["stage", "seconds"], times)
    )
