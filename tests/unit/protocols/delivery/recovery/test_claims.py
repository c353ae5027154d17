"""What neighbours claim to have (`Announce`): when a node asks for it, and when it forgets the claim."""

from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer, Ask
from tests.unit.protocols.delivery.recovery.one_node import ANN, LOOKING, MS, SECOND, TOPIC, Node, asks, data


def test_a_claimed_message_is_requested_unless_it_arrives():
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 3, 0),)), sender=4)
    assert not asks(node.wait(550 * MS)), "a tree may mend itself"
    assert asks(node.wait(150 * MS)) == [(4, Ask(TOPIC, ANN, 1, 4))]
    node.get(Answer(TOPIC, ANN, (data(2, 1), data(3, 2))), sender=4)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 3]
    node.get(Announce((MessageRun(TOPIC, ANN, 4, 0),)), sender=4)
    node.get(data(4, 3))
    assert not asks(node.wait(10 * SECOND))


def test_a_claim_that_a_message_confirms_is_requested_sooner():
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 3, 0),)), sender=4)
    node.get(data(3, 2), sender=3)
    assert asks(node.wait(150 * MS)) == [(4, Ask(TOPIC, ANN, 1, 3))]


def test_a_gap_that_a_message_confirms_is_given_its_full_time():
    """The time that the node waited because of the claim alone does not count."""
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 50, 0),)), sender=3)
    for number in range(2, 38):
        node.get(data(number, number - 1))
        node.wait(100 * MS)
    node.get(data(40, 39))
    assert asks(node.wait(150 * MS)) != []
    assert node.facts == []


def test_a_node_that_is_behind_asks_for_nothing_while_messages_arrive():
    """The claims show that more was published; the messages that arrive show that it is under way."""
    node = Node()
    node.get(data(1))
    for second in range(5):
        node.get(Announce((MessageRun(TOPIC, ANN, 100 * second + 100, 0),)), sender=3)
        node.get(data(second + 2, second + 1))
        assert asks(node.wait(node.parameters.tail_after_us)) == []
    assert asks(node.wait(3 * SECOND)) != [], "it asks once no message arrives"


def test_a_claimed_message_that_other_messages_outrun_for_long_is_requested():
    """Messages arrive all the time, but not the last one."""
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 60, 0),)), sender=3)
    requests = []
    for number in range(2, 60):
        node.get(data(number, number - 1))
        requests += asks(node.wait(100 * MS))
    assert requests[0][0] == 3
    assert requests[0][1].before == 61
    node.get(Answer(TOPIC, ANN, (data(60, 59),)), sender=3)
    assert node.delivered[-1] == (ANN, 60)


def test_a_false_claim_is_reported_once_and_forgotten_while_messages_arrive():
    node = Node(answers=LOOKING)
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 2**61, 0),)), sender=3)
    for number in range(2, 200):
        node.get(data(number, number - 1))
        node.wait(100 * MS)
    assert node.delivered[-1] == (ANN, 199)
    assert node.recovery._topics[TOPIC].streams[ANN].claimed == 0
    assert len(node.facts) == 1


def test_a_new_subscriber_asks_for_nothing_published_before():
    node = Node()
    node.get(Announce((MessageRun(TOPIC, ANN, 3, 9_000),)))
    assert not asks(node.wait(10 * SECOND))
    # The message after it makes no gap either.
    node.get(data(4, 3))
    assert node.delivered == [(ANN, 4)]


def test_a_claimed_message_that_no_neighbour_sends_is_reported_once_and_still_delivered_if_it_arrives():
    """The publisher may never publish again, so that no later message shows the gap."""
    node = Node(answers=LOOKING)
    node.get(data(1))
    for _ in range(3):
        node.get(Announce((MessageRun(TOPIC, ANN, 3, 0),)), sender=4)
        node.wait(10 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 1, 4)]
    node.get(data(2, 1))
    node.get(data(3, 2))
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_a_claimed_message_that_another_neighbour_knows_as_older_than_the_subscription_is_not_reported():
    """The neighbour that claims it received it only after this node subscribed."""
    node = Node()
    node.get(Announce((MessageRun(TOPIC, ANN, 3, 0),)), sender=4)
    asked = asks(node.wait(2 * SECOND))
    assert [row[0] for row in asked[:2]] == [4, 2]
    node.get(Answer(TOPIC, ANN, (), 3, floor_age_us=30 * SECOND), sender=2)
    assert not asks(node.wait(10 * SECOND))
    assert node.facts == []
    node.get(data(4, 3))
    assert node.delivered == [(ANN, 4)]
