"""Interests drawn with repeats (Figures 6b, 8f, 12, 14) and partial views that are drawn again (Figure 10).

python -m studies.interests        # some minutes of CPU time
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from gossamer.kernels.sampling import view_walks
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.run import CYCLE_LIMIT, QUIET_CYCLES
from gossamer.planners.per_topic import ring_per_topic
from gossamer.simulator.measure import top_intersection
from gossamer.systems.spidercast.parameters import SpiderCastParameters
from gossamer.systems.spidercast.population import SpiderCastPopulation, spidercast_numbers
from gossamer.workloads.interests import make_interests
from gossamer.workloads.laws import popularity
from studies.tables import read_study, shown, write_table

NAME = "interests"
TOPICS = 100
Make = Callable[[int, int, str, int], Interest]


def with_repeats(nodes: int, count: int, law: str, seed: int) -> Interest:
    """Each node draws `count` topics by popularity, and keeps each once."""
    drawn = np.random.default_rng(seed).choice(TOPICS, (nodes, count), p=popularity(law, TOPICS))
    pairs = np.unique(np.repeat(np.arange(nodes), count) * TOPICS + drawn.ravel())
    return Interest.from_pairs(pairs // TOPICS, pairs % TOPICS, nodes, TOPICS)


def without_repeats(nodes: int, count: int, law: str, seed: int) -> Interest:
    """As the product draws them."""
    return make_interests(nodes, TOPICS, str(count), law, seed)


class ChangingViews(SpiderCastPopulation):
    """A population whose nodes have other views in each cycle."""

    def cycle(self, changes: object = None) -> None:
        """Draw all views again, then have a cycle."""
        seed = np.uint64(self._seed + 1_000_003 * (self._cycle_count + 1))
        strides, offsets = view_walks(seed, len(self.world.sizes))
        self.world = self.world._replace(strides=strides, offsets=offsets)
        super().cycle()


def degree(population: SpiderCastPopulation) -> float:
    """The average degree after links have stopped changing."""
    quiet = cycles = 0
    before = population.fingerprint()
    while quiet < QUIET_CYCLES and cycles < CYCLE_LIMIT:
        population.cycle()
        now = population.fingerprint()
        quiet, before, cycles = (0 if now != before else quiet + 1), now, cycles + 1
    return float(population.overlay().degrees.mean())


def built(interest: Interest, seed: int) -> float:
    """The average degree of the paper's protocol."""
    return degree(SpiderCastPopulation(spidercast_numbers(SpiderCastParameters(paper=True)), seed, interest))


def tdi(interest: Interest, count: int, by_count: bool) -> float:
    """Mean intersection with the 2d nodes of highest intersection, in percent of the smaller interest, or of d."""
    if not by_count:
        return top_intersection(interest, 2 * count)
    rows = np.zeros((interest.node_count, TOPICS), np.float32)
    rows[interest.owners, interest.node_topics] = 1
    shared = rows @ rows.T
    np.fill_diagonal(shared, 0)
    return float(100 * np.partition(shared, -2 * count, axis=1)[:, -2 * count :].mean() / count)


def interest_rows(study: dict[str, list[int]], name: str, make: Make) -> list[list[str]]:
    """Degrees and tdi of one way to draw interests."""
    seeds: Sequence[int] = study["seeds"]
    rows = []
    for nodes in study["degree_nodes"]:
        for what, law in (("Figure 12", "rss"), ("Figure 6(b)", "zipf:2")):
            values = [built(make(nodes, 10, law, seed), seed) for seed in seeds]
            rows.append([name, f"{what}, average degree", f"{nodes:,}", shown(values)])
        rings = [float(ring_per_topic(make(nodes, 10, "rss", seed)).degrees.mean()) for seed in seeds]
        rows.append([name, "Figure 14, degree of rings", f"{nodes:,}", shown(rings)])
    for nodes in study["tdi_nodes"]:
        for divided, by in (("the smaller interest (the paper's definition)", False), ("d", True)):
            cells = [
                shown([tdi(make(nodes, count, "rss", seed), count, by) for seed in seeds], 1)
                for count in study["subscriptions"]
            ]
            what = f"Figure 8(f), tdi(2d) divided by {divided}, d = {study['subscriptions']}"
            rows.append([name, what, f"{nodes:,}", "; ".join(cells)])
            print(rows[-1], flush=True)
    return rows


def view_rows(study: dict[str, list[int]]) -> list[list[str]]:
    """Degrees with fixed and with changing views; interests of 17 topics or more are needed for neither."""
    nodes = int(study["view_nodes"])  # type: ignore[call-overload]
    rows = []
    for name, kind in (("fixed views", SpiderCastPopulation), ("views drawn again in each cycle", ChangingViews)):
        cells = []
        for view in study["views"]:
            parameters = SpiderCastParameters(paper=True, view=view)
            # Room for changing interests switches the masks off, which hold for fixed views only.
            found = [
                degree(kind(spidercast_numbers(parameters), seed, without_repeats(nodes, 10, "rss", seed), (), 10))
                for seed in study["seeds"]
            ]
            cells.append(shown(found))
        rows.append([name, f"Figure 10, average degree with views of {study['views']}", f"{nodes:,}", "; ".join(cells)])
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    study = read_study(NAME)
    rows = view_rows(study)
    rows += interest_rows(study, "without repeats", without_repeats)
    rows += interest_rows(study, "with repeats", with_repeats)
    print(write_table(NAME, study, ["rule", "quantity", "nodes", "measured"], rows, "Standard errors over seeds."))


if __name__ == "__main__":
    main()
