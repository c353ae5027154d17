"""Peers that send wrong or excessive messages: everything stays bounded, and other publishers are not delayed."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Validate
from gossamer.protocols.contract.events import Subscribe, TimerFired, Unsubscribe, Validated
from gossamer.protocols.contract.facts import Lost, PeerMisbehaved
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer, Ask, AskHistory, CatchUpDue, GapDue, Past, WelcomeDue
from tests.unit.protocols.delivery.recovery.one_node import (
    ANN,
    BOB,
    LOOKING,
    MS,
    OTHER,
    SECOND,
    TOPIC,
    Node,
    asks,
    assert_bounded,
    data,
)


def test_a_message_that_follows_itself_is_refused():
    node = Node()
    actions = node.get(data(3, 3))
    assert [type(a.fact) for a in actions] == [PeerMisbehaved]
    assert node.held.history.size_bytes == 0


def test_a_huge_previous_number_delays_only_its_own_publisher_and_is_given_up():
    node = Node(answers=LOOKING)
    node.get(data(1))
    node.get(data(2**63 - 1, 2**63 - 2, publisher=BOB), sender=4)
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.wait(10 * SECOND)
    assert node.delivered[2:] == [(BOB, 2**63 - 1)]
    assert node.facts == [Lost(TOPIC, BOB, 0, 2**63 - 1)]


@pytest.mark.parametrize(("payload_bytes", "gaps"), [(500, 64), (0, 20)])
def test_many_false_gaps_stay_bounded_and_an_honest_gap_beside_them_is_filled(payload_bytes, gaps):
    node = Node(answers=LOOKING, publishers=64, gaps=gaps, waiting_bytes=40_000)
    node.get(data(1), sender=3)
    node.get(data(3, 2), sender=3)
    for number in range(3_000):
        node.get(data(9, 8, publisher=1_000 + number, payload=bytes(payload_bytes)), sender=2)
        if number % 100 == 0:
            assert_bounded(node)
            assert node.recovery._ordering.waiting._bytes_by_sender[2] <= 10_000
            assert node.recovery._ordering.gaps.counts[2] <= gaps
    assert (3, Ask(TOPIC, ANN, 1, 3)) in asks(node.wait(150 * MS))
    node.get(Answer(TOPIC, ANN, (data(2, 1),)), sender=3)
    assert [sequence for publisher, sequence in node.delivered if publisher == ANN] == [1, 2, 3]
    node.wait(20 * SECOND)
    assert len(node.delivered) == 3_003, "every message that arrived is delivered"


def test_one_publisher_with_many_gaps_stays_bounded():
    node = Node(waiting=100)
    node.get(data(1))
    for number in range(3, 3_003, 2):
        node.get(data(number, number - 1))
        assert_bounded(node)
    node.wait(1_000 * SECOND)
    assert len(node.delivered) == 1_501
    assert not node.recovery._ordering.gaps.counts


def test_false_claims_cost_requests_and_advance_nothing():
    node = Node(answers=LOOKING, publishers=64, gaps=16)
    node.get(data(1), sender=3)
    for number in range(100):
        tails = tuple(MessageRun(TOPIC, 1_000 + number * 100 + one, 2**60, 0) for one in range(100))
        node.get(Announce(tails))
        node.get(Announce(tuple(MessageRun(TOPIC, tail.publisher, 2**60, 20_000) for tail in tails)))
        assert_bounded(node)
    node.get(Announce((MessageRun(TOPIC, ANN, 2**60, 0),)))
    node.get(data(2, 1), sender=3)
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.wait(30 * SECOND)
    node.get(data(3, 2), sender=3)
    assert node.delivered[2:] == [(ANN, 3)]
    assert len(node.facts) <= 16, "false reports of losses are limited as open gaps are"
    assert not node.recovery._ordering.gaps.counts


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_whatever_peers_send_state_stays_bounded_and_messages_stay_in_order(seed, ordered):
    """Messages are in order while there is room for all eight publishers; each subscription begins a new order."""
    settings = {
        "publishers": 8 if ordered else 5,
        "gaps": 4,
        "waiting": 6,
        "waiting_bytes": 6_000,
        "history": 20,
        "history_bytes": 20_000,
    }
    node = Node(
        (Subscribe(TOPIC, Role.FOLLOWS, last=3), Subscribe(OTHER, Role.BOTH, validates=bool(seed % 2))), **settings
    )
    tickets = []
    for turn in range(400):
        bits = draw(seed, turn, 0, 0)

        def pick(count, place, bits=bits):
            return (bits >> (8 * place)) % 256 % count

        topic = (TOPIC, OTHER)[pick(2, 0)]
        publisher, sender, sequence = 100 + pick(8, 1), 2 + pick(5, 2), 1 + pick(60, 3)
        also = ((OTHER if topic == TOPIC else TOPIC, pick(50, 4)),) if pick(4, 5) == 0 else ()
        message = data(
            sequence, pick(60, 4), publisher, topic, node.now_us - pick(2, 5) * SECOND, bytes(pick(200, 6)), also
        )
        kinds = (
            message,
            message,
            message,
            Answer(topic, publisher, (message,), pick(60, 6), bool(pick(2, 0))),
            Past(topic, (message,), bool(pick(2, 0))),
            Announce((MessageRun(topic, publisher, sequence, 0),)),
            Ask(topic, publisher, pick(60, 4), pick(60, 5), 0),
            AskHistory(topic, pick(30, 5), node.now_us),
        )
        actions = node.get(kinds[pick(8, 7)], sender)
        tickets += [a.ticket for a in actions if type(a) is Validate]
        if tickets and pick(3, 6) == 0:
            node.give(Validated(tickets.pop(pick(len(tickets), 5)), pick(3, 4)))
        if pick(5, 2) == 0:
            node.wait(pick(200, 1) * 5 * MS)
        if pick(40, 7) == 0:
            node.give(Unsubscribe(topic))
            node.actions.append(Unsubscribe(topic))
            node.give(Subscribe(topic, Role.FOLLOWS, last=pick(3, 3)))
        assert_bounded(node)
    node.wait(100 * SECOND)
    assert not any(stream.order for followed in node.recovery._topics.values() for stream in followed.streams.values())
    assert not node.recovery._ordering.gaps.counts
    assert node.recovery._ordering.waiting.total == 0
    assert len(node.delivered) == len(set(node.delivered))
    assert node.delivered
    last = {}
    for action in node.actions if ordered else ():
        if type(action) is Unsubscribe:
            last = {key: value for key, value in last.items() if key[0] != action.topic}
        elif type(action) is Deliver:
            for topic in (action.topic, *action.also):
                assert last.get((topic, action.publisher), 0) < action.sequence
                last[topic, action.publisher] = action.sequence


def test_timers_of_topics_and_publishers_that_are_gone_do_nothing():
    node = Node()
    assert node.give(TimerFired(GapDue(TOPIC, ANN))) == []
    assert node.give(TimerFired(GapDue(OTHER, ANN))) == []
    assert node.give(TimerFired(CatchUpDue(TOPIC))) == []
    assert node.give(TimerFired(WelcomeDue())) == []
