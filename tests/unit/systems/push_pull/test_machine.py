"""The handlers of push and pull, one node at a time."""

import pytest

from gossamer.live.api.incoming import Incoming
from gossamer.live.api.topics import LiveTopics
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import (
    Outcome,
    Publish,
    PublishBurst,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Arrived, BufferFull, NeighbourDown, PeerMisbehaved
from gossamer.protocols.contract.messages import Burst, Data, data_in
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.systems.push_pull.machine import ANSWERS_MAX, MARGIN_ROUNDS
from gossamer.systems.push_pull.messages import Call, HeldSpan, PushPullBurst, PushPullData, Wake
from gossamer.systems.push_pull.parameters import linger_rounds, rounds_limit
from tests.unit.systems.push_pull.one_node import ME, OTHER_TOPIC, PERIOD_US, TOPIC, OneNode, Sized, message

LIMIT = rounds_limit(1_000, 4.0)


def pushed(node):
    """The sequence numbers that the last event pushed or answered with, in order."""
    return [data.sequence for _, frame in node.sent() for data in data_in(frame)]


def callees(node):
    return [to for to, _ in node.sent(Call)]


def test_a_published_message_goes_to_one_neighbour_at_once_and_wakes_all():
    node = OneNode()
    node.give(Publish(TOPIC, b"x"))
    assert [to for to, _ in node.sent(Wake)] == [(2, 3, 4)]
    [((receiver,), data)] = node.sent(PushPullData)
    assert receiver in (2, 3, 4)
    assert (data.publisher, data.hops, data.payload) == (ME, 0, b"x")
    assert 0 <= data.age_us < PERIOD_US
    assert len(node.timers()) == 1


def test_a_round_calls_one_neighbour_pushes_what_it_lacks_and_names_all():
    node = OneNode(repeat_pushes=True)
    node.receive(2, message(5))
    node.receive(3, message(6, previous=5))
    node.round()
    [(callee, call)] = node.sent(Call)
    assert pushed(node) == [5, 6]
    assert {to for to, _ in node.sent()} == {callee}
    assert call.names == (HeldSpan(9, 5, 2),)
    assert node.timers() == [node.now_us + PERIOD_US]


def test_callees_are_drawn_over_all_neighbours_on_the_topic():
    node = OneNode(quiet_calls=True)
    found = set()
    for _ in range(60):
        node.round()
        assert [call.topic for _, call in node.sent(Call)] == [TOPIC, OTHER_TOPIC]
        found.update(zip(("topic", "other"), callees(node), strict=True))
    assert found == {("topic", (each,)) for each in (2, 3, 4)} | {("other", (each,)) for each in (4, 5)}


def test_a_message_is_passed_on_only_after_the_time_at_which_it_came():
    node = OneNode()
    node.receive(2, message(5))
    node.receive(3, Call(TOPIC))
    assert not node.sent(Data)
    node.now_us += 1
    node.receive(3, Call(TOPIC))
    assert pushed(node) == [5]


def test_an_answer_leaves_out_what_the_call_names():
    node = OneNode()
    for sequence in (5, 6, 8):
        node.receive(2, message(sequence))
    node.now_us += 1
    node.receive(3, Call(TOPIC, (HeldSpan(9, 4, 2), HeldSpan(8, 6, 9), HeldSpan(9, 8, 1))))
    assert [(to, frame.sequence) for to, frame in node.sent(PushPullData)] == [((3,), 6)]
    assert not node.sent(Call)


def test_a_neighbour_that_is_known_to_have_a_message_gets_no_push():
    node = OneNode()
    node.overlay.on[TOPIC] = (2,)
    node.receive(2, message(5))
    node.receive(4, message(6))
    node.round()
    assert pushed(node) == [6]
    node.round()
    assert pushed(node) == []
    assert callees(node) == [(2,)]


def test_a_neighbour_that_names_a_message_gets_no_push():
    node = OneNode()
    node.overlay.on[TOPIC] = (2,)
    node.receive(4, message(6))
    node.receive(2, Call(TOPIC, (HeldSpan(9, 6),)))
    node.round()
    assert pushed(node) == []


def test_a_neighbour_that_comes_back_gets_pushes_again():
    node = OneNode()
    node.overlay.on[TOPIC] = (2,)
    node.receive(2, message(5))
    node.part.learn(NeighbourDown(2), node.now_us, [])
    node.round()
    assert pushed(node) == [5]


def test_messages_are_pushed_in_their_publishers_order():
    node = OneNode()
    node.overlay.on[TOPIC] = (2,)
    for sequence in range(1, 6):
        node.receive(3, message(sequence, previous=sequence - 1))
    node.round()
    assert pushed(node) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("size", [2, 15, 100, 10_000])
def test_a_message_is_passed_on_up_to_the_age_limit_of_its_topics_size(size):
    node = OneNode(Sized(size), repeat_pushes=True)
    limit = rounds_limit(size, 4.0)
    node.receive(2, message(5, age_us=PERIOD_US))
    rounds = 0
    while not node.round() or pushed(node):
        rounds += 1
        assert rounds < 99
    assert rounds == limit - 1


def test_the_limit_grows_as_the_paper_says():
    assert [rounds_limit(size, 0.0) for size in (1, 2, 3, 9, 10, 243, 244, 100_000)] == [1, 1, 1, 2, 3, 5, 6, 11]
    assert rounds_limit(10**6, 3.0) == 21  # log3 = 12.58, ln ln = 2.63
    assert rounds_limit(4, 3.0) == 5


def test_without_the_age_rule_a_message_is_passed_on_for_ever():
    node = OneNode(age_rule=False, repeat_pushes=True)
    node.receive(2, message(5, age_us=10**12))
    for _ in range(500):
        node.round()
        assert pushed(node) == [5]
        assert node.timers()


def test_old_messages_are_still_named_and_then_forgotten_and_rounds_end():
    node = OneNode()
    node.receive(2, message(5))
    named = 0
    while node.round() and node.timers():
        for _, call in node.sent(Call):
            named += call.names == (HeldSpan(9, 5),)
    assert named == LIMIT + MARGIN_ROUNDS
    assert len(node.state) == 0
    assert node.now_us == 1_000_000 + (LIMIT + 1 + linger_rounds(LIMIT)) * PERIOD_US
    node.round()
    assert not node.actions


def test_a_message_that_is_old_already_is_delivered_and_not_passed_on():
    node = OneNode()
    node.receive(2, message(5, age_us=(LIMIT + 1) * PERIOD_US))
    assert node.delivered() == [5]
    assert not node.sent(Wake)
    node.round()
    assert not node.sent()


def test_the_age_of_a_message_grows_with_the_time_that_it_is_kept():
    node = OneNode(repeat_pushes=True)
    node.receive(2, message(5, age_us=30))
    node.round(1)
    node.round(0.5)
    assert [frame.age_us for _, frame in node.sent(PushPullData)] == [30 + PERIOD_US * 3 // 2]


def test_a_copy_is_delivered_once_and_its_sender_is_noted():
    node = OneNode()
    node.overlay.on[TOPIC] = (3,)
    node.receive(2, message(5))
    assert node.delivered() == [5]
    node.receive(3, message(5))
    assert node.delivered() == []
    node.round()
    assert pushed(node) == []


def test_consecutive_messages_of_one_age_travel_as_one_burst():
    node = OneNode(repeat_pushes=True)
    items = tuple((number, b"payload") for number in range(20))
    node.give(PublishBurst(TOPIC, items))
    [(_, first)] = node.sent(PushPullBurst)
    assert first.count == 20
    node.round()
    [(_, again)] = node.sent(PushPullBurst)
    assert again.items == items
    assert again.age_us >= PERIOD_US


def test_messages_that_were_published_between_two_rounds_travel_as_one_burst():
    node = OneNode(repeat_pushes=True)
    node.round()
    for _ in range(5):
        node.now_us += 10
        node.give(Publish(TOPIC, b"x"))
    node.round()
    [(_, burst)] = node.sent(Burst)
    assert burst.count == 5


def test_a_burst_of_large_payloads_is_cut():
    node = OneNode(repeat_pushes=True)
    for sequence in range(1, 5):
        node.receive(2, message(sequence, previous=sequence - 1, payload=bytes(40_000)))
    node.round()
    assert [len(list(data_in(frame))) for _, frame in node.sent(PushPullData | PushPullBurst)] == [1, 1, 1, 1]


def test_a_call_pushes_only_so_many_bytes_the_newest_first():
    node = OneNode(repeat_pushes=True, call_bytes=1_000)
    for sequence in range(1, 10):
        node.receive(2, message(sequence, previous=sequence - 1, payload=bytes(200)))
    node.round()
    assert pushed(node) == [8, 9]
    node.receive(3, Call(TOPIC))
    assert pushed(node) == [8, 9]


def test_a_burst_is_delivered_as_its_messages_and_those_that_are_new_alone():
    node = OneNode()
    burst = PushPullBurst(TOPIC, 9, 5, 3, ((1, b"a"), (2, b"b"), (3, b"c")), 4, 77)
    assert [(each.sequence, each.previous, each.age_us) for each in burst.messages] == [
        (5, 4, 77),
        (6, 5, 77),
        (7, 6, 77),
    ]
    node.receive(2, message(6, previous=5))
    node.receive(3, burst)
    assert node.delivered() == [5, 7]
    assert [each.hops for each in node.actions if hasattr(each, "hops")] == [4, 4]
    node.receive(4, PushPullBurst(TOPIC, 9, 8, 0, ((1, b"a"), (2, b"b")), 7))
    assert node.delivered() == [8, 9]


def test_with_recovery_messages_arrive_and_are_not_delivered_here():
    node = OneNode(held=DeliveryState(ME, history=History(), recovers=True))
    node.receive(2, message(5))
    assert node.delivered() == []
    assert [type(fact) for fact in node.facts] == [Arrived]


def test_a_message_that_recovery_fetched_is_passed_on_when_it_comes_by_a_push():
    delivery = DeliveryState(ME, history=History(), recovers=True)
    node = OneNode(held=delivery)
    node.overlay.on[TOPIC] = (3,)
    delivery.seen.add(9, 5, FETCHED)
    delivery.intake.accept(Data(TOPIC, 9, 5, 0, 0, b"x"), 2, node.now_us, [])
    node.round()
    assert not node.sent()
    node.receive(2, message(5))
    node.round()
    assert pushed(node) == [5]
    assert [type(frame) for _, frame in node.sent(Data)] == [PushPullData]


def test_a_message_that_waits_for_the_validator_is_named_and_not_passed_on():
    node = OneNode(validates=True, repeat_pushes=True)
    [ask] = node.receive(2, message(5))[:1]
    node.round()
    assert pushed(node) == []
    node.give(Validated(ask.ticket, Outcome.ACCEPT))
    assert node.delivered() == [5]
    node.round()
    assert pushed(node) == [5]
    assert node.sent(Call)[0][1].names == (HeldSpan(9, 5),)


@pytest.mark.parametrize("outcome", [Outcome.REJECT, Outcome.IGNORE])
def test_a_message_that_the_validator_does_not_accept_is_never_passed_on(outcome):
    node = OneNode(validates=True, repeat_pushes=True)
    [ask] = node.receive(2, message(5))[:1]
    node.give(Validated(ask.ticket, outcome))
    assert node.delivered() == []
    node.round()
    assert pushed(node) == []


def test_a_message_that_the_validator_accepts_when_it_is_old_is_delivered_and_not_passed_on():
    node = OneNode(validates=True)
    [ask] = node.receive(2, message(5))[:1]
    for _ in range(LIMIT + 9):
        node.round()
    node.give(Validated(ask.ticket, Outcome.ACCEPT))
    assert node.delivered() == [5]
    node.round()
    assert not node.sent()


def test_a_wake_up_makes_a_node_call_and_goes_on_to_the_other_neighbours():
    node = OneNode()
    node.receive(2, Wake(TOPIC, 1_000, 1))
    assert node.sent(Wake) == [((3, 4), Wake(TOPIC, 1_000, 2))]
    node.receive(3, Wake(TOPIC, 1_500, 1))
    assert not node.sent()
    calls = 0
    while node.round():
        calls += len(node.sent(Call))
    assert calls == LIMIT + linger_rounds(LIMIT)


def test_a_wake_up_ends_after_as_many_links_as_a_message_can_cross():
    node = OneNode()
    node.receive(2, Wake(TOPIC, 0, LIMIT + 1))
    assert not node.sent(Wake)
    assert node.timers()


def test_a_message_soon_after_another_one_wakes_nobody():
    node = OneNode()
    node.give(Publish(TOPIC, b"x"))
    node.round(linger_rounds(LIMIT) - 1)
    node.give(Publish(TOPIC, b"x"))
    assert not node.sent(Wake)
    node.round(2)
    node.give(Publish(TOPIC, b"x"))
    assert node.sent(Wake)


def test_with_quiet_calls_nodes_always_call_and_wake_nobody():
    node = OneNode(quiet_calls=True)
    node.give(Publish(TOPIC, b"x"))
    assert not node.sent(Wake)
    for _ in range(100):
        node.round()
        assert len(callees(node)) == 2
        assert node.timers()


def test_only_neighbours_on_the_topic_are_answered_and_wake():
    node = OneNode()
    node.receive(2, message(5))
    node.now_us += 1
    for sent in (Call(TOPIC), Wake(TOPIC, 0, 0)):
        node.receive(5, sent)
        assert not node.actions
    for sent in (Call(99), Wake(99, 0, 0)):
        node.receive(5, sent)
        assert [type(fact) for fact in node.facts_shown()] == [PeerMisbehaved]
        assert not node.sent()


def test_a_neighbour_that_calls_too_often_is_not_answered():
    node = OneNode()
    node.receive(2, message(5))
    node.now_us += 1
    answers = 0
    for _ in range(50):
        node.receive(3, Call(TOPIC))
        answers += len(node.sent(Data))
    assert answers == ANSWERS_MAX
    node.round()
    node.receive(3, Call(TOPIC))
    assert node.sent(Data)


def test_messages_beyond_the_limits_are_dropped_and_reported():
    node = OneNode(kept=4)
    for sequence in range(1, 7):
        node.receive(2, message(sequence, previous=sequence - 1))
    assert len(node.state) == 4
    assert node.facts_shown() == [BufferFull(TOPIC, 9, 2)]
    node = OneNode(kept_bytes=5_000)
    for sequence in range(1, 7):
        node.receive(2, message(sequence, previous=sequence - 1, payload=bytes(2_000)))
    assert len(node.state) == 2
    assert node.state.size_bytes <= 5_000


def test_a_message_of_two_topics_is_passed_on_in_both_and_delivered_once():
    node = OneNode(repeat_pushes=True)
    node.receive(3, message(5, also=((OTHER_TOPIC, 0),)))
    assert node.delivered() == [5]
    node.round()
    assert pushed(node) == [5, 5]
    assert [call.names for _, call in node.sent(Call)] == [(HeldSpan(9, 5),)] * 2
    node.give(Publish(TOPIC, b"x", (OTHER_TOPIC,)))
    [(receivers, data)] = node.sent(PushPullData)
    assert data.topics == (TOPIC, OTHER_TOPIC)
    assert len(receivers) in (1, 2)


def test_a_topic_that_was_given_up_is_not_called_and_its_messages_are_not_passed_on():
    node = OneNode(repeat_pushes=True)
    node.receive(2, message(5))
    node.give(Unsubscribe(TOPIC))
    node.round()
    assert not node.sent()
    node.give(Subscribe(TOPIC, Role.BOTH))
    node.round()
    assert not node.sent()
    while node.round():
        pass
    assert len(node.state) == 0


def test_a_node_without_neighbours_keeps_its_message_until_there_is_one():
    node = OneNode()
    node.overlay.on[TOPIC] = ()
    node.give(Publish(TOPIC, b"x"))
    assert not node.sent()
    node.round()
    assert not node.sent()
    node.overlay.on[TOPIC] = (2,)
    node.round()
    assert len(pushed(node)) == 1


def test_a_live_node_counts_messages_that_it_does_not_pass_on():
    incoming = Incoming(LiveTopics(True, 100, {}), None)
    incoming.on_fact(BufferFull(TOPIC, 9, 5))
    assert incoming.drops == {"messages not passed on: too many at once": 1}
