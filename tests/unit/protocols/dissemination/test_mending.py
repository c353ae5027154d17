"""Mending: announced messages that do not arrive are requested from their announcers."""

from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, TimerFired
from gossamer.protocols.dissemination import missing
from gossamer.protocols.dissemination.mending import MISSING_AFTER_US
from gossamer.protocols.dissemination.tree_messages import Graft, MissingDue
from tests.unit.protocols.dissemination.one_tree import TOPIC, announced, data, give, make, sends


def test_announced_messages_that_do_not_arrive_are_requested_in_one_frame_and_their_link_is_eager():
    tree = make(3)
    actions = give(tree, MessageReceived(3, announced((9, 1), (9, 2))))
    assert actions == [SetTimer(MISSING_AFTER_US, MissingDue())]
    give(tree, MessageReceived(4, announced((9, 2))))
    sends = [
        a
        for a in give(tree, TimerFired(MissingDue()), MISSING_AFTER_US)
        if type(a) is Send and type(a.message) is Graft
    ]
    assert sends == [Send((3,), Graft(TOPIC, ((9, 1), (9, 2))))]
    assert tree._branches[TOPIC].supplier == 3
    sends = [
        a
        for a in give(tree, TimerFired(MissingDue()), 2 * MISSING_AFTER_US)
        if type(a) is Send and type(a.message) is Graft
    ]
    # They are one span: every announcer of a part of it is asked for all that is missing.
    assert sends == [Send((4,), Graft(TOPIC, ((9, 1), (9, 2))))]
    give(tree, TimerFired(MissingDue()), 3 * MISSING_AFTER_US)
    assert not tree._mending.missing


def test_a_node_that_did_not_run_for_a_while_reads_what_arrived_before_it_changes_its_supplier():
    """Otherwise nodes without CPU graft each other, and the tree is broken when they have CPU again."""
    tree = make(3)
    give(tree, MessageReceived(3, announced((9, 1))))
    late_us = MISSING_AFTER_US + 5_000_000
    assert give(tree, TimerFired(MissingDue()), late_us) == [SetTimer(late_us + MISSING_AFTER_US, MissingDue())]
    sends = [a for a in give(tree, TimerFired(MissingDue()), late_us + MISSING_AFTER_US) if type(a) is Send]
    assert sends == [Send((3,), Graft(TOPIC, ((9, 1),)))]


def test_a_message_that_has_arrived_is_not_requested():
    tree = make()
    give(tree, MessageReceived(3, announced((9, 1))))
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_a_message_that_recovery_fetched_is_not_requested():
    tree = make()
    give(tree, MessageReceived(3, announced((9, 1))))
    tree._seen.add(9, 1)
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_overlapping_announcements_are_awaited_once_and_requested_from_each_announcer_in_turn():
    tree = make()
    for sender, first, count in ((3, 10, 5), (4, 8, 20), (3, 8, 20)):
        give(tree, MessageReceived(sender, announced((9, first + count - 1, count))))
    assert len(tree._mending.missing) == 20
    give(tree, MessageReceived(2, data(12)))
    asked = sends(give(tree, TimerFired(MissingDue()), MISSING_AFTER_US + 5))
    asked = [send for send in asked if type(send.message) is Graft]
    assert sorted(name for send in asked for name in send.message.names) == [(9, n) for n in range(8, 28) if n != 12]
    again = sends(give(tree, TimerFired(MissingDue()), 2 * MISSING_AFTER_US))
    again = [send for send in again if type(send.message) is Graft]
    assert sorted(name for send in again for name in send.message.names) == [(9, n) for n in range(8, 28) if n != 12]
    assert {send.to for send in asked} == {send.to for send in again} == {(3,), (4,)}


def test_missing_messages_and_their_spans_are_bounded(monkeypatch):
    monkeypatch.setattr(missing, "MISSING_MAX", 50)
    tree = make()
    for number in range(10):
        names = tuple((9, 100 * number + one) for one in range(100))
        give(tree, MessageReceived(3, announced(*names)))
        assert 0 < len(tree._mending.missing) <= 50
    tree = make()
    monkeypatch.setattr(missing, "MISSING_MAX", 500)
    monkeypatch.setattr(missing, "SPANS_MAX", 60)
    for number in range(5000, 5400, 2):
        give(tree, MessageReceived(3, announced((9, number))))
    assert len(tree._mending.missing) == 60


def test_messages_that_have_arrived_make_room_for_new_announcements(monkeypatch):
    monkeypatch.setattr(missing, "MISSING_MAX", 50)
    tree = make()
    give(tree, MessageReceived(3, announced(*((9, number) for number in range(1, 51)))))
    for number in range(1, 51):
        give(tree, MessageReceived(2, data(number)))
    give(tree, MessageReceived(3, announced((9, 60))), 1)
    assert len(tree._mending.missing) == 1


def test_a_supplier_that_announces_what_it_does_not_have_is_given_up_once_in_some_seconds():
    tree = make()
    for sender in (2, 3, 4):
        give(tree, MessageReceived(sender, data(1)))
    grafted_us, timers_us = [], []

    def note(actions, now_us):
        timers_us.extend(a.at_us for a in actions if type(a) is SetTimer and type(a.timer) is MissingDue)
        grafted_us.extend(now_us for send in sends(actions) if type(send.message) is Graft and send.to == (3,))

    for turn in range(1, 10):
        note(give(tree, MessageReceived(2, announced((9, 100 * turn))), turn * SECOND_US), turn * SECOND_US)
        while timers_us:
            now_us = timers_us.pop()
            note(give(tree, TimerFired(MissingDue()), now_us), now_us)
        for sender in (2, 3, 4):
            give(tree, MessageReceived(sender, data(1 + turn)), now_us)
        assert tree._branches[TOPIC].supplier == 2
    assert [at_us // SECOND_US for at_us in grafted_us] == [1, 6]
