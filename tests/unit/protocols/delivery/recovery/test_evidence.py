"""When missing messages are given up: on the neighbours' answers, never because this node or a neighbour is slow."""

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send, Validate
from gossamer.protocols.contract.events import Outcome, Subscribe, Validated
from gossamer.protocols.contract.facts import Lost, NeighbourDown, NeighbourUp
from gossamer.protocols.delivery.recovery.messages import Answer, Ask
from tests.unit.protocols.delivery.recovery.one_node import (
    ANN,
    BOB,
    LOOKING,
    MS,
    NOTHING,
    SECOND,
    TOPIC,
    Node,
    asks,
    data,
)

LOST = Lost(TOPIC, ANN, 1, 3)


def gap(answered=(), answers=None):
    """A node that misses message 2, and has asked its neighbours 2, 3 and 4; some have answered that they have nothing."""
    node = Node(answers=answers)
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(SECOND)
    for neighbour in answered:
        node.get(Answer(TOPIC, ANN, (), before=3), sender=neighbour)
    return node


def test_missing_messages_are_given_up_when_the_last_neighbour_has_nothing():
    node = gap(answered=(2, 3))
    assert node.facts == []
    node.get(Answer(TOPIC, ANN, (), before=3), sender=4)
    assert node.facts == [LOST]
    assert node.delivered == [(ANN, 1), (ANN, 3)]


def test_a_silent_neighbour_is_waited_for_while_it_is_connected():
    node = gap(answered=(2, 3))
    node.wait(50 * SECOND)
    assert node.facts == []
    node.get(Answer(TOPIC, ANN, (data(2, 1),), before=3), sender=4)
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_a_silent_neighbour_is_waited_for_for_a_minute_at_most():
    node = gap(answered=(2, 3))
    node.wait(58 * SECOND)
    assert node.facts == []
    node.wait(2 * SECOND)
    assert node.facts == [LOST]


def test_a_silent_neighbour_that_goes_is_not_waited_for():
    node = gap(answered=(2, 3))
    node.wait(3 * SECOND)
    node.overlay.topics[TOPIC] = (2, 3)
    node.wait(300 * MS)
    assert node.facts == [LOST]


def test_a_neighbour_that_sends_other_messages_and_does_not_answer_is_waited_for_four_seconds():
    """It shows that it runs. Whatever it withholds, it delays a publisher by no more than before."""
    node = gap(answered=(2, 3))
    for number in range(1, 100):
        node.get(data(number, number - 1, publisher=BOB), sender=4)
        node.wait(100 * MS)
        if node.facts:
            break
    assert node.facts == [LOST]
    assert 35 <= number <= 45


def miss_another(node, number):
    """The message before this one is missing too, and the neighbours 2 and 3 have nothing."""
    node.get(data(number, number - 1))
    node.wait(SECOND)
    for neighbour in (2, 3):
        node.get(Answer(TOPIC, ANN, (), before=number), sender=neighbour)


def test_a_neighbour_that_left_a_request_unanswered_delays_no_further_gap_until_it_answers():
    node = gap(answered=(2, 3))
    node.wait(60 * SECOND)
    assert node.facts == [LOST]
    miss_another(node, 5)
    assert node.delivered[-1] == (ANN, 5)
    node.get(Answer(TOPIC, ANN, (), before=3), sender=4)
    miss_another(node, 7)
    node.wait(30 * SECOND)
    assert node.delivered[-1] == (ANN, 5), "it is slow, and may have the message"
    node.get(Answer(TOPIC, ANN, (data(6, 5),), before=7), sender=4)
    assert node.delivered[-1] == (ANN, 7)


def test_neighbours_that_are_looking_too_are_waited_for_four_seconds():
    node = gap(answers=LOOKING)
    node.wait(2_900 * MS)
    assert node.facts == []
    node.wait(400 * MS)
    assert node.facts == [LOST]


