"""Compares the systems of a study, and recommends one of them. Counts are counts, never rounded means."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from types import MappingProxyType
from typing import Any

from gossamer.systems import all_systems

Row = Mapping[str, Any]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Standing:
    """A system's builds over its seeds: means of degrees and times, the largest value of maxima, and counts of runs."""

    label: str
    system: str
    # Finished runs, and runs without a result.
    runs: int
    failed: int
    average_degree: float
    # The largest of all runs.
    max_degree: int
    links_per_subscription: float
    # The largest of all runs.
    diameter: int
    # Runs with a disconnected topic, and the most disconnected topics of any run.
    disconnected_runs: int
    disconnected_most: int
    # The number of topics of one run.
    topics: int
    # Summed over all runs.
    disconnected_after_failure: int
    topics_after_failure: int
    seconds: float
    # Figures of registered measures by label, each with the number of runs that have it.
    figures: Mapping[str, float] = field(default_factory=dict)
    figure_runs: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_central(self) -> bool:
        """Whether a central planner, which must know every interest, computes the overlay."""
        known = all_systems().get(self.system)
        return known is not None and known.is_central

    @property
    def is_whole(self) -> bool:
        """Whether every run finished and connected every topic."""
        return self.disconnected_runs == 0 and self.failed == 0

    @property
    def faults(self) -> str:
        """What went wrong in which runs, as counts; empty if nothing did."""
        parts = []
        if self.disconnected_runs:
            parts.append(
                f"disconnected topics in {self.disconnected_runs} of {self.runs} finished runs, "
                f"at most {self.disconnected_most} of {self.topics}"
            )
        if self.failed:
            parts.append(f"{self.failed} of {self.runs + self.failed} runs failed")
        return "; ".join(parts)


def by_label(rows: Sequence[Row], kind: str) -> dict[str, list[Row]]:
    """The rows of one kind, by the label of their system."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == kind:
            groups.setdefault(row["label"], []).append(row)
    return groups


def standings(
    rows: Sequence[Row], labels: Mapping[str, str] = _NOTHING, wanted: Mapping[str, int] = _NOTHING
) -> list[Standing]:
    """One entry for each system with a finished build.

    `labels` names further figures of the rows and their labels. `wanted` gives the number of runs that the study asked
    for, by label; runs without a row have failed.
    """
    return [
        _standing(label, group, labels, max(wanted.get(label, 0) - len(group), 0))
        for label, group in by_label(rows, "build").items()
    ]


def _standing(label: str, group: Sequence[Row], labels: Mapping[str, str], failed: int) -> Standing:
    shown = {labels[name]: [float(row[name]) for row in group if row.get(name) is not None] for name in labels}
    return Standing(
        label,
        str(group[0]["system"]),
        len(group),
        failed,
        mean(float(row["average_degree"]) for row in group),
        max(int(row["max_degree"]) for row in group),
        mean(float(row["links_per_subscription"]) for row in group),
        max(int(row["max_topic_diameter"]) for row in group),
        sum(1 for row in group if row["partitioned_topics"]),
        max(int(row["partitioned_topics"]) for row in group),
        max(int(row["topics"]) for row in group),
        sum(int(row["partitioned_topics_after_failure"]) for row in group),
        sum(int(row["topics_after_failure"]) for row in group),
        mean(float(row["run_seconds"]) for row in group),
        {name: mean(values) for name, values in shown.items() if values},
        {name: len(values) for name, values in shown.items() if values},
    )


def advice(found: Sequence[Standing], wanted: Mapping[str, int] = _NOTHING) -> list[str]:
    """Recommends a system by this rule:

    1. Among the systems without a central planner whose runs all finished and connected every topic, take the one with
       the smallest average degree.
    2. If there is none, take the system with the fewest runs that failed or have disconnected topics, and say so first.
    3. Compare it with the best central plan that connects every topic, which shows the cost of having no planner.
    4. Name every system with disconnected topics or failed runs.
    """
    alone = [each for each in found if not each.is_central]
    planned = [each for each in found if each.is_central and each.is_whole]
    fewest = min(planned, key=lambda each: each.average_degree) if planned else None
    if alone:
        best = min(alone, key=_rank)
        sentences = _choice(best, [each for each in alone if each is not best])
        sentences += _comparison(best, fewest) if fewest is not None else []
    elif fewest is not None:
        sentences = [f"The study has only central plans; {html.escape(fewest.label)} has the fewest links."]
    elif found:
        sentences = ["The study has only central plans, and none of them connects every topic in every run."]
    else:
        sentences = ["No overlay was built, so there is no recommendation; the failures are listed below."]
    unsound = [each for each in found if each.is_central and not each.is_whole]
    return sentences + _named("Central plans with disconnected topics or failed runs", unsound) + _absent(found, wanted)


def _rank(each: Standing) -> tuple[float, int, float, str]:
    bad = (each.disconnected_runs + each.failed) / (each.runs + each.failed)
    return bad, each.disconnected_most, each.average_degree, each.label


def _choice(best: Standing, others: Sequence[Standing]) -> list[str]:
    """The sentences about the best system without a central planner, and about the others."""
    name = html.escape(best.label)
    unsound = [each for each in others if not each.is_whole]
    if not best.is_whole:
        return [
            "No system without a central planner connects every topic here in every run. "
            f"<b>{name}</b> comes closest: {best.faults}.",
            *_named("The others", unsound),
        ]
    sentences = [
        f"Use <b>{name}</b>: it connects every topic in every run ({best.runs}) without a central planner, with "
        f"{best.average_degree:.1f} links per node on average (at most {best.max_degree} at any node in any run)."
    ]
    if whole := [each for each in others if each.is_whole]:
        second = min(whole, key=_rank)
        sentences.append(
            f"The second best is {html.escape(second.label)} with {second.average_degree:.1f} links per node."
        )
    return sentences + _named("Not recommended, because topics are disconnected or runs failed", unsound)


def _named(what: str, found: Sequence[Standing]) -> list[str]:
    """A sentence that names these systems with their faults; none if there are no systems."""
    return [f"{what}: {', '.join(f'{html.escape(each.label)} ({each.faults})' for each in found)}."] if found else []


def _absent(found: Sequence[Standing], wanted: Mapping[str, int]) -> list[str]:
    """A sentence that names the systems of which every run failed."""
    absent = [label for label in wanted if label not in {each.label for each in found}]
    named = ", ".join(f"{html.escape(label)} ({wanted[label]} of {wanted[label]} runs failed)" for label in absent)
    return [f"Not compared, because no run finished: {named}."] if absent else []


def _comparison(best: Standing, fewest: Standing) -> list[str]:
    """The sentence about the central plan with the fewest links."""
    ratio = best.average_degree / fewest.average_degree
    return [
        f"A central plan ({html.escape(fewest.label)}) needs {fewest.average_degree:.1f} links per node; "
        f"{html.escape(best.label)} has {ratio:.1f} times as many. The plan must be computed again when interests change."
    ]
