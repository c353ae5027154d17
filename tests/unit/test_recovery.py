"""Recovery above a flood, handler by handler: order, gaps, tails, the past, and peers that mean ill."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Deliver,
    Observe,
    Send,
    SetTimer,
    Validate,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    Outcome,
    Publish,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import (
    Lost,
    NeighbourDown,
    NeighbourUp,
    PeerMisbehaved,
)
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.held import Held
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import (
    Answer,
    Ask,
    AskHistory,
    CatchUpDue,
    GapDue,
    Have,
    HaveDue,
    Late,
    Past,
    RecoveryParameters,
    Tail,
)
from gossamer.protocols.dissemination.flood import Flood

ME, TOPIC, OTHER = 1, 7, 8
MS, SECOND = 1_000, 1_000_000
# Publishers far away, and neighbours.
ANN, BOB = 100, 200
FOLLOWING = (Subscribe(TOPIC, Role.FOLLOWS),)


class Fixed:
    """An overlay that stands still."""

    def __init__(self, **topics):
        self.topics = {TOPIC: (2, 3, 4), OTHER: (4, 5)}

    def neighbours_on(self, topic):
        return self.topics.get(topic, ())


class Node:
    """A machine with recovery and its timers; `wait` lets time pass."""

    def __init__(self, subscribe=FOLLOWING, discloses=True, **settings):
        self.parameters = RecoveryParameters(**settings)
        history = History(self.parameters.history, self.parameters.history_bytes)
        self.held = Held(ME, history=history, recovers=True, discloses=discloses)
        self.overlay = Fixed()
        self.recovery = Recovery(self.parameters, self.overlay, self.held, ME)
        self.machine = NodeMachine((Flood(self.overlay, ME, self.held), self.recovery))
        self.now_us, self.timers, self.actions = 10 * SECOND, [], []
        for event in subscribe:
            self.give(event)

    def give(self, event):
        """Hand an event over; returns what came of it, but timers."""
        actions = list(self.machine.handle(event, self.now_us))
        self.timers += [(a.at_us, n, a.timer) for n, a in enumerate(actions, len(self.timers)) if type(a) is SetTimer]
        self.actions += actions
        return [action for action in actions if type(action) is not SetTimer]

    def get(self, message, sender=2):
        return self.give(MessageReceived(sender, message))

    def wait(self, time_us):
        """Fire what falls due; returns all that came of it."""
        end_us, seen = self.now_us + time_us, []
        while due := [timer for timer in self.timers if timer[0] <= end_us]:
            first = min(due, key=lambda timer: timer[:2])
            self.timers.remove(first)
            self.now_us = max(self.now_us, first[0])
            seen += self.give(TimerFired(first[2]))
        self.now_us = end_us
        return seen

    @property
    def delivered(self):
        return [(a.publisher, a.sequence) for a in self.actions if type(a) is Deliver]

    @property
    def facts(self):
        return [action.fact for action in self.actions if type(action) is Observe]


def data(sequence, previous=0, publisher=ANN, topic=TOPIC, at_us=20 * SECOND, payload=b"x", also=()):
    return Data(topic, publisher, sequence, 0, at_us, payload, previous, also)


def asks(actions):
    return [(*action.to, action.message) for action in actions if type(action) is Send and type(action.message) is Ask]


# Order and gaps.


def test_a_message_that_overtook_another_waits_for_it_and_nobody_is_asked():
    node = Node()
    node.get(data(1))
    assert not [a for a in node.get(data(3, 2)) if type(a) is Deliver]
    node.wait(50 * MS)
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]
    assert not asks(node.wait(10 * SECOND))


def test_a_gap_is_asked_for_first_from_who_sent_what_follows_then_from_the_others():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2), sender=3)
    asked = asks(node.wait(SECOND))
    assert [row[0] for row in asked] == [3, 2, 4, 3]
    assert asked[0][1] == Ask(TOPIC, ANN, 1, 3)


def test_the_answer_is_delivered_before_what_waited_and_the_asking_ends():
    node = Node()
    node.get(data(1))
    node.get(data(4, 3))
    node.wait(150 * MS)
    actions = node.get(Answer(TOPIC, ANN, (data(2, 1), data(3, 2))))
    assert [a.sequence for a in actions if type(a) is Deliver] == [2, 3, 4]
    assert not [a for a in actions if type(a) is Send], "what was asked for is not relayed"
    assert not asks(node.wait(10 * SECOND))
    assert node.facts == []


def test_what_was_answered_and_comes_again_over_the_tree_is_not_delivered_twice():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(2, 1),)))
    node.get(data(2, 1), sender=4)
    assert node.delivered == [(ANN, 1), (ANN, 2), (ANN, 3)]


def test_a_gap_that_nobody_fills_is_said_to_be_lost_and_a_late_copy_is_dropped_and_said_so():
    node = Node()
    node.get(data(1))
    node.get(data(4, 3))
    node.wait(3_900 * MS)
    assert node.delivered == [(ANN, 1)]
    node.wait(SECOND)
    assert node.delivered == [(ANN, 1), (ANN, 4)]
    assert node.facts == [Lost(TOPIC, ANN, 1, 4)]
    node.get(data(3, 2))
    assert node.facts[1:] == [Late(TOPIC, ANN, 3)]
    assert node.delivered == [(ANN, 1), (ANN, 4)]
    assert not node.recovery._ordering.gaps.counts


def test_behind_a_gap_where_much_comes_fast_nobody_waits_before_asking():
    node = Node(waiting=80)
    node.get(data(1))
    actions = [action for number in range(3, 20) for action in node.get(data(number, number - 1))]
    assert asks(actions) == [(2, Ask(TOPIC, ANN, 1, 3))]


def test_each_gap_has_its_own_time():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.get(data(6, 5))
    node.wait(3 * SECOND)
    node.get(data(2, 1))
    assert [sequence for _, sequence in node.delivered] == [1, 2, 3]
    node.wait(3 * SECOND)
    assert node.facts == []
    node.wait(2 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 3, 6)]


def test_a_publisher_that_was_crowded_out_goes_on_where_it_was():
    node = Node(publishers=1)
    node.get(data(1))
    node.get(data(1, publisher=BOB))
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (BOB, 1), (ANN, 2)]


def test_publishers_do_not_wait_for_each_other():
    node = Node()
    node.get(data(3, 2))
    node.get(data(1, publisher=BOB))
    assert node.delivered == [(BOB, 1)]


def test_a_publisher_that_was_gone_and_is_back_makes_no_gap():
    node = Node()
    node.get(data(5))
    node.get(data(9_000))
    assert node.delivered == [(ANN, 5), (ANN, 9_000)]


def test_a_publisher_that_is_back_does_not_overtake_what_still_waits_of_its_life_before():
    node = Node()
    node.get(data(5))
    node.get(data(7, 6))
    node.get(data(9_000))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(6, 5),)))
    assert node.delivered == [(ANN, 5), (ANN, 6), (ANN, 7), (ANN, 9_000)]


def test_a_publisher_first_heard_of_with_a_message_from_before_is_delivered_at_once():
    node = Node()
    node.get(data(8, 7, at_us=9 * SECOND))
    assert node.delivered == [(ANN, 8)]


def test_a_publisher_first_heard_of_in_the_middle_is_asked_about_since_the_subscription():
    node = Node()
    node.get(data(8, 7))
    asked = asks(node.wait(150 * MS))
    assert asked == [(2, Ask(TOPIC, ANN, 0, 8, 10 * SECOND))]
    # 5 was published before; 6 was not.
    node.get(Answer(TOPIC, ANN, (data(6, 5), data(7, 6)), floor=5))
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]
    assert node.facts == []


def test_an_answer_is_cut_to_frames_and_the_rest_is_asked_for_at_once():
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


def test_who_is_behind_and_gets_on_asks_nobody():
    """A neighbour's word says that there is more; what comes shows that it is on its way."""
    node = Node()
    node.get(data(1))
    for second in range(5):
        node.get(Have((Tail(TOPIC, ANN, 100 * second + 100, 0),)), sender=3)
        node.get(data(second + 2, second + 1))
        assert asks(node.wait(SECOND)) == []
    assert asks(node.wait(3 * SECOND)) != [], "it does once nothing comes"


