"""StAN's kernel and its machine have the same views, sizes and messages in every topic after every cycle."""

from collections import Counter

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import below, draw
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.stan import kernel as compiled
from gossamer.systems.stan import population
from gossamer.systems.stan.parameters import StanParameters
from gossamer.workloads.interests import make_interests
from tests.interpreted import interpreted, seed_that_differs

SEEDS = 96
PURPOSE = 1_000_000  # the tests' own draws, outside the range of Purpose


def pick(seed: int, counter: int, low: int, high: int, node: int = 0) -> int:
    return low + below(draw(seed, node, PURPOSE, counter), high - low + 1)


def setting(seed: int) -> tuple[StanParameters, Interest]:
    """Few nodes and topics and small views, in which rare branches happen more often."""
    node_count, topic_count = pick(seed, 0, 1, 30), pick(seed, 1, 1, 6)
    interest = make_interests(node_count, topic_count, f"1:{topic_count}", "rss", seed)
    parameters = StanParameters(
        walk_hops=pick(seed, 2, 0, 5),
        view_factor=(0.4, 1.0, 1.5, 2.0)[pick(seed, 3, 0, 3)],
        weigh_sources=bool(pick(seed, 4, 0, 2)),
    )
    return parameters, interest


def some_topics(seed: int, node: int, cycle: int, topic_count: int) -> tuple[int, ...]:
    return tuple(topic for topic in range(topic_count) if draw(seed, node, PURPOSE + 3, cycle, topic) % 2)


def churn(seed: int, cycle: int, present: set[int], interest: Interest) -> CycleChanges:
    """From time to time a node leaves, crashes, joins again with a new interest, or changes its interest."""
    leavers, crashes, joiners, interests = [], [], [], {}
    for node in range(interest.node_count):
        chance = below(draw(seed, node, PURPOSE + 1, cycle), 100)
        if node in present and chance < 9:
            (leavers if chance % 2 else crashes).append(node)
        elif node not in present and chance < 30:
            joiners.append(node)
            interests[node] = some_topics(seed, node, cycle, interest.topic_count)
        elif node in present and chance > 95:
            interests[node] = some_topics(seed, node, cycle, interest.topic_count)
    return CycleChanges(tuple(leavers), tuple(crashes), tuple(joiners), interests)


def machine_state(driver: Lockstep):
    """For each node and topic: the view in order, and its size limit."""
    return {
        (node, topic): (state.view.nodes(), state.view.size)
        for node, machine in driver.machines.items()
        for topic, state in machine._parts[0].topics.items()
    }


def kernel_state(kernel: population.StanPopulation):
    return {
        (node, number): (topic.peers[place, : topic.counts[place]].tolist(), int(topic.sizes[place]))
        for number, topic in enumerate(kernel.topics)
        for place, node in enumerate(topic.members.tolist())
    }


def first_difference(seed: int, cycles: int = 14, seen: Counter[str] | None = None) -> str | None:
    """Run both in lockstep; returns the first difference, or None."""
    parameters, interest = setting(seed)
    node_count = interest.node_count
    absent = [node for node in range(node_count) if below(draw(seed, node, PURPOSE + 2, 0), 5) == 0]
    present = set(range(node_count)) - set(absent)
    machines = Lockstep(find_system("stan"), parameters, seed, node_count, 0, interest)
    machines.start(sorted(present))
    kernel = population.StanPopulation(parameters, seed, interest, absent)
    for cycle in range(cycles + 1):
        if cycle:
            changes = churn(seed, cycle, present, interest)
            present = (present - set(changes.leavers) - set(changes.crashes)) | set(changes.joiners)
            machines.cycle(changes)
            kernel.cycle(changes)
        if machine_state(machines) != kernel_state(kernel):
            return f"views differ after cycle {cycle} of seed {seed}"
        ours = {kind: count for kind, count in kernel.messages().items() if count}
        if dict(machines.messages) != ours:
            return f"messages differ after cycle {cycle} of seed {seed}: {dict(machines.messages)} {ours}"
        theirs = machines.links.overlay(node_count)
        if not np.array_equal(theirs.neighbours, kernel.overlay().neighbours):
            return f"links differ after cycle {cycle} of seed {seed}"
        if seen is not None and cycle:
            seen.update(leavers=len(changes.leavers), crashes=len(changes.crashes), joiners=len(changes.joiners))
            seen.update(changed=len(changes.interests) - len(changes.joiners))
            seen.update(alone=sum(1 for view, _ in kernel_state(kernel).values() if not view))
    if seen is not None:
        seen.update({**kernel.messages(), **kernel.rare_events()})
    return None


