"""Churn in the cycle engine: snapshots, joins with new interests, and control messages."""

import pytest

from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.simulator.execute import execute

SMALL = WorkloadLaw(nodes=60, topics=8, subscriptions="3", popularity="rss")


def churned(**settings):
    parameters = {"mend_us": 0, "heartbeat_us": SECOND_US // 10}
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


def test_churn_by_cycles_without_a_law_is_refused():
    with pytest.raises(InputError, match="needs a kernel, a workload made by a law, and a churn law"):
        churned(churn=None)