def test_a_false_word_of_a_neighbour_is_forgotten_while_messages_flow():
    node = Node()
    node.get(data(1))
    node.get(Have((Tail(TOPIC, ANN, 2**61, 0),)), sender=3)
    for number in range(2, 80):
        node.get(data(number, number - 1))
        assert asks(node.wait(100 * MS)) == []
    assert node.delivered[-1] == (ANN, 79)
    assert node.recovery._topics[TOPIC].streams[ANN].claimed == 0


def test_frames_of_an_answer_that_come_slowly_are_all_taken_and_nobody_else_is_asked():
    node = Node()
    node.get(data(1))
    node.get(Have((Tail(TOPIC, ANN, 801, 0),)), sender=3)
    (row,) = asks(node.wait(1_010 * MS))
    asked = []
    for first in range(2, 802, 100):
        asked += asks(node.wait(250 * MS))
        node.get(Answer(TOPIC, ANN, tuple(data(n, n - 1) for n in range(first, first + 100))), sender=row[0])
    assert asked == []
    assert node.delivered[-1] == (ANN, 801)


def test_a_word_that_a_message_bears_out_is_asked_for_in_full_time():
    """However long a neighbour's word had been waited for: the gap that shows is a new one."""
    node = Node()
    node.get(data(1))
    node.get(Have((Tail(TOPIC, ANN, 50, 0),)), sender=3)
    for number in range(2, 38):
        node.get(data(number, number - 1))
        node.wait(100 * MS)
    node.get(data(40, 39))
    assert asks(node.wait(150 * MS)) != []
    assert node.facts == []


