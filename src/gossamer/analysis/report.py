"""A study's tables as one HTML file that opens offline: advice first, then the figures behind it, then everything else."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any

import msgspec
import pyarrow.parquet as pq

from gossamer.analysis.charts import bars, grouped_bars, shares_above
from gossamer.analysis.profile import LABELS
from gossamer.model.tables.measures import FIGURES
from gossamer.systems import all_systems

Row = Mapping[str, Any]

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2730; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #d5dde2; }
.advice { background: #eef6f7; border-left: 6px solid #1b6d7d; padding: 1rem 1.4rem; font-size: 1.15rem; }
.advice p { margin: .4rem 0; } .quiet { color: #5b6b75; font-size: .9rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; width: 100%; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #e3e9ec; text-align: right; }
th:first-child, td:first-child { text-align: left; } th { background: #f5f8f9; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Standing:
    """A system over its seeds."""

    label: str
    system: str
    runs: int
    average_degree: float
    max_degree: float
    links_per_subscription: float
    diameter: float
    parted: float
    topics: float
    parted_after_failure: float
    topics_after_failure: float
    seconds: float
    # Figures of registered measures, by label.
    figures: Mapping[str, float]

    @property
    def is_central(self) -> bool:
        """Whether it is planned centrally: somebody must know every interest, and plan again when interests change."""
        known = all_systems().get(self.system)
        return known is not None and known.is_central


def standings(rows: Sequence[Row], labels: Mapping[str, str] = MappingProxyType({})) -> list[Standing]:
    """One entry for each system that was built; `labels` names further figures of the rows and their labels."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == "build":
            groups.setdefault(row["label"], []).append(row)
    return [
        Standing(
            label,
            str(group[0]["system"]),
            len(group),
            mean(float(row["average_degree"]) for row in group),
            mean(float(row["max_degree"]) for row in group),
            mean(float(row["links_per_subscription"]) for row in group),
            mean(float(row["max_topic_diameter"]) for row in group),
            mean(float(row["partitioned_topics"]) for row in group),
            mean(float(row["topics"]) for row in group),
            mean(float(row["partitioned_topics_after_failure"]) for row in group),
            mean(float(row["topics_after_failure"]) for row in group),
            mean(float(row["run_seconds"]) for row in group),
            {
                labels[name]: mean(float(row[name]) for row in group)
                for name in labels
                if all(row.get(name) is not None for row in group)
            },
        )
        for label, group in groups.items()
    ]


def advice(found: Sequence[Standing]) -> list[str]:
    """Which system, for what reason, at what cost, by this rule:

    1. Of the systems that need no central planner, those that connect every topic in every run; of these the one with
       the smallest average degree.
    2. If none does, the one that leaves fewest topics in parts, and that is said first.
    3. The best central plan that connects every topic is the yardstick: how many links the choice pays for needing none.
    """
    alone = [each for each in found if not each.is_central]
    planned = [each for each in found if each.is_central and each.parted == 0]
    sentences = []
    if alone:
        whole = [each for each in alone if each.parted == 0]
        best = min(whole or alone, key=lambda each: (each.parted, each.average_degree, each.label))
        if whole:
            sentences.append(
                f"Use <b>{html.escape(best.label)}</b>: it connects every topic in every run, with no central planner, at "
                f"{best.average_degree:.1f} links a node (at most {best.max_degree:.0f})."
            )
        else:
            sentences.append(
                f"No system without a central planner connects every topic here. <b>{html.escape(best.label)}</b> comes "
                f"closest: {best.parted:.0f} of {best.topics:.0f} topics are in parts."
            )
        others = [each for each in whole if each is not best]
        if others:
            second = min(others, key=lambda each: (each.average_degree, each.label))
            sentences.append(f"Next is {html.escape(second.label)} at {second.average_degree:.1f} links a node.")
        lost = [each for each in alone if each.parted > 0 and each is not best]
        if lost and whole:
            names = ", ".join(f"{html.escape(each.label)} ({each.parted:.0f})" for each in lost)
            sentences.append(f"Not recommended, because they leave topics in parts: {names}.")
        if planned:
            fewest = min(planned, key=lambda each: each.average_degree)
            ratio = best.average_degree / fewest.average_degree
            sentences.append(
                f"A central plan ({html.escape(fewest.label)}) would need {fewest.average_degree:.1f} links a node, "
                f"{ratio:.1f} times fewer; it must be made again whenever interests change."
            )
    elif planned:
        fewest = min(planned, key=lambda each: each.average_degree)
        sentences.append(f"Only central plans were tried; {html.escape(fewest.label)} has the fewest links.")
    return sentences or ["Nothing was built, so there is nothing to recommend; see what failed below."]