def test_the_kernel_equals_the_machine_entry_by_entry_under_churn_and_changes_of_interest():
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        difference = first_difference(seed, seen=seen)
        assert difference is None, f"{difference}; repeat with first_difference({seed})"
    for kind in (*compiled.KINDS, "leavers", "crashes", "joiners", "changed", "alone", "refills"):
        assert seen[kind] > 0, f"no {kind} happened in {SEEDS} seeds: the test does not test it"


def test_the_kernel_equals_the_machine_on_a_larger_network_at_rest():
    interest = make_interests(300, 20, "5", "rss", 7)
    machines = Lockstep(find_system("stan"), StanParameters(), 7, 300, 0, interest)
    machines.start()
    kernel = population.StanPopulation(StanParameters(), 7, interest)
    for _ in range(8):
        machines.cycle()
        kernel.cycle()
    assert machine_state(machines) == kernel_state(kernel)


MUTANTS = {
    "walks one hop too few": ("hops_left = rules.walk_hops\n", "hops_left = max(rules.walk_hops - 1, 0)\n"),
    "keeps the heaviest": ("weight > weights[count - 1]", "weight < weights[count - 1]"),
    "forgets the views of those it visits": ("filled += 1 + size", "filled += 1"),
    "weighs with the visitor's key": (
        "key = draw_base(rules.seed, U64(visited), WEIGHT, NOBODY)",
        "key = draw_base(rules.seed, U64(me), WEIGHT, NOBODY)",
    ),
    "draws in the name of the source": (
        "draw(rules.topic_seed, U64(visited), WALK",
        "draw(rules.topic_seed, U64(me), WALK",
    ),
    "draws the same in all topics": (
        "draw(rules.topic_seed, U64(visited), WALK",
        "draw(rules.seed, U64(visited), WALK",
    ),
    "gives a newcomer the size of its contact": (
        "    topic.sizes[place] = max(rules.view_min, min(wanted,",
        "    topic.sizes[place] = max(rules.view_min, min(topic.sizes[contact],",
    ),
    "never shrinks": ("topic.sizes[other] = size - 1", "topic.sizes[other] = size"),
    "leaves a view of the smallest size smaller": ("if size > rules.view_min and unit(bits)", "if unit(bits)"),
    "does not fill a view that ran empty": ("if held == 0:", "if held >= 0:"),
    "tells only those in its own view that it leaves": ("told += not mutual", "told += 0"),
    "weighs the source before it answers": (
        "        onward = -1\n",
        "        onward = -1\n        if rules.weigh_sources and here != place:\n"
        "            _add(topic, here, draw_base(rules.seed, U64(visited), WEIGHT, NOBODY), me)\n",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_kernel_is_caught(name, monkeypatch):
    monkeypatch.setattr(population, "kernel", interpreted([compiled], *MUTANTS[name]))
    assert seed_that_differs(first_difference, SEEDS) is not None, f"the mutant {name!r} was not detected"


def test_the_kernel_run_as_plain_python_equals_the_machine(monkeypatch):
    """So a mutant is caught because of its wrong line, and not because it is interpreted."""
    monkeypatch.setattr(population, "kernel", interpreted([compiled]))
    with np.errstate(over="ignore"):
        for seed in range(24):
            assert first_difference(seed) is None
