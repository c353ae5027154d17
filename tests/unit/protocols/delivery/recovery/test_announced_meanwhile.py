"""Announcements that arrive at an awkward moment: during a catch-up, and from a neighbour with other topics."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import Subscribe
from gossamer.protocols.contract.facts import NeighbourTopicsChanged
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Past
from tests.unit.protocols.delivery.recovery.one_node import ANN, SECOND, TOPIC, Node, asks, data


def test_a_message_that_was_announced_during_a_catch_up_is_requested_after_it():
    node = Node((Subscribe(TOPIC, Role.FOLLOWS, last=5),))
    node.wait(SECOND // 10)
    node.get(Announce((MessageRun(TOPIC, ANN, 7),)), sender=3)
    for neighbour in (2, 3, 4):
        node.get(Past(TOPIC, (), False), sender=neighbour)
    assert asks(node.wait(5 * SECOND)), "the one message that shows it was lost on its way"


def test_a_neighbour_that_takes_up_a_topic_is_told_its_last_messages():
    """It may have subscribed before the message was published, and this node heard of it only afterwards."""
    node = Node()
    node.overlay.topics[TOPIC] = (2, 4)
    node.get(data(1))
    node.wait(30 * SECOND)
    node.overlay.topics[TOPIC] = (2, 3, 4)
    out = []
    node.machine.teach([NeighbourTopicsChanged(3)], node.now_us, out)
    node.timers += [(action.at_us, 0, action.timer) for action in out]
    told = [a for a in node.wait(10 * SECOND) if type(a) is Send and type(a.message) is Announce]
    assert {send.to for send in told} == {(3,)}


def test_announcements_of_a_node_that_is_no_neighbour_on_the_topic_are_ignored():
    node = Node()
    node.get(data(1))
    node.get(Announce((MessageRun(TOPIC, ANN, 9),)), sender=77)
    assert not asks(node.wait(10 * SECOND))
    assert node.facts == []
