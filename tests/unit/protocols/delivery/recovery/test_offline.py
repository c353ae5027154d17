"""A node with a history on disk: it keeps messages, answers from the disk, and continues where it was before a restart."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Load, Send, Store
from gossamer.protocols.contract.events import Loaded, Publish, Subscribe
from gossamer.protocols.contract.facts import Lost, NeighbourDown
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.disk_reads import WAITING_MAX
from gossamer.protocols.delivery.recovery.messages import ANSWER_MAX, AgedAnswer, Answer, Ask
from tests.unit.protocols.delivery.recovery.one_node import (
    ANN,
    BOB,
    FOLLOWING,
    ME,
    MS,
    SECOND,
    TOPIC,
    Node,
    asks,
    assert_bounded,
    data,
)

HOUR = 3_600 * SECOND


def resumed(held_us, *positions):
    return (Subscribe(TOPIC, Role.FOLLOWS, held_us=held_us, positions=positions),)


def of(kind, actions):
    return [action for action in actions if type(action) is kind]


def answers(actions):
    return [action.message for action in of(Send, actions) if isinstance(action.message, Answer)]


def numbers(actions):
    return [(each.publisher, each.sequence) for each in of(Deliver, actions)]


def loaded(load, *messages, more=False, at_us=5 * SECOND, floor=(0, 0)):
    return Loaded(load.ticket, load.topic, tuple((at_us, each) for each in messages), more, floor)


def claim(sequence, publisher=ANN, age_ms=0):
    return Announce((MessageRun(TOPIC, publisher, sequence, age_ms),))


# Keeping.


def test_every_message_that_is_kept_for_neighbours_is_stored_with_its_time():
    node = Node(stores=True)
    (store,) = of(Store, node.get(data(1)))
    assert (store.topic, store.messages[0].sequence, store.at_us) == (TOPIC, 1, node.now_us)
    (own,) = of(Store, node.give(Publish(TOPIC, b"mine")))
    assert own.messages[0].publisher == ME


def test_a_node_without_a_disk_states_no_action_of_a_disk():
    node = Node()
    node.get(data(1))
    node.get(Ask(TOPIC, BOB, 0, 9))
    assert not of(Store, node.actions)
    assert not of(Load, node.actions)


def test_a_fetched_message_is_stored_with_the_age_that_its_holder_told():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.get(claim(6))
    node.wait(SECOND)
    (store,) = of(Store, node.get(AgedAnswer(TOPIC, ANN, (data(6, 5),), before=7, ages_us=(60 * SECOND,))))
    assert store.at_us == node.now_us - 60 * SECOND


# Answering.


def test_messages_that_memory_no_longer_has_are_answered_from_the_disk():
    node = Node(stores=True)
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 3, 6)))
    assert (load.topic, load.publisher, load.after, load.before, load.since_us) == (TOPIC, ANN, 3, 6, 0)
    (answer,) = answers(node.give(loaded(load, data(4, 3), data(5, 4))))
    assert [each.sequence for each in answer.messages] == [4, 5]
    assert answer.ages_us == (node.now_us - 5 * SECOND,) * 2
    assert (answer.more, answer.before) == (False, 6)


def test_messages_in_memory_are_answered_without_the_disk():
    node = Node(stores=True)
    node.get(data(4, 3))
    node.get(data(5, 4))
    actions = node.get(Ask(TOPIC, ANN, 3, 6))
    assert not of(Load, actions)
    assert [each.sequence for each in answers(actions)[0].messages] == [4, 5]


def test_a_request_that_begins_before_memory_reads_the_disk_and_adds_what_only_memory_has():
    node = Node(stores=True)
    node.get(data(5, 4))
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 3, 6)))
    (answer,) = answers(node.give(loaded(load, data(4, 3))))
    assert [each.sequence for each in answer.messages] == [4, 5]


def test_a_page_that_is_not_the_last_says_that_there_is_more():
    node = Node(stores=True)
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 0, 9_999)))
    assert load.count == ANSWER_MAX
    (answer,) = answers(node.give(loaded(load, data(1), more=True)))
    assert answer.more


def test_a_request_by_age_is_read_by_the_age_that_this_node_knows():
    node = Node(stores=True)
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 0, 9, age_us=4 * SECOND)))
    assert load.since_us == node.now_us - 4 * SECOND
    (answer,) = answers(node.give(loaded(load, data(5, 4), at_us=load.since_us, floor=(4, load.since_us - SECOND))))
    assert (answer.floor, answer.floor_age_us) == (4, 5 * SECOND)


def test_an_empty_disk_is_answered_with_nothing_more():
    node = Node(stores=True)
    node.get(data(9))
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 3, 6)))
    (answer,) = answers(node.give(loaded(load)))
    assert (answer.messages, answer.more) == ((), False)


# A neighbour cannot make the node read its whole disk at once.


def test_a_neighbour_has_one_read_at_a_time_and_a_bounded_queue():
    node = Node(stores=True)
    actions = [action for publisher in range(1_000, 2_000) for action in node.get(Ask(TOPIC, publisher, 0, 9))]
    assert len(of(Load, actions)) == 1
    assert sum(answer.later for answer in answers(actions)) == 1_000 - 1 - WAITING_MAX
    assert len(of(Load, node.give(loaded(of(Load, actions)[0])))) == 1


def test_reads_for_a_neighbour_stop_at_its_limit_of_bytes_a_second():
    node = Node(stores=True, answer_bytes=100_000)
    load = of(Load, node.get(Ask(TOPIC, ANN, 0, 9_999)))[0]
    node.get(Ask(TOPIC, BOB, 0, 9_999))
    actions = node.give(loaded(load, data(1, payload=bytes(120_000)), more=True))
    assert not of(Load, actions)
    assert [answer.later for answer in answers(actions)] == [False, True]
    (answer,) = answers(node.get(Ask(TOPIC, ANN, 1, 9_999)))
    assert answer.later
    node.wait(SECOND)
    assert of(Load, node.get(Ask(TOPIC, ANN, 1, 9_999)))


def test_a_neighbour_that_only_asks_is_not_answered_any_more():
    node = Node(stores=True, answer_bytes=100_000)
    actions = [action for _ in range(1_000) for action in node.get(Ask(TOPIC, ANN, 0, 9))]
    assert len(of(Load, actions)) == 1
    assert len(answers(actions)) < 200


def test_the_reads_of_one_neighbour_do_not_delay_those_of_another():
    node = Node(stores=True)
    node.get(Ask(TOPIC, ANN, 0, 9))
    assert of(Load, node.get(Ask(TOPIC, ANN, 0, 9), sender=3))


def test_a_request_that_is_repeated_takes_one_place_in_the_queue():
    node = Node(stores=True)
    (load,) = of(Load, node.get(Ask(TOPIC, BOB, 0, 9)))
    for after in range(3):
        node.get(Ask(TOPIC, ANN, after, 9))
    (second,) = of(Load, node.give(loaded(load)))
    assert (second.publisher, second.after) == (ANN, 2)
    assert not of(Load, node.give(loaded(second)))


def test_nothing_is_sent_to_a_neighbour_that_left_while_the_disk_was_read():
    node = Node(stores=True)
    (load,) = of(Load, node.get(Ask(TOPIC, ANN, 0, 9)))
    node.machine.teach((NeighbourDown(2),), node.now_us, [])
    assert not node.give(loaded(load, data(1)))


def test_an_answer_of_the_disk_that_nobody_asked_for_is_ignored():
    assert Node(stores=True).give(Loaded(77, TOPIC, ((0, data(1)),))) == []


@pytest.mark.parametrize("seed", range(8))
def test_whatever_neighbours_ask_and_the_disk_answers_state_stays_bounded_and_order_holds(seed):
    limits = {"publishers": 4, "waiting": 8, "waiting_bytes": 6_000, "history": 20, "history_bytes": 20_000}
    node = Node(resumed(HOUR, *((100 + place, place, 5, 0) for place in range(6))), stores=True, **limits)
    loads = []
    for turn in range(300):
        bits = draw(seed, turn, 0, 0)
        publisher, sequence, sender = 100 + bits % 8, 1 + (bits >> 8) % 60, 2 + (bits >> 16) % 4
        message = data(sequence, (bits >> 24) % sequence, publisher, payload=bytes((bits >> 32) % 200))
        ask = Ask(TOPIC, publisher, sequence, sequence + (bits >> 40) % 60, (bits >> 48) % 2 * SECOND)
        answer = AgedAnswer(
            TOPIC, publisher, (message,), more=bool(bits & 1), later=bool(bits & 2), ages_us=(-5, 10**9)[: bits & 3]
        )
        actions = node.get((message, message, ask, answer, claim(sequence, publisher))[(bits >> 56) % 5], sender)
        loads += of(Load, actions)
        if loads and bits % 3 == 0:
            loads += of(Load, node.give(loaded(loads.pop((bits >> 8) % len(loads)), message, more=bool(bits & 4))))
        node.wait((bits >> 20) % 300 * MS)
        assert_bounded(node)
        disk = node.recovery._disk
        # One read for each of the neighbours and one for the node itself.
        assert len(disk._reading) <= 5
        assert all(len(waiting) <= WAITING_MAX for waiting in disk._waiting.values())
    for publisher in range(100, 108):
        delivered = [number for name, number in node.delivered if name == publisher]
        assert len(delivered) == len(set(delivered))


# Returning.


def test_a_returning_node_asks_for_everything_behind_the_last_message_that_its_application_got():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.get(claim(900))
    assert asks(node.wait(600 * MS)) == [(2, Ask(TOPIC, ANN, 5, 901))]


def test_a_returning_node_asks_for_a_new_publishers_messages_by_the_time_since_it_subscribed():
    node = Node(resumed(HOUR), stores=True)
    node.get(claim(900, age_ms=60_000))
    ((_, ask),) = asks(node.wait(600 * MS))
    assert ask == Ask(TOPIC, ANN, 0, 901, HOUR + 600 * MS + 300 * MS)


def test_a_new_node_does_not_ask_for_messages_from_before_its_subscription():
    node = Node(stores=True)
    node.get(claim(900, age_ms=60_000))
    assert not asks(node.wait(10 * SECOND))


def test_pages_follow_each_other_until_everything_is_delivered():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.get(claim(8))
    node.wait(SECOND)
    again = node.get(Answer(TOPIC, ANN, (data(6, 5),), more=True, before=9))
    assert asks(again) == [(2, Ask(TOPIC, ANN, 6, 9))]
    node.get(Answer(TOPIC, ANN, (data(7, 6), data(8, 7)), before=9))
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]
    assert not asks(node.wait(100 * SECOND))


def test_a_message_that_the_application_got_before_the_restart_is_not_delivered_again():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.get(data(5, 4))
    node.get(data(6, 5))
    assert node.delivered == [(ANN, 6)]


def test_what_the_own_disk_has_is_delivered_first_and_in_pages():
    node = Node((), stores=True)
    (load,) = of(Load, node.give(*resumed(HOUR, (ANN, 5, 8, SECOND))))
    assert (load.after, load.before) == (5, 9)
    (second,) = of(Load, node.give(loaded(load, data(6, 5), more=True)))
    assert second.after == 6
    node.give(loaded(second, data(7, 6), data(8, 7)))
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]
    assert not of(Store, node.actions)


def test_every_publisher_with_unread_messages_is_read_from_the_own_disk():
    node = Node((), stores=True)
    count = 2 * WAITING_MAX
    positions = tuple((1_000 + place, 1, 2, 0) for place in range(count))
    loads = of(Load, node.give(*resumed(HOUR, *positions)))
    for load in loads:
        loads += of(Load, node.give(loaded(load, data(2, 1, publisher=load.publisher))))
    assert len(node.delivered) == count


def test_a_message_that_both_the_own_disk_and_a_neighbour_have_is_delivered_once():
    node = Node((), stores=True)
    (load,) = of(Load, node.give(*resumed(HOUR, (ANN, 5, 6, 0))))
    node.get(data(7, 6))
    node.wait(SECOND)
    node.get(Answer(TOPIC, ANN, (data(6, 5),), before=7))
    node.give(loaded(load, data(6, 5)))
    assert node.delivered == [(ANN, 6), (ANN, 7)]


def test_a_node_that_only_relays_the_topic_announces_what_is_on_its_disk_and_delivers_nothing():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES, positions=((ANN, 0, 8, SECOND),)),), stores=True)
    assert not of(Load, node.actions)
    stream = node.recovery._ordering.stream(TOPIC, ANN)
    assert (stream.last, stream.delivered, stream.last_us) == (8, 8, node.now_us - SECOND)


def test_a_publisher_that_then_follows_its_topic_gets_what_it_relayed_meanwhile():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES),), stores=True)
    node.get(data(6, 5))
    both = Role.PUBLISHES | Role.FOLLOWS
    (load,) = of(Load, node.give(Subscribe(TOPIC, both, held_us=HOUR, positions=((ANN, 5, 6, 0),))))
    node.give(loaded(load, data(6, 5)))
    assert node.delivered == [(ANN, 6)]


def test_older_messages_that_nobody_has_any_more_are_reported_and_the_later_ones_delivered():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.wait(10 * SECOND)
    node.get(claim(502))
    node.wait(SECOND)
    node.get(Answer(TOPIC, ANN, (data(500, 499),), more=True, before=503))
    for sender in (2, 3, 4):
        node.wait(SECOND)
        node.get(Answer(TOPIC, ANN, (), before=500), sender=sender)
    assert Lost(TOPIC, ANN, 5, 500) in node.facts
    assert node.delivered == [(ANN, 500)]
    # The messages behind the first page are still asked for.
    assert Ask(TOPIC, ANN, 500, 503) in [ask for _, ask in asks(node.wait(2 * SECOND))]


def test_a_neighbour_that_promises_to_read_its_disk_is_waited_for_longer_than_one_that_does_not_help():
    def delivered_after_nine_seconds(later):
        node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
        node.wait(10 * SECOND)
        node.get(data(7, 6))
        for _ in range(18):
            node.wait(500 * MS)
            for sender in (2, 3, 4):
                node.get(AgedAnswer(TOPIC, ANN, (), more=True, before=7, later=later), sender=sender)
        return node.delivered

    assert delivered_after_nine_seconds(later=False) == [(ANN, 7)]
    assert delivered_after_nine_seconds(later=True) == []


def test_a_neighbour_that_promises_for_ever_delays_the_report_of_a_loss_by_a_minute():
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True)
    node.get(data(7, 6))
    for _ in range(130):
        node.wait(500 * MS)
        for sender in (2, 3, 4):
            node.get(AgedAnswer(TOPIC, ANN, (), more=True, before=7, later=True), sender=sender)
    assert node.delivered == [(ANN, 7)]
    assert Lost(TOPIC, ANN, 5, 7) in node.facts


@pytest.mark.parametrize("limit", [{"waiting": 4}, {"waiting_bytes": 4_000}], ids=["count", "bytes"])
def test_new_messages_that_find_no_room_behind_a_backlog_are_fetched_again_and_none_is_lost(limit):
    node = Node(resumed(HOUR, (ANN, 5, 0, 0)), stores=True, **limit)
    for number in range(100, 140):
        node.get(data(number, number - 1))
    assert not node.delivered
    assert Lost not in map(type, node.facts)
    while (missing := max([5, *(number for _, number in node.delivered)])) < 139:
        found = [ask for _, ask in asks(node.wait(SECOND))]
        assert found, missing
        last = min(found[-1].before, found[-1].after + 20)
        page = tuple(data(number, number - 1) for number in range(found[-1].after + 1, last))
        node.get(Answer(TOPIC, ANN, page, last < found[-1].before, before=found[-1].before))
    assert node.delivered == [(ANN, number) for number in range(6, 140)]
    assert Lost not in map(type, node.facts)


def test_without_a_backlog_a_full_waiting_room_still_gives_the_gap_up():
    node = Node(stores=True, waiting=4)
    node.get(data(1))
    for number in range(100, 140):
        node.get(data(number, number - 1))
    assert Lost(TOPIC, ANN, 1, 100) in node.facts


def test_a_subscription_of_a_running_node_is_as_before():
    node = Node(FOLLOWING, stores=True)
    node.get(data(1))
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (ANN, 2)]
