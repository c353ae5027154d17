"""Feverfew's kernel and its machine have the same views, searches, links and messages after every cycle."""

from collections import Counter

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import below, draw
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.feverfew import population
from gossamer.systems.feverfew.kernel import bubble, cover, selection
from gossamer.systems.feverfew.kernel import cycle as turns
from gossamer.systems.feverfew.kernel.state import KINDS
from gossamer.systems.feverfew.machine import Feverfew
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.workloads.interests import make_interests
from tests.interpreted import interpreted, seed_that_differs

SEEDS = 64
PURPOSE = 1_000_000  # the tests' own draws, outside the range of Purpose


def pick(seed: int, counter: int, low: int, high: int, node: int = 0) -> int:
    return low + below(draw(seed, node, PURPOSE, counter), high - low + 1)


def setting(seed: int) -> tuple[FeverfewParameters, Interest]:
    """Few nodes and small views, in which rare branches happen more often."""
    node_count, topic_count = pick(seed, 0, 1, 40), pick(seed, 1, 1, 12)
    interest = make_interests(node_count, topic_count, f"1:{min(topic_count, 4)}", "rss", seed)
    view_size = pick(seed, 2, 1, 5)
    parameters = FeverfewParameters(
        view_size=view_size,
        shuffle_length=pick(seed, 3, 1, view_size),
        similar_size=pick(seed, 4, 1, 6),
        agent_size=pick(seed, 5, 0, 4),
        utility=("count", "jaccard")[pick(seed, 6, 0, 1)],
        cover_cycles=pick(seed, 7, 1, 2),
        clear_cycles=pick(seed, 8, 0, 4),
        age_max=pick(seed, 9, 1, 6),
        bubble_cycles=pick(seed, 10, -1, 3),
        agents_meet=bool(pick(seed, 11, 0, 1)),
        linger_cycles=pick(seed, 12, 0, 3),
        retry_cycles=pick(seed, 13, 0, 3),
        searches=pick(seed, 14, 0, 3),
        ttl_max=pick(seed, 15, 0, 6),
        coverage=pick(seed, 16, 0, 1) * pick(seed, 17, 1, 3),
        random_coverage=pick(seed, 18, 0, 1) * pick(seed, 19, 1, 2),
    )
    return parameters, interest


def some_topics(seed: int, node: int, cycle: int, topic_count: int) -> tuple[int, ...]:
    return tuple(topic for topic in range(topic_count) if draw(seed, node, PURPOSE + 3, cycle, topic) % 3 == 0)


def churn(seed: int, cycle: int, present: set[int], interest: Interest) -> CycleChanges:
    """From time to time a node leaves, crashes, joins again with a new interest, or changes its interest."""
    leavers, crashes, joiners, interests = [], [], [], {}
    for node in range(interest.node_count):
        chance = below(draw(seed, node, PURPOSE + 1, cycle), 100)
        if node in present and chance < 5:
            (leavers if chance % 2 else crashes).append(node)
        elif node not in present and chance < 20:
            joiners.append(node)
            if chance % 2:
                interests[node] = some_topics(seed, node, cycle, interest.topic_count)
        elif node in present and chance > 96:
            interests[node] = some_topics(seed, node, cycle, interest.topic_count)
    return CycleChanges(tuple(leavers), tuple(crashes), tuple(joiners), interests)