def test_a_node_that_only_publishes_keeps_and_answers_and_mends_but_never_delivers():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES),))
    node.get(data(1))
    node.get(data(3, 2))
    assert asks(node.wait(150 * MS))
    node.get(Answer(TOPIC, ANN, (data(2, 1),)))
    (send,) = node.get(Ask(TOPIC, ANN, 0, 9), sender=3)
    assert [message.sequence for message in send.message.messages] == [1, 2, 3]
    assert node.delivered == []


def test_letting_go_of_a_topic_frees_all_that_is_kept_of_it():
    node = Node()
    node.get(data(1))
    node.get(data(3, 2))
    node.give(Unsubscribe(TOPIC))
    assert node.held.history.size_bytes == 0
    assert not node.recovery._topics
    assert not node.recovery._ordering.gaps.counts
    assert node.recovery._ordering.waiting.total == 0
    assert not [a for a in node.wait(10 * SECOND) if type(a) in (Send, Deliver)]


# Several topics.


def test_a_message_of_two_topics_is_delivered_once_when_it_is_next_in_both():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)))
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(5, 1, also=((OTHER, 4),)))
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.get(data(6, 5))
    node.wait(150 * MS)
    node.get(Answer(OTHER, ANN, (data(4, 2, topic=OTHER),)), sender=4)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 4, 5, 6]
    last = [a for a in node.actions if type(a) is Deliver][3]
    assert (last.topic, last.also) == (TOPIC, (OTHER,))


def test_a_message_of_two_topics_behind_a_gap_in_one_that_nobody_fills_is_delivered_in_the_end():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)))
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(5, 1, also=((OTHER, 4),)))
    node.wait(10 * SECOND)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 5]
    assert node.facts == [Lost(OTHER, ANN, 2, 5)]
    assert not node.recovery._ordering.gaps.counts


def test_a_message_of_two_topics_that_is_late_in_one_holds_nobody_up_in_the_other():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS), Subscribe(OTHER, Role.FOLLOWS)))
    node.get(data(1))
    node.get(data(2, topic=OTHER))
    node.get(data(6, 5))
    node.wait(10 * SECOND)
    assert node.facts == [Lost(TOPIC, ANN, 1, 6)]
    node.get(data(5, 1, also=((OTHER, 2),)))
    node.get(data(7, 5, topic=OTHER))
    assert [sequence for _, sequence in node.delivered] == [1, 2, 6, 7]
    assert node.facts[1:] == [Late(OTHER, ANN, 5)]


# Tails.


