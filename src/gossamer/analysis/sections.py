"""The detailed sections of a report: overlays, live nodes, messages under churn, failures, and the workload."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from gossamer.analysis.advice import rank
from gossamer.analysis.charts import FigureFiles
from gossamer.analysis.page import percent, table
from gossamer.analysis.profile import LABELS
from gossamer.analysis.standing import Row, Standing, by_label
from gossamer.model.tables.workload import NODE_NAMES, read_workload

# What a topic is, and what the rows of the whole input are, by the kind of the input.
KINDS = {
    "edges": ("topics (one for each user)", "edges in the whole input"),
    "memberships": ("topics (groups)", "memberships in the whole input"),
    "edges and memberships": ("topics (groups)", "memberships in the whole input"),
    "workload": ("topics", "subscriptions in the whole input"),
}

# The columns of a ranking.
RANKING = [
    "system",
    "assumes that",
    "disconnected topics",
    "in runs",
    "failed runs",
    "disconnected after failure",
    "links, 99th percentile",
    "links, most",
    "links, average",
]


def built_section(found: Sequence[Standing], figures: FigureFiles) -> str:
    """Links, diameters, connectivity and cost of every system, the best first."""
    if not found:
        return ""
    ordered = sorted(found, key=lambda each: (not each.is_whole, rank(each)))
    ranking = [
        [
            each.label,
            each.assumes,
            f"{each.disconnected_most} of {each.topics}",
            f"{each.disconnected_runs} of {each.runs}",
            f"{each.failed} of {each.runs + each.failed}",
            f"{each.failure_percent:.1f}%",
            f"{each.p99_degree}",
            f"{each.max_degree}",
            f"{each.average_degree:.2f}",
        ]
        for each in ordered
    ]
    more = [
        [each.label, f"{each.links_per_subscription:.2f}", f"{each.diameter}", f"{each.seconds:.2f}"]
        for each in ordered
    ]
    labels = [each.label for each in ordered]
    pale = [not each.is_whole for each in ordered]
    pictures = (
        (
            "links-99th-percentile",
            [each.p99_degree for each in ordered],
            "links of a node, 99th percentile (largest run)",
        ),
        ("links-maximum", [each.max_degree for each in ordered], "links of the busiest node in any run"),
        ("links-average", [each.average_degree for each in ordered], "links of a node, average"),
        ("links-per-subscription", [each.links_per_subscription for each in ordered], "links per subscription"),
        ("diameter", [each.diameter for each in ordered], "largest topic diameter (hops)"),
        ("seconds", [each.seconds for each in ordered], "time to build and measure (seconds on one core)"),
    )
    return (
        "<h2>Links, diameters, connectivity and cost</h2><p>The best system first, before the check with what live nodes know (next section). Averages are means over the finished "
        "runs; 99th percentiles, maxima, diameters and disconnected topics are the largest of any run.</p>"
        + table(RANKING, ranking, long=(1,))
        + "".join(figures.bars(name, labels, values, title, pale) for name, values, title in pictures)
        + '<p class="quiet">Pale bars: some topics are disconnected or runs failed, which makes link counts and diameters '
        "look better than they are.</p>"
        + table(["system", "links per subscription", "largest topic diameter (hops)", "seconds"], more)
    )


def live_section(small: Sequence[Standing], live: Sequence[Standing]) -> str:
    """The same small network, built with the assumption of each system and with what live nodes know."""
    if not live:
        return ""
    rows = [
        [
            each.label,
            each.assumes,
            f"{each.disconnected_most} of {each.topics}",
            f"{each.disconnected_runs} of {each.runs}",
            f"{each.failed} of {each.runs + each.failed}",
            f"{each.failure_percent:.1f}%",
            f"{each.max_degree}",
            f"{each.average_degree:.2f}",
        ]
        for each in sorted((*small, *live), key=lambda each: (each.system, each.assumes))
    ]
    head = [*RANKING[:6], *RANKING[7:]]
    return (
        "<h2>What live nodes know</h2><p>A live node learns of others from messages; most builds above assume more. This "
        "table has the smaller network, built both ways.</p>" + table(head, rows, long=(1,))
    )


def measures_section(found: Sequence[Standing], figures: FigureFiles) -> str:
    """The figures of registered measures that no other section shows."""
    labels = list(dict.fromkeys(label for each in found for label in each.figures))
    if not labels:
        return ""
    ordered = sorted(found, key=lambda each: each.average_degree)
    pictures = ""
    for number, label in enumerate(labels, start=1):
        shown = [each for each in ordered if label in each.figures]
        values = [each.figures[label] for each in shown]
        pictures += figures.bars(f"measure-{number}", [each.label for each in shown], values, label)
    rows = [[each.label, *(_figure(each, label) for label in labels)] for each in ordered]
    return "<h2>Further measures</h2><p>Means over the finished runs.</p>" + pictures + table(["system", *labels], rows)


def _figure(standing: Standing, label: str) -> str:
    """The mean of a figure, with the number of runs that have it where some do not."""
    if label not in standing.figures:
        return ""
    runs = standing.figure_runs[label]
    return f"{standing.figures[label]:.4g}" + (f" ({runs} of {standing.runs} runs)" if runs < standing.runs else "")


def failure_section(
    found: Sequence[Standing], rows: Sequence[Row], share: float, wanted: Mapping[str, int], figures: FigureFiles
) -> str:
    """Disconnected topics when many nodes fail at once: in static overlays, and in simulations that repair them."""
    if not found:
        return ""
    ordered = sorted(found, key=lambda each: each.failure_percent)
    counts = [
        [each.label, f"{each.disconnected_after_failure} of {each.topics_after_failure}", f"{each.runs}"]
        for each in ordered
    ]
    section = (
        f"<h2>Failures</h2><p>{share:.0%} of the nodes fail at once. The first chart counts the topics that are "
        "disconnected before any repair: a central plan stays like this until it is computed again, and a protocol "
        "has to repair it. Topics with fewer than two subscribers left are not counted.</p>"
        + figures.bars(
            "failure",
            [each.label for each in ordered],
            [each.failure_percent for each in ordered],
            f"disconnected topics after {share:.0%} of the nodes failed, before any repair (%)",
        )
        + table(["system", "disconnected topics, all runs together", "runs"], counts)
    )
    groups = by_label(rows, "failure")
    if groups or wanted:
        section += (
            "<p>The next table shows simulations in which the protocols repair the overlay, with messages published "
            "before and after the failure.</p>" + _traffic(groups, wanted)
        )
    return section


def churn_section(rows: Sequence[Row], wanted: Mapping[str, int], figures: FigureFiles) -> str:
    """Deliveries, latencies and messages while nodes join and crash."""
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
    per_delivery = [mean(float(row["data_messages_per_delivery"]) for row in groups[label]) for label in labels]
    return (
        "<h2>Messages under churn</h2><p>Nodes of the smaller network join and crash like the machines of the trace, in "
        "virtual time. The share delivered compares deliveries with the subscribers that were present when a message was "
        "published.</p>"
        + figures.grouped_bars("latency", labels, milliseconds, "latency of deliveries (ms, mean over seeds)")
        + figures.bars("messages-per-delivery", labels, per_delivery, "messages per delivery")
        + _traffic(groups, wanted)
    )


def _traffic(groups: Mapping[str, Sequence[Row]], wanted: Mapping[str, int]) -> str:
    """Shares delivered, latencies and costs: means over the finished runs, and the largest values of all."""
    rows = [
        [
            label,
            percent(mean(float(row["delivery_ratio"]) for row in group)),
            *(f"{mean(float(row[f'latency_us_p{share}']) for row in group) / 1000:.0f} ms" for share in (50, 95, 99)),
            f"{max(float(row['latency_us_most']) for row in group) / 1000:.0f} ms",
            f"{mean(float(row['data_messages_per_delivery']) for row in group):.2f}",
            f"{max(int(row['partitioned_topics']) for row in group)}",
            f"{len(group)} of {max(wanted.get(label, 0), len(group))}",
        ]
        for label, group in groups.items()
    ]
    rows += [[label, *[""] * 7, f"0 of {count}"] for label, count in wanted.items() if label not in groups]
    head = ["system", "delivered", "median", "95th percentile", "99th percentile", "maximum", "messages per delivery"]
    return table([*head, "disconnected at the end", "runs"], rows)


def workload_section(study: Path, rows: Sequence[Row], stages: Mapping[str, Any], figures: FigureFiles) -> str:
    """The sizes and distributions of the whole input and of its samples."""
    sample = stages["workload"]["rows"]
    first: Row = next((row for row in rows if row["kind"] == "build"), {})
    profile = msgspec.json.decode((study / "profile" / "profile.json").read_bytes())
    topics, whole = KINDS[stages["graph"].get("inputs", {}).get("kind", "edges")]
    facts = [
        ["nodes", f"{sample['nodes']:,}"],
        [topics, f"{first.get('topics', 0):,}"],
        ["subscriptions", f"{sample['interests']:,}"],
        [whole, f"{stages['graph']['rows'].get('rows', 0):,}"],
    ]
    facts += [
        [SIMILARITY.get(name, name.replace("_", " ")), f"{value:.3g}"]
        for name, value in profile["sample"].items()
        if isinstance(value, float)
    ]
    names = {"data": "the whole input", "sample": "the sample"}
    spreads: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    for row in pq.read_table(study / "profile" / "spreads.parquet").to_pylist():
        label = names.get(row["data"], f"the {row['data']}")
        curve = spreads.setdefault(row["spread"], {}).setdefault(label, ([], []))
        curve[0].append(row["value"])
        curve[1].append(row["share"])
    pictures = "".join(
        figures.shares_above(name.replace("_", "-"), curves, LABELS.get(name, name)) for name, curves in spreads.items()
    )
    return "<h2>The workload</h2>" + table(["", ""], facts) + _largest(study / "workload") + pictures


def _largest(folder: Path) -> str:
    """The topics and the nodes of the first sample with most subscriptions, by name; nothing if there are no names."""
    if not (folder / NODE_NAMES).exists():
        return ""
    workload = read_workload(folder)
    interest = workload.interest
    sections = []
    for title, names, sizes in (
        ("topic", workload.names_of_topics(), interest.popularity),
        ("node", workload.names_of_nodes(), interest.sizes),
    ):
        order = np.argsort(-sizes, kind="stable")[:LARGEST]
        sections.append(
            table(
                [f"{title}s with most subscriptions", "subscriptions"], [[names[at], f"{sizes[at]:,}"] for at in order]
            )
        )
    return "".join(sections)


# The topics and nodes that the report names.
LARGEST = 10


# FigureFiles of a profile in words.
SIMILARITY = {
    "tdi_20_percent": "topics shared with the 20 most similar nodes (%)",
    "correlated_pairs_at_99%": "share of pairs of nodes with correlated interests",
}
