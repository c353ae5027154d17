"""Announcements: to whom, when, together with what, and in frames of bounded size."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, Publish, Subscribe, TimerFired, Unsubscribe
from gossamer.protocols.contract.facts import NeighbourDown, PeerMisbehaved
from gossamer.protocols.delivery import announcements
from gossamer.protocols.delivery.announcements import (
    ANNOUNCED_MAX,
    LISTENER,
    NEWCOMER,
    OTHER,
    RECEIVER,
    RUN_MAX,
    Announce,
    AnnounceDue,
    MessageRun,
)
from gossamer.protocols.dissemination import missing
from gossamer.protocols.dissemination.tree_messages import Prune, TreeBurst, TreeData
from tests.unit.protocols.dissemination.one_tree import TOPIC, announced, data, give, make, sends


def told(actions):
    """The announced (publisher, last, count) by neighbour."""
    return {
        send.to[0]: [(run.publisher, run.last, run.count) for run in send.message.runs]
        for send in sends(actions)
        if type(send.message) is Announce
    }


def due(tree, now_us):
    return told(give(tree, TimerFired(AnnounceDue()), now_us))


def test_a_message_is_announced_to_listeners_soon_and_to_its_receivers_later():
    tree = make(3)
    actions = give(tree, MessageReceived(2, data(1)), 100)
    assert SetTimer(100 + LISTENER.due_us, AnnounceDue()) in actions
    assert [send.to for send in sends(actions)] == [(4,)], "3 has pruned this node, 2 is the sender"
    assert due(tree, 100 + LISTENER.due_us) == {3: [(9, 1, 1)]}
    assert due(tree, 100 + RECEIVER.due_us) == {4: [(9, 1, 1)]}


def test_other_neighbours_are_told_with_the_next_frame_after_some_seconds():
    """Their own tellers may be cut off together with them."""
    tree = make()
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC, False)))
    assert sends(give(tree, MessageReceived(2, data(1)))) == []
    give(tree, Subscribe(8, Role.BOTH))
    assert told(give(tree, MessageReceived(2, TreeData(8, 9, 2, 0, 0, b"")), OTHER.ready_us - 1)) == {}
    later = give(tree, MessageReceived(2, TreeData(8, 9, 3, 0, 0, b"")), OTHER.ready_us)
    assert told(later)[3][0] == told(later)[4][0] == (9, 1, 1)


def test_other_neighbours_are_told_of_a_publisher_that_never_pauses():
    tree = make(recovers=True)
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC, False)))
    times = range(0, OTHER.due_us + 1, OTHER.ready_us // 2)
    for number, now_us in enumerate(times, 1):
        give(tree, MessageReceived(2, data(number)), now_us)
    assert set(due(tree, OTHER.due_us)) == {3, 4}


def test_a_neighbour_that_announced_a_message_is_not_told_of_it():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(3, announced((9, 1))))
    give(tree, MessageReceived(4, announced((9, 0))))
    assert due(tree, LISTENER.due_us) == {4: [(9, 1, 1)]}
    assert tree.announcements._latest == {}
    assert tree.announcements._waiting_count == 0


def test_without_recovery_a_neighbour_that_announced_only_the_last_message_of_a_run_is_told_of_it():
    """It may lack the earlier ones, and nothing else would show it."""
    tree = make(3)
    for number in (1, 2, 3):
        give(tree, MessageReceived(2, data(number)))
    give(tree, MessageReceived(3, announced((9, 3))), 50)
    assert due(tree, LISTENER.due_us) == {3: [(9, 3, 3)]}


def test_a_node_that_loses_its_supplier_announces_its_own_messages_to_all_neighbours_soon():
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=0)))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC, False)))
    give(tree, Publish(TOPIC, b"lost with node 2"), 1_000)
    tree.machine.teach([NeighbourDown(2)], 5_000, [])
    assert set(due(tree, 5_000 + LISTENER.due_us)) == {3, 4}


def test_consecutive_messages_are_announced_as_one_run():
    tree = make(3, 4)
    for number in (1, 2, 3):
        give(tree, MessageReceived(2, data(number)), number)
    assert due(tree, 1 + LISTENER.due_us) == {3: [(9, 3, 3)], 4: [(9, 3, 3)]}


def test_with_recovery_only_the_latest_run_of_a_publisher_is_announced_and_without_it_every_run():
    for recovers, expected in ((True, [(9, 5, 1)]), (False, [(9, 1, 1), (9, 5, 1)])):
        tree = make(3, 4, recovers=recovers)
        give(tree, MessageReceived(2, data(1)))
        give(tree, MessageReceived(2, data(5)))
        assert sorted(due(tree, LISTENER.due_us)[3]) == expected


def test_announcements_travel_with_the_next_message_to_the_same_neighbour():
    tree = make(3, 4)
    give(tree, Subscribe(8, Role.BOTH))
    give(tree, MessageReceived(2, data(1)))
    # Topic 8 has no listener: its message goes to 3 and 4, and takes along what waits for them.
    actions = give(tree, MessageReceived(2, TreeData(8, 9, 2, 0, 0, b"")), 1)
    assert [(send.to, type(send.message)) for send in sends(actions)] == [
        ((3, 4), TreeData),
        ((3,), Announce),
        ((4,), Announce),
    ]
    assert told(actions) == {3: [(9, 1, 1)], 4: [(9, 1, 1)]}
    assert due(tree, LISTENER.due_us) == {}


def test_a_message_does_not_take_along_its_own_announcement():
    tree = make()
    actions = give(tree, MessageReceived(2, data(1)))
    actions += give(tree, MessageReceived(2, data(2)), RECEIVER.ready_us - 1)
    assert told(actions) == {}


def test_a_run_that_goes_on_after_it_was_told_is_announced_from_there():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    due(tree, LISTENER.due_us)
    give(tree, MessageReceived(2, data(2)), 2 * LISTENER.due_us)
    give(tree, MessageReceived(2, data(3)), 2 * LISTENER.due_us)
    assert due(tree, 3 * LISTENER.due_us) == {3: [(9, 3, 2)], 4: [(9, 3, 2)]}


def test_nothing_is_sent_and_no_timer_set_when_all_has_been_told():
    tree = make(3, 4, recovers=True)
    give(tree, MessageReceived(2, data(1)))
    now_us, count = LISTENER.due_us, 0
    while timers := [a for a in give(tree, TimerFired(AnnounceDue()), now_us) if type(a) is SetTimer]:
        now_us, count = timers[0].at_us, count + 1
        assert count < 10
    assert not tree.announcements.outboxes


def test_an_age_is_counted_from_the_arrival():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)), 5_000_000)
    (first, _) = sends(give(tree, TimerFired(AnnounceDue()), 5_000_000 + LISTENER.due_us))
    assert first.message.runs == (MessageRun(TOPIC, 9, 1, LISTENER.due_us // 1000, 1),)


def test_runs_of_several_topics_share_a_frame_and_a_topic_that_is_not_held_is_reported():
    tree = make(3, 4)
    give(tree, Subscribe(8, Role.BOTH))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(8, True)))
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(2, TreeData(8, 9, 2, 0, 0, b"")))
    assert len(sends(give(tree, TimerFired(AnnounceDue()), LISTENER.due_us))) == 2
    wrong = Announce((MessageRun(99, 9, 1), MessageRun(TOPIC, 9, 2)))
    observed = [a.fact for a in give(make(), MessageReceived(2, wrong)) if type(a) is Observe]
    assert observed == [PeerMisbehaved(2, "sent a topic that this node does not hold")]


def test_no_frame_announces_more_messages_than_its_receiver_takes():
    tree = make(3, 4)
    for number in range(12):
        for place in range(16):
            give(tree, MessageReceived(2, TreeBurst(TOPIC, 100 + number, 1 + place * 256, 0, ((0, b""),) * 256)))
    frames = [send.message for send in sends(give(tree, TimerFired(AnnounceDue()), LISTENER.due_us)) if send.to == (3,)]
    assert all(sum(run.count for run in message.runs) <= ANNOUNCED_MAX for message in frames)
    assert max(run.count for message in frames for run in message.runs) <= RUN_MAX
    other = make()
    for message in frames:
        assert not any(type(action) is Observe for action in give(other, MessageReceived(2, message)))


def test_an_announcement_of_more_messages_than_allowed_is_reported_and_cut():
    tree = make()
    runs = Announce(tuple(MessageRun(TOPIC, 9, 10_000 * run, 0, RUN_MAX) for run in range(1, 9)))
    actions = give(tree, MessageReceived(3, runs))
    assert PeerMisbehaved(3, "sent a topic that this node does not hold") in [getattr(a, "fact", None) for a in actions]
    assert len(tree._mending.missing) <= missing.MISSING_MAX


def test_a_run_that_begins_before_the_first_number_is_refused():
    actions = give(make(), MessageReceived(3, announced((9, 2, 5))))
    assert [type(action) for action in actions] == [Observe]


def test_many_runs_are_sent_at_once_in_frames_of_bounded_size(monkeypatch):
    monkeypatch.setattr(announcements, "WAITING_MAX", 1_000)
    tree = make(3, 4)
    sent = []
    for number in range(1, 2001, 2):
        # Every other number, because consecutive numbers are one run.
        sent += sends(give(tree, MessageReceived(2, data(number))))
    frames = [send.message for send in sent if type(send.message) is Announce]
    assert frames
    assert all(len(message.runs) <= announcements.RUNS_MAX for message in frames)
    assert sum(len(outbox.waiting) for outbox in tree.announcements.outboxes.values()) <= 1_000


def test_what_waits_for_a_neighbour_that_is_gone_or_on_a_topic_that_was_given_up_is_dropped():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    tree.machine.teach([NeighbourDown(3)], 0, [])
    assert list(tree.announcements.outboxes) == [4]
    give(tree, Unsubscribe(TOPIC))
    assert not tree.announcements.outboxes
    assert tree.announcements._waiting_count == 0
    assert [a for a in give(tree, TimerFired(AnnounceDue()), RECEIVER.due_us) if type(a) is Send] == []


def test_a_neighbour_that_takes_up_the_topic_is_told_of_a_run_that_waits_for_all_others():
    class Growing:
        known = (2, 3)

        def neighbours_on(self, topic):
            return self.known

    overlay = Growing()
    tree = make(overlay=overlay, recovers=True)
    give(tree, MessageReceived(3, Prune(TOPIC, False)))
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(4, Prune(TOPIC, False)))
    overlay.known = (2, 3, 4)
    give(tree, MessageReceived(4, Prune(TOPIC, False)))
    give(tree, MessageReceived(2, data(2)), 1)
    assert set(due(tree, 2 * OTHER.due_us)) == {3, 4}


def test_a_welcome_does_not_replace_the_second_announcement_to_a_receiver():
    tree = make(recovers=True)
    give(tree, MessageReceived(2, data(1)))
    due(tree, RECEIVER.due_us)
    at_us = RECEIVER.due_us + 1
    tree.announcements.add_last(TOPIC, 9, 1, 0, (4,), at_us, [], NEWCOMER)
    assert 4 in due(tree, at_us)
    assert 4 in due(tree, at_us + OTHER.due_us), "the second frame is still sent"
    assert due(tree, at_us + 3 * OTHER.due_us) == {}, "and no third one"