def write_report(study: Path, path: Path) -> None:
    """Read a study's folder and write its report, under another name first."""
    rows = pq.read_table(study / "results" / "results.parquet").to_pylist()
    failures = pq.read_table(study / "results" / "failures.parquet").to_pylist()
    stages = {
        folder.name: msgspec.json.decode((folder / "manifest.json").read_bytes())
        for folder in sorted(study.iterdir())
        if (folder / "manifest.json").is_file()
    }
    named = study / "results" / FIGURES
    found = standings(rows, msgspec.json.decode(named.read_bytes()) if named.exists() else {})
    body = [
        "<h1>Which overlay for this workload?</h1>",
        f'<p class="quiet">Gossamer {html.escape(str(stages["results"]["gossamer"]))}, study in one file; the tables are '
        "beside it.</p>",
        '<div class="advice">' + "".join(f"<p>{sentence}</p>" for sentence in advice(found)) + "</div>",
        _workload_section(study, rows, stages),
        _built_section(found),
        measures_section(found),
        _churn_section(rows),
        _failure_section(found, rows, float(stages["failure"]["inputs"]["share"])),
        _raw_section(study, stages, failures),
        _settings_section(rows, stages),
    ]
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Gossamer study</title><style>{STYLE}</style><body>{''.join(body)}</body></html>"
    )
    making = path.with_name(f".{path.name}.making")
    making.write_text(page, encoding="utf-8")
    making.replace(path)


def _workload_section(study: Path, rows: Sequence[Row], stages: Mapping[str, Any]) -> str:
    sample = stages["workload"]["rows"]
    first = next((row for row in rows if row["kind"] == "build"), {})
    profile = msgspec.json.decode((study / "profile" / "profile.json").read_bytes())
    facts = [
        ["nodes", f"{sample['nodes']:,}"],
        ["topics (every user is one)", f"{first.get('topics', 0):,}"],
        ["subscriptions", f"{sample['interests']:,}"],
        ["friendships in the whole graph", f"{stages['graph']['rows']['rows']:,}"],
    ]
    facts += [
        [name.replace("_", " "), f"{value:.3g}"]
        for name, value in profile["sample"].items()
        if isinstance(value, float)
    ]
    spreads: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    for row in pq.read_table(study / "profile" / "spreads.parquet").to_pylist():
        curve = spreads.setdefault(row["spread"], {}).setdefault(
            "the whole graph" if row["data"] == "data" else "the sample", ([], [])
        )
        curve[0].append(row["value"])
        curve[1].append(row["share"])
    pictures = "".join(shares_above(curves, LABELS.get(name, name)) for name, curves in spreads.items())
    return "<h2>The workload</h2>" + _table(["", ""], facts) + pictures


def _built_section(found: Sequence[Standing]) -> str:
    if not found:
        return ""
    columns = [
        "system",
        "links a node",
        "most",
        "links a subscription",
        "longest topic (hops)",
        "topics in parts",
        "seconds",
    ]
    ordered = sorted(found, key=lambda each: each.average_degree)
    rows = [
        [
            each.label,
            f"{each.average_degree:.2f}",
            f"{each.max_degree:.0f}",
            f"{each.links_per_subscription:.2f}",
            f"{each.diameter:.0f}",
            f"{each.parted:.0f} of {each.topics:.0f}",
            f"{each.seconds:.2f}",
        ]
        for each in ordered
    ]
    labels = [each.label for each in ordered]
    pale = [each.parted > 0 for each in ordered]
    pictures = (
        ([each.average_degree for each in ordered], "average degree (links a node)"),
        ([each.max_degree for each in ordered], "maximum degree (links)"),
        ([each.links_per_subscription for each in ordered], "links for each subscription"),
        ([each.diameter for each in ordered], "longest topic overlay (hops)"),
        ([each.seconds for each in ordered], "cost to compute and measure (seconds on one core)"),
    )
    return (
        "<h2>Links, length, connection and cost</h2><p>Means over seeds.</p>"
        + "".join(bars(labels, values, title, pale) for values, title in pictures)
        + '<p class="quiet">Pale bars: some topics are in parts, so fewer links and shorter ways are no merit.</p>'
        + _table(columns, rows)
    )


def measures_section(found: Sequence[Standing]) -> str:
    """The figures of registered measures that the report has no text of its own for."""
    labels = list(dict.fromkeys(label for each in found for label in each.figures))
    if not labels:
        return ""
    ordered = sorted(found, key=lambda each: each.average_degree)
    pictures = ""
    for label in labels:
        shown = [each for each in ordered if label in each.figures]
        pictures += bars([each.label for each in shown], [each.figures[label] for each in shown], label)
    table = [[each.label, *(_figure(each, label) for label in labels)] for each in ordered]
    return "<h2>Further measures</h2><p>Means over seeds.</p>" + pictures + _table(["system", *labels], table)


def _figure(standing: Standing, label: str) -> str:
    return f"{standing.figures[label]:.4g}" if label in standing.figures else ""


