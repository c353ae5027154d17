"""Tests of the latency histogram of a topic."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.live.operations.status import BUCKETS, Histogram
from gossamer.protocols.contract.actions import Deliver

NOW_US = 1 << 40


def delivered(latency_us):
    return Deliver(1, b"", 2, 3, 0, NOW_US - latency_us)


@given(st.lists(st.integers(-10, 1 << 30) | st.integers(1, 200), min_size=1, max_size=40))
def test_messages_counted_at_once_are_in_the_same_buckets_as_messages_counted_one_by_one(latencies_us):
    at_once, one_by_one = Histogram(), Histogram()
    at_once.add([delivered(each) for each in latencies_us], NOW_US)
    for each in latencies_us:
        one_by_one.add([delivered(each)], NOW_US)
    assert at_once == one_by_one
    assert sum(at_once.counts) == len(latencies_us)
    assert at_once.total_us == sum(max(each, 0) for each in latencies_us)


@given(st.integers(-10, 1 << 30))
def test_a_latency_is_in_the_first_bucket_whose_bound_exceeds_it(latency_us):
    histogram = Histogram()
    histogram.add([delivered(latency_us)], NOW_US)
    expected = next((place for place, bound in enumerate(BUCKETS) if latency_us / 1e6 < bound), len(BUCKETS))
    assert histogram.counts.index(1) == expected
