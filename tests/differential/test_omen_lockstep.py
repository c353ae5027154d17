"""OMen's kernel and its machine have the same links after every churn event of a sequence.

Between two events there are enough turns for watchers to learn all that they prepare. Nodes take any random holder as a
backup (`choices=1`), and drop no links: both depend on the order of gossip, which the kernel does not have.
"""

from collections import Counter

import pytest

from gossamer.kernels.planning import repair as kernel
from gossamer.model.values.draw import below, draw
from gossamer.planners.repair import Repairer
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.omen import repairs, sequential, watching
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.population import OmenPopulation
from gossamer.workloads.interests import make_interests
from tests.seeds import some_slow

# One part of the seeds for every run, all of them for `make test-slow`.
SEEDS, PARTS = 64, 4
EVENTS = 8
# Turns between two events, and turns after which backup sets are chosen anew.
TURNS, RENEWED = 14, 4
PURPOSE = 1_000_000  # the tests' own draws, outside the range of Purpose


def pick(seed, counter, low, high, node=0):
    return low + below(draw(seed, node, PURPOSE, counter), high - low + 1)


def setting(seed):
    nodes, topics = pick(seed, 0, 5, 18), pick(seed, 1, 1, 8)
    interest = make_interests(nodes, topics, f"1:{min(topics, 4)}", ("uniform", "zipf:0.8")[seed % 2], seed)
    resilience = pick(seed, 2, 1, 2)
    parameters = OmenParameters(
        resilience=resilience,
        coverage=resilience + pick(seed, 3, 1, 3),
        rho=(1.0, 3.0, 10.0)[pick(seed, 4, 0, 2)],
        counted=("terminals", "inside")[pick(seed, 5, 0, 4) // 4],
        linked=("seen", "shadow")[pick(seed, 7, 0, 4) // 4],
        drops=False,
        choices=1,
        mend_us=0,
        asks=1_000,
        deadline_turns=1_000,
    )
    absent = [node for node in range(nodes) if pick(seed, 6, 0, 4, node) == 0]
    return parameters, interest, absent


def next_event(seed, number, present, interest):
    """One node leaves, crashes or joins, perhaps with other topics."""
    absent = [node for node in range(interest.node_count) if node not in present]
    kind = pick(seed, 100 + number, 0, 3)
    if (kind >= 2 or len(present) < 4) and absent:
        node = absent[pick(seed, 200 + number, 0, len(absent) - 1)]
        topics = tuple(each for each in range(interest.topic_count) if draw(seed, each, PURPOSE + 1, number) % 3 == 0)
        return CycleChanges(joiners=(node,), interests={node: topics} if kind == 3 and topics else {})
    node = sorted(present)[pick(seed, 200 + number, 0, len(present) - 1)]
    return CycleChanges(leavers=(node,)) if kind % 2 else CycleChanges(crashes=(node,))


def links_of(driver):
    return {(node, other) for node, others in driver.links.neighbours.items() for other in others if node < other}


def kernel_links(population):
    u, v = population.overlay().links()
    return set(zip(u.tolist(), v.tolist(), strict=True))


def compare(seed, seen=None):
    """The first event after which machine and kernel differ; None if they never do."""
    parameters, interest, absent = setting(seed)
    driver = Lockstep(find_system("omen"), parameters, seed, interest.node_count, 0, interest)
    driver.start([node for node in range(interest.node_count) if node not in absent])
    population = OmenPopulation(parameters, seed, interest, absent)
    for _ in range(TURNS):
        driver.cycle()
    if links_of(driver) != kernel_links(population):
        return "the start"
    for number in range(EVENTS):
        change = next_event(seed, number, set(driver.machines), interest)
        before = links_of(driver)
        driver.cycle(change)
        population.cycle(change)
        for _ in range(TURNS):
            driver.cycle()
        if links_of(driver) != kernel_links(population):
            return number, change, sorted(links_of(driver) ^ kernel_links(population))
        if seen is not None:
            kind = "joins" if change.joiners else "leaves" if change.leavers else "crashes"
            seen[kind] += 1
            seen["links"] += len(links_of(driver) - before)
            seen["inside"] += parameters.counted == "inside"
    return None


@pytest.fixture(autouse=True)
def soon_renewed(monkeypatch):
    monkeypatch.setattr(watching, "RENEW_TURNS", RENEWED)
    # A node that is alone with a topic waits for a newcomer, and does not look for one at the same time.
    monkeypatch.setattr(repairs, "AGAIN_TURNS", 10**6)


@pytest.mark.parametrize("part", some_slow(PARTS, quick=1))
def test_the_kernel_equals_the_machine_after_every_event(part):
    seen = Counter()
    for seed in range(part, SEEDS, PARTS):
        assert compare(seed, seen) is None, f"seed {seed}"
    assert min(seen[kind] for kind in ("joins", "leaves", "crashes", "inside")) >= 8
    assert seen["links"] > 80


def repairs_with(**wrong):
    """A repairer that is given another argument than it should be."""

    class Wrong(Repairer):
        def __init__(self, interest, rho, takes_seen):
            super().__init__(interest, wrong.get("rho", rho), wrong.get("takes_seen", takes_seen))

        def after_departure(self, node, shadow, terminals, neighbours):
            return super().after_departure(
                node, shadow, wrong.get("terminals", lambda _: terminals)(shadow), neighbours
            )

    return Wrong


MUTANTS = {
    "terminals are not joined": (Repairer, "after_departure", lambda *arguments: []),
    "all of the shadow set is joined": (sequential, "Repairer", repairs_with(terminals=frozenset)),
    "only shadow nodes get links": (sequential, "Repairer", repairs_with(takes_seen=False)),
    "degrees are not known": (
        kernel,
        "join_places",
        lambda places, nodes, degrees, rho, right=kernel.join_places: right(places, nodes, 0 * degrees, rho),
    ),
    "rho is 1": (sequential, "Repairer", repairs_with(rho=1.0)),
    "backups are chosen by another draw": (
        sequential,
        "by_rank",
        lambda holders, node, seed, by_rank=sequential.by_rank: by_rank(holders, node, seed + 1),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_kernel_is_detected(name, monkeypatch):
    monkeypatch.setattr(*MUTANTS[name])
    assert any(compare(seed) is not None for seed in range(SEEDS))
