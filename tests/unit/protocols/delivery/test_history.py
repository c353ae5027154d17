"""The bounded history of messages."""

import pytest

from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.history import EACH_BYTES, PAGE_MAX, History

ONE, TWO = 7, 8


def kept(history, topic):
    return [data.sequence for _, data in history.between(topic, 9, 0, 2**60)]


@pytest.mark.parametrize("per_topic", [1, 7, 64, 300])
def test_history_keeps_nearly_as_many_messages_of_a_topic_as_its_limit_and_never_more(per_topic):
    history = History(per_topic)
    for number in range(1, 1_001):
        history.put(ONE, [Data(ONE, 9, number, 0, 0, b"")], 0)
        assert history.count(ONE) <= per_topic
    assert history.count(ONE) > per_topic * 3 // 4 - 1
    assert kept(history, ONE) == list(range(1_001 - history.count(ONE), 1_001)), "the last ones"
    assert history.size_bytes == EACH_BYTES * history.count(ONE)


def test_history_never_exceeds_its_bytes_and_drops_the_oldest_messages_first():
    history = History(1_024, bytes_max=100_000)
    for number in range(1, 2_001):
        history.put(number % 10, [Data(number % 10, 9, number, 0, 0, bytes(300))], 0)
        assert history.size_bytes <= 100_000
    assert history.size_bytes == sum(history.count(topic) for topic in range(10)) * (EACH_BYTES + 300)
    newest = [topic for topic in range(10) if kept(history, topic)]
    assert all(kept(history, topic)[-1] > 1_990 for topic in newest)
    assert len(newest) >= 1


def test_dropped_topics_leave_nothing_behind():
    history = History()
    for turn in range(3_000):
        history.put(turn % 7, [Data(turn % 7, 9, turn, 0, 0, b"x")], 0)
        if turn % 5 == 0:
            history.drop(turn % 7)
    for topic in range(7):
        history.drop(topic)
    assert history.size_bytes == 0
    assert history._used == 0
    assert len(history._pages) <= 2 * PAGE_MAX


def test_messages_are_found_by_name_by_number_and_by_time_whatever_order_they_arrived_in():
    history = History()
    for number in (3, 1, 2, 5):
        history.put(ONE, [Data(ONE, 9, number, 0, 0, b"")], 100 - number)
    history.put(ONE, [Data(ONE, 8, 4, 0, 0, b"")], 0)
    assert [data.sequence for _, data in history.between(ONE, 9, 1, 5)] == [2, 3]
    assert [data.sequence for data in history.named(ONE, {(9, 5), (8, 4), (9, 9)})] == [5, 4]
    assert [data.sequence for _, data in history.latest(ONE, 2, 2**60)] == [2, 1]
    assert history.named(TWO, {(9, 5)}) == []
