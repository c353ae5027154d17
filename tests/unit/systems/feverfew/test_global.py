"""`feverfew-global`: the compiled covers equal a greedy cover in plain Python."""

import numpy as np

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.progress import silent
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.execute import execute
from gossamer.systems.feverfew.planner import global_covers, plan_global
from gossamer.systems.feverfew.sizes import needed
from gossamer.systems.feverfew.views import Utility, ln_cover
from gossamer.workloads.interests import make_interests


def plain_cover(interest, seed, node):
    topics = {other: set(interest.topics_of(other).tolist()) for other in range(interest.node_count)}
    needs = {topic: needed(int(interest.popularity[topic])) for topic in topics[node]}
    others = [other for other in topics if other != node]
    key = draw_base(seed, node, Purpose.COVER_TIE, 0)
    return ln_cover(others, needs, Utility(topics.__getitem__, jaccard=False), key)


def test_the_compiled_covers_equal_a_greedy_cover_in_plain_python_with_the_same_ties():
    for seed in range(12):
        interest = make_interests(60, 5 + 4 * seed, "1:5", "rss", seed)
        owners, nodes = global_covers(seed, interest)
        for node in range(interest.node_count):
            chosen, missing = plain_cover(interest, seed, node)
            assert nodes[owners == node].tolist() == chosen, f"node {node} of seed {seed}"
            assert max(missing.values(), default=0) <= 0


def test_every_topic_of_the_global_plan_is_connected_and_the_system_is_registered():
    law = WorkloadLaw(nodes=300, topics=60, subscriptions="2:8", popularity="rss")
    result = execute(Run(system="feverfew-global", seed=1, workload=law))
    interest = result.workload.interest
    plan = plan_global(None, 1, interest, silent)
    assert np.array_equal(plan.neighbours, result.overlay.neighbours)
    assert result.metrics["stopped_by"] == "plan"
    for topic in range(interest.topic_count):
        members = set(interest.nodes_of(topic).tolist())
        for node in members:
            shared = members & set(plan.neighbours_of(node).tolist())
            assert len(shared) >= needed(len(members))


def test_a_workload_without_subscriptions_has_no_covers():
    empty = make_interests(3, 2, "1", "uniform", 1)
    alone = type(empty).from_pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), 3, 2)
    owners, nodes = global_covers(1, alone)
    assert len(owners) == len(nodes) == 0