def test_neighbours_are_told_of_the_last_message_a_few_times_and_then_no_more():
    node = Node((Subscribe(TOPIC, Role.BOTH), Subscribe(OTHER, Role.BOTH)))
    node.get(data(1))
    node.get(data(2, 1))
    node.give(Publish(OTHER, b"y"))
    told = [a for a in node.wait(30 * SECOND) if type(a) is Send]
    mine = Tail(OTHER, ME, 10 * SECOND + 1, 10 * SECOND)
    heard = Tail(TOPIC, ANN, 2, 20 * SECOND)
    by_node = {}
    for send in told:
        by_node.setdefault(send.to, []).append(send.message)
    assert by_node == {
        (2,): [Have((heard,))] * 3,
        (3,): [Have((heard,))] * 3,
        (4,): [Have((heard, mine))] * 3,
        (5,): [Have((mine,))] * 3,
    }


def test_a_new_neighbour_is_told_everything_that_it_shares():
    node = Node()
    node.get(data(1))
    node.wait(30 * SECOND)
    node.recovery.learn(NeighbourUp(3), node.now_us, node.actions)
    node.timers.append((node.now_us + SECOND, 0, HaveDue()))
    sends = [a for a in node.wait(30 * SECOND) if type(a) is Send]
    assert {send.to for send in sends} == {(3,)}


def test_who_hears_of_a_message_that_it_lacks_asks_unless_it_comes():
    node = Node()
    node.get(data(1))
    node.get(Have((Tail(TOPIC, ANN, 3, 20 * SECOND),)), sender=4)
    assert not asks(node.wait(900 * MS)), "a tree may mend itself"
    assert asks(node.wait(150 * MS)) == [(4, Ask(TOPIC, ANN, 1, 4))]
    node.get(Answer(TOPIC, ANN, (data(2, 1), data(3, 2))), sender=4)
    assert [sequence for _, sequence in node.delivered] == [1, 2, 3]
    node.get(Have((Tail(TOPIC, ANN, 4, 20 * SECOND),)), sender=4)
    node.get(data(4, 3))
    assert not asks(node.wait(10 * SECOND))


def test_a_word_that_a_message_bears_out_is_acted_upon_sooner():
    node = Node()
    node.get(data(1))
    node.get(Have((Tail(TOPIC, ANN, 3, 20 * SECOND),)), sender=4)
    node.get(data(3, 2), sender=3)
    assert asks(node.wait(150 * MS)) == [(4, Ask(TOPIC, ANN, 1, 3))]


def test_who_has_just_come_asks_for_nothing_from_before():
    node = Node()
    node.get(Have((Tail(TOPIC, ANN, 3, 9 * SECOND),)))
    assert not asks(node.wait(10 * SECOND))
    # And what follows it is no gap.
    node.get(data(4, 3))
    assert node.delivered == [(ANN, 4)]


# The past.

LATE = (Subscribe(TOPIC, Role.FOLLOWS, last=2),)


def test_a_late_subscriber_asks_three_and_delivers_the_last_by_time_before_what_is_new():
    node = Node((), publishers=50)
    (send,) = node.give(LATE[0])
    assert (send.to, send.message.count) == ((2, 3, 4), 2)
    node.get(data(9, 8, at_us=11 * SECOND), sender=3)
    assert node.delivered == []
    node.get(Past(TOPIC, (data(6, 5, at_us=6), data(7, 6, at_us=7)), False), sender=2)
    node.get(Past(TOPIC, (data(1, at_us=5, publisher=BOB), data(7, 6, at_us=7)), True), sender=3)
    node.get(Past(TOPIC, (data(8, 7, at_us=8),), False), sender=3)
    assert node.delivered == []
    node.get(Past(TOPIC, (), False), sender=4)
    assert node.delivered == [(ANN, 7), (ANN, 8), (ANN, 9)]


def test_a_late_subscriber_waits_for_a_neighbour_and_for_answers_no_longer_than_stated():
    node = Node(())
    node.overlay.topics = {}
    node.give(LATE[0])
    assert not [a for a in node.wait(5 * SECOND) if type(a) is Send]
    node.overlay.topics = {TOPIC: (2, 3)}
    assert [a.to for a in node.wait(SECOND) if type(a) is Send] == [(2, 3)]
    node.get(Past(TOPIC, (data(6, 5, at_us=6),), False), sender=2)
    assert node.delivered == []
    node.wait(2 * SECOND)
    assert node.delivered == [(ANN, 6)]


