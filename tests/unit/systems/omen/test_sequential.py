"""OMen with one churn event after another: every topic is connected after each of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.planners.greedy import lowoda, plan
from gossamer.simulator.measure import measure_topics
from gossamer.systems.omen import experiments
from gossamer.systems.omen.backups import is_acceptable
from gossamer.systems.omen.parameters import OmenGParameters
from gossamer.systems.omen.sequential import MendedOverlay
from gossamer.workloads.interests import make_interests
from gossamer.workloads.samples import make_churn_events


def start(parameters, seed, interest, absent=()):
    present = np.ones(interest.node_count, np.bool_)
    present[list(absent)] = False
    return MendedOverlay(parameters, seed, interest, plan(interest.among(present), lowoda(parameters.rho)), absent)


def parted(mended, interest):
    measured = measure_topics(mended.overlay(), interest.among(np.array(mended.present)))
    return int((measured.components > 1).sum())


@given(
    seed=st.integers(0, 2**32),
    nodes=st.integers(4, 30),
    coverage=st.integers(1, 4),
    backups=st.sampled_from(["primal-dual", "greedy"]),
    counted=st.sampled_from(["terminals", "inside"]),
    drops=st.booleans(),
    popularity=st.sampled_from(["uniform", "zipf:1.2"]),
)
@settings(max_examples=60)
def test_every_topic_is_connected_and_every_set_acceptable_after_each_event(
    seed, nodes, coverage, backups, counted, drops, popularity
):
    interest = make_interests(nodes, 8, "1:4", popularity, seed)
    parameters = OmenGParameters(coverage=coverage, backups=backups, counted=counted, drops=drops)
    absent, churn = make_churn_events(nodes, 25, seed)
    mended = start(parameters, seed, interest, absent.tolist())
    for number, (node, is_join) in enumerate(churn.tolist()):
        (mended.join if is_join else mended.leave)(node)
        mended.renew()
        assert parted(mended, interest) == 0, f"event {number}: node {node}, join {is_join}"
        assert all(v in mended.neighbours[u] for v in range(nodes) for u in mended.neighbours[v]), "links have two ends"
        assert set(mended.backups) == {each for each in range(nodes) if mended.present[each]}

        def holders(topic, mended=mended):
            return [each for each in range(nodes) if mended.present[each] and topic in mended.topics[each]]

        for each, chosen in mended.backups.items():
            topics = mended.topics[each]
            assert is_acceptable(each, topics, chosen, holders, mended.topics.__getitem__, coverage), each


def test_links_inside_the_shadow_set_alone_add_many_more_links():
    interest = make_interests(120, 60, "10", "zipf:0.8", 2)
    absent, churn = make_churn_events(120, 60, 2)
    added = {}
    for counted in ("terminals", "inside"):
        mended = start(OmenGParameters(counted=counted, drops=False), 2, interest, absent.tolist())
        total = 0
        for node, is_join in churn.tolist():
            total += len((mended.join if is_join else mended.leave)(node).added)
            mended.renew()
        added[counted] = total
    assert added["inside"] > 2 * added["terminals"]


def test_dropping_removes_only_links_whose_ends_stay_connected():
    interest = make_interests(60, 10, "4", "uniform", 3)
    absent, churn = make_churn_events(60, 80, 3)
    mended = start(OmenGParameters(), 3, interest, absent.tolist())
    dropped = 0
    for node, is_join in churn.tolist():
        (mended.join if is_join else mended.leave)(node)
        dropped += len(mended.renew())
        assert parted(mended, interest) == 0
    assert dropped > 0


@pytest.mark.parametrize("rivals", [(), ("LowODA-Re", "LowODA-Inc", "SpiderCast (3,1)")])
def test_an_experiment_measures_degrees_at_every_so_many_events(rivals):
    law = {"node_count": 40, "topic_count": 10, "subscriptions": "3", "law": "uniform"}
    found = experiments.mend_generated(1, law, events=20, every=10, parameters={"coverage": 2}, rivals=rivals)
    assert found["parted_topics"] == 0
    for name in ("OMen", *rivals):
        assert len(found[f"{name} most"]) == len(found[f"{name} mean"]) == 2
        assert min(found[f"{name} mean"]) > 1
    assert len(found["shadow_sizes"]) == 20