def _failure_section(found: Sequence[Standing], rows: Sequence[Row], share: float) -> str:
    """What breaks when many fail at once: overlays as they stand, and a network that mends itself."""
    if not found:
        return ""
    ordered = sorted(found, key=lambda each: each.parted_after_failure)
    table = [[each.label, f"{each.parted_after_failure:.0f} of {each.topics_after_failure:.0f}"] for each in ordered]
    section = (
        f"<h2>What breaks</h2><p>{share:.0%} of the nodes fail at once. First, the topics that are in parts then, if nobody "
        "mends anything: what a central plan leaves until it is made again, and what a protocol has to mend.</p>"
        + bars(
            [each.label for each in ordered],
            [100 * each.parted_after_failure / max(each.topics_after_failure, 1) for each in ordered],
            f"topics in parts after {share:.0%} of the nodes failed, nothing mended (%)",
        )
        + _table(["system", "topics in parts"], table)
    )
    groups = _by_label(rows, "failure")
    if groups:
        section += (
            "<p>Then, protocols that go on by themselves, with messages published before and after.</p>"
            + _traffic(groups)
        )
    return section


def _churn_section(rows: Sequence[Row]) -> str:
    groups = _by_label(rows, "churn")
    if not groups:
        return ""
    labels = list(groups)
    milliseconds = {
        name: [mean(float(row[column]) for row in groups[label]) / 1000 for label in labels]
        for name, column in (
            ("half within", "latency_us_p50"),
            ("95% within", "latency_us_p95"),
            ("99% within", "latency_us_p99"),
        )
    }
    return (
        "<h2>Under churn, with messages</h2><p>Nodes come and go as the machines of the trace do, in virtual time; every "
        "message that was delivered is counted against every live subscriber.</p>"
        + grouped_bars(labels, milliseconds, "latency of deliveries (ms, mean over seeds)")
        + bars(
            labels,
            [mean(float(row["data_messages_per_delivery"]) for row in groups[label]) for label in labels],
            "messages for each delivery",
        )
        + _traffic(groups)
    )


def _by_label(rows: Sequence[Row], kind: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == kind:
            groups.setdefault(row["label"], []).append(row)
    return groups


def _traffic(groups: Mapping[str, Sequence[Row]]) -> str:
    """How much arrived, how late, at what cost; means over seeds, the longest of all."""
    table = [
        [
            label,
            f"{mean(float(row['delivery_ratio']) for row in group):.2%}",
            *(f"{mean(float(row[f'latency_us_p{share}']) for row in group) / 1000:.0f} ms" for share in (50, 95, 99)),
            f"{max(float(row['latency_us_most']) for row in group) / 1000:.0f} ms",
            f"{mean(float(row['data_messages_per_delivery']) for row in group):.2f}",
            f"{mean(float(row['partitioned_topics']) for row in group):.1f}",
        ]
        for label, group in groups.items()
    ]
    head = ["system", "delivered", "half within", "95% within", "99% within", "longest", "messages a delivery"]
    return _table([*head, "topics in parts at the end"], table)


def _raw_section(study: Path, stages: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> str:
    names = ("lines", "comments", "quarantined", "self_loops", "merged", "rows")
    counts = [
        [name, *(f"{stages[name]['rows'][what]:,}" for what in names)]
        for name in ("graph", "machines")
        if name in stages
    ]
    said = _table(["read", *(what.replace("_", "-") for what in names)], counts)
    bad = []
    for name in ("graph", "machines"):
        folder = study / name / "quarantine.parquet"
        if folder.exists():
            bad += [
                [row["source"], f"{row['line']:,}", row["text"][:60], row["reason"]]
                for row in pq.read_table(folder).slice(0, 20).to_pylist()
            ]
    section = "<h2>What was read, and what could not be</h2>" + said
    if bad:
        section += "<p>Some of what is in quarantine:</p>" + _table(["file", "line", "text", "reason"], bad)
    section += "<h2>What failed</h2>"
    if not failures:
        return section + "<p>Nothing.</p>"
    return section + _table(
        ["system", "seed", "reason"],
        [[str(each["system"]), str(each["seed"]), str(each["reason"])] for each in failures],
    )


def _settings_section(rows: Sequence[Row], stages: Mapping[str, Any]) -> str:
    seen: dict[str, str] = {}
    for row in rows:
        metrics = msgspec.json.decode(row["metrics"])
        parameters = ", ".join(f"{name}={value}" for name, value in metrics["parameters"].items())
        seen.setdefault(row["label"], parameters or "none")
    seeds = sorted({int(row["seed"]) for row in rows})
    times = [[name, f"{stage['stage_seconds']:.1f}"] for name, stage in stages.items()]
    results = stages["results"]
    versions = ", ".join(
        f"{name} {number}" for name, number in {"gossamer": results["gossamer"], **results["versions"]}.items()
    )
    return (
        f"<h2>Parameters, seeds, versions</h2><p>Seeds {', '.join(map(str, seeds))}. {html.escape(versions)}.</p>"
        + _table(["system", "parameters"], [[label, text] for label, text in seen.items()])
        + _table(["stage", "seconds"], times)
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    first = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    lines = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{first}<tbody>{''.join(lines)}</tbody></table>"
