"""The time wheel, compared with a heap."""

from heapq import heappop, heappush

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.simulator.wheel import TimeWheel

# Delays within a slot, within a turn of the wheel, and far beyond it.
delays = st.one_of(
    st.integers(0, 3), st.integers(0, 3_000), st.integers(0, 5_000_000), st.integers(0, 10**9), st.just(86_400 * 10**6)
)


@settings(max_examples=300)
@given(st.lists(delays, min_size=1, max_size=30), st.lists(st.lists(delays, max_size=3), max_size=60))
def test_entries_come_out_in_order_of_time_and_then_of_scheduling(first, later):
    wheel, heap, sequence = TimeWheel(), [], 0

    def push(at_us):
        nonlocal sequence
        sequence += 1
        wheel.push((at_us, sequence, 0, None, None))
        heappush(heap, (at_us, sequence))

    for delay in first:
        push(delay)
    more = iter(later)
    while (batch := wheel.next_batch(10**18)) is not None:
        read = 0
        for at_us, number, *_ in batch:
            read += 1
            assert (at_us, number) == heappop(heap)
            for delay in next(more, []):
                push(at_us + delay)
        wheel.put_back(batch[read:])
    assert not heap


@settings(max_examples=100)
@given(st.lists(delays, min_size=1, max_size=20), st.lists(delays, min_size=1, max_size=6))
def test_reading_up_to_a_time_gives_exactly_the_entries_up_to_then(times, stops):
    wheel = TimeWheel()
    for number, at_us in enumerate(times):
        wheel.push((at_us, number, 0, None, None))
    got, until = [], 0
    for step in stops:
        until += step
        while (batch := wheel.next_batch(until)) is not None:
            due = [entry for entry in batch if entry[0] <= until]
            got += [entry[0] for entry in due]
            wheel.put_back(batch[len(due) :])
            if len(due) < len(batch):
                break
        assert got == sorted(at_us for at_us in times if at_us <= until)


def test_many_entries_of_one_time_keep_their_order():
    wheel = TimeWheel()
    wheel.push_many(50_000, [(50_000, number, 0, None, None) for number in range(100)])
    assert [entry[1] for entry in wheel.next_batch(60_000)] == list(range(100))
