"""Order and gaps: messages wait for those before them, and missing ones are requested."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Send, Validate
from gossamer.protocols.contract.events import Outcome, Subscribe, Unsubscribe, Validated
from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.delivery.recovery.messages import Answer, Ask, Late
from tests.unit.protocols.delivery.recovery.one_node import (
    ANN,
    BOB,
    LOOKING,
    MS,
    NOTHING,
    OTHER,
    SECOND,
    TOPIC,
    Node,
    asks,
    data,
)


def test_a_message_that_overtook_another_waits_for_it_and_no_neighbour_is_asked():
    node = Node()
    node.get(data(1))
    assert not [a for a in node.get(data(3, 2)) if type(a) is Deliver]
    node.wait(50 * MS)
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]
    assert not asks(node.wait(10 * SECOND))


def test_missing_messages_are_requested_first_from_the_sender_of_the_next_message_then_from_others():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2), sender=3)
    asked = asks(node.wait(SECOND))
    assert [row[0] for row in asked] == [3, 2, 4, 3]
    assert asked[0][1] == Ask(TOPIC, ANN, 1, 3)


def test_an_answer_is_delivered_before_the_waiting_messages_and_ends_the_requests():
    node = Node()
    node.get(data(1))
    node.get(data(4, 3))
    node.wait(150 * MS)
    actions = node.get(Answer(TOPIC, ANN, (data(2, 1), data(3, 2))))
    assert [a.sequence for a in actions if type(a) is Deliver] == [2, 3, 4]
    assert not [a for a in actions if type(a) is Send], "a fetched message is not relayed"
    assert not asks(node.wait(10 * SECOND))
    assert node.facts == []


def test_a_fetched_message_that_arrives_again_is_not_delivered_twice():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(2, 1),)))
    node.get(data(2, 1), sender=4)
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_messages_that_no_neighbour_has_are_reported_as_lost_and_a_late_copy_is_reported_and_dropped():
    node = Node(answers=NOTHING)
    node.get(data(1))
    node.get(data(4, 3))
    node.wait(90 * MS)
    assert node.delivered == [(ANN, 1)]
    assert [row[0] for row in asks(node.wait(10 * MS))] == [2, 3, 4], "the next one is asked as soon as one has nothing"
    assert node.delivered == [(ANN, 1), (ANN, 4)]
    assert node.facts == [Lost(TOPIC, ANN, 1, 4)]
    node.get(data(3, 2))
    assert node.facts[1:] == [Late(TOPIC, ANN, 3)]
    assert node.delivered == [(ANN, 1), (ANN, 4)]
    assert not node.recovery._ordering.gaps.counts


def test_missing_messages_are_requested_at_once_when_many_messages_already_wait():
    node = Node(waiting=80)
    node.get(data(1))
    actions = [action for number in range(3, 20) for action in node.get(data(number, number - 1))]
    assert asks(actions) == [(2, Ask(TOPIC, ANN, 1, 3))]


def test_each_gap_is_given_up_after_its_own_time():
    node = Node(answers=LOOKING)
    node.get(data(1))
    node.get(data(3, 2))
    node.get(data(6, 5))
    node.wait(3 * SECOND)
    node.get(data(2, 1))
    assert [sequence for _, sequence in node.delivered] == [1, 2, 3]
    node.wait(3 * SECOND)
    assert node.facts == []
    node.wait(2 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 3, 6)]


def test_an_evicted_publisher_continues_where_it_was():
    node = Node(publishers=1)
    node.get(data(1))
    node.get(data(1, publisher=BOB))
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (BOB, 1), (ANN, 2)]


def test_publishers_do_not_wait_for_each_other():
    node = Node()
    node.get(data(3, 2))
    node.get(data(1, publisher=BOB))
    assert node.delivered == [(BOB, 1)]


def test_a_restarted_publisher_does_not_overtake_its_waiting_messages():
    node = Node()
    node.get(data(5))
    node.get(data(7, 6))
    node.get(data(9_000))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(6, 5),)))
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 7)]
    node.wait(SECOND)
    for neighbour in (2, 3, 4):
        node.get(Answer(TOPIC, ANN, (), before=9_000), sender=neighbour)
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 7), (ANN, 9_000)]


def test_the_publishers_clock_does_not_decide_whether_earlier_messages_are_requested():
    for at_us in (0, 9 * SECOND, 10**12):
        node = Node()
        node.get(data(8, 7, at_us=at_us))
        assert asks(node.wait(150 * MS)) == [(2, Ask(TOPIC, ANN, 0, 8, 400 * MS))]
        node.get(Answer(TOPIC, ANN, (), floor=7))
        assert node.delivered == [(ANN, 8)]


def test_messages_before_the_first_of_a_publisher_are_requested_back_to_the_subscription():
    node = Node()
    node.get(data(8, 7))
    asked = asks(node.wait(150 * MS))
    assert asked == [(2, Ask(TOPIC, ANN, 0, 8, 400 * MS))]
    # Message 5 was published before the subscription, message 6 after it.
    node.get(Answer(TOPIC, ANN, (data(6, 5), data(7, 6)), floor=5))
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]
    assert node.facts == []


def test_a_node_that_only_publishes_fills_gaps_and_answers_but_never_delivers():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES),))
    node.get(data(1))
    node.get(data(3, 2))
    assert asks(node.wait(150 * MS))
    node.get(Answer(TOPIC, ANN, (data(2, 1),)))
    send = node.get(Ask(TOPIC, ANN, 0, 9), sender=3)[0]
    assert [message.sequence for message in send.message.messages] == [1, 2, 3]
    assert node.delivered == []


def test_unsubscribing_frees_everything_that_is_kept_of_the_topic():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.give(Unsubscribe(TOPIC))
    assert node.held.history.size_bytes == 0
    assert not node.recovery._topics
    assert not node.recovery._ordering.gaps.counts
    assert node.recovery._ordering.waiting.total == 0
    assert not [a for a in node.wait(10 * SECOND) if type(a) in (Send, Deliver)]


def test_a_message_on_two_topics_is_delivered_once_when_it_is_the_next_on_both():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)))
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(5, 1, also=((OTHER, 4),)))
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.get(data(6, 5))
    node.wait(150 * MS)
    node.get(Answer(OTHER, ANN, (data(4, 2, topic=OTHER),)), sender=4)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 4, 5, 6]
    last = [a for a in node.actions if type(a) is Deliver][3]
    assert (last.topic, last.also) == (TOPIC, (OTHER,))


def test_a_message_on_two_topics_is_delivered_after_the_gap_on_one_of_them_is_given_up():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)), answers=LOOKING)
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(5, 1, also=((OTHER, 4),)))
    node.wait(10 * SECOND)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 5]
    assert node.facts == [Lost(OTHER, ANN, 2, 5)]
    assert not node.recovery._ordering.gaps.counts


def test_a_message_that_is_late_on_one_of_its_topics_does_not_delay_the_other():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)), answers=NOTHING)
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(6, 5))
    node.wait(10 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 1, 6)]
    node.get(data(5, 1, also=((OTHER, 2),)))
    node.get(data(7, 5, topic=OTHER))
    assert [sequence for _, sequence in node.delivered] == [1, 2, 6, 7]
    assert node.facts[1:] == [Late(OTHER, ANN, 5)]


def test_a_message_that_the_validator_ignores_does_not_delay_the_next():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, validates=True),))
    for number, outcome in ((1, Outcome.ACCEPT), (2, Outcome.IGNORE), (3, Outcome.ACCEPT)):
        (validate,) = [a for a in node.get(data(number, number - 1)) if type(a) is Validate]
        node.give(Validated(validate.ticket, outcome))
    assert node.delivered == [(ANN, 1), (ANN, 3)]
    (send,) = node.get(Ask(TOPIC, ANN, 0, 9), sender=3)
    assert [message.sequence for message in send.message.messages] == [1, 3]


def test_a_process_that_did_not_run_for_a_while_asks_before_it_gives_up():
    """The time in which a machine was not given its timers is no evidence that neighbours lack the messages."""
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(150 * MS)
    node.now_us += 20 * SECOND
    assert asks(node.wait(0)) != []
    assert node.facts == []
    node.get(Answer(TOPIC, ANN, (data(2, 1),)), sender=3)
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_the_time_to_give_up_is_the_same_after_a_pause():
    node = Node(answers=LOOKING)
    node.get(data(1))
    node.get(data(3, 2))
    node.now_us += 20 * SECOND
    node.wait(5 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 1, 3)]
