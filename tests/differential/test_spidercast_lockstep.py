"""SpiderCast's kernel and its machine have the same neighbours, targets and redirects after every cycle."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import below, draw
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.spidercast import population
from gossamer.systems.spidercast.kernel import (
    coverage,
    mend,
    selection,
    state,
)
from gossamer.systems.spidercast.kernel import cycle as turns
from gossamer.systems.spidercast.parameters import RandomParameters, SimilarityParameters, SpiderCastParameters
from gossamer.systems.spidercast.population import random_numbers, similarity_numbers, spidercast_numbers
from gossamer.workloads.interests import make_interests
from tests.interpreted import interpreted, seed_that_differs

SEEDS = 160
KERNEL = [state, coverage, selection, turns, mend]
READINGS = ("ask_again", "wakes", "parts_above", "agrees_above", "random_parts")
ROOM = 8  # the largest number of topics of a node
PURPOSE = 1_000_000


def pick(seed: int, counter: int, low: int, high: int, node: int = 0) -> int:
    return low + below(draw(seed, node, PURPOSE, counter), high - low + 1)


def setting(seed: int):
    """(name, parameters, numbers, interest) with small margins, views and populations, in which rare branches happen."""
    node_count, topic_count = pick(seed, 0, 1, 40), pick(seed, 1, 1, 14)
    most = min(ROOM, topic_count)
    law = ("rss", "uniform", "zipf:2")[pick(seed, 2, 0, 2)]
    interest = make_interests(node_count, topic_count, f"1:{most}", law, seed)
    view = (1.0, 1.0, 0.3, 0.6)[pick(seed, 3, 0, 3)]
    common = {
        "margin": pick(seed, 4, 0, 3),
        "view": view,
        "quarantine_us": pick(seed, 5, 1, 5) * 1_000_000,
        "ask_again": ("changed", "changed", "always", "once")[pick(seed, 12, 0, 3)],
        "wakes": ("change", "always", "loss")[pick(seed, 13, 0, 2)],
        "parts_above": ("target", "target", "degree")[pick(seed, 14, 0, 2)],
        "agrees_above": ("L_max", "L_max", "L")[pick(seed, 15, 0, 2)],
        "random_parts": ("redundant", "redundant", "above")[pick(seed, 16, 0, 2)],
    }
    which = pick(seed, 6, 0, 7)
    if which == 0:
        parameters = SimilarityParameters(similar=pick(seed, 7, 1, 5), random=pick(seed, 8, 0, 2), **common)
        return "similarity", parameters, similarity_numbers(parameters), interest
    if which == 1:
        parameters = RandomParameters(links=pick(seed, 7, 1, 5), **common)
        return "random", parameters, random_numbers(parameters), interest
    parameters = SpiderCastParameters(
        greedy_coverage=pick(seed, 7, 1, 3),
        random_coverage=pick(seed, 8, 0, 1),
        adaptive=which >= 5,
        drop_when_stuck=bool(pick(seed, 9, 0, 2)),
        ties="scan" if which == 2 and view == 1.0 else "random",
        coin=(0.5, 0.25)[pick(seed, 17, 0, 1)],
        mend_us=pick(seed, 11, 0, 2) * 1_000_000,
        **common,
    )
    return "spidercast", parameters, spidercast_numbers(parameters), interest


def is_still(seed: int) -> bool:
    """A third of the seeds have no churn."""
    return pick(seed, 10, 0, 2) == 0


def some_topics(seed: int, node: int, cycle: int, topic_count: int) -> tuple[int, ...]:
    count = pick(seed, 100 + cycle, 0, min(ROOM, topic_count), node + 1)
    topics = sorted(range(topic_count), key=lambda topic: draw(seed, node, PURPOSE + 3, cycle, topic))
    return tuple(sorted(topics[:count]))


def churn(seed: int, cycle: int, present: set[int], interest: Interest) -> CycleChanges:
    """From time to time a node leaves, crashes, joins again with a new interest, or changes its interest."""
    if is_still(seed):
        return CycleChanges()
    leavers, crashes, joiners, interests = [], [], [], {}
    for node in range(interest.node_count):
        chance = below(draw(seed, node, PURPOSE + 1, cycle), 100)
        if node in present and chance < 6:
            (leavers if chance % 2 else crashes).append(node)
        elif node not in present and chance < 30:
            joiners.append(node)
            interests[node] = some_topics(seed, node, cycle, interest.topic_count)
        elif node in present and chance > 95:
            interests[node] = some_topics(seed, node, cycle, interest.topic_count)
    return CycleChanges(tuple(leavers), tuple(crashes), tuple(joiners), interests)


def machine_state(driver: Lockstep):
    """For each node and task: neighbours with the values received from and sent to them, L, K and redirect candidates."""
    found = {}
    for node, machine in driver.machines.items():
        part = machine._parts[-1]
        for kind, task in enumerate(part.tasks):
            neighbours = {
                other: (mine.degree, mine.target, *mine.told, mine.is_bridge) for other, mine in task.neighbours.items()
            }
            state = (task.target, task.coverage, task.under_covered, part.redirect(kind), task.is_asleep)
            found[node, kind] = (neighbours, *state)
        if part._mend_us:
            found[node, "roots"] = {topic: part.roots.lowest(topic) for topic in sorted(part._exchange.topics)}
    return found


def kernel_state(kernel: population.SpiderCastPopulation):
    found = {}
    for node in np.flatnonzero(kernel.world.present).tolist():
        for kind, task in enumerate(kernel.tasks):
            slots = slice(task.starts[node], task.starts[node] + task.counts[node])
            columns = (task.degrees, task.targets, task.told_degrees, task.told_targets, task.is_bridge)
            rows = zip(*(column[slots].tolist() for column in columns), strict=True)
            neighbours = dict(zip(task.nodes[slots].tolist(), rows, strict=True))
            redirect = int(task.redirect[node]) if task.redirect[node] >= 0 else None
            rule = kernel._numbers.rules[kind]
            under = int(coverage.under_covered.py_func(task, rule, node))
            numbers = (int(task.target[node]), int(task.coverage[node]), under, redirect, bool(task.asleep[node]))
            found[node, kind] = (neighbours, *numbers)
        if kernel._numbers.mend_us:
            row = slice(kernel.world.starts[node], kernel.world.starts[node] + kernel.world.sizes[node])
            rows = zip(*(column[row].tolist() for column in kernel.roots[:3]), strict=True)
            found[node, "roots"] = dict(zip(kernel.world.topics[row].tolist(), rows, strict=True))
    return found


def first_difference(seed: int, cycles: int = 30, seen: Counter[str] | None = None) -> str | None:
    """Run both in lockstep; returns the first difference, or None."""
    name, parameters, numbers, interest = setting(seed)
    node_count = interest.node_count
    absent = [node for node in range(node_count) if below(draw(seed, node, PURPOSE + 2, 0), 5) == 0]
    present = set(range(node_count)) - set(absent)
    machines = Lockstep(find_system(name), parameters, seed, node_count, 0, interest)
    machines.start(sorted(present))
    # If interests never change, the kernel uses masks of shared topics.
    room = 0 if is_still(seed) else ROOM
    kernel = population.SpiderCastPopulation(numbers, seed, interest, absent, room)
    for cycle in range(1, cycles + 1):
        changes = churn(seed, cycle, present, interest)
        present = (present - set(changes.leavers) - set(changes.crashes)) | set(changes.joiners)
        machines.cycle(changes)
        kernel.cycle(changes)
        ours, theirs = kernel_state(kernel), machine_state(machines)
        if ours != theirs:
            where = next(key for key in theirs if ours.get(key) != theirs[key])
            return f"node and task {where} differ after cycle {cycle} of seed {seed}: {theirs[where]} {ours.get(where)}"
        counted = {kind: count for kind, count in kernel.messages().items() if count}
        if dict(machines.messages) != counted:
            return f"messages differ after cycle {cycle} of seed {seed}: {dict(machines.messages)} {counted}"
        if not np.array_equal(machines.links.overlay(node_count).neighbours, kernel.overlay().neighbours):
            return f"links differ after cycle {cycle} of seed {seed}"
        if seen is not None:
            seen.update(
                leaves=len(changes.leavers),
                crashes=len(changes.crashes),
                joins=len(changes.joiners),
                interest_changes=len(set(changes.interests) & present),
                quarantined=sum(int((task.quarantine >= 0).sum()) for task in kernel.tasks),
                redirect_candidates=sum(int((task.redirect >= 0).sum()) for task in kernel.tasks),
            )
    if seen is not None:
        counts = kernel.messages()
        seen.update(kernel.rare_events())
        seen.update(
            redirects=counts["Redirect"],
            refused_disconnects=counts["DisconnectRequest"] - counts["DisconnectOk"],
            agreed_disconnects=counts["DisconnectOk"],
            **{f"{name} runs": 1, "partial views": numbers.view < 1, "scans": numbers.reading.scan},
            **{f"{name}={getattr(parameters, name)}": 1 for name in READINGS},
            asleep=sum(int(task.asleep.sum()) for task in kernel.tasks),
            masked_views=len(kernel.world.mask_starts) > 1,
        )
    return None


def test_the_kernel_equals_the_machine_link_by_link_under_churn():
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        difference = first_difference(seed, seen=seen)
        assert difference is None, f"{difference}; repeat with first_difference({seed})"
    for what, count in seen.items():
        assert count > 0, f"no {what} happened in {SEEDS} seeds: the test does not test it"
    assert {"raises", "stuck", "redirects", "refused_disconnects", "joins", "leaves", "crashes"} <= set(seen)


LAZY = {"paper": True, "ask_again": "once", "wakes": "loss"}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"random_coverage": 1},
        {"view": 0.2},
        {"adaptive": True},
        {"paper": True},
        {"paper": True, "random_coverage": 1, "view": 0.2},
        {"paper": True, "agrees_above": "L", "parts_above": "degree"},
        LAZY,
    ],
)
def test_the_kernel_equals_the_machine_with_the_papers_parameters(changed):
    parameters = SpiderCastParameters(**changed)
    interest = make_interests(300, 100, "10", "zipf:2" if changed.get("adaptive") else "rss", seed=3)
    machines = Lockstep(find_system("spidercast"), parameters, 5, 300, 0, interest)
    machines.start()
    kernel = population.SpiderCastPopulation(spidercast_numbers(parameters), 5, interest)
    for _ in range(25):
        machines.cycle()
        kernel.cycle()
        assert machine_state(machines) == kernel_state(kernel)


@pytest.mark.parametrize("view", [1.0, 0.5])
@pytest.mark.parametrize("subscriptions", ["14:20", "60:70", "70"])
def test_interests_too_large_for_masks_are_compared_in_full(subscriptions, view):
    """Masks have 16 topics in views and 64 for neighbours; nodes with more topics use other code with the same result."""
    parameters = SpiderCastParameters(greedy_coverage=2, margin=2, view=view)
    interest = make_interests(40, 90, subscriptions, "rss", seed=2)
    machines = Lockstep(find_system("spidercast"), parameters, 9, 40, 0, interest)
    machines.start()
    kernel = population.SpiderCastPopulation(spidercast_numbers(parameters), 9, interest)
    for _ in range(20):
        machines.cycle()
        kernel.cycle()
        assert machine_state(machines) == kernel_state(kernel)


MUTANTS = {
    "counts coverage one too high": ("before + change < coverage", "before + change <= coverage"),
    "strict reading of coverage reached": ("+ reading.parts_above_degree", "+ 1"),
    "lenient reading of coverage reached": ("+ reading.parts_above_degree", ""),
    "asks again a peer that refused": (
        "task.asked_degrees[slot] = task.degrees[slot]",
        "task.asked_degrees[slot] = NEVER",
    ),
    "raises L past the margin": (
        "and np.int64(task.counts[node]) < target + margin:",
        "and np.int64(task.counts[node]) <= target + margin:",
    ),
    "tells L after it was raised": (
        "    add_neighbour(world, task, peer, node, degree, target, peer_degree, peer_target)\n    counters[M_CONNECT_OK] += 1\n    grow_target(world, task, rule, margin, peer)",
        "    add_neighbour(world, task, peer, node, degree, target, peer_degree, peer_target)\n    counters[M_CONNECT_OK] += 1\n    grow_target(world, task, rule, margin, peer)\n    peer_target = np.int64(task.target[peer])",
    ),
    "tells the one it asked to part": ("        if other == except_for:\n            continue\n", ""),
    "redirects to the least similar": ("or shared > most", "or shared < most"),
    "redirects only below the target": (
        "if np.int64(task.degrees[slot]) >= np.int64(task.targets[slot]) + margin:",
        "if np.int64(task.degrees[slot]) >= np.int64(task.targets[slot]):",
    ),
    "ignores redirects": ("        task.redirect[node] = other\n", ""),
    "sleeps although a message arrived": ("        task.quiet[other] = False\n", ""),
    "quarantines nobody": ("            task.quarantine[node, cycle % task.quarantine.shape[1]] = peer\n", ""),
    "agrees to part while under-covered": (
        "if under > 0 and np.int64(task.counts[peer]) <= most:",
        "if under > 1 and np.int64(task.counts[peer]) <= most:",
    ),
    "agrees above L_max alone": ("if reading.agrees_above_target else", "if False else"),
    "asks only once": ("if ask_again == ASK_CHANGED:", "if False:"),
    "never falls asleep": ("return reading.wakes_on_loss and", "return False and"),
    "wakes on every loss": (
        "if np.int64(task.counts[node]) < np.int64(task.target[node]) or under_covered(task, rule, node) > 0:",
        "if True:",
    ),
    "random links part as greedy ones": ("and reading.random_parts_above:", "and False:"),
    "keeps L after agreeing to part": ("    if under == 0:\n        task.target[peer] = task.counts[peer]\n", ""),
    "never raises past one": ("random.uncovered[node] > 0 or coverage > ADAPTIVE_COVERAGE_MAX", "True"),
    "drops any neighbour when stuck": ("fewest > (under if stuck else 0)", "fewest > (under + 1 if stuck else 0)"),
    "checks while neighbours change": (
        "            state.stale[node] = True\n            continue\n",
        "            state.stale[node] = True\n",
    ),
    "takes roots from the unmet": ("has_spoken = task.met[slot]", "has_spoken = True"),
    "keeps idle bridges": ("        _drop_idle_bridges(world, random, rule, node, counters)\n", ""),
    "sleeps through new claims": ("        state.stale[task.nodes[slot]] = True\n", ""),
    "believes dead roots for ever": ("links <= depth_max and", "links <= 255 and"),
    "waits for another check": ("np.int64(state.alone[i]) < patience:", "np.int64(state.alone[i]) <= patience:"),
    "bridges to higher nodes too": ("if candidate < node and world.present", "if world.present"),
    "lets bridges go": ("random.is_bridge[random.mirrors[slot]] = True", "pass"),
    "forgets to pass the departed on": ("counters[M_LEAVE] += speaks", "counters[M_LEAVE] += 1"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_kernel_is_caught(name, monkeypatch):
    wrong = interpreted(KERNEL, *MUTANTS[name])
    monkeypatch.setattr(population, "kernel", wrong)
    monkeypatch.setattr(population, "mend", wrong)
    compare = partial(first_difference, cycles=30 if "for ever" in name or "bridge" in name else 12)
    # Few seeds have a dead root; 117 is the first of them.
    first = 117 if "dead roots" in name else 0
    assert seed_that_differs(compare, SEEDS, first) is not None, f"the mutant {name!r} was not detected"


def test_the_kernel_run_as_plain_python_equals_the_machine(monkeypatch):
    """So a mutant is caught because of its wrong line, and not because it is interpreted."""
    plain = interpreted(KERNEL)
    monkeypatch.setattr(population, "kernel", plain)
    monkeypatch.setattr(population, "mend", plain)
    with np.errstate(over="ignore"):
        for seed in range(20):
            assert first_difference(seed) is None
