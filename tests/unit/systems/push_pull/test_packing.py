"""Messages as bursts, and names as spans."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.protocols.contract.messages import proof_of, proved
from gossamer.systems.push_pull.messages import SPANS_MAX, HeldSpan, PushPullData
from gossamer.systems.push_pull.packing import NameSet, frames_of, spans_of
from gossamer.systems.push_pull.spreading import SpreadingMessage

names = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), unique=True, max_size=60)


@given(names)
def test_spans_contain_exactly_the_names_that_they_were_made_of(found):
    named = NameSet(spans_of(found))
    assert [(p, n) for p in range(4) for n in range(32) if (p, n) in named] == sorted(found)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 12)), max_size=20))
def test_spans_of_a_peer_may_overlap(spans):
    named = NameSet([HeldSpan(*span) for span in spans])
    wanted = {(publisher, number) for publisher, first, count in spans for number in range(first, first + count)}
    assert {(p, n) for p in range(3) for n in range(40) if (p, n) in named} == wanted


def test_interleaved_publishers_make_one_span_each():
    assert spans_of([(1, 5), (2, 5), (1, 6), (2, 6)]) == (HeldSpan(1, 5, 2), HeldSpan(2, 5, 2))


def test_of_too_many_spans_the_newest_remain():
    spans = spans_of([(1, 2 * number) for number in range(SPANS_MAX + 10)])
    assert len(spans) == SPANS_MAX
    assert spans[0].sequence == 20


def test_only_messages_with_the_same_proof_become_a_burst_which_keeps_the_proof():
    one, other = object(), object()
    messages = []
    for number, proof in enumerate([None, None, one, one, one, other], 5):
        data = PushPullData(1, 9, number, 0, 0, b"x", number - 1, proved((), proof))
        messages.append(SpreadingMessage((9, number), (1,), data, 0, 0, 10, 10))
    frames = frames_of(messages, 3)
    assert [(frame.sequence, frame.count, proof_of(frame)) for frame in frames] == [
        (5, 2, None),
        (7, 3, one),
        (10, 1, other),
    ]
    assert [proof_of(data) for data in frames[1].messages] == [one] * 3
