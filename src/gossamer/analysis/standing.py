"""What a study found about each system: one standing for each label. Counts are counts, and a maximum is a maximum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.systems import all_systems, read_parameters

Row = Mapping[str, Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Standing:
    """A system's builds over its seeds: means of degrees and times, the largest value of maxima, and counts of runs."""

    label: str
    system: str
    # Finished runs, and runs without a result.
    runs: int
    failed: int
    average_degree: float
    # The largest 99th percentile and the largest degree of all runs.
    p99_degree: int
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
    # What the runs take for granted.
    assumes: str = ""
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
    def failure_percent(self) -> float:
        """The percentage of topics that are disconnected when many nodes fail at once, before any repair."""
        return 100 * self.disconnected_after_failure / max(self.topics_after_failure, 1)

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
    rows: Sequence[Row],
    labels: Mapping[str, str] = NOTHING,
    wanted: Mapping[str, int] = NOTHING,
    kind: str = "build",
) -> list[Standing]:
    """One entry for each system with a finished build of this kind.

    `labels` names further figures of the rows and their labels. `wanted` gives the number of runs that the study asked
    for, by label; runs without a row have failed.
    """
    return [
        _standing(label, group, labels, max(wanted.get(label, 0) - len(group), 0))
        for label, group in by_label(rows, kind).items()
    ]


def _standing(label: str, group: Sequence[Row], labels: Mapping[str, str], failed: int) -> Standing:
    shown = {labels[name]: [float(row[name]) for row in group if row.get(name) is not None] for name in labels}
    return Standing(
        label=label,
        system=str(group[0]["system"]),
        runs=len(group),
        failed=failed,
        average_degree=mean(float(row["average_degree"]) for row in group),
        p99_degree=max(int(row.get("p99_degree") or row["max_degree"]) for row in group),
        max_degree=max(int(row["max_degree"]) for row in group),
        links_per_subscription=mean(float(row["links_per_subscription"]) for row in group),
        diameter=max(int(row["max_topic_diameter"]) for row in group),
        disconnected_runs=sum(1 for row in group if row["partitioned_topics"]),
        disconnected_most=max(int(row["partitioned_topics"]) for row in group),
        topics=max(int(row["topics"]) for row in group),
        disconnected_after_failure=sum(int(row["partitioned_topics_after_failure"]) for row in group),
        topics_after_failure=sum(int(row["topics_after_failure"]) for row in group),
        seconds=mean(float(row["run_seconds"]) for row in group),
        assumes=_assumes(group[0]),
        figures={name: mean(values) for name, values in shown.items() if values},
        figure_runs={name: len(values) for name, values in shown.items() if values},
    )


def _assumes(row: Row) -> str:
    """What the runs of a system take for granted; empty if the system is not installed here."""
    known = all_systems().get(str(row["system"]))
    if known is None:
        return ""
    try:
        metrics = msgspec.json.decode(row.get("metrics") or "{}", type=dict[str, Any])
        return known.assumes(read_parameters(known, metrics.get("parameters", {})))
    except (InputError, msgspec.DecodeError):
        return ""


def pareto_set(found: Sequence[Standing]) -> list[Standing]:
    """The systems that no other beats: none has fewer disconnected topics after a failure and fewer links as well.

    Links are compared by the 99th percentile, the maximum and the average of degrees. Only systems whose runs all
    finished and connected every topic are compared.
    """
    whole = [each for each in found if each.is_whole]
    return [each for each in whole if not any(_beats(other, each) for other in whole)]


def _beats(one: Standing, other: Standing) -> bool:
    pairs = list(zip(_costs(one), _costs(other), strict=True))
    return all(mine <= theirs for mine, theirs in pairs) and any(mine < theirs for mine, theirs in pairs)


def _costs(each: Standing) -> tuple[float, int, int, float]:
    return each.failure_percent, each.p99_degree, each.max_degree, each.average_degree
