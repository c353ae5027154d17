"""The report of a study: one HTML file that opens offline, with the advice first and the measurements after it."""

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
    """The means of a system's builds over its seeds."""

    label: str
    system: str
    runs: int
    average_degree: float
    max_degree: float
    links_per_subscription: float
    diameter: float
    disconnected: float
    topics: float
    disconnected_after_failure: float
    topics_after_failure: float
    seconds: float
    # Figures of registered measures, by label.
    figures: Mapping[str, float]

    @property
    def is_central(self) -> bool:
        """Whether a central planner, which must know every interest, computes the overlay."""
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
    """Recommends a system by this rule:

    1. Among the systems without a central planner that connect every topic in every run, take the one with the smallest
       average degree.
    2. If there is none, take the system with the fewest disconnected topics, and say so first.
    3. Compare it with the best central plan that connects every topic, which shows the cost of having no planner.
    """
    alone = [each for each in found if not each.is_central]
    planned = [each for each in found if each.is_central and each.disconnected == 0]
    fewest = min(planned, key=lambda each: each.average_degree) if planned else None
    if alone:
        whole = [each for each in alone if each.disconnected == 0]
        best = min(whole or alone, key=lambda each: (each.disconnected, each.average_degree, each.label))
        sentences = _choice(best, [each for each in alone if each is not best])
        return sentences + (_comparison(best, fewest) if fewest is not None else [])
    if fewest is not None:
        return [f"The study has only central plans; {html.escape(fewest.label)} has the fewest links."]
    return ["No overlay was built, so there is no recommendation; the failures are listed below."]


def _choice(best: Standing, others: Sequence[Standing]) -> list[str]:
    """The sentences about the best system without a central planner, and about the others."""
    if best.disconnected > 0:
        return [
            f"No system without a central planner connects every topic here. <b>{html.escape(best.label)}</b> comes "
            f"closest: {best.disconnected:.0f} of {best.topics:.0f} topics are disconnected."
        ]
    sentences = [
        f"Use <b>{html.escape(best.label)}</b>: it connects every topic in every run without a central planner, with "
        f"{best.average_degree:.1f} links per node on average (at most {best.max_degree:.0f})."
    ]
    if whole := [each for each in others if each.disconnected == 0]:
        second = min(whole, key=lambda each: (each.average_degree, each.label))
        sentences.append(
            f"The second best is {html.escape(second.label)} with {second.average_degree:.1f} links per node."
        )
    if lost := [each for each in others if each.disconnected > 0]:
        names = ", ".join(f"{html.escape(each.label)} ({each.disconnected:.0f})" for each in lost)
        sentences.append(f"Not recommended, because some topics are disconnected: {names}.")
    return sentences


def _comparison(best: Standing, fewest: Standing) -> list[str]:
    """The sentence about the central plan with the fewest links."""
    ratio = best.average_degree / fewest.average_degree
    return [
        f"A central plan ({html.escape(fewest.label)}) needs {fewest.average_degree:.1f} links per node; "
        f"{html.escape(best.label)} has {ratio:.1f} times as many. The plan must be computed again when interests change."
    ]


def write_report(study: Path, path: Path) -> None:
    """Write the report of a study's folder. The file is renamed when it is complete."""
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
        f'<p class="quiet">Gossamer {html.escape(str(stages["results"]["gossamer"]))}. The tables of this study are in '
        "the folders beside this file.</p>",
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
        ["topics (one for each user)", f"{first.get('topics', 0):,}"],
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
        "links per node",
        "maximum degree",
        "links per subscription",
        "largest topic diameter (hops)",
        "disconnected topics",
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
            f"{each.disconnected:.0f} of {each.topics:.0f}",
            f"{each.seconds:.2f}",
        ]
        for each in ordered
    ]
    labels = [each.label for each in ordered]
    pale = [each.disconnected > 0 for each in ordered]
    pictures = (
        ([each.average_degree for each in ordered], "average degree (links per node)"),
        ([each.max_degree for each in ordered], "maximum degree (links)"),
        ([each.links_per_subscription for each in ordered], "links per subscription"),
        ([each.diameter for each in ordered], "largest topic diameter (hops)"),
        ([each.seconds for each in ordered], "time to build and measure (seconds on one core)"),
    )
    return (
        "<h2>Links, diameters, connectivity and cost</h2><p>Means over seeds.</p>"
        + "".join(bars(labels, values, title, pale) for values, title in pictures)
        + '<p class="quiet">Pale bars: some topics are disconnected, which makes link counts and diameters look better '
        "than they are.</p>" + _table(columns, rows)
    )


def measures_section(found: Sequence[Standing]) -> str:
    """The figures of registered measures that no other section shows."""
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
    """Disconnected topics when many nodes fail at once: in static overlays, and in simulations that repair them."""
    if not found:
        return ""
    ordered = sorted(found, key=lambda each: each.disconnected_after_failure)
    table = [
        [each.label, f"{each.disconnected_after_failure:.0f} of {each.topics_after_failure:.0f}"] for each in ordered
    ]
    section = (
        f"<h2>Failures</h2><p>{share:.0%} of the nodes fail at once. The first chart counts the topics that are "
        "disconnected before any repair: a central plan stays like this until it is computed again, and a protocol "
        "has to repair it.</p>"
        + bars(
            [each.label for each in ordered],
            [100 * each.disconnected_after_failure / max(each.topics_after_failure, 1) for each in ordered],
            f"disconnected topics after {share:.0%} of the nodes failed, before any repair (%)",
        )
        + _table(["system", "disconnected topics"], table)
    )
    groups = _by_label(rows, "failure")
    if groups:
        section += (
            "<p>The next table shows simulations in which the protocols repair the overlay, with messages published "
            "before and after the failure.</p>" + _traffic(groups)
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
            ("median", "latency_us_p50"),
            ("95th percentile", "latency_us_p95"),
            ("99th percentile", "latency_us_p99"),
        )
    }
    return (
        "<h2>Messages under churn</h2><p>Nodes join and crash like the machines of the trace, in virtual time. The "
        "share delivered compares deliveries with the subscribers that were present when a message was published.</p>"
        + grouped_bars(labels, milliseconds, "latency of deliveries (ms, mean over seeds)")
        + bars(
            labels,
            [mean(float(row["data_messages_per_delivery"]) for row in groups[label]) for label in labels],
            "messages per delivery",
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
    """Shares delivered, latencies and costs: means over seeds, and the largest latency of all."""
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
    head = ["system", "delivered", "median", "95th percentile", "99th percentile", "maximum", "messages per delivery"]
    return _table([*head, "disconnected topics at the end"], table)


def _raw_section(study: Path, stages: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> str:
    names = ("lines", "comments", "headers", "quarantined", "self_loops", "merged", "rows")
    counts = [
        [name, *(f"{stages[name]['rows'].get(what, 0):,}" for what in names)]
        for name in ("graph", "machines")
        if name in stages
    ]
    counted = _table(["data", *(what.replace("_", "-") for what in names)], counts)
    bad = []
    for name in ("graph", "machines"):
        folder = study / name / "quarantine.parquet"
        if folder.exists():
            bad += [
                [row["source"], f"{row['line']:,}", row["text"][:60], row["reason"]]
                for row in pq.read_table(folder).slice(0, 20).to_pylist()
            ]
    section = "<h2>Lines of the raw data</h2>" + counted
    if bad:
        section += "<p>Examples of lines in quarantine:</p>" + _table(["file", "line", "text", "reason"], bad)
    section += "<h2>Failed runs</h2>"
    if not failures:
        return section + "<p>No run failed.</p>"
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
