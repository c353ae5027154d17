"""Cyclon's kernel and its machine have the same views, entry by entry, after every cycle."""

from collections import Counter

import numpy as np
import pytest

from gossamer.kernels import cyclon as compiled
from gossamer.model.values.draw import below, draw
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.cyclon import population
from tests.interpreted import interpreted, seed_that_differs

SEEDS = 96
PURPOSE = 1_000_000  # the tests' own draws, outside the range of Purpose


def setting(seed: int) -> tuple[CyclonParameters, int]:
    """Small views and populations, in which rare branches happen more often."""

    def pick(counter: int, low: int, high: int) -> int:
        return low + below(draw(seed, 0, PURPOSE, counter), high - low + 1)

    view_size = pick(0, 1, 7)
    parameters = CyclonParameters(
        view_size=view_size, shuffle_length=pick(1, 1, view_size), walk_length=pick(2, 1, 4), period_us=1_000
    )
    return parameters, pick(3, 1, 24)


def churn(seed: int, cycle: int, present: set[int], node_count: int) -> CycleChanges:
    """From time to time a node leaves, crashes, or joins (again)."""
    leavers, crashes, joiners = [], [], []
    for node in range(node_count):
        chance = below(draw(seed, node, PURPOSE + 1, cycle), 100)
        if node in present and chance < 8:
            (leavers if chance % 2 else crashes).append(node)
        elif node not in present and chance < 30:
            joiners.append(node)
    return CycleChanges(tuple(leavers), tuple(crashes), tuple(joiners))


def machine_views(driver: Lockstep) -> dict[int, list[tuple[int, int]]]:
    """The named state of every machine: its view, in order."""
    return {
        node: [(entry.node, entry.age) for entry in machine._parts[0].view()]
        for node, machine in driver.machines.items()
    }


def kernel_views(state: compiled.CyclonState) -> dict[int, list[tuple[int, int]]]:
    views = {}
    for node in np.flatnonzero(state.present).tolist():
        size = int(state.sizes[node])
        views[node] = list(zip(state.nodes[node, :size].tolist(), state.ages[node, :size].tolist(), strict=True))
    return views


def first_difference(seed: int, cycles: int = 14, seen: Counter[str] | None = None) -> str | None:
    """Run both in lockstep; returns the first difference, or None."""
    parameters, node_count = setting(seed)
    absent = [node for node in range(node_count) if below(draw(seed, node, PURPOSE + 2, 0), 5) == 0]
    present = set(range(node_count)) - set(absent)
    machines = Lockstep(find_system("cyclon"), parameters, seed, node_count, parameters.view_size)
    machines.start(sorted(present))
    kernel = population.CyclonPopulation(parameters, seed, node_count, absent)
    for cycle in range(1, cycles + 1):
        changes = churn(seed, cycle, present, node_count)
        present = (present - set(changes.leavers) - set(changes.crashes)) | set(changes.joiners)
        machines.cycle(changes)
        kernel.cycle(changes)
        if machine_views(machines) != kernel_views(kernel.state):
            return f"views differ after cycle {cycle} of seed {seed}"
        ours = {kind: count for kind, count in kernel.messages().items() if count}
        if dict(machines.messages) != ours:
            return f"messages differ after cycle {cycle} of seed {seed}: {dict(machines.messages)} {ours}"
        theirs = machines.links.overlay(node_count)
        if not np.array_equal(theirs.neighbours, kernel.overlay().neighbours):
            return f"links differ after cycle {cycle} of seed {seed}"
        if seen is not None:
            seen.update(leavers=len(changes.leavers), crashes=len(changes.crashes), joiners=len(changes.joiners))
            seen.update(empty=sum(1 for view in kernel_views(kernel.state).values() if not view))
    if seen is not None:
        seen.update(kernel.messages())
    return None


def test_the_kernel_equals_the_machine_entry_by_entry_under_churn():
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        difference = first_difference(seed, seen=seen)
        assert difference is None, f"{difference}; repeat with first_difference({seed})"
    for kind in (*compiled.KINDS, "leavers", "crashes", "joiners", "empty"):
        assert seen[kind] > 0, f"no {kind} happened in {SEEDS} seeds: the test does not test it"


def test_the_kernel_equals_the_machine_with_the_papers_parameters():
    parameters = CyclonParameters()
    machines = Lockstep(find_system("cyclon"), parameters, 7, 300, parameters.view_size)
    machines.start()
    kernel = population.CyclonPopulation(parameters, 7, 300)
    for _ in range(20):
        machines.cycle()
        kernel.cycle()
        assert machine_views(machines) == kernel_views(kernel.state)


def test_ages_stop_at_the_same_value_in_kernel_and_machine():
    parameters = CyclonParameters(view_size=4, shuffle_length=2, period_us=1_000)
    machines = Lockstep(find_system("cyclon"), parameters, 3, 10, 4)
    machines.start()
    kernel = population.CyclonPopulation(parameters, 3, 10)
    kernel.state.ages[:] = 253
    for machine in machines.machines.values():
        machine._parts[0]._view._ages = [253] * 4
    for _ in range(6):
        machines.cycle()
        kernel.cycle()
        assert machine_views(machines) == kernel_views(kernel.state)
    assert any(entry[1] == 255 for view in kernel_views(kernel.state).values() for entry in view)


MUTANTS = {
    "asks the youngest": ("highest = max(highest, ages[i])", "highest = min(highest, ages[i]) if i else ages[i]"),
    "accepts one entry too few": ("for i in range(count_in):", "for i in range(count_in - 1):"),
    "replies with the asker's draws": (
        "draw_base(seed, U64(peer), REPLY, counter)",
        "draw_base(seed, U64(me), REPLY, counter)",
    ),
    "ages by two": ("np.uint8(ages[i] < OLDEST_AGE)", "np.uint8(2)"),
    "offers a peer to itself": (
        "back = _leave_out(peer_view, peer_ages, peer_size, back, np.uint32(me))",
        "back = back",
    ),
    "replaces before it fills": (
        "if size < view.shape[0]:\n            view[size]",
        "if size < view.shape[0] and given == 0:\n            view[size]",
    ),
    "keeps the peer it asked": (
        "    size -= 1\n    view[oldest] = view[size]",
        "    view[oldest] = view[size - 1]",
    ),
    "walks one hop too far": (
        "for hops_left in range(walk_length, -1, -1):",
        "for hops_left in range(walk_length + 1, -1, -1):",
    ),
    "forgets the replaced neighbour's age": ("    return node, age", "    return node, np.uint8(0)"),
    "asks the dead and is answered": ("if not state.present[peer]:", "if False:"),
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
