"""Recommends a system from what a study found, by a rule that the report states."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gossamer.analysis.standing import NOTHING, Standing, pareto_set
from gossamer.systems import NOTHING_ASSUMED

RULE = (
    "The recommended system needs no central planner; all its runs finished and connected every topic, also in the smaller "
    "network where nodes know others only from messages, if the study has that; and no node has more links than the limit, "
    "if one is set. Among these it has the fewest topics disconnected after the failure, in whole percent; then the "
    "fewest links of 99% of the nodes, the fewest at any node, and the fewest on average."
)


@dataclass(frozen=True)
class Advice:
    """The recommended system, if there is one, and the sentences of the first page in HTML."""

    best: Standing | None
    # What to use, and why; the reasons against the other systems; other systems worth a look.
    choice: list[str]
    costs: list[str] = field(default_factory=list)
    survives: list[str] = field(default_factory=list)
    assumes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def rank(each: Standing) -> tuple[int, int, int, float, str]:
    """The order of systems that connect every topic; the smallest is the best.

    Differences below one percent of the topics are no larger than those between seeds, so they do not decide.
    """
    return round(each.failure_percent), each.p99_degree, each.max_degree, each.average_degree, each.label


def advise(
    found: Sequence[Standing],
    live: Sequence[Standing] = (),
    wanted: Mapping[str, int] = NOTHING,
    max_links: int | None = None,
    share: float = 0.2,
) -> Advice:
    """Apply `RULE`. `live` are the builds of nodes that know others only from messages, `share` the nodes that fail."""
    alone = [each for each in found if not each.is_central]
    sound = [each for each in alone if each.is_whole and not _live_faults(each, live)]
    allowed = [each for each in sound if max_links is None or each.max_degree <= max_links]
    rejected = _rejected(found, live, wanted, [each for each in sound if each not in allowed], max_links)
    if not allowed:
        return Advice(None, _no_choice(found, alone, sound, max_links), others=rejected)
    # A system that was also built with what live nodes know comes before all systems that were not.
    shown = {each.system for each in live}
    tried = [each for each in allowed if each.system in shown or each.assumes == NOTHING_ASSUMED] or allowed
    best = min(tried, key=rank)
    return Advice(
        best,
        [f"Use <b>{html.escape(best.label)}</b>. It connected every topic in {_runs(best.runs)}, without a broker."],
        _costs(best, found),
        _survives(best, share),
        _assumptions(best, live),
        _alternatives(best, allowed) + rejected,
    )


def _runs(count: int) -> str:
    return f"all {count} runs" if count != 1 else "its only run"


def _live_faults(each: Standing, live: Sequence[Standing]) -> str:
    """What went wrong in the builds of this system with what live nodes know."""
    return "; ".join(other.faults for other in live if other.system == each.system and not other.is_whole)


def _no_choice(
    found: Sequence[Standing], alone: Sequence[Standing], sound: Sequence[Standing], max_links: int | None
) -> list[str]:
    """Why no system is recommended, and which comes closest."""
    if sound:
        lowest = min(sound, key=lambda each: (each.max_degree, rank(each)))
        return [
            f"No system is recommended: none keeps every node at {max_links} links or fewer. The lowest maximum is "
            f"{lowest.max_degree} links, of <b>{html.escape(lowest.label)}</b>."
        ]
    if alone:
        closest = min(alone, key=_faultiness)
        faults = closest.faults or "its faults are in the smaller network, see below"
        return [
            "No system is recommended: none without a central planner connects every topic here in every run. "
            f"<b>{html.escape(closest.label)}</b> comes closest: {faults}."
        ]
    whole = [each for each in found if each.is_whole]
    if whole:
        fewest = min(whole, key=lambda each: each.average_degree)
        return [f"The study has only central plans; {html.escape(fewest.label)} has the fewest links."]
    if found:
        return ["The study has only central plans, and none of them connects every topic in every run."]
    return ["No overlay was built, so there is no recommendation; the failures are listed below."]


def _faultiness(each: Standing) -> tuple[float, int, tuple[int, int, int, float, str]]:
    bad = (each.disconnected_runs + each.failed) / (each.runs + each.failed)
    return bad, each.disconnected_most, rank(each)


def _costs(best: Standing, found: Sequence[Standing]) -> list[str]:
    sentences = [
        f"A node keeps {best.average_degree:.1f} links on average. 99% of the nodes have at most {best.p99_degree}, and "
        f"the busiest node in any run has {best.max_degree}.",
        f"A message crosses at most {best.diameter} links between any two subscribers of a topic.",
    ]
    planned = [each for each in found if each.is_central and each.is_whole]
    if planned:
        fewest = min(planned, key=lambda each: each.average_degree)
        ratio = best.average_degree / fewest.average_degree
        sentences.append(
            f"A central plan ({html.escape(fewest.label)}) needs {fewest.average_degree:.1f} links per node; "
            f"{html.escape(best.label)} has {ratio:.1f} times as many. A plan must be computed again when interests "
            "change."
        )
    return sentences


def _survives(best: Standing, share: float) -> list[str]:
    left, topics = best.disconnected_after_failure, best.topics_after_failure
    return [
        f"When {share:.0%} of the nodes fail at the same moment, {best.failure_percent:.1f}% of the topics that still have two "
        f"subscribers ({left:,} of {topics:,}, all runs together) are disconnected until the nodes repair them."
        if left
        else f"When {share:.0%} of the nodes fail at the same moment, every topic stays connected, before any repair."
    ]


def _assumptions(best: Standing, live: Sequence[Standing]) -> list[str]:
    sentences = [f"These figures assume that {best.assumes}."] if best.assumes else []
    for each in live:
        if each.system == best.system and best.assumes != NOTHING_ASSUMED:
            sentences.append(
                "Live nodes know others only from messages. A smaller network was built that way too: every topic was "
                f"connected in {_runs(each.runs)}, with {each.average_degree:.1f} links per node on average and at most "
                f"{each.max_degree}."
            )
    if len(sentences) == 1 and best.assumes != NOTHING_ASSUMED:
        sentences.append("No run tried it with what live nodes know, so expect other figures from live nodes.")
    return sentences


def _alternatives(best: Standing, allowed: Sequence[Standing]) -> list[str]:
    """Other systems that could be recommended and that no such system beats in every respect."""
    others = [each for each in pareto_set(allowed) if each is not best]
    if not others:
        return []
    named = "; ".join(
        f"{html.escape(each.label)} ({each.average_degree:.1f} links on average, at most {each.max_degree}; "
        f"{each.failure_percent:.1f}% of topics disconnected after the failure)"
        for each in sorted(others, key=rank)
    )
    return [f"Worth a look, because they are better in some respect: {named}."]


def _rejected(
    found: Sequence[Standing],
    live: Sequence[Standing],
    wanted: Mapping[str, int],
    too_large: Sequence[Standing],
    max_links: int | None,
) -> list[str]:
    """Every system that is not recommended because of its faults, with counts."""
    alone = [each for each in found if not each.is_central]
    faulty = [(each, each.faults) for each in alone if not each.is_whole]
    only_live = [(each, faults) for each in alone if each.is_whole and (faults := _live_faults(each, live))]
    central = [(each, each.faults) for each in found if each.is_central and not each.is_whole]
    links = [(each, f"{each.max_degree} links at one node") for each in too_large]
    absent = [label for label in wanted if label not in {each.label for each in found}]
    gone = ", ".join(f"{html.escape(label)} ({wanted[label]} of {wanted[label]} runs failed)" for label in absent)
    return [
        *_named("Not recommended, because topics are disconnected or runs failed", faulty),
        *_named("Not recommended, because this happens when nodes know others only from messages", only_live),
        *_named(f"Not recommended, because the limit is {max_links} links", links),
        *_named("Central plans with disconnected topics or failed runs", central),
        *([f"Not compared, because no run finished: {gone}."] if absent else []),
    ]


def _named(what: str, found: Sequence[tuple[Standing, str]]) -> list[str]:
    """A sentence that names these systems with their faults; none if there are no systems."""
    return [f"{what}: {', '.join(f'{html.escape(each.label)} ({why})' for each, why in found)}."] if found else []
