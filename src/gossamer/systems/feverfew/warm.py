"""Compiles Feverfew's kernels."""

import numpy as np

from gossamer.kernels.draw import U64
from gossamer.model.arrays.interest import Interest
from gossamer.systems.feverfew.kernel.search import isolated_searches
from gossamer.systems.feverfew.kernel.selection import fail
from gossamer.systems.feverfew.kernel.state import COUNTERS
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.planner import global_covers
from gossamer.systems.feverfew.population import FeverfewPopulation


def warm_up() -> None:
    """Call every kernel once, with the argument types that a population uses."""
    nodes, topics = np.divmod(np.arange(12), 2)
    parameters = FeverfewParameters(view_size=3, shuffle_length=2, similar_size=3, agent_size=1, bubble_cycles=0)
    interest = Interest.from_pairs(nodes, topics, 6, 2)
    population = FeverfewPopulation(parameters, 1, interest)
    for _ in range(3):
        population.cycle()
    random = FeverfewPopulation(FeverfewParameters(coverage=1, random_coverage=1), 1, interest)
    random.cycle()
    global_covers(1, interest)
    isolated_searches(U64(1), 6, 2, 1, 1, False, 1)
    fail(population.node_views, 0, 1, np.zeros(COUNTERS, np.int64))
