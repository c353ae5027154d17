"""Answering neighbours that ask, and taking answers only from neighbours that were asked."""

from gossamer.protocols.contract.facts import NeighbourDown, PeerMisbehaved
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer, Ask, AskHistory, Past
from tests.unit.protocols.delivery.recovery.one_node import ANN, BOB, MS, OTHER, SECOND, TOPIC, Node, asks, data


def test_a_long_answer_is_split_into_frames_and_the_rest_is_requested_at_once():
    giver, asker = Node(), Node()
    for number in range(1, 3001):
        giver.get(data(number, number - 1))
    asker.get(data(1))
    asker.get(data(3001, 3000))
    (row,) = asks(asker.wait(150 * MS))
    frames = []
    while row:
        actions = []
        for send in giver.get(row[1]):
            assert len(send.message.messages) <= 256
            actions += asker.get(send.message)
            frames.append(send.message.more)
        row = next(iter(asks(actions)), None)
    assert frames == [False] * 7 + [True] + [False] * 4
    assert [sequence for _, sequence in asker.delivered] == list(range(1, 3002))


def test_frames_of_an_answer_that_arrive_slowly_are_all_taken_and_no_other_neighbour_is_asked():
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 801, 0),)), sender=3)
    (row,) = asks(node.wait(610 * MS))
    asked = []
    for first in range(2, 802, 100):
        asked += asks(node.wait(250 * MS))
        node.get(Answer(TOPIC, ANN, tuple(data(n, n - 1) for n in range(first, first + 100))), sender=row[0])
    assert asked == []
    assert node.delivered[-1] == (ANN, 801)


def test_history_is_answered_by_count_by_time_or_by_both():
    node = Node()
    for number in range(1, 21):
        node.now_us += 1
        node.get(data(number, number - 1, at_us=1_000 - number))
    for ask, first in (
        (AskHistory(TOPIC, 3, 0), 18),
        (AskHistory(TOPIC, 0, 5), 15),
        (AskHistory(TOPIC, 3, 5), 15),
    ):
        (send,) = node.get(ask, sender=3)
        assert [message.sequence for message in send.message.messages] == list(range(first, 21))
        assert list(send.message.ages_us) == [20 - number for number in range(first, 21)]
        assert not send.message.more


def test_a_neighbour_that_asks_endlessly_gets_its_share_and_others_are_answered():
    node = Node(answer_bytes=50_000)
    for number in range(1, 101):
        node.get(data(number, number - 1, payload=bytes(100)))
    sent = [a for _ in range(5_000) for a in node.get(Ask(TOPIC, ANN, 0, 200), sender=2)]
    assert 1 <= len(sent) <= 3
    assert len(node.get(Ask(TOPIC, ANN, 0, 200), sender=3)) == 1
    assert len(node.get(AskHistory(TOPIC, 100, 0), sender=2)) == 0
    node.wait(2 * SECOND)
    assert len(node.get(Ask(TOPIC, ANN, 0, 200), sender=2)) == 1
    node.recovery.learn(NeighbourDown(2), node.now_us, [])
    assert 2 not in node.recovery._answers._spent


def test_a_node_that_is_no_neighbour_on_the_topic_is_not_answered():
    node = Node()
    node.get(data(1))
    assert node.get(Ask(TOPIC, ANN, 0, 9), sender=99) == []
    assert node.get(AskHistory(TOPIC, 5, 0), sender=99) == []
    assert node.get(Ask(OTHER, ANN, 0, 9), sender=4) == []


def test_answers_without_a_request_and_answers_with_other_messages_are_not_taken():
    node = Node()
    node.get(data(1))
    assert node.get(Answer(TOPIC, ANN, (data(2, 1),))) == []
    assert node.get(Past(TOPIC, (data(2, 1),), False)) == []
    node.get(data(4, 3))
    node.wait(150 * MS)
    assert node.get(Answer(TOPIC, ANN, (data(3, 1),)), sender=4) == [], "another neighbour was asked"
    node.get(Answer(TOPIC, ANN, (data(3, 2, publisher=BOB),)))
    node.get(Answer(TOPIC, ANN, (data(3, 2, topic=OTHER),)))
    assert node.delivered == [(ANN, 1)]
    assert [type(fact) for fact in node.facts] == [PeerMisbehaved, PeerMisbehaved]


def test_a_false_floor_skips_no_message():
    node = Node()
    node.get(data(8, 7))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(6, 5),), floor=2**60, floor_age_us=SECOND))
    assert node.delivered == []
    node.wait(300 * MS)
    node.get(Answer(TOPIC, ANN, (data(7, 6),), floor=5, floor_age_us=SECOND), sender=3)
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]
