"""The measurements behind the exhibits, on small workloads."""

import numpy as np
import pytest

from gossamer.systems.feverfew import experiments

FIGURES = {"topics": 60, "total": 800, "largest": 40}


def cover(**more):
    return experiments.cover(
        1, "douban", 100, FIGURES, parameters={"bubble_cycles": 5}, cycles=12, topics=(10, 40), **more
    )


def test_coverage_by_size_adds_up_to_the_whole():
    found = cover()
    weights = np.array(found["subscriptions_by_size"])
    for share, by_size in zip(found["covered_share"], found["covered_by_size"], strict=True):
        assert share == pytest.approx((weights * by_size).sum() / weights.sum())
    assert weights.sum() == 800
    assert found["covered_share"][-1] > 0.95
    assert all(topic["components"] == 1 for topic in found["topics"].values())


def test_nodes_that_sample_need_few_more_links_than_nodes_that_know_all():
    found = experiments.cover_globally(1, "douban", 100, FIGURES)
    assert found["covered_share"] == [1.0]
    assert cover()["links_per_subscription"][-1] == pytest.approx(found["links_per_subscription"][-1], rel=0.12)


@pytest.mark.parametrize("more", [{"substituted": 0.02}, {"failed": 0.5}])
def test_a_message_reaches_more_and_more_subscribers_under_churn(more):
    found = experiments.spread(
        1, "douban", 100, FIGURES, parameters={"bubble_cycles": 0}, cycles=20, sizes=(40,), covered_first=10, **more
    )
    curve = found["completion"]["40"]
    assert len(curve) == 20
    assert curve[-1] == 1.0
    assert curve[0] < 0.5
