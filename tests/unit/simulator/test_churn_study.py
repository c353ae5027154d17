"""Churn in the cycle engine: snapshots, joins with new interests, and control messages."""

import math

import pytest

from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.simulator.execute import execute
from gossamer.workloads.churn import make_churn
from gossamer.workloads.laws import duration_law

SMALL = WorkloadLaw(nodes=60, topics=8, subscriptions="3", popularity="rss")


def churned(heartbeat_us=SECOND_US // 10, **settings):
    parameters = {"mend_us": 0, "heartbeat_us": heartbeat_us}
    given = {"workload": SMALL, "until_us": 400 * SECOND_US, "churn": "exp:100s/exp:25s", **settings}
    return execute(Run(system="spidercast", parameters=parameters, seed=3, **given)).metrics


def test_snapshots_count_the_topics_and_degrees_of_the_nodes_that_are_present():
    metrics = churned()
    assert (metrics["nodes"], metrics["snapshots"], metrics["joins"], metrics["joins_and_leaves"]) == (46, 2, 206, 398)
    assert metrics["snapshot_partitioned_topics"] == 0
    assert metrics["snapshot_average_degree"] == pytest.approx(5.031, abs=0.001)
    by_kind = metrics["control_messages_by_kind"]
    assert metrics["control_messages_per_join_or_leave"] == pytest.approx(sum(by_kind.values()))
    assert metrics["control_messages_per_join_or_leave"] == pytest.approx(22.872, abs=0.001)


@pytest.mark.parametrize("heartbeat", [0.7, 1, 3, 7, 150, 300])
def test_there_is_a_snapshot_every_200_seconds_whatever_the_length_of_a_cycle(heartbeat):
    metrics = churned(heartbeat_us=int(heartbeat * SECOND_US), until_us=800 * SECOND_US)
    assert metrics["snapshots"] == 4
    assert math.isfinite(metrics["snapshot_average_degree"])


@pytest.mark.parametrize("heartbeat", [1, 3])
def test_messages_before_the_first_nodes_settle_are_left_out_whatever_the_length_of_a_cycle(heartbeat):
    """Every node leaves at 50 s and returns at 51 s. With a cycle of 3 s, the last cycle before 20 s is at 18 s."""
    run = {"until_us": 60 * SECOND_US, "churn": "fixed:50s/fixed:1s"}
    metrics = churned(heartbeat_us=heartbeat * SECOND_US, **run)
    assert metrics["joins_and_leaves"] == 2 * SMALL.nodes
    # The messages of the first 20 s would add 3 for each of them.
    assert metrics["control_messages_per_join_or_leave"] == pytest.approx(4.5, abs=0.5)


@pytest.mark.parametrize(("on", "off", "heartbeat"), [(100, 25, 30), (10, 11, 40), (41, 3, 40), (5, 200, 70)])
def test_joins_and_leaves_are_those_that_took_effect(on, off, heartbeat):
    """Rows that cancel each other within a cycle, and rows after the last cycle, have no effect."""
    texts, until_us = (f"exp:{on}s", f"exp:{off}s"), 555 * SECOND_US
    first = make_churn(SMALL.nodes, *(duration_law(text, "") for text in texts), until_us, 0.0, 3)
    metrics = churned(heartbeat_us=heartbeat * SECOND_US, until_us=until_us, churn="/".join(texts))
    # A cycle takes longer than 20 s, so every join and leave is counted.
    leaves = metrics["joins_and_leaves"] - metrics["joins"]
    assert first.present_at_start(SMALL.nodes).sum() + metrics["joins"] - leaves == metrics["nodes"]


def test_without_joins_and_leaves_none_is_reported():
    metrics = churned(churn="fixed:100000s/fixed:1s", until_us=200 * SECOND_US)
    assert (metrics["joins"], metrics["joins_and_leaves"]) == (0, 0)
    assert metrics["control_messages_per_join_or_leave"] is None
    assert metrics["control_messages_by_kind"] == {}


def test_a_study_that_ends_before_the_nodes_settle_counts_no_messages():
    metrics = churned(until_us=15 * SECOND_US)
    assert (metrics["snapshots"], metrics["snapshot_average_degree"]) == (0, None)
    assert (metrics["joins_and_leaves"], metrics["control_messages_per_join_or_leave"]) == (0, None)


def test_snapshots_in_which_no_node_is_counted_have_no_degree():
    metrics = churned(churn="fixed:1s/fixed:100000s")
    assert (metrics["nodes"], metrics["snapshots"], metrics["snapshot_average_degree"]) == (0, 2, None)
    assert not [name for name, value in metrics.items() if isinstance(value, float) and math.isnan(value)]


def test_churn_by_cycles_without_a_law_is_refused():
    with pytest.raises(InputError, match="needs a kernel, a workload made by a law, and a churn law"):
        churned(churn=None)
