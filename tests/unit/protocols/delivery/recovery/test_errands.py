"""Passing on requests for messages from before this node subscribed, after a partition that only this node spans."""

from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.facts import NeighbourDown
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.errands import ERRANDS_MAX
from gossamer.protocols.delivery.recovery.messages import Answer, Ask
from tests.unit.protocols.delivery.recovery.one_node import ANN, BOB, MS, SECOND, TOPIC, Node, asks, data

ASK = Ask(TOPIC, ANN, 2, 9)
FOUND = tuple(data(number, number - 1) for number in range(3, 9))


def newcomer(publisher=ANN, last=8, **settings):
    """A node that learned of a publisher's last message, which is older than its subscription."""
    node = Node(**settings)
    node.get(Announce((MessageRun(TOPIC, publisher, last, 50_000),)), sender=4)
    return node


def answers(actions):
    return [
        (action.to, action.message) for action in actions if type(action) is Send and type(action.message) is Answer
    ]


def test_a_request_for_older_messages_is_passed_on_and_the_answer_is_passed_back():
    node = newcomer()
    actions = node.get(ASK, sender=3)
    assert asks(actions) == [(2, ASK)]
    ((to, answer),) = answers(actions)
    assert (to, answer.messages, answer.more) == ((3,), (), True), "the neighbour should wait"
    found = Answer(TOPIC, ANN, FOUND)
    assert answers(node.get(found, sender=2)) == [((3,), found)]
    assert node.delivered == []


def test_the_next_neighbour_is_asked_if_one_has_nothing_and_the_one_with_messages_first_the_next_time():
    node = newcomer()
    node.get(ASK, sender=3)
    assert asks(node.get(Answer(TOPIC, ANN, ()), sender=2)) == [(4, ASK)]
    assert asks(node.get(Answer(TOPIC, ANN, ()), sender=4)) == []
    rest = Ask(TOPIC, ANN, 5, 9)
    assert answers(node.get(Answer(TOPIC, ANN, FOUND[:3], more=True), sender=4))
    assert asks(node.get(rest, sender=3)) == [(4, rest)]


def test_a_request_that_goes_in_a_circle_ends():
    node = newcomer()
    assert asks(node.get(ASK, sender=3)) == [(2, ASK)]
    assert asks(node.get(ASK, sender=2)) == [(4, ASK)]
    assert asks(node.get(ASK, sender=4)) == []


def test_answers_of_neighbours_that_were_not_asked_and_late_answers_are_not_passed_on():
    node = newcomer()
    node.get(ASK, sender=3)
    assert answers(node.get(Answer(TOPIC, ANN, FOUND), sender=4)) == []
    assert answers(node.get(Answer(TOPIC, BOB, FOUND), sender=2)) == []
    node.wait(5 * SECOND)
    assert answers(node.get(Answer(TOPIC, ANN, FOUND), sender=2)) == []


def test_nothing_is_passed_to_a_neighbour_that_is_gone_or_beyond_its_limit():
    node = newcomer()
    node.get(ASK, sender=3)
    node.machine.teach((NeighbourDown(3),), node.now_us, [])
    assert answers(node.get(Answer(TOPIC, ANN, FOUND), sender=2)) == []
    node = newcomer(answer_bytes=2_000)
    node.get(ASK, sender=3)
    passed = [answers(node.get(Answer(TOPIC, ANN, FOUND), sender=2)) for _ in range(5)]
    assert passed[0]
    assert passed[-1] == []


def test_requests_are_passed_on_only_for_messages_from_before_the_subscription():
    node = Node()
    node.get(data(1))
    assert asks(node.get(Ask(TOPIC, ANN, 1, 9), sender=3)) == []
    late = newcomer(last=8)
    assert asks(late.get(Ask(TOPIC, ANN, 8, 20), sender=3)) == []
    assert asks(late.get(Ask(TOPIC, BOB, 2, 9), sender=3)) == []


def test_errands_are_bounded():
    node = Node(publishers=2 * ERRANDS_MAX)
    publishers = range(1_000, 1_000 + ERRANDS_MAX + 10)
    node.get(Announce(tuple(MessageRun(TOPIC, each, 8, 50_000) for each in publishers[:1_024])), sender=4)
    node.get(Announce(tuple(MessageRun(TOPIC, each, 8, 50_000) for each in publishers[1_024:])), sender=4)
    passed = [asks(node.get(Ask(TOPIC, each, 2, 9), sender=3)) for each in publishers]
    assert sum(map(bool, passed)) == ERRANDS_MAX
    node.wait(4 * SECOND + MS)
    assert asks(node.get(Ask(TOPIC, publishers[-1], 2, 9), sender=3)), "old errands make room"
