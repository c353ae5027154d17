"""The first page of a report: what to use, what it costs, what it survives, what that assumes, and how far to trust it."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from gossamer.analysis.advice import RULE, Advice
from gossamer.analysis.charts import FigureFiles, SystemPoint
from gossamer.analysis.page import card, paragraphs, percent
from gossamer.analysis.profile import LABELS
from gossamer.analysis.standing import Row, Standing, by_label, pareto_set

# Chosen: a sample is not like the whole data if their medians differ by more than this factor.
MEDIAN_FACTOR = 1.5
# Chosen: a node that follows more than half of all topics of the sample.
BUSIEST_SHARE = 0.5


@dataclass(frozen=True)
class SampleCheck:
    """Whether the sample is like the whole data, in sentences."""

    sentences: list[str]
    is_like: bool


def check_sample(profile: Mapping[str, Any], workload: Mapping[str, Any], topics: int) -> SampleCheck:
    """Compare the medians and maxima of the first sample with those of the whole data."""
    sample, data = profile.get("sample", {}), profile.get("data", {})
    nodes = int(workload.get("nodes", 0))
    of_nodes = int(workload.get("of_nodes", data.get("nodes", nodes)))
    if nodes >= of_nodes:
        return SampleCheck([f"The study uses all {nodes:,} nodes of the input; nothing was sampled."], True)
    sentences, unlike = [], []
    for name in (name for name in data if isinstance(data[name], Mapping) and name in sample):
        label = html.escape(LABELS.get(name, name))
        whole, drawn = float(data[name]["median"]), float(sample[name]["median"])
        sentences.append(
            f"{label[0].upper()}{label[1:]}: the median is {drawn:g} in the sample and {whole:g} in the whole input; the "
            f"maximum is {sample[name]['most']:,} and {data[name]['most']:,}."
        )
        if max(drawn, 1) * MEDIAN_FACTOR < whole or drawn > MEDIAN_FACTOR * max(whole, 1):
            unlike.append(name)
    busiest = next(
        (int(sample[name]["most"]) for name in ("friends", "followees", "topics_per_node") if name in sample), 0
    )
    is_busy = topics > 0 and busiest > BUSIEST_SHARE * topics
    if is_busy:
        sentences.append(f"One node follows {busiest:,} of the {topics:,} topics of the sample.")
    first = f"The study ran on a sample of {nodes:,} of {of_nodes:,} nodes"
    if unlike or is_busy:
        last = "Trust the order of the systems more than the numbers, or study more nodes."
        return SampleCheck([f"{first}, which is <b>not like the whole input</b>.", *sentences, last], False)
    return SampleCheck([f"{first}, which is like the whole input.", *sentences], True)


def first_page(
    told: Advice, found: Sequence[Standing], rows: Sequence[Row], check: SampleCheck, figures: FigureFiles, share: float
) -> str:
    """The manager's page."""
    survives = [*told.survives, *(_churn_sentences(told.best, rows) if told.best else [])]
    cards = (
        card("What it costs", told.costs)
        + card("What it survives", survives)
        + card("What this assumes", told.assumes)
        + card("How far to trust it", check.sentences, is_warning=not check.is_like)
    )
    caution = [] if check.is_like else ["Caution: the sample is not like the whole input; see How far to trust it."]
    others = f"<h2>The other systems</h2>{paragraphs(told.others)}" if told.others else ""
    return (
        f'<div class="use">{paragraphs([*told.choice, *caution])}</div><div class="cards">{cards}</div>'
        + _trade_offs(told, found, figures, share)
        + others
        + f'<p class="quiet">The rule: {RULE}</p>'
    )


def _churn_sentences(best: Standing, rows: Sequence[Row]) -> list[str]:
    """What share of messages arrived in the simulations of this system."""
    sentences = []
    for kind, what in (("churn", "While nodes join and crash"), ("failure", "When many nodes fail and repair begins")):
        groups = {
            label: [float(row["delivery_ratio"]) for row in group]
            for label, group in by_label(rows, kind).items()
            if group[0]["system"] == best.system
        }
        if groups:
            label, ratios = max(groups.items(), key=lambda each: min(each[1]))
            sentences.append(
                f"{what}, {html.escape(label)} delivered {percent(mean(ratios))} of the messages in simulations of a "
                f"smaller network ({percent(min(ratios))} in the worst of {len(ratios)} runs)."
            )
    return sentences


def _trade_offs(told: Advice, found: Sequence[Standing], figures: FigureFiles, share: float) -> str:
    """The chart of links against disconnected topics, with the Pareto set."""
    whole = [each for each in found if each.is_whole]
    if not whole:
        return ""
    unbeaten = pareto_set(whole)
    points = [
        SystemPoint(
            each.label,
            max(each.p99_degree, 1),
            each.failure_percent,
            each in unbeaten,
            each is told.best,
            each.is_central,
        )
        for each in whole
    ]
    drawn = figures.trade_offs(
        "trade-offs",
        points,
        "links of a node, 99th percentile (largest of all runs)",
        f"disconnected topics after {share:.0%} of the nodes failed (%)",
    )
    return (
        f"<h2>Links against failures</h2>{drawn}"
        '<p class="quiet">Lower left is better. Only systems that connected every topic in every run are shown. Strong '
        "colours: no other system is at least as good in every respect (failures, and the 99th percentile, maximum and "
        "average of links). Orange: recommended. Pale: another system is as good or better in every respect. Squares are "
        "planned centrally.</p>"
    )