def test_time_by_which_timers_are_late_does_not_count():
    """A process without CPU handles each timer seconds late, and the answers behind it too."""
    node = gap(answers=LOOKING)
    for _ in range(8):
        node.now_us += 5 * SECOND
        node.wait(0)
    assert node.facts == []
    node.get(Answer(TOPIC, ANN, (data(2, 1),), before=3), sender=4)
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_an_answer_to_an_earlier_request_does_not_end_a_later_wait():
    node = gap()
    node.get(data(2, 1))
    node.get(data(6, 5))
    node.wait(SECOND)
    for neighbour in (2, 3, 4):
        node.get(Answer(TOPIC, ANN, (), before=3), sender=neighbour)
    assert node.facts == []
    for neighbour in (2, 3, 4):
        node.get(Answer(TOPIC, ANN, (), before=6), sender=neighbour)
    assert node.facts == [Lost(TOPIC, ANN, 3, 6)]


def test_neighbours_that_had_nothing_of_one_gap_are_asked_about_the_next():
    node = gap(answered=(2, 3))
    node.get(data(6, 5))
    node.get(data(2, 1))
    node.overlay.topics[TOPIC] = (2, 3)
    assert {row[0] for row in asks(node.wait(SECOND))} == {2, 3}
    assert node.facts == []


def test_answers_of_nodes_that_do_not_repeat_the_request_give_nothing_up_at_once():
    node = gap()
    for neighbour in (2, 3, 4):
        node.get(Answer(TOPIC, ANN, ()), sender=neighbour)
    assert node.facts == []


@pytest.mark.parametrize("change", [NeighbourUp(9), NeighbourDown(9)])
def test_while_neighbours_come_and_go_others_are_waited_for(change):
    """After a partition the neighbour that has the messages may be the last to come back."""
    node = Node(answers=NOTHING)
    node.machine.teach((change,), node.now_us, [])
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(3 * SECOND)
    assert node.facts == []
    node.overlay.topics[TOPIC] = (2, 3, 4, 5)
    assert asks(node.wait(400 * MS)) == [(5, Ask(TOPIC, ANN, 1, 3))]
    node.wait(SECOND)
    assert node.facts == [LOST]


def test_a_node_without_neighbours_waits_a_while_for_one():
    node = gap()
    node.overlay.topics[TOPIC] = ()
    node.wait(2_900 * MS)
    assert node.facts == []
    node.wait(400 * MS)
    assert node.facts == [LOST]


def test_a_neighbour_that_does_not_answer_is_asked_less_and_less_often():
    node = gap()
    asked = [row[0] for row in asks(node.wait(58 * SECOND))]
    assert max(asked.count(neighbour) for neighbour in (2, 3, 4)) <= 8


def test_an_answer_that_helps_begins_the_wait_anew():
    """Neighbours that look for the messages too wait for the same neighbour, which sends them slowly."""
    node = Node()
    node.get(data(1))
    node.get(data(30, 29))
    for number in range(2, 20):
        node.wait(900 * MS)
        for neighbour in (2, 3):
            node.get(Answer(TOPIC, ANN, (), more=True, before=30), sender=neighbour)
        node.get(Answer(TOPIC, ANN, (data(number, number - 1),), more=True, before=30), sender=4)
    assert node.facts == []
    assert len(node.delivered) == 19


def test_a_node_whose_validator_has_not_judged_the_messages_says_that_it_is_still_looking():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, validates=True),))
    tickets = [a.ticket for n in (1, 2, 3) for a in node.get(data(n, n - 1)) if type(a) is Validate]
    (said,) = [a.message for a in node.get(Ask(TOPIC, ANN, 1, 3), sender=3) if type(a) is Send]
    assert said == Answer(TOPIC, ANN, (), more=True, before=3)
    for ticket in tickets:
        node.give(Validated(ticket, Outcome.ACCEPT))
    (said,) = [a.message for a in node.get(Ask(TOPIC, ANN, 1, 3), sender=3) if type(a) is Send]
    assert [message.sequence for message in said.messages] == [2]


def test_a_node_that_has_passed_the_messages_says_so_also_while_it_misses_later_ones():
    node = Node()
    node.get(data(5, 0))
    node.get(data(9, 8))
    (said,) = [a.message for a in node.get(Ask(TOPIC, ANN, 3, 5), sender=3) if type(a) is Send]
    assert said == Answer(TOPIC, ANN, (), before=5)
