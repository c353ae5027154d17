"""Late subscribers: asking for the history, and delivering it before new messages."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send, Validate
from gossamer.protocols.contract.events import Outcome, Publish, Subscribe, Validated
from gossamer.protocols.delivery.recovery.messages import Past
from tests.unit.protocols.delivery.recovery.one_node import ANN, BOB, SECOND, TOPIC, Node, data

LATE = Subscribe(TOPIC, Role.FOLLOWS, last=2)


def test_a_late_subscriber_asks_three_neighbours_and_delivers_the_history_before_new_messages():
    node = Node((), publishers=50)
    (send,) = node.give(LATE)
    assert (send.to, send.message.count) == ((2, 3, 4), 2)
    node.get(data(9, 8, at_us=11 * SECOND), sender=3)
    assert node.delivered == []
    node.get(Past(TOPIC, (data(6, 5), data(7, 6)), False, (4, 3)), sender=2)
    node.get(Past(TOPIC, (data(1, publisher=BOB), data(7, 6)), True, (5, 3)), sender=3)
    node.get(Past(TOPIC, (data(8, 7),), False, (2,)), sender=3)
    assert node.delivered == []
    node.get(Past(TOPIC, (), False), sender=4)
    assert node.delivered == [(ANN, 7), (ANN, 8), (ANN, 9)]


def test_a_late_subscriber_waits_for_neighbours_and_for_answers_as_long_as_stated():
    node = Node(())
    node.overlay.topics = {}
    node.give(LATE)
    assert not [a for a in node.wait(5 * SECOND) if type(a) is Send]
    node.overlay.topics = {TOPIC: (2, 3)}
    assert [a.to for a in node.wait(SECOND) if type(a) is Send] == [(2, 3)]
    node.get(Past(TOPIC, (data(6, 5, at_us=6),), False), sender=2)
    assert node.delivered == []
    node.wait(2 * SECOND)
    assert node.delivered == [(ANN, 6)]


def test_a_publisher_that_begins_to_follow_gets_the_history_that_it_keeps_itself():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES),))
    node.give(Publish(TOPIC, b"mine"))
    for number in range(1, 5):
        node.get(data(number, number - 1))
    node.overlay.topics = {TOPIC: (2,)}
    node.give(Subscribe(TOPIC, Role.BOTH, last=2))
    node.get(Past(TOPIC, (data(3, 2), data(4, 3)), False))
    assert node.delivered == [(ANN, 3), (ANN, 4)]


def test_the_history_is_validated_before_it_is_delivered():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, last=5, validates=True),))
    node.overlay.topics = {TOPIC: (2,)}
    node.recovery._topics[TOPIC].catch_up.asked = {2: False}
    actions = node.get(Past(TOPIC, (data(6, 5, at_us=6), data(7, 6, at_us=7)), False))
    first, second = [a.ticket for a in actions if type(a) is Validate]
    node.give(Validated(second, Outcome.ACCEPT))
    assert node.delivered == []
    node.give(Validated(first, Outcome.ACCEPT))
    assert node.delivered == [(ANN, 6), (ANN, 7)]
