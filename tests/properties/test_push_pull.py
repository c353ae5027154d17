"""Whatever peers send, a push-pull node keeps within its bounds, delivers once, and goes quiet unless its age rule is off."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.protocols.contract.messages import NUMBER_MAX, data_in
from gossamer.systems.push_pull.messages import Call, HeldSpan, PushPullBurst, PushPullData, Wake
from tests.unit.systems.push_pull.one_node import OTHER_TOPIC, TOPIC, OneNode

KEPT, KEPT_BYTES = 5, 3_000
topics = st.sampled_from([TOPIC, OTHER_TOPIC, 99])
ages = st.sampled_from([0, 1, 100_000, 1_700_000, 10**9, NUMBER_MAX])
numbers = st.one_of(st.integers(1, 8), st.just(NUMBER_MAX))
also = st.sampled_from([(), ((OTHER_TOPIC, 0),), ((98, 0),)])
data = st.builds(
    PushPullData,
    topics,
    st.integers(9, 10),
    numbers,
    st.sampled_from([0, 2**31]),
    st.just(0),
    st.sampled_from([b"x", bytes(900)]),
    st.integers(0, 3),
    also,
    ages,
)
items = st.lists(st.tuples(st.just(0), st.just(b"x")), min_size=1, max_size=6).map(tuple)
bursts = st.builds(
    PushPullBurst, topics, st.integers(9, 10), st.integers(1, 8), st.just(0), items, st.integers(0, 3), ages
)
spans = st.lists(st.builds(HeldSpan, st.integers(9, 10), numbers, st.integers(1, 4096)), max_size=4).map(tuple)
calls = st.builds(Call, topics, spans)
wakes = st.builds(Wake, topics, ages, st.sampled_from([0, 1, 2**31]))
events = st.lists(
    st.one_of(st.just("round"), st.tuples(st.integers(2, 6), st.one_of(data, bursts, calls, wakes))), max_size=40
)


def feed(node, steps):
    delivered = []
    for step in steps:
        if step == "round":
            node.round()
        else:
            node.receive(*step)
        delivered += [(each.publisher, each.sequence) for each in node.actions if hasattr(each, "published_us")]
        assert len(node.state) <= KEPT
        assert node.state.size_bytes <= max(KEPT_BYTES, 1_100)
    assert len(delivered) == len(set(delivered))


@given(events)
@settings(max_examples=150, deadline=None)
def test_state_stays_bounded_and_traffic_ends_whatever_peers_send(steps):
    node = OneNode(kept=KEPT, kept_bytes=KEPT_BYTES, repeat_pushes=True)
    feed(node, steps)
    for _ in range(40):
        node.round()
    assert not node.sent()
    assert not node.timers()
    assert len(node.state) == 0


@given(events)
@settings(max_examples=60, deadline=None)
def test_without_the_age_rule_a_node_with_a_message_never_stops(steps):
    node = OneNode(age_rule=False, repeat_pushes=True, kept=KEPT, kept_bytes=KEPT_BYTES)
    feed(node, steps)
    kept = [message for topic in node.state.topics.values() for message in topic.messages.values()]
    for _ in range(40):
        node.round()
        assert bool(kept) == any(data_in(frame) for _, frame in node.sent())
