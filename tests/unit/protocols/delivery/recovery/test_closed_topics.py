"""Topics that are closed and opened again in one run: the order of each publisher holds over both subscriptions."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Subscribe, Unsubscribe
from gossamer.protocols.delivery.recovery.messages import Answer, Late, Past
from tests.unit.protocols.delivery.recovery.one_node import ANN, FOLLOWING, MS, NOTHING, SECOND, TOPIC, Node, data


def test_a_topic_that_was_closed_and_opened_again_delivers_nothing_older_than_before():
    node = Node(answers=NOTHING)
    node.get(data(5, 4))
    node.wait(5 * SECOND)
    node.answers = None
    node.get(data(6, 5))
    node.give(Unsubscribe(TOPIC))
    node.give(FOLLOWING[0])
    node.get(data(3, 2))
    assert node.facts[-1] == Late(TOPIC, ANN, 3)
    node.get(data(9, 8))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(4, 3), data(8, 7)), floor=7, floor_age_us=SECOND), sender=2)
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 8), (ANN, 9)]


def test_a_topic_that_is_opened_again_for_its_history_delivers_older_messages():
    node = Node(answers=NOTHING)
    node.get(data(5, 4))
    node.wait(5 * SECOND)
    node.give(Unsubscribe(TOPIC))
    node.give(Subscribe(TOPIC, Role.FOLLOWS, last=5))
    node.get(Past(TOPIC, (data(3, 2), data(4, 3)), False, (1, 1)), sender=2)
    node.wait(5 * SECOND)
    assert node.delivered == [(ANN, 5), (ANN, 3), (ANN, 4)]


def test_the_numbers_of_closed_topics_are_bounded():
    node = Node((), publishers=4)
    for topic in range(100, 130):
        node.give(Subscribe(topic, Role.FOLLOWS))
        for publisher in range(4):
            node.get(data(topic, publisher=publisher + 1_000, topic=topic))
        node.give(Unsubscribe(topic))
    closed = node.recovery._closed
    assert closed.count == sum(len(numbers) for numbers in closed.numbers.values()) == 120
    closed.most = 10
    node.give(Subscribe(131, Role.FOLLOWS))
    node.get(data(5, topic=131))
    node.give(Unsubscribe(131))
    assert closed.count == sum(len(numbers) for numbers in closed.numbers.values()) <= 10
    assert list(closed.numbers)[-1] == 131
