"""Making a workload with one call."""

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.workloads.interests import make_interests
from gossamer.workloads.make import make_workload


def test_a_workload_has_the_requested_numbers_and_its_own_ids():
    workload = make_workload(nodes=40, topics=8, subscriptions=3, seed=5)
    assert workload.interest.sizes.tolist() == [3] * 40
    assert workload.node_ids.tolist() == list(range(40))
    assert workload.topic_ids.tolist() == list(range(8))


def test_the_same_arguments_give_the_same_workload_and_another_seed_another_one():
    one, again, other = (make_workload(nodes=40, topics=8, subscriptions="2:5", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.interest.node_topics, again.interest.node_topics)
    assert not np.array_equal(one.interest.node_topics, other.interest.node_topics)
    made = make_interests(40, 8, "2:5", "rss", seed=1)
    assert np.array_equal(one.interest.node_topics, made.node_topics)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "grid", "nodes": 30, "topics": 6},
        {"kind": "douban", "nodes": 200, "topics": 300, "total": 2000, "largest": 80},
        {"kind": "communities", "nodes": 200, "topics": 300, "total": 2000, "largest": 80},
        {"kind": "friends", "nodes": 60, "degree": 4.0},
        {"kind": "followers", "nodes": 60, "degree": 4.0},
    ],
)
def test_every_kind_of_workload_has_subscriptions(fields):
    workload = make_workload(seed=1, **fields)
    assert workload.interest.node_count == fields["nodes"]
    assert workload.interest.subscription_count > 0


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"kind": "cube", "nodes": 5},
            "`kind` must be one of popularity, grid, douban, communities, friends, followers, got 'cube'",
        ),
        ({"nodes": 5, "subscriptions": 2}, "a workload of kind popularity needs `topics`"),
        ({"kind": "friends", "nodes": 50, "topics": 9}, "`topics` has no meaning for a workload of kind friends"),
        ({"nodes": 5, "topics": 4, "subscriptions": 9}, "ask for fewer subscriptions or more `topics`"),
        ({"nodes": 0, "topics": 4, "subscriptions": 2}, "the number of nodes must lie between 1"),
    ],
)
def test_a_wrong_field_is_named_in_the_error(fields, sentence):
    with pytest.raises(InputError, match=sentence):
        make_workload(seed=1, **fields)
