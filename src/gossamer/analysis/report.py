"""The report of a study: one HTML file that opens offline, with the advice first and the measurements after it."""

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from math import floor
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import pyarrow.parquet as pq

from gossamer.analysis.advice import Row, Standing, advice, by_label, standings
from gossamer.analysis.charts import bars, grouped_bars, shares_above
from gossamer.analysis.profile import LABELS
from gossamer.model.tables.measures import FIGURES

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
    # (label, kind) of every run that the study asked for; runs without a result have failed.
    asked = stages["results"].get("inputs", {}).get("runs", [])
    wanted = {
        kind: Counter(label for label, what, _ in asked if what == kind) for kind in ("build", "churn", "failure")
    }
    found = standings(rows, msgspec.json.decode(named.read_bytes()) if named.exists() else {}, wanted["build"])
    body = [
        "<h1>Which overlay for this workload?</h1>",
        f'<p class="quiet">Gossamer {html.escape(str(stages["results"]["gossamer"]))}. The tables of this study are in '
        "the folders beside this file.</p>",
        '<div class="advice">'
        + "".join(f"<p>{sentence}</p>" for sentence in advice(found, wanted["build"]))
        + "</div>",
        _workload_section(study, rows, stages),
        _built_section(found),
        measures_section(found),
        _churn_section(rows, wanted["churn"]),
        _failure_section(found, rows, float(stages["failure"]["inputs"]["share"]), wanted["failure"]),
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
        "runs with disconnected topics",
        "failed runs",
        "seconds",
    ]
    ordered = sorted(found, key=lambda each: each.average_degree)
    rows = [
        [
            each.label,
            f"{each.average_degree:.2f}",
            f"{each.max_degree}",
            f"{each.links_per_subscription:.2f}",
            f"{each.diameter}",
            f"{each.disconnected_most} of {each.topics}",
            f"{each.disconnected_runs} of {each.runs}",
            f"{each.failed} of {each.runs + each.failed}",
            f"{each.seconds:.2f}",
        ]
        for each in ordered
    ]
    labels = [each.label for each in ordered]
    pale = [each.disconnected_runs > 0 for each in ordered]
    pictures = (
        ([each.average_degree for each in ordered], "average degree (links per node)"),
        ([each.max_degree for each in ordered], "maximum degree (links)"),
        ([each.links_per_subscription for each in ordered], "links per subscription"),
        ([each.diameter for each in ordered], "largest topic diameter (hops)"),
        ([each.seconds for each in ordered], "time to build and measure (seconds on one core)"),
    )
    return (
        "<h2>Links, diameters, connectivity and cost</h2><p>Means over the finished runs; maximum degrees, diameters and "
        "disconnected topics are the largest of any run.</p>"
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
    return (
        "<h2>Further measures</h2><p>Means over the finished runs.</p>" + pictures + _table(["system", *labels], table)
    )


def _figure(standing: Standing, label: str) -> str:
    """The mean of a figure, with the number of runs that have it where some do not."""
    if label not in standing.figures:
        return ""
    runs = standing.figure_runs[label]
    return f"{standing.figures[label]:.4g}" + (f" ({runs} of {standing.runs} runs)" if runs < standing.runs else "")


def _failure_section(found: Sequence[Standing], rows: Sequence[Row], share: float, wanted: Mapping[str, int]) -> str:
    """Disconnected topics when many nodes fail at once: in static overlays, and in simulations that repair them."""
    if not found:
        return ""
    shares = {each.label: each.disconnected_after_failure / max(each.topics_after_failure, 1) for each in found}
    ordered = sorted(found, key=lambda each: shares[each.label])
    table = [
        [each.label, f"{each.disconnected_after_failure} of {each.topics_after_failure}", f"{each.runs}"]
        for each in ordered
    ]
    section = (
        f"<h2>Failures</h2><p>{share:.0%} of the nodes fail at once. The first chart counts the topics that are "
        "disconnected before any repair: a central plan stays like this until it is computed again, and a protocol "
        "has to repair it.</p>"
        + bars(
            [each.label for each in ordered],
            [100 * shares[each.label] for each in ordered],
            f"disconnected topics after {share:.0%} of the nodes failed, before any repair (%)",
        )
        + _table(["system", "disconnected topics, all runs together", "runs"], table)
    )
    groups = by_label(rows, "failure")
    if groups or wanted:
        section += (
            "<p>The next table shows simulations in which the protocols repair the overlay, with messages published "
            "before and after the failure.</p>" + _traffic(groups, wanted)
        )
    return section


def _churn_section(rows: Sequence[Row], wanted: Mapping[str, int]) -> str:
    groups = by_label(rows, "churn")
    if not groups:
        return f"<h2>Messages under churn</h2>{_traffic(groups, wanted)}" if wanted else ""
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
        + _traffic(groups, wanted)
    )


def _traffic(groups: Mapping[str, Sequence[Row]], wanted: Mapping[str, int]) -> str:
    """Shares delivered, latencies and costs: means over the finished runs, and the largest values of all."""
    table = [
        [
            label,
            _share(mean(float(row["delivery_ratio"]) for row in group)),
            *(f"{mean(float(row[f'latency_us_p{share}']) for row in group) / 1000:.0f} ms" for share in (50, 95, 99)),
            f"{max(float(row['latency_us_most']) for row in group) / 1000:.0f} ms",
            f"{mean(float(row['data_messages_per_delivery']) for row in group):.2f}",
            f"{max(int(row['partitioned_topics']) for row in group)}",
            f"{len(group)} of {max(wanted.get(label, 0), len(group))}",
        ]
        for label, group in groups.items()
    ]
    table += [[label, *[""] * 7, f"0 of {count}"] for label, count in wanted.items() if label not in groups]
    head = ["system", "delivered", "median", "95th percentile", "99th percentile", "maximum", "messages per delivery"]
    return _table([*head, "most disconnected topics at the end", "finished runs"], table)


def _share(share: float) -> str:
    """A share in percent, rounded down, so that 100% means that nothing is missing."""
    return f"{floor(share * 10_000 + 1e-6) / 10_000:.2%}"


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
