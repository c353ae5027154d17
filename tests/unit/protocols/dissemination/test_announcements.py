"""Announcing messages over lazy links, in few frames of bounded size."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send, SetTimer
from gossamer.protocols.contract.events import MessageReceived, Subscribe, TimerFired
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.dissemination import announcements, missing, tree_messages
from gossamer.protocols.dissemination.announcements import ANNOUNCE_EVERY_US
from gossamer.protocols.dissemination.tree_messages import (
    Announce,
    AnnounceDue,
    Named,
    Prune,
    TreeBurst,
    TreeData,
)
from tests.unit.protocols.dissemination.one_tree import TOPIC, data, give, make


def test_names_for_lazy_links_are_gathered_and_sent_together():
    tree = make(3, 4)
    actions = give(tree, MessageReceived(2, data(1)), 100)
    assert SetTimer(100 + ANNOUNCE_EVERY_US, AnnounceDue()) in actions
    actions += give(tree, MessageReceived(2, data(2)), 200)
    assert [type(action) for action in actions].count(SetTimer) == 1
    assert not any(type(action) is Send for action in actions)
    both = Announce((Named(TOPIC, 9, 1, 2),))
    assert give(tree, TimerFired(AnnounceDue())) == [Send((3,), both), Send((4,), both)]
    assert give(tree, TimerFired(AnnounceDue())) == []


def test_names_of_several_topics_share_a_frame_and_a_topic_that_is_not_held_is_reported():
    tree = make(3)
    give(tree, Subscribe(8, Role.BOTH))
    give(tree, MessageReceived(3, Prune(8)))
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(2, TreeData(8, 9, 2, 0, 0, b"")))
    (send,) = give(tree, TimerFired(AnnounceDue()))
    assert send == Send((3,), Announce((Named(TOPIC, 9, 1), Named(8, 9, 2))))
    (observed, _) = sorted(give(make(), MessageReceived(2, Announce((Named(99, 9, 1), Named(TOPIC, 9, 2))))), key=str)
    assert observed.fact == PeerMisbehaved(2, "sent a topic that this node does not hold")


def test_interleaved_messages_of_two_publishers_are_announced_and_awaited_as_one_span_each():
    tree, other = make(3), make()
    for number in range(1, 201):
        for publisher in (8, 9):
            give(tree, MessageReceived(2, TreeData(TOPIC, publisher, number, 0, 0, b"x", number - 1)))
    (send,) = give(tree, TimerFired(AnnounceDue()))
    assert send == Send((3,), Announce((Named(TOPIC, 8, 1, 200), Named(TOPIC, 9, 1, 200))))
    apart = Announce(tuple(Named(TOPIC, publisher, number) for number in range(1, 101) for publisher in (8, 9)))
    give(other, MessageReceived(3, apart))
    assert len(other._mending.missing) == 200
    assert other._mending.missing._span_count == 2


def test_no_frame_announces_more_messages_than_its_receiver_takes():
    tree = make(3)
    for number in range(12):
        items = ((0, b""),) * 256
        for place in range(16):
            give(tree, MessageReceived(2, TreeBurst(TOPIC, 100 + number, 1 + place * 256, 0, items)))
    sends = [action.message for action in give(tree, TimerFired(AnnounceDue()))]
    assert [sum(name.count for name in message.names) for message in sends] == [tree_messages.NAMED_MAX] * 3
    other = make()
    for message in sends:
        assert not any(type(action) is Observe for action in give(other, MessageReceived(2, message)))


def test_an_announcement_of_more_messages_than_allowed_is_reported_and_cut():
    tree = make()
    runs = Announce(tuple(Named(TOPIC, 9, 10_000 * run, tree_messages.SPAN_MAX) for run in range(1, 9)))
    actions = give(tree, MessageReceived(3, runs))
    assert PeerMisbehaved(3, "sent a topic that this node does not hold") in [getattr(a, "fact", None) for a in actions]
    assert len(tree._mending.missing) <= missing.MISSING_MAX


def test_a_message_is_not_announced_to_the_neighbour_that_sent_it():
    tree = make(3)
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(4, data(2)))
    give(tree, MessageReceived(4, Prune(TOPIC)))
    give(tree, MessageReceived(2, data(3)))
    sends = give(tree, TimerFired(AnnounceDue()))
    told = {send.to: [(name.sequence, name.count) for name in send.message.names] for send in sends}
    assert told == {(3,): [(1, 2), (3, 1)], (4,): [(3, 1)]}


def test_many_names_are_sent_at_once_in_frames_of_bounded_size(monkeypatch):
    monkeypatch.setattr(announcements, "GATHERED_MAX", 600)
    tree = make(3)
    sends = []
    for number in range(1, 1201, 2):
        # Every other number, because consecutive numbers share one name.
        sends += [a for a in give(tree, MessageReceived(2, data(number))) if type(a) is Send]
    announced = [send.message for send in sends if type(send.message) is Announce]
    assert [len(message.names) for message in announced] == [256, 256, 88]
    assert not tree._announcements._spans
