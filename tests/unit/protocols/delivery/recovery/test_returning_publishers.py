"""A publisher that restarted names no previous message: neighbours are asked for what it published before."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Send
from gossamer.protocols.contract.events import Publish, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.contract.messages import Burst
from gossamer.protocols.delivery.announcements import RECEIVER, Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer, Ask
from tests.unit.protocols.delivery.recovery.one_node import ANN, ME, MS, OTHER, SECOND, TOPIC, Node, asks, data

NOTHING = Answer(TOPIC, ANN, (), before=9_000)
LOOKING = Answer(TOPIC, ANN, (), 0, True, before=9_000)
NEIGHBOURS = (2, 3, 4)


def returned():
    """A node that has message 5 of a publisher and then the first message after its restart, 9,000."""
    node = Node()
    node.get(data(5))
    node.get(data(9_000))
    return node


def answers(node):
    return [action.message for action in node if type(action) is Send and type(action.message) is Answer]


def test_all_neighbours_are_asked_for_messages_between_the_last_one_and_the_first_after_a_restart():
    node = returned()
    assert node.delivered == [(ANN, 5)]
    assert asks(node.wait(150 * MS)) == [(*NEIGHBOURS, Ask(TOPIC, ANN, 5, 9_000))]


def test_a_message_that_one_neighbour_has_is_delivered_before_the_first_after_a_restart():
    node = returned()
    node.wait(150 * MS)
    node.get(NOTHING, sender=2)
    node.get(Answer(TOPIC, ANN, (data(6, 5), data(7, 6))), sender=3)
    node.get(NOTHING, sender=4)
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 7)]
    assert asks(node.wait(400 * MS)) == [(3, Ask(TOPIC, ANN, 7, 9_000))]
    node.get(NOTHING, sender=3)
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 7), (ANN, 9_000)]
    assert node.facts == []


def test_the_first_message_after_a_restart_is_delivered_once_every_neighbour_has_nothing_more():
    node = returned()
    node.wait(150 * MS)
    for neighbour in NEIGHBOURS:
        assert node.delivered == [(ANN, 5)]
        node.get(NOTHING, sender=neighbour)
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]
    node.get(data(9_001, 9_000))
    assert node.delivered[-1] == (ANN, 9_001)
    assert not asks(node.wait(10 * SECOND))
    assert node.facts == []


def test_neighbours_that_are_looking_themselves_are_asked_again_for_one_second():
    node = returned()
    node.wait(150 * MS)
    for neighbour in NEIGHBOURS:
        node.get(LOOKING, sender=neighbour)
    node.wait(800 * MS)
    assert node.delivered == [(ANN, 5)]
    node.wait(200 * MS)
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]
    assert node.facts == []


def test_a_possible_loss_is_reported_if_a_neighbour_never_answers():
    node = returned()
    node.wait(150 * MS)
    node.get(NOTHING, sender=2)
    node.get(NOTHING, sender=3)
    node.wait(59 * SECOND)
    assert node.delivered == [(ANN, 5)]
    node.wait(2 * SECOND)
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]
    assert node.facts == [Lost(TOPIC, ANN, 5, 9_000)]


def test_a_neighbour_that_left_is_not_waited_for():
    node = returned()
    node.wait(150 * MS)
    node.get(NOTHING, sender=2)
    node.get(NOTHING, sender=3)
    node.overlay.topics[TOPIC] = (2, 3)
    node.wait(400 * MS)
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]


def test_a_burst_after_a_restart_waits_for_the_answers_too():
    node = Node()
    node.get(data(5))
    for message in Burst(TOPIC, ANN, 9_000, 0, ((1, b"a"), (1, b"b"))).messages:
        node.get(message)
    assert node.delivered == [(ANN, 5)]
    node.wait(150 * MS)
    for neighbour in NEIGHBOURS:
        node.get(NOTHING, sender=neighbour)
    assert node.delivered == [(ANN, 5), (ANN, 9_000), (ANN, 9_001)]


def test_a_message_that_a_neighbour_claims_is_not_skipped_by_the_first_after_a_restart():
    node = Node()
    node.get(Announce((MessageRun(TOPIC, ANN, 5, 0),)))
    node.get(data(9_000))
    assert node.delivered == []
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(5),)), sender=3)
    assert node.delivered == [(ANN, 5)]


def test_a_publisher_known_from_before_the_subscription_is_asked_about_too():
    node = Node()
    node.get(Announce((MessageRun(TOPIC, ANN, 5, 1_000),)))
    node.get(data(9_000))
    assert asks(node.wait(150 * MS)) == [(*NEIGHBOURS, Ask(TOPIC, ANN, 5, 9_000))]


def test_the_first_message_of_an_unknown_publisher_is_delivered_at_once():
    node = Node()
    assert [action.sequence for action in node.get(data(9_000)) if type(action) is Deliver] == [9_000]


def test_a_node_that_has_nothing_says_so():
    node = Node()
    node.get(data(5))
    node.get(data(6, 5))
    assert answers(node.get(Ask(TOPIC, ANN, 5, 6))) == [Answer(TOPIC, ANN, (), before=6)]


def test_a_node_that_has_not_received_the_later_message_says_that_it_is_still_looking():
    node = Node()
    node.get(data(5))
    assert answers(node.get(Ask(TOPIC, ANN, 5, 9_000))) == [LOOKING]


def test_a_node_that_searches_for_the_same_messages_says_that_it_is_still_looking():
    assert answers(returned().get(Ask(TOPIC, ANN, 5, 9_000))) == [LOOKING]


def test_a_node_that_found_messages_sends_them_to_the_neighbours_that_asked_meanwhile():
    node = Node()
    node.get(data(5))
    node.get(data(7, 6))
    node.wait(150 * MS)
    assert answers(node.get(Ask(TOPIC, ANN, 5, 7), sender=4)) == [Answer(TOPIC, ANN, (), more=True, before=7)]
    found = node.get(Answer(TOPIC, ANN, (data(6, 5),)), sender=2)
    sent = [(a.to, a.message) for a in found if type(a) is Send and type(a.message) is Answer]
    assert [(to, [one.sequence for one in answer.messages]) for to, answer in sent] == [((4,), [6])]


def test_a_publisher_that_opens_a_topic_again_names_its_last_message_there_and_late_subscribers_do_not_wait_for_it():
    node = Node((Subscribe(TOPIC, Role.BOTH), Subscribe(OTHER, Role.BOTH)))
    node.give(Publish(TOPIC, b"one"))
    first = node.recovery._own_messages.last_on[TOPIC]
    node.give(Unsubscribe(TOPIC))
    node.wait(SECOND)
    node.give(Subscribe(TOPIC, Role.PUBLISHES))
    node.wait(SECOND)
    sent = [action.message for action in node.give(Publish(TOPIC, b"two")) if type(action) is Send]
    assert sent[0].previous == first
    answer = answers(node.get(Ask(TOPIC, ME, 0, sent[0].sequence, SECOND)))
    assert answer == [Answer(TOPIC, ME, (), first, floor_age_us=2 * SECOND, before=sent[0].sequence)]


def test_a_publisher_that_kept_its_last_number_names_it_after_a_restart():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES, own_last=70, own_last_age_us=5 * SECOND),))
    sent = [action.message for action in node.give(Publish(TOPIC, b"one")) if type(action) is Send]
    assert sent[0].previous == 70
    assert answers(node.get(Ask(TOPIC, ME, 0, sent[0].sequence))) == [
        Answer(TOPIC, ME, (), 70, floor_age_us=5 * SECOND, before=sent[0].sequence)
    ]
    node.give(Unsubscribe(TOPIC))
    node.give(Subscribe(TOPIC, Role.PUBLISHES, own_last=70, own_last_age_us=5 * SECOND))
    again = [action.message for action in node.give(Publish(TOPIC, b"two")) if type(action) is Send]
    assert again[0].previous == sent[0].sequence, "the number of this run is later"


def test_a_message_of_an_earlier_run_that_is_missing_here_is_requested_and_reported():
    node = Node()
    node.get(data(5))
    node.get(data(9_000, 7))
    assert asks(node.wait(150 * MS))[0][1] == Ask(TOPIC, ANN, 5, 9_000)
    node.get(Answer(TOPIC, ANN, (), 7, floor_age_us=60 * SECOND))
    assert node.delivered == [(ANN, 5)], "this node knows the publisher, so the message is missing"
    for neighbour in NEIGHBOURS:
        node.get(LOOKING, sender=neighbour)
    node.wait(10 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 5, 9_000)]
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]


def test_the_age_of_a_message_that_a_neighbour_told_is_passed_on_to_neighbours_that_ask():
    node = Node()
    node.get(data(5))
    node.wait(5 * SECOND)
    node.get(data(9_000, 7))
    node.wait(150 * MS)
    assert answers(node.get(Ask(TOPIC, ANN, 0, 9_000, SECOND), sender=4)) == [
        Answer(TOPIC, ANN, (), 5, True, 5_150 * MS, 9_000)
    ]
    node.get(Answer(TOPIC, ANN, (), 7, floor_age_us=60 * SECOND))
    node.wait(SECOND)
    found = answers(node.get(Ask(TOPIC, ANN, 0, 9_000, SECOND), sender=4))
    assert [(answer.floor, answer.floor_age_us) for answer in found] == [(7, 61 * SECOND)]


def test_a_late_subscriber_waits_for_a_message_that_is_younger_than_its_subscription():
    node = Node()
    node.wait(60 * SECOND)
    node.get(data(9_000, 7))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (), 7, floor_age_us=30 * SECOND))
    assert node.delivered == []
    node.get(Answer(TOPIC, ANN, (), 7, floor_age_us=90 * SECOND))
    assert node.delivered == [(ANN, 9_000)]
    assert node.facts == []


def tails(actions):
    return [
        tail
        for action in actions
        if type(action) is Send and type(action.message) is Announce
        for tail in action.message.runs
    ]


def test_a_publisher_that_returns_tells_its_last_number_before_it_publishes_again():
    """A message that was lost with the publisher is then noticed, also if the publisher stays silent."""
    node = Node((Subscribe(TOPIC, Role.PUBLISHES, own_last=70, own_last_age_us=5 * SECOND),))
    assert tails(node.wait(RECEIVER.due_us))[0] == MessageRun(
        TOPIC, ME, 70, 5_000 + RECEIVER.due_us // MS, relayed=False
    )


def test_a_publisher_that_opens_a_topic_again_tells_its_last_number():
    node = Node((Subscribe(TOPIC, Role.BOTH, own_last=70, own_last_age_us=5 * SECOND),))
    node.give(Publish(TOPIC, b"one"))
    last = node.recovery._own_messages.last_on[TOPIC]
    node.give(Unsubscribe(TOPIC))
    node.wait(10 * SECOND)
    node.give(Subscribe(TOPIC, Role.BOTH, own_last=70, own_last_age_us=15 * SECOND))
    assert tails(node.wait(RECEIVER.due_us))[0] == MessageRun(
        TOPIC, ME, last, 10_000 + RECEIVER.due_us // MS, relayed=False
    )
    assert answers(node.get(Ask(TOPIC, ME, 0, last + 1, 0)))[0].floor == last
    node.give(Unsubscribe(TOPIC))
    node.give(Subscribe(TOPIC, Role.BOTH))
    assert tails(node.wait(RECEIVER.due_us))[0].last == last, "the topic was closed without a new message"
