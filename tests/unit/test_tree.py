"""A tree's handlers: announcing in few frames, mending, and what others can make it keep."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.live.transport import wire
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    MessageReceived,
    Publish,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, PeerMisbehaved
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.dissemination import announcements, missing, tree_messages
from gossamer.protocols.dissemination.announcements import ANNOUNCE_EVERY_US
from gossamer.protocols.dissemination.branch import FORMED_AFTER_US
from gossamer.protocols.dissemination.mending import MISSING_AFTER_US
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import (
    Announce,
    AnnounceDue,
    Graft,
    MissingDue,
    Named,
    Prune,
    TreeBurst,
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
    both = Announce((Named(TOPIC, 9, 1, 2),))
    assert give(tree, TimerFired(AnnounceDue())) == [Send((3,), both), Send((4,), both)]
    assert give(tree, TimerFired(AnnounceDue())) == []


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


def test_a_neighbour_is_not_told_the_name_of_what_it_sent():
    tree = make(3)
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(4, data(2)))
    give(tree, MessageReceived(4, Prune(TOPIC)))
    give(tree, MessageReceived(2, data(3)))
    sends = give(tree, TimerFired(AnnounceDue()))
    told = {send.to: [(name.sequence, name.count) for name in send.message.names] for send in sends}
    assert told == {(3,): [(1, 2), (3, 1)], (4,): [(3, 1)]}


def test_many_names_go_in_frames_of_bounded_size_and_never_wait_in_great_numbers(monkeypatch):
    monkeypatch.setattr(announcements, "GATHERED_MAX", 600)
    tree = make(3)
    sends = []
    for number in range(1, 1201, 2):
        # Every other number: what follows each other is one name.
        sends += [a for a in give(tree, MessageReceived(2, data(number))) if type(a) is Send]
    announced = [send.message for send in sends if type(send.message) is Announce]
    assert [len(message.names) for message in announced] == [256, 256, 88]
    assert not tree._announcements._spans


def test_what_was_announced_and_did_not_come_is_asked_for_in_one_frame_and_its_link_is_eager():
    tree = make(3)
    actions = give(tree, MessageReceived(3, named((9, 1), (9, 2))))
    assert actions == [SetTimer(MISSING_AFTER_US, MissingDue())]
    give(tree, MessageReceived(4, named((9, 2))))
    sends = [a for a in give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) if type(a) is Send]
    assert sends == [Send((3,), Graft(TOPIC, ((9, 1), (9, 2))))]
    assert tree._branches[TOPIC].supplier == 3
    sends = [a for a in give(tree, TimerFired(MissingDue()), 2 * MISSING_AFTER_US) if type(a) is Send]
    # They are one span: who announced some of it is asked for what is missing of it.
    assert sends == [Send((4,), Graft(TOPIC, ((9, 1), (9, 2))))]
    give(tree, TimerFired(MissingDue()), 3 * MISSING_AFTER_US)
    assert not tree._mending.missing


def test_nothing_is_asked_for_once_it_has_come():
    tree = make()
    give(tree, MessageReceived(3, named((9, 1))))
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_nothing_is_asked_for_once_recovery_has_brought_it():
    tree = make()
    give(tree, MessageReceived(3, named((9, 1))))
    tree._seen.add(9, 1)
    assert give(tree, TimerFired(MissingDue()), MISSING_AFTER_US) == []


def test_a_graft_is_answered_with_the_messages_and_those_to_come():
    tree = make(3)
    for number in (1, 2, 3):
        give(tree, MessageReceived(2, data(number)))
    # Recovery keeps messages in the common class.
    tree._history.put(TOPIC, [Data(TOPIC, 9, 4, 0, 0, b"x")])
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
    assert give(tree, MessageReceived(3, data(1))) == [], "it has been told"
    several = TreeData(TOPIC, 9, 2, 0, 0, b"x", 1, ((8, 0),))
    give(tree, MessageReceived(2, several))
    assert give(tree, MessageReceived(4, several)) == []


def test_strangers_make_nothing_grow():
    tree = make()
    for stranger in range(100, 200):
        give(tree, MessageReceived(stranger, Prune(TOPIC)))
        give(tree, MessageReceived(stranger, data(1)))
    assert not tree._branches[TOPIC].lazy
    assert not tree._branches[TOPIC]._pruned_us


def test_what_is_missing_is_bounded(monkeypatch):
    monkeypatch.setattr(missing, "MISSING_MAX", 50)
    tree = make()
    for number in range(10):
        names = tuple((9, 100 * number + one) for one in range(100))
        give(tree, MessageReceived(3, named(*names)))
        assert 0 < len(tree._mending.missing) <= 50
    tree = make()
    monkeypatch.setattr(missing, "MISSING_MAX", 500)
    monkeypatch.setattr(missing, "SPANS_MAX", 60)
    for number in range(5000, 5400, 2):
        give(tree, MessageReceived(3, named((9, number))))
    assert len(tree._mending.missing) == 60


def test_what_has_come_makes_room_for_what_is_announced(monkeypatch):
    monkeypatch.setattr(missing, "MISSING_MAX", 50)
    tree = make()
    give(tree, MessageReceived(3, named(*((9, number) for number in range(1, 51)))))
    for number in range(1, 51):
        give(tree, MessageReceived(2, data(number)))
    give(tree, MessageReceived(3, named((9, 60))), 1)
    assert len(tree._mending.missing) == 1


def test_announcements_that_overlap_are_waited_for_once_and_asked_of_each_announcer_in_turn():
    tree = make()
    for sender, first, count in ((3, 10, 5), (4, 8, 20), (3, 8, 20)):
        give(tree, MessageReceived(sender, Announce((Named(TOPIC, 9, first, count),))))
    assert len(tree._mending.missing) == 20
    give(tree, MessageReceived(2, data(12)))
    asked = [a for a in give(tree, TimerFired(MissingDue()), 2 * MISSING_AFTER_US) if type(a) is Send]
    assert sorted(name for send in asked for name in send.message.names) == [(9, n) for n in range(8, 28) if n != 12]
    again = [a for a in give(tree, TimerFired(MissingDue()), 4 * MISSING_AFTER_US) if type(a) is Send]
    assert sorted(name for send in again for name in send.message.names) == [(9, n) for n in range(8, 28) if n != 12]
    assert {send.to for send in asked} == {send.to for send in again} == {(3,), (4,)}


def test_what_recovery_brought_first_still_goes_on_when_it_comes_along_the_tree():
    """Who asks is ahead of its supplier for a moment; those behind it must not wait for what it has."""
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    tree._seen.add(9, 2, FETCHED)
    assert give(tree, MessageReceived(2, data(2))) == [], "what the validator refused is not kept"
    tree._history.put(TOPIC, [Data(TOPIC, 9, 2, 1, 0, b"as it was taken in")])
    (send,) = (a for a in give(tree, MessageReceived(2, data(2))) if type(a) is Send)
    assert send == Send((3, 4), TreeData(TOPIC, 9, 2, 1, 0, b"as it was taken in"))
    assert [a for a in give(tree, MessageReceived(2, data(2))) if type(a) is Send] == [], "once"


def test_a_message_that_was_asked_for_says_nothing_about_the_tree():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    tree._seen.add(9, 2, FETCHED)
    give(tree, MessageReceived(2, data(2)))
    assert tree._branches[TOPIC].lose(2) == ()


def test_messages_of_publishers_that_come_mixed_are_named_and_waited_for_in_runs():
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


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(0, 60), st.integers(1, 20), st.booleans()), max_size=40))
def test_spans_never_overlap_and_hold_all_that_was_announced_and_has_not_come(steps):
    come = set()
    found = missing.Missing(lambda _, first, count: [n for n in range(first, first + count) if n not in come], 1)
    wanted = set()
    for now_us, (node, first, count, is_announced) in enumerate(steps):
        numbers = set(range(first, first + count))
        if is_announced:
            wanted |= numbers - come
            found.announced(node, TOPIC, 9, first, count, now_us, now_us + 5)
        else:
            come |= numbers
        spans = found._spans.get((TOPIC, 9), [])
        held = [number for span in spans for number in range(span.first, span.end)]
        assert held == sorted(set(held))
        assert wanted - come <= set(held)
        assert len(found) == len(held)
        assert found._span_count == len(spans)
    due = {number for _, numbers in found.due(1_000) for number in numbers}
    assert due == wanted - come | (due - wanted)
    assert not due & come


def test_a_number_that_no_wire_can_carry_is_not_read():
    for sequence in (2**64 - 1, 2**62 + 1, -1):
        frame = msgspec.msgpack.encode(["tree_announce", [[TOPIC, 9, sequence, 2]]])
        with pytest.raises(msgspec.ValidationError):
            wire.message_decoder.decode(frame)


def test_a_topic_that_is_let_go_and_a_neighbour_that_is_gone_are_forgotten():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    tree.learn(NeighbourDown(3), 0, [])
    assert list(tree._branches[TOPIC].lazy) == [4]
    give(tree, Unsubscribe(TOPIC))
    assert give(tree, TimerFired(AnnounceDue())) == []
    assert tree._history.size_bytes == 0
    assert TOPIC not in tree._branches


# Who supplies whom (`branch.py`).


def test_first_copies_over_two_links_leave_one_of_them():
    """Messages were on their way over the second link before its node heard that it is not needed."""
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, MessageReceived(3, data(1))) == [Send((3,), Prune(TOPIC))]
    give(tree, MessageReceived(3, data(2)))
    assert [a for a in give(tree, MessageReceived(2, data(2))) if isinstance(a, Send)] == []
    assert tree._branches[TOPIC].supplier == 2


def test_who_is_nearer_supplies_from_now_on_and_is_grafted_if_it_was_pruned():
    tree = make()
    far = TreeData(TOPIC, 9, 1, 5, 0, b"x")
    give(tree, MessageReceived(2, far))
    assert give(tree, MessageReceived(3, far)) == [Send((3,), Prune(TOPIC))]
    near = TreeData(TOPIC, 9, 2, 1, 0, b"x", 1)
    assert Send((3,), Graft(TOPIC, ())) in give(tree, MessageReceived(3, near))
    assert tree._branches[TOPIC].supplier == 3


def test_copies_of_other_publishers_than_the_reference_prune_nothing_until_they_go_on():
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=5)))
    for number in range(100):
        give(tree, MessageReceived(2, data(number + 1)), 10)
        assert give(tree, MessageReceived(3, data(number + 1)), 10) == []
    for number in range(100, 170):
        give(tree, MessageReceived(2, data(number + 1)), FORMED_AFTER_US + 11)
        give(tree, MessageReceived(3, data(number + 1)), FORMED_AFTER_US + 11)
    assert tree._branches[TOPIC].reference == 9, "the reference is silent, and this is no tree"


def test_a_node_that_loses_its_supplier_asks_all_whom_it_had_pruned_at_once():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(3, data(1)))
    give(tree, MessageReceived(4, data(1)))
    out = []
    tree.learn(NeighbourDown(2), 0, out)
    assert out == [Send((3,), Graft(TOPIC, ())), Send((4,), Graft(TOPIC, ()))]


def test_a_supplier_that_wants_nothing_gets_what_comes_from_elsewhere_all_the_same():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(2, Prune(TOPIC)))
    (send,) = give(tree, Publish(TOPIC, b"y"))
    assert send.to == (2, 3, 4)


def test_a_frame_names_no_more_messages_than_it_may():
    tree = make()
    runs = Announce(tuple(Named(TOPIC, 9, 10_000 * run, tree_messages.SPAN_MAX) for run in range(1, 9)))
    actions = give(tree, MessageReceived(3, runs))
    assert PeerMisbehaved(3, "sent a topic that this node does not hold") in [getattr(a, "fact", None) for a in actions]
    assert len(tree._mending.missing) <= missing.MISSING_MAX
