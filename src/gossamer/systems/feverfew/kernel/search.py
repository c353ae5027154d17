"""One search of BubbleSample alone in a network, with uniform samples: the experiment of Tables 1 and 2 (section 4.1.2)."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, below, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose

AGENT = U64(Purpose.SEARCH_AGENT)
SAMPLE = U64(Purpose.SEARCH_SAMPLE)
# More cycles than a search can have, so that no two draws share a counter.
CYCLES_MAX = 64


@kernel
def isolated_searches(
    seed: U64, node_count: int, size: int, ttl: int, samples: int, at_once: bool, searches: int
) -> NDArray[np.int64]:
    """A row for each search: the cycle of the first match (0: none), the notices sent, and the number of agents.

    The subscribers of the topic are the nodes 0 to `size - 1`, and node 0 asks: it is the first agent. In every cycle
    each agent compares the topic with `samples` random nodes; a match costs two notices. Then each agent with hops left
    sends one copy with one hop less to a random node, or with `at_once` all its copies (Algorithm 4 as printed). A node
    that is an agent already keeps the greater number of hops. The last cycle is the one after `ttl` hops.
    """
    rows = np.zeros((searches, 3), np.int64)
    agents = np.empty(node_count, np.int64)
    # The hops left of each agent; -1 for other nodes.
    hops = np.full(node_count, -1, np.int64)
    for search in range(searches):
        agents[0] = 0
        hops[0] = ttl
        count = 1
        for cycle in range(1, ttl + 2):
            counter = U64(search * CYCLES_MAX + cycle)
            found = 0
            for i in range(count):
                found += _matches(seed, counter, node_count, size, samples, agents[i])
            rows[search, 1] += 2 * found
            if found > 0 and rows[search, 0] == 0:
                rows[search, 0] = cycle
            count = _spread(seed, counter, node_count, at_once, agents, hops, count)
        rows[search, 2] = count
        for i in range(count):
            hops[agents[i]] = -1
    return rows


@kernel
def _matches(seed: U64, counter: U64, node_count: int, size: int, samples: int, agent: int) -> int:
    """How many of an agent's samples subscribe to the topic; the asker does not count."""
    base = draw_base(seed, U64(agent), SAMPLE, counter)
    found = 0
    for i in range(samples):
        found += 0 < below(finish(base + U64(i) * ITEM_FACTOR), node_count) < size
    return found


@kernel
def _spread(
    seed: U64,
    counter: U64,
    node_count: int,
    at_once: bool,
    agents: NDArray[np.int64],
    hops: NDArray[np.int64],
    count: int,
) -> int:
    """Send the copies of a cycle; returns the new number of agents."""
    before = count
    for i in range(before):
        agent = agents[i]
        base = draw_base(seed, U64(agent), AGENT, counter)
        copies = hops[agent] if at_once else min(hops[agent], 1)
        for copy in range(copies):
            hops[agent] -= 1
            other = below(finish(base + U64(copy) * ITEM_FACTOR), node_count)
            if hops[other] < 0:
                agents[count] = other
                count += 1
            hops[other] = max(hops[other], hops[agent])
    return count