def machine_state(driver: Lockstep, period_us: int):
    """For each node: similar view with ages, ln-covered view, missing neighbours by topic, searches, failed nodes."""
    found = {}
    for node, machine in driver.machines.items():
        part = next(part for part in machine._parts if isinstance(part, Feverfew))
        found[node] = (
            [(each.node, each.age) for each in part.similar],
            list(part.cover),
            {topic: cover.missing for topic, cover in part.topics.items()},
            [(each.topic, each.node, each.ttl, each.since_us // period_us) for each in part.bubbles.agents.searches],
            list(part.failed),
            list(part.bubbles._found),
        )
    return found


def kernel_state(kernel: population.FeverfewPopulation):
    views, subs, agents = kernel.node_views, kernel.subs, kernel.agents
    found = {}
    for node in np.flatnonzero(kernel.present).tolist():
        size, start = views.similar_sizes[node], views.cover_starts[node]
        cover = views.cover[start : start + views.cover_sizes[node]]
        rows = slice(subs.starts[node], subs.starts[node + 1])
        held = slice(0, agents.sizes[node])
        columns = (agents.topics, agents.nodes, agents.ttls, agents.since)
        found[node] = (
            list(zip(views.similar[node, :size].tolist(), views.ages[node, :size].tolist(), strict=True)),
            np.where(cover < 0, -1 - cover, cover).tolist(),
            dict(zip(subs.topics[rows].tolist(), subs.missing[rows].tolist(), strict=True)),
            list(zip(*(column[node, held].tolist() for column in columns), strict=True)),
            views.failed[node, : views.failed_sizes[node]].tolist(),
            views.found[node, : views.found_sizes[node]].tolist(),
        )
    return found


def first_difference(seed: int, cycles: int = 16, seen: Counter[str] | None = None) -> str | None:
    """Run both in lockstep; returns the first difference, or None."""
    parameters, interest = setting(seed)
    node_count = interest.node_count
    absent = [node for node in range(node_count) if below(draw(seed, node, PURPOSE + 2, 0), 5) == 0]
    present = set(range(node_count)) - set(absent)
    machines = Lockstep(find_system("feverfew"), parameters, seed, node_count, parameters.view_size, interest)
    machines.start(sorted(present))
    kernel = population.FeverfewPopulation(parameters, seed, interest, absent)
    for cycle in range(cycles + 1):
        if cycle:
            changes = churn(seed, cycle, present, interest)
            present = (present - set(changes.leavers) - set(changes.crashes)) | set(changes.joiners)
            machines.cycle(changes)
            kernel.cycle(changes)
        mine, theirs = machine_state(machines, parameters.period_us), kernel_state(kernel)
        if mine != theirs:
            node = next(node for node in mine | theirs if mine.get(node) != theirs.get(node))
            return f"node {node} differs after cycle {cycle} of seed {seed}:\n{mine.get(node)}\n{theirs.get(node)}"
        ours = {kind: count for kind, count in kernel.messages().items() if count}
        if dict(machines.messages) != ours:
            return f"messages differ after cycle {cycle} of seed {seed}: {dict(machines.messages)} {ours}"
        links = machines.links.overlay(node_count)
        if not np.array_equal(links.neighbours, kernel.overlay().neighbours):
            return f"links differ after cycle {cycle} of seed {seed}"
        if seen is not None and cycle:
            seen.update(leavers=len(changes.leavers), crashes=len(changes.crashes), joiners=len(changes.joiners))
    if seen is not None:
        seen.update({**kernel.messages(), **kernel.rare_events()})
    return None


def test_the_kernel_equals_the_machine_entry_by_entry_under_churn_and_changes_of_interest():
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        difference = first_difference(seed, seen=seen)
        assert difference is None, f"{difference}; repeat with first_difference({seed})"
    for kind in (*KINDS, "leavers", "crashes", "joiners", "evictions", "failures"):
        assert seen[kind] > 0, f"no {kind} happened in {SEEDS} seeds: the test does not test it"


KERNELS = [selection, cover, bubble, turns]
MUTANTS = {
    "covers at random what is covered already": (
        "            if subs.missing[s] > 0:\n                subs.missing[s] -= 1\n                helps = True",
        "            subs.missing[s] -= 1\n            helps = True",
    ),
    "leaves nothing to the random choice": ("return subs.spares[", "return 0 * subs.spares["),
    "keeps the farthest topics": (">= distance(", "<= distance("),
    "keeps a search that has matched": (
        "        if not matched:\n            _keep",
        "        if True:\n            _keep",
    ),
    "tells the searcher only": ("for side in range(2):", "for side in range(1):"),
    "forwards a search in the cycle of its arrival": (" or agents.since[me, i] == cycle:", ":"),
    "chooses the worst neighbour first": (
        "return score > other_score or (score == other_score and tie < other_tie)",
        "return score < other_score or (score == other_score and tie < other_tie)",
    ),
    "never clears the similar view": ("if rules.clear_cycles and cycle % rules.clear_cycles == 0:", "if False:"),
    "keeps old entries": ("if views.ages[me, i] < rules.age_max:", "if views.ages[me, i] <= rules.age_max:"),
    "ignores nodes for ever": ("if views.failed[me, i] != node:", "if True:"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_kernel_is_caught(name, monkeypatch):
    monkeypatch.setattr(population, "kernel", interpreted(KERNELS, *MUTANTS[name]))
    assert seed_that_differs(first_difference, SEEDS) is not None, f"the mutant {name!r} was not detected"


def test_the_kernel_run_as_plain_python_equals_the_machine(monkeypatch):
    """So a mutant is caught because of its wrong line, and not because it is interpreted."""
    monkeypatch.setattr(population, "kernel", interpreted(KERNELS))
    with np.errstate(over="ignore"):
        for seed in range(12):
            assert first_difference(seed) is None