def test_history_is_given_as_asked_the_last_ones_or_those_since():
    node = Node()
    for number in range(1, 21):
        node.get(data(number, number - 1, at_us=number))
    for ask, first in (
        (AskHistory(TOPIC, 3, 2**62), 18),
        (AskHistory(TOPIC, 0, 15), 15),
        (AskHistory(TOPIC, 3, 15), 15),
    ):
        (send,) = node.get(ask, sender=3)
        assert [message.sequence for message in send.message.messages] == list(range(first, 21))
        assert not send.message.more


def test_who_published_and_then_follows_gets_the_past_that_it_has_itself():
    node = Node((Subscribe(TOPIC, Role.PUBLISHES),))
    node.give(Publish(TOPIC, b"mine"))
    for number in range(1, 5):
        node.get(data(number, number - 1))
    node.overlay.topics = {TOPIC: (2,)}
    node.give(Subscribe(TOPIC, Role.BOTH, last=2))
    node.get(Past(TOPIC, (data(3, 2), data(4, 3)), False))
    assert node.delivered == [(ANN, 3), (ANN, 4)]


def test_the_past_is_judged_before_it_is_delivered():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, last=5, validates=True),))
    node.overlay.topics = {TOPIC: (2,)}
    node.recovery._topics[TOPIC].catch_up.asked = {2: False}
    actions = node.get(Past(TOPIC, (data(6, 5, at_us=6), data(7, 6, at_us=7)), False))
    first, second = [a.ticket for a in actions if type(a) is Validate]
    node.give(Validated(second, Outcome.ACCEPT))
    assert node.delivered == []
    node.give(Validated(first, Outcome.ACCEPT))
    assert node.delivered == [(ANN, 6), (ANN, 7)]


# Judgement and order.


def test_a_message_that_the_validator_passes_over_does_not_hold_up_the_next():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, validates=True),))
    for number, outcome in ((1, Outcome.ACCEPT), (2, Outcome.IGNORE), (3, Outcome.ACCEPT)):
        (validate,) = [a for a in node.get(data(number, number - 1)) if type(a) is Validate]
        node.give(Validated(validate.ticket, outcome))
    assert node.delivered == [(ANN, 1), (ANN, 3)]
    (send,) = node.get(Ask(TOPIC, ANN, 0, 9), sender=3)
    assert [message.sequence for message in send.message.messages] == [1, 3]


# Peers that mean ill.


def test_a_message_that_follows_itself_is_refused():
    node = Node()
    actions = node.get(data(3, 3))
    assert [type(a.fact) for a in actions] == [PeerMisbehaved]
    assert node.held.history.size_bytes == 0


def test_a_huge_previous_holds_up_nobody_but_itself_and_is_given_up():
    node = Node()
    node.get(data(1))
    node.get(data(2**63 - 1, 2**63 - 2, publisher=BOB), sender=4)
    node.get(data(2, 1))
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.wait(10 * SECOND)
    assert node.delivered[2:] == [(BOB, 2**63 - 1)]
    assert node.facts == [Lost(TOPIC, BOB, 0, 2**63 - 1)]


def bounded(node):
    parameters = node.parameters
    for followed in node.recovery._topics.values():
        assert len(followed.streams) <= parameters.publishers
        assert len(followed.floors) <= parameters.publishers
        assert all(len(stream.order) <= parameters.waiting for stream in followed.streams.values())
    assert node.recovery._ordering.waiting.total <= parameters.waiting_bytes
    assert node.held.history.size_bytes <= parameters.history_bytes
    assert sum(node.recovery._ordering.gaps.counts.values()) <= parameters.publishers * len(node.recovery._topics)


