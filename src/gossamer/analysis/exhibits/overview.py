"""One HTML page of all exhibits: verdicts, pictures, claims with their sentences, remarks, commands and times."""

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.analysis.exhibits.harness import (
    NOT_COMPARED,
    PREDICTION,
    Exhibit,
    JudgedExhibit,
    chosen_settings,
    claim_sources,
    published_source,
    show_deviation,
    summary,
)
from gossamer.analysis.page import page, paragraphs, table


@dataclass(frozen=True)
class Entry:
    """An exhibit with its picture, the command that repeats it, and the CPU time of its runs."""

    outcome: JudgedExhibit
    picture: Path
    command: str
    cpu_seconds: float


def write_overview(path: Path, entries: Sequence[Entry], skipped: Mapping[str, str], cpu_seconds: float) -> None:
    """Write the page; `skipped` has the exhibits that were not run, each with the reason.

    `cpu_seconds` is the time of all runs; exhibits share some of them.
    """
    body = [_head(entries, skipped, cpu_seconds), *(_section(entry) for entry in entries)]
    making = path.with_name(f".{path.name}.making")
    making.write_text(page(body, "Gossamer: the papers' exhibits"), encoding="utf-8")
    making.replace(path)


def _head(entries: Sequence[Entry], skipped: Mapping[str, str], cpu_seconds: float) -> str:
    outcomes = [entry.outcome for entry in entries]
    sentences = [
        html.escape(summary(outcomes)),
        f"All runs took {_time(cpu_seconds)} of CPU time. Below, a run that several exhibits share counts for each of them.",
        "A value is compared with the published one as a prediction, or as fitted, or as a rival reading of the paper. Only "
        "predictions and claims make an exhibit met.",
    ]
    if any(outcome.quick for outcome in outcomes):
        sentences.append(
            "This is the quick version. Each exhibit names what it leaves out; claims that need it are not compared."
        )
    if skipped:
        sentences.append(
            "Not run: " + "; ".join(f"{html.escape(name)} ({html.escape(why)})" for name, why in skipped.items()) + "."
        )
    rows = [[*_row(entry.outcome), _time(entry.cpu_seconds)] for entry in entries]
    columns = ["exhibit", "title", "verdict", "predictions met", "claims that hold", "CPU time"]
    return f"<h1>The papers' exhibits</h1>{paragraphs(sentences)}{table(columns, rows, long=(1,))}"


def _row(outcome: JudgedExhibit) -> list[str]:
    predictions = outcome.compared(PREDICTION)
    met = sum(value.verdict == "met" for value in predictions)
    verdicts = [verdict for _, verdict in outcome.claims]
    skipped = verdicts.count(NOT_COMPARED)
    hold = sum(verdict.startswith("holds") for verdict in verdicts)
    return [
        outcome.exhibit.name,
        outcome.exhibit.title,
        outcome.verdict,
        f"{met} of {len(predictions)}" if predictions else "",
        f"{hold} of {len(verdicts)}{f', {skipped} not compared' if skipped else ''}" if verdicts else "",
    ]


def _section(entry: Entry) -> str:
    outcome, exhibit = entry.outcome, entry.outcome.exhibit
    picture = base64.b64encode(entry.picture.read_bytes()).decode()
    return "".join(
        (
            f'<h2 id="{exhibit.name}">{html.escape(exhibit.name)}: {html.escape(outcome.verdict)}</h2>',
            paragraphs([html.escape(sentence) for sentence in _sentences(entry)]),
            f'<figure class="wide"><img style="max-width:100%" alt="{html.escape(exhibit.title, quote=True)}"'
            f' src="data:image/svg+xml;base64,{picture}"></figure>',
            _claims(outcome, exhibit),
            _compared(outcome),
            f"<p>{html.escape(exhibit.remark)}</p>" if exhibit.remark else "",
            f'<p class="quiet"><code>{html.escape(entry.command)}</code> ({_time(entry.cpu_seconds)} of CPU time)</p>',
        )
    )


def _sentences(entry: Entry) -> list[str]:
    exhibit = entry.outcome.exhibit
    found = [f"{exhibit.title}. {published_source(exhibit)}."]
    if chosen := chosen_settings(exhibit):
        found.append(f"Chosen, not published: {chosen}.")
    if exhibit.studies:
        found.append("Experiments: " + ", ".join(f"studies/tables/{name}.md" for name in exhibit.studies) + ".")
    if entry.outcome.quick:
        found.append(f"Quick: left out {exhibit.left_out}.")
    return found


def _claims(outcome: JudgedExhibit, exhibit: Exhibit) -> str:
    sources = claim_sources(exhibit)
    rows = [[text, verdict, sources.get(text, "")] for text, verdict in outcome.claims]
    rows += [[f"rival reading: {text}", verdict, sources.get(text, "")] for text, verdict in outcome.rival_claims]
    return table(["claim", "verdict", "the paper's sentence"], rows, long=(0, 2)) if rows else ""


def _compared(outcome: JudgedExhibit) -> str:
    rows = [
        [
            value.series,
            f"{value.x:g}",
            f"{value.measured:.4g} ± {value.high - value.measured:.2g}",
            f"{value.published:g}",
            show_deviation(value.deviation),
            f"{value.verdict} ({value.ground})",
        ]
        for value in outcome.values
        if value.published is not None
    ]
    return table(["series", "x", "measured, 95%", "published", "deviation", "verdict"], rows, long=(0,)) if rows else ""


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
