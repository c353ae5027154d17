"""Spans of missing messages."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.protocols.dissemination import missing

TOPIC = 7


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(0, 60), st.integers(1, 20), st.booleans()), max_size=40))
def test_spans_never_overlap_and_contain_every_announced_message_that_has_not_arrived(steps):
    arrived = set()
    found = missing.Missing(lambda _, first, count: [n for n in range(first, first + count) if n not in arrived], 1)
    wanted = set()
    for now_us, (node, first, count, is_announced) in enumerate(steps):
        numbers = set(range(first, first + count))
        if is_announced:
            wanted |= numbers - arrived
            found.announced(node, TOPIC, 9, first, count, now_us, now_us + 5)
        else:
            arrived |= numbers
        spans = found._spans.get((TOPIC, 9), [])
        covered = [number for span in spans for number in range(span.first, span.end)]
        assert covered == sorted(set(covered))
        assert wanted - arrived <= set(covered)
        assert len(found) == len(covered)
        assert found._span_count == len(spans)
    due = {number for _, numbers in found.due(1_000) for number in numbers}
    assert due == wanted - arrived | (due - wanted)
    assert not due & arrived
