"""The seed alone decides the faults of a chaos run, and every kind of fault happens."""

import pytest

from tests.live.chaos import schedule


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_process_has_one_fault_at_a_time_and_all_end_before_the_run(seed):
    free_at = dict.fromkeys(range(schedule.NODES), schedule.CALM_SECONDS)
    found = schedule.faults(seed, 300.0)
    for fault in found:
        assert fault.at >= free_at[fault.node]
        free_at[fault.node] = fault.at + fault.seconds
        assert free_at[fault.node] <= 300
        assert fault.kind != "pause" or 3 <= fault.seconds <= 20
    kinds = [fault.kind for fault in found]
    assert min(kinds.count(kind) for kind in ("kill", "stop", "pause")) >= 20


def test_the_seed_decides_faults_and_topics():
    assert schedule.faults(1, 300.0) == schedule.faults(1, 300.0) != schedule.faults(2, 300.0)
    assert schedule.topic_plans(1, 0, 300.0) == schedule.topic_plans(1, 0, 300.0) != schedule.topic_plans(2, 0, 300.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_topics_are_closed_and_opened_and_readers_are_slow(seed):
    plans = [plan for node in range(schedule.NODES) for plan in schedule.topic_plans(seed, node, 300.0)]
    assert {plan.topic for plan in plans} == set(range(schedule.TOPICS))
    assert sum(len(plan.subscribed) > 1 for plan in plans) > 100
    assert sum(len(plan.publisher) > 1 for plan in plans) > 50
    assert sum(len(plan.slow) for plan in plans) > 100
