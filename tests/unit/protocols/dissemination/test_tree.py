"""A tree's handlers: answering grafts, relaying fetched messages, forgetting topics and neighbours."""

import msgspec
import pytest

from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Publish, TimerFired, Unsubscribe
from gossamer.protocols.contract.facts import NeighbourDown
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.announcements import AnnounceDue
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.dissemination.tree_messages import Graft, TreeData
from tests.decoding import decode_frame
from tests.unit.protocols.dissemination.one_tree import TOPIC, data, give, make, sends


def test_a_graft_is_answered_with_the_requested_messages_and_later_ones():
    tree = make(3)
    for number in (1, 2, 3):
        give(tree, MessageReceived(2, data(number)))
    # Recovery keeps fetched messages as plain `Data`.
    tree._history.put(TOPIC, [Data(TOPIC, 9, 4, 0, 0, b"x")], 0)
    answer = sends(give(tree, MessageReceived(3, Graft(TOPIC, ((9, 1), (9, 3), (9, 4), (9, 99))))))
    assert [
        (send.to, type(send.message), send.message.sequence) for send in answer if type(send.message) is TreeData
    ] == [
        ((3,), TreeData, 1),
        ((3,), TreeData, 3),
        ((3,), TreeData, 4),
    ]
    assert sends(give(tree, Publish(TOPIC, b"y")))[0].to == (2, 3, 4)


def test_a_neighbour_that_has_lost_its_supplier_gets_the_messages_of_the_last_half_second():
    tree = make(3)
    give(tree, MessageReceived(2, data(1)), 1_000_000)
    give(tree, MessageReceived(2, data(2)), 2_000_000)
    sent = sends(give(tree, MessageReceived(3, Graft(TOPIC, ())), 2_100_000))
    assert [(send.to, send.message.sequence) for send in sent if type(send.message) is TreeData] == [((3,), 2)]


def test_a_graft_of_a_node_that_is_no_neighbour_on_the_topic_is_not_answered():
    tree = make(3)
    give(tree, MessageReceived(2, data(1)))
    assert give(tree, MessageReceived(77, Graft(TOPIC, ((9, 1),)))) == []


def test_a_message_that_recovery_fetched_is_relayed_when_it_arrives_along_the_tree():
    """The node is ahead of its supplier for a moment; nodes downstream must not wait for a message that it has."""
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    tree._seen.add(9, 2, FETCHED)
    assert give(tree, MessageReceived(2, data(2))) == [], "a message that the validator refused is not kept"
    tree._history.put(TOPIC, [Data(TOPIC, 9, 2, 1, 0, b"as it was taken in")], 0)
    (send,) = (a for a in give(tree, MessageReceived(2, data(2))) if type(a) is Send)
    assert send == Send((3, 4), TreeData(TOPIC, 9, 2, 1, 0, b"as it was taken in"))
    assert [a for a in give(tree, MessageReceived(2, data(2))) if type(a) is Send] == [], "once"


def test_a_sequence_number_beyond_the_wire_limit_is_not_decoded():
    for sequence in (2**64 - 1, 2**62 + 1, -1):
        frame = msgspec.msgpack.encode(["announce", [[TOPIC, 9, sequence, 0, 2]]])
        with pytest.raises(msgspec.ValidationError):
            decode_frame(frame)


def test_topics_that_are_given_up_and_neighbours_that_are_gone_are_forgotten():
    tree = make(3, 4)
    give(tree, MessageReceived(2, data(1)))
    tree.machine.teach([NeighbourDown(3)], 0, [])
    assert list(tree._branches[TOPIC].lazy) == [4]
    give(tree, Unsubscribe(TOPIC))
    assert give(tree, TimerFired(AnnounceDue())) == []
    assert tree._history.size_bytes == 0
    assert TOPIC not in tree._branches
