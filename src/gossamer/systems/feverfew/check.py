"""Simulations to compare with Theorems 1 and 2 (`System.theory_checks`)."""

from typing import Any

import numpy as np

from gossamer.kernels.draw import U64
from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.systems.feverfew.kernel.search import isolated_searches
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.population import FeverfewPopulation
from gossamer.systems.feverfew.sizes import hops

# Chosen: searches of a check, four times as many as in the paper's Table 2.
SEARCHES = 400
# Chosen: the most cycles of a check of Theorem 1, and the most nodes in the random and similar views of its nodes.
CYCLES_MAX, VIEW_MAX = 1_000, 250


def check_ln_cover(
    nodes: int, size: int, random: int, similar: int, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """GossipSample on a network with one topic: the cycles until its subscriptions are ln-covered.

    The random view has `random` entries, which are all exchanged, and the similar view `similar`. The mean over
    subscriptions is shown beside both forms of the theorem.
    """
    if not (1 <= random <= VIEW_MAX and 1 <= similar <= VIEW_MAX):
        raise InputError(f"a simulation needs 1 to {VIEW_MAX} random and similar nodes, got {random} and {similar}")
    chosen = np.argsort(draws(U64(seed), U64(Purpose.SAMPLE), U64(0), nodes), kind="stable")[:size]
    interest = Interest.from_pairs(np.sort(chosen), np.zeros(size, np.int64), nodes, 1)
    parameters = FeverfewParameters(
        view_size=random, shuffle_length=random, similar_size=similar, clear_cycles=0, bubble_cycles=-1
    )
    population = FeverfewPopulation(parameters, seed, interest)
    covered_at = np.zeros(size, np.int64)
    cycle = 0
    while not covered_at.all() and cycle < CYCLES_MAX:
        cycle += 1
        population.cycle()
        covered_at[(covered_at == 0) & population.covered()] = cycle
        progress("cycles", cycle, CYCLES_MAX)
    found = covered_at[covered_at > 0]
    mean = float(found.mean()) if len(found) else float("inf")
    return {
        "cycles_as_stated": mean,
        "cycles_section_3_2": mean,
        "cycles_until_all_are_covered": cycle if covered_at.all() else None,
        "covered_share": len(found) / size,
    }


def check_bubble(nodes: int, size: int, shuffle: int, seed: int, progress: Progress = silent) -> dict[str, Any]:
    """Searches one at a time with uniform samples, each with the TTL of the theorem: `search_figures`."""
    return search_figures(nodes, size, shuffle, seed)


def search_figures(nodes: int, size: int, shuffle: int, seed: int, at_once: bool = False) -> dict[str, Any]:
    """The figures of `SEARCHES` isolated searches (`kernel.search`). Cycles are those of searches that found a match."""
    ttl = hops(nodes, size, shuffle)
    rows = isolated_searches(U64(seed), nodes, size, ttl, shuffle, at_once, SEARCHES)
    first, notices, agents = rows.T
    matched = first[first > 0]
    return {
        "searches": SEARCHES,
        "hops": ttl,
        "agents": float(agents.mean()),
        "miss_probability": 1.0 - len(matched) / SEARCHES,
        "first_match_cycles_mean": float(matched.mean()) if len(matched) else None,
        "first_match_cycles_p95": int(np.percentile(matched, 95, method="higher")) if len(matched) else None,
        "notices_per_search": float(notices.mean()),
    }
