"""A study's tables as one HTML file that opens offline: advice first, then the figures behind it, then everything else."""

import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import pyarrow.parquet as pq

Row = Mapping[str, Any]

# Systems whose nodes run no protocol: somebody has to know everybody's interests, and plan again when they change.
CENTRAL = ("gm", "lowoda", "minmaxoda", "ring-per-topic", "mesh-per-topic")

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
    seconds: float

    @property
    def is_central(self) -> bool:
        """Whether it is planned centrally."""
        return self.system in CENTRAL


def standings(rows: Sequence[Row]) -> list[Standing]:
    """One line for each system that was built."""
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
            mean(float(row["run_seconds"]) for row in group),
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
    found = standings(rows)
    body = [
        "<h1>Which overlay for this workload?</h1>",
        f'<p class="quiet">Gossamer {html.escape(str(stages["results"]["gossamer"]))}, study in one file; the tables are '
        "beside it.</p>",
        '<div class="advice">' + "".join(f"<p>{sentence}</p>" for sentence in advice(found)) + "</div>",
        _workload_section(rows, stages),
        _built_section(found),
        _churn_section(rows),
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


def _workload_section(rows: Sequence[Row], stages: Mapping[str, Any]) -> str:
    sample = stages["workload"]["rows"]
    first = next((row for row in rows if row["kind"] == "build"), {})
    facts = [
        ["nodes", f"{sample['nodes']:,}"],
        ["topics (every user is one)", f"{first.get('topics', 0):,}"],
        ["subscriptions", f"{sample['interests']:,}"],
        ["friendships in the whole graph", f"{stages['graph']['rows']['rows']:,}"],
    ]
    return "<h2>The workload</h2>" + _table(["", ""], facts)


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
        for each in sorted(found, key=lambda each: each.average_degree)
    ]
    ordered = sorted(found, key=lambda each: each.average_degree)
    labels = [each.label for each in ordered]
    return (
        "<h2>Links, length and connection</h2><p>Means over seeds. Seconds are what computing the overlay and measuring it "
        "took on one core.</p>"
        + _bars(
            labels,
            [each.average_degree for each in ordered],
            "average degree (links a node)",
            [each.parted > 0 for each in ordered],
        )
        + _bars(
            labels,
            [each.max_degree for each in ordered],
            "maximum degree (links)",
            [each.parted > 0 for each in ordered],
        )
        + _bars(
            labels,
            [each.diameter for each in ordered],
            "longest topic overlay (hops)",
            [each.parted > 0 for each in ordered],
        )
        + '<p class="quiet">Pale bars: some topics are in parts, so fewer links and shorter ways are no merit.</p>'
        + _table(columns, rows)
    )


def _churn_section(rows: Sequence[Row]) -> str:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == "churn":
            groups.setdefault(row["label"], []).append(row)
    if not groups:
        return ""
    table = []
    for label, group in groups.items():
        table.append(
            [
                label,
                f"{mean(float(row['delivery_ratio']) for row in group):.2%}",
                f"{mean(float(row['latency_us_mean']) for row in group) / 1000:.0f} ms",
                f"{max(float(row['latency_us_most']) for row in group) / 1000:.0f} ms",
                f"{mean(float(row['data_messages_per_delivery']) for row in group):.2f}",
                f"{mean(float(row['partitioned_topics']) for row in group):.1f}",
            ]
        )
    labels = list(groups)
    return (
        "<h2>Under churn, with messages</h2><p>Nodes come and go as the machines of the trace do, in virtual time; every "
        "message that was delivered is counted against every live subscriber.</p>"
        + _bars(
            labels,
            [mean(float(row["data_messages_per_delivery"]) for row in groups[label]) for label in labels],
            "messages for each delivery",
            [False] * len(labels),
        )
        + _table(
            ["system", "delivered", "mean latency", "longest", "messages a delivery", "topics in parts at the end"],
            table,
        )
    )


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
    return (
        f"<h2>Parameters, seeds, versions</h2><p>Seeds {', '.join(map(str, seeds))}.</p>"
        + _table(["system", "parameters"], [[label, text] for label, text in seen.items()])
        + _table(["stage", "seconds"], times)
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _bars(labels: Sequence[str], values: Sequence[float], title: str, pale: Sequence[bool]) -> str:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "gossamer", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(8, 0.32 * len(labels) + 0.9))
        colours = ["#b9d3d8" if is_pale else "#1b6d7d" for is_pale in pale]
        bars = axes.barh(range(len(labels)), values, color=colours)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=3)
        axes.margins(x=0.12)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    text = drawn.getvalue()
    return f"<figure>{text[text.index('<svg') :]}</figure>"
