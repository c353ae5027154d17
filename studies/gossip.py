"""Gossip on the scale-free networks of Figures 7 and 8 with other rules for publishers and for links drawn twice.

    python -m studies.gossip       # a few minutes of CPU time

A simulation of its own: the product's networks have no double links, and its publishers are random nodes. A link that was
drawn twice is used twice here: each copy is forwarded with its own coin.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.degrees import read_scale_free
from studies.tables import read_study, shown, write_table

NAME = "gossip"
PUBLISHERS = {"random nodes": 0, "by degree": 1, "random nodes that send to all neighbours": 2}

Ints = NDArray[np.int64]


def network(degree: str, doubles: bool, random: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """(starts, neighbours, degrees wanted): stubs paired at random; self-loops are dropped, and doubles unless kept."""
    values, counts = read_scale_free(degree)
    wanted = np.repeat(values, counts).astype(np.int64)
    stubs = random.permutation(np.repeat(np.arange(len(wanted)), wanted))
    pairs = stubs[: len(stubs) // 2 * 2].reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not doubles:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    ends = np.concatenate((pairs, pairs[:, ::-1]))
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    starts = np.searchsorted(ends[:, 0], np.arange(len(wanted) + 1))
    return starts, ends[:, 1], wanted


def receivers(
    graph: tuple[Ints, Ints, Ints], sigma: float, gamma: float, rule: int, random: np.random.Generator
) -> int:
    """How many nodes get one message. The publisher counts, as in the paper's equation 17."""
    starts, neighbours, wanted = graph
    holds = random.random(len(wanted)) < sigma
    first = int(random.choice(len(wanted), p=wanted / wanted.sum()) if rule == 1 else random.integers(len(wanted)))
    reached = np.zeros(len(wanted), np.bool_)
    reached[first] = True
    front = np.array([first])
    while len(front):
        targets = np.concatenate([neighbours[starts[node] : starts[node + 1]] for node in front])
        to_all = rule == 2 and front[0] == first
        sent = targets[holds[targets] | (random.random(len(targets)) < (1.0 if to_all else gamma))]
        front = np.unique(sent[~reached[sent]])
        reached[front] = True
    return int(reached.sum())


def main() -> None:
    """Run all rules and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    study = read_study(NAME)
    rows = []
    for doubles in (False, True):
        for publisher, rule in PUBLISHERS.items():
            cells = []
            for sigma, gamma in study["settings"]:
                means = []
                for seed in study["seeds"]:
                    random = np.random.default_rng(seed)
                    graph = network(study["degree"], doubles, random)
                    found = [receivers(graph, sigma, gamma, rule, random) for _ in range(study["messages"])]
                    means.append(float(np.mean(found)))
                cells.append(shown(means, 0))
            rows.append(["kept" if doubles else "dropped", publisher, *cells])
            print(rows[-1], flush=True)
    head = ["double links", "publishers", *(f"sigma {sigma:g}, gamma {gamma:g}" for sigma, gamma in study["settings"])]
    note = f"{study['messages']} messages a network; standard errors over networks."
    print(write_table(NAME, study, head, rows, note))


if __name__ == "__main__":
    main()