@pytest.mark.parametrize(("payload_bytes", "gaps"), [(500, 64), (0, 20)])
def test_a_flood_of_gaps_stays_bounded_and_an_honest_gap_beside_it_is_filled(payload_bytes, gaps):
    node = Node(publishers=64, gaps=gaps, waiting_bytes=40_000)
    node.get(data(1), sender=3)
    node.get(data(3, 2), sender=3)
    for number in range(3_000):
        node.get(data(9, 8, publisher=1_000 + number, payload=bytes(payload_bytes)), sender=2)
        if number % 100 == 0:
            bounded(node)
            assert node.recovery._ordering.waiting._bytes_by_sender[2] <= 10_000
            assert node.recovery._ordering.gaps.counts[2] <= gaps
    assert (3, Ask(TOPIC, ANN, 1, 3)) in asks(node.wait(150 * MS))
    node.get(Answer(TOPIC, ANN, (data(2, 1),)), sender=3)
    assert [sequence for publisher, sequence in node.delivered if publisher == ANN] == [1, 2, 3]
    node.wait(20 * SECOND)
    assert len(node.delivered) == 3_003, "what came is delivered, whatever it says of others"


def test_one_publisher_with_gap_upon_gap_makes_a_bounded_heap():
    node = Node(waiting=100)
    node.get(data(1))
    for number in range(3, 3_003, 2):
        node.get(data(number, number - 1))
        bounded(node)
    node.wait(1_000 * SECOND)
    assert len(node.delivered) == 1_501
    assert not node.recovery._ordering.gaps.counts


def test_who_asks_without_end_is_answered_within_its_share_and_others_are_served():
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


def test_a_stranger_is_not_answered():
    node = Node()
    node.get(data(1))
    assert node.get(Ask(TOPIC, ANN, 0, 9), sender=99) == []
    assert node.get(AskHistory(TOPIC, 5, 0), sender=99) == []
    assert node.get(Ask(OTHER, ANN, 0, 9), sender=4) == []


def test_false_words_of_what_others_have_cost_asks_and_move_nothing():
    node = Node(publishers=64, gaps=16)
    node.get(data(1), sender=3)
    for number in range(100):
        tails = tuple(Tail(TOPIC, 1_000 + number * 100 + one, 2**60, 20 * SECOND) for one in range(100))
        node.get(Have(tails))
        node.get(Have(tuple(Tail(TOPIC, tail.publisher, 2**60, 1) for tail in tails)))
        bounded(node)
    node.get(Have((Tail(TOPIC, ANN, 2**60, 20 * SECOND),)))
    node.get(data(2, 1), sender=3)
    assert node.delivered == [(ANN, 1), (ANN, 2)]
    node.wait(30 * SECOND)
    node.get(data(3, 2), sender=3)
    assert node.delivered[2:] == [(ANN, 3)]
    assert node.facts == []
    assert not node.recovery._ordering.gaps.counts


def test_answers_that_nobody_asked_for_and_answers_with_something_else_are_not_taken():
    node = Node()
    node.get(data(1))
    assert node.get(Answer(TOPIC, ANN, (data(2, 1),))) == []
    assert node.get(Past(TOPIC, (data(2, 1),), False)) == []
    node.get(data(4, 3))
    node.wait(150 * MS)
    assert node.get(Answer(TOPIC, ANN, (data(3, 1),)), sender=4) == [], "another was asked"
    node.get(Answer(TOPIC, ANN, (data(3, 2, publisher=BOB),)))
    node.get(Answer(TOPIC, ANN, (data(3, 2, topic=OTHER),)))
    assert node.delivered == [(ANN, 1)]
    assert [type(fact) for fact in node.facts] == [PeerMisbehaved, PeerMisbehaved]


def test_a_lie_about_the_floor_skips_nothing():
    node = Node()
    node.get(data(8, 7))
    node.wait(150 * MS)
    node.get(Answer(TOPIC, ANN, (data(6, 5),), floor=2**60))
    assert node.delivered == []
    node.wait(300 * MS)
    node.get(Answer(TOPIC, ANN, (data(7, 6),), floor=5), sender=3)
    assert node.delivered == [(ANN, 6), (ANN, 7), (ANN, 8)]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_whatever_peers_send_state_stays_bounded_and_order_holds(seed, ordered):
    """Order holds while all eight publishers have room, and begins anew with each subscription."""
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
            Have((Tail(topic, publisher, sequence, node.now_us),)),
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
        bounded(node)
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
    assert node.give(TimerFired(HaveDue())) == []
