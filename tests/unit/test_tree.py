"""A tree's handlers: announcing in few frames, mending, and what others can make it keep."""

from gossamer.model.values.ids import Role
from gossamer.protocols import tree as trees
from gossamer.protocols.interface import (
    Data,
    MessageReceived,
    NeighbourDown,
    PeerMisbehaved,
    Publish,
    Send,
    SetTimer,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.tree import (
    ANNOUNCE_EVERY_US,
    MISSING_AFTER_US,
    Announce,
    AnnounceDue,
    Graft,
    MissingDue,
    Named,
    Prune,
    Tree,
    TreeData,
)

TOPIC = 7


class Fixed:
    def neighbours_on(self, topic):
        return (2, 3, 4)


def make(*lazy):
    tree = Tree(Fixed(), 1)
    give(tree, Subscribe(TOPIC, Role.BOTH))
    for node in lazy:
        give(tree, MessageReceived(node, Prune(TOPIC)))
    return tree


def give(tree, event, now_us=0):
    out = []
    tree.handle(event, now_us, out)
    return out


def data(sequence, publisher=9):
    return TreeData(TOPIC, publisher, sequence, 0, 0, b"x", sequence - 1)


def named(*names):
    return Announce(tuple(Named(TOPIC, *name) for name in names))


def test_names_of_several_topics_share_a_frame_and_one_of_a_topic_that_is_not_held_is_said_so():
    tree = make(3)
    give(tree, Subscribe(8, Role.BOTH))
    give(tree, MessageReceived(3, Prune(8)))
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(2, TreeData(8, 9, 2, 0, 0, b"")))
    (send,) = give(tree, TimerFired(AnnounceDue()))
    assert send == Send((3,), Announce((Named(TOPIC, 9, 1), Named(8, 9, 2))))
    (observed, _) = sorted(give(make(), MessageReceived(2, Announce((Named(99, 9, 1), Named(TOPIC, 9, 2))))), key=str)
    assert observed.fact == PeerMisbehaved(2, "sent a topic that this node does not hold")


def test_names_for_lazy_links_are_gathered_and_go_together():
    tree = make(3, 4)
    actions = give(tree, MessageReceived(2, data(1)), 100)
    assert SetTimer(100 + ANNOUNCE_EVERY_US, AnnounceDue()) in actions
    actions += give(tree, MessageReceived(2, data(2)), 200)
    assert [type(action) for action in actions].count(SetTimer) == 1
    assert not any(type(action) is Send for action in actions)
    both = named((9, 1), (9, 2))
    assert give(tree, TimerFired(AnnounceDue())) == [Send((3,), both), Send((4,), both)]
    assert give(tree, TimerFired(AnnounceDue())) == []


def test_a_neighbour_is_not_told_the_name_of_what_it_sent():
    tree = make(3)
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(4, data(2)))
    tree._lazy[TOPIC][4] = None
    give(tree, MessageReceived(2, data(3)))
    sends = give(tree, TimerFired(AnnounceDue()))
    assert {send.to: [name.sequence for name in send.message.names] for send in sends} == {(3,): [1, 2, 3], (4,): [3]}


def test_many_names_go_in_frames_of_bounded_size_and_never_wait_in_great_numbers(monkeypatch):
    monkeypatch.setattr(trees, "GATHERED_MAX", 600)
    tree = make(3)
    sends = []
    for number in range(1, 601):
        sends += [a for a in give(tree, MessageReceived(2, data(number))) if type(a) is Send]
    announced = [send.message for send in sends if type(send.message) is Announce]
    assert [len(message.names) for message in announced] == [256, 256, 88]
    assert not tree._gathered


def test_what_was_announced_and_did_not_come_is_asked_for_in_one_frame_and_its_link_is_eager():
    tree = make(3)
    actions = give(tree, MessageReceived(3, named((9, 1), (9, 2))))
    assert actions == [SetTimer(MISSING_AFTER_US, MissingDue())]
    give(tree, MessageReceived(4, named((9, 2))))
    sends = [a for a in give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) if type(a) is Send]
    assert sends == [Send((3,), Graft(TOPIC, ((9, 1), (9, 2))))]
    assert 3 not in tree._lazy[TOPIC]
    sends = [a for a in give(tree, TimerFired(MissingDue()), 2 * MISSING_AFTER_US) if type(a) is Send]
    assert sends == [Send((4,), Graft(TOPIC, ((9, 2),)))]
    give(tree, TimerFired(MissingDue()), 3 * MISSING_AFTER_US)
    assert not tree._missing


def test_nothing_is_asked_for_once_it_has_come():
    tree = make()
    give(tree, MessageReceived(3, named((9, 1))))
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_nothing_is_asked_for_once_recovery_has_brought_it():
    tree = make()
    give(tree, MessageReceived(3, named((9, 1))))
    tree._held.add(9, 1)
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_a_graft_is_answered_with_the_messages_and_those_to_come():
    tree = make(3)
    for number in (1, 2, 3):
        give(tree, MessageReceived(2, data(number)))
    # Recovery keeps messages in the common class.
    tree._history.put(TOPIC, Data(TOPIC, 9, 4, 0, 0, b"x"))
    sends = give(tree, MessageReceived(3, Graft(TOPIC, ((9, 1), (9, 3), (9, 4), (9, 99)))))
    assert [(send.to, type(send.message), send.message.sequence) for send in sends] == [
        ((3,), TreeData, 1),
        ((3,), TreeData, 3),
        ((3,), TreeData, 4),
    ]
    assert give(tree, Publish(TOPIC, b"y"))[0].to == (2, 3, 4)


def test_an_unneeded_copy_prunes_its_link_but_one_of_several_topics_does_not():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, MessageReceived(3, data(1))) == [Send((3,), Prune(TOPIC))]
    assert list(tree._lazy[TOPIC]) == [3]
    several = TreeData(TOPIC, 9, 2, 0, 0, b"x", 1, ((8, 0),))
    give(tree, MessageReceived(2, several))
    assert give(tree, MessageReceived(4, several)) == []


def test_strangers_make_nothing_grow():
    tree = make()
    for stranger in range(100, 200):
        give(tree, MessageReceived(stranger, Prune(TOPIC)))
        give(tree, MessageReceived(stranger, data(1)))
    assert not tree._lazy.get(TOPIC)


def test_what_is_missing_is_bounded(monkeypatch):
    monkeypatch.setattr(trees, "MISSING_MAX", 50)
    tree = make()
    for number in range(10):
        names = tuple((9, 100 * number + one) for one in range(100))
        give(tree, MessageReceived(3, named(*names)))
        assert len(tree._missing) <= 50


def test_a_topic_that_is_let_go_and_a_neighbour_that_is_gone_are_forgotten():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    tree.learn(NeighbourDown(3), 0, [])
    assert list(tree._lazy[TOPIC]) == [4]
    give(tree, Unsubscribe(TOPIC))
    assert give(tree, TimerFired(AnnounceDue())) == []
    assert tree._history.size_bytes == 0
    assert TOPIC not in tree._lazy
