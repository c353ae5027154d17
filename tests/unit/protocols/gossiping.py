"""Rounds of pairwise exchanges between the aggregates of nodes, for tests and for nothing else."""

import numpy as np


def exchange(one, other, lie=None):
    """One exchange that `one` starts; `lie` changes what a lying node says, or is None."""
    one.tick()
    offered = one.offer()
    answer = other.answer(offered if lie is None else lie(one, offered))
    one.take(answer if answer is None or lie is None else lie(other, answer))


def cycle(nodes, generator, lie=None):
    """Each node, in a random order, exchanges with a random other node."""
    for position in generator.permutation(len(nodes)):
        other = int(generator.integers(len(nodes) - 1))
        exchange(nodes[position], nodes[other + (other >= position)], lie)


def median_size(counts):
    """The median of the estimates of all nodes."""
    return float(np.median([each.size for each in counts if each.size is not None]))
