"""Flooding, handler by handler."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Send
from gossamer.protocols.contract.events import MessageReceived, Publish, Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.dissemination.flood import Flood

DATA = Data(7, 9, 1, 0, 0, b"x")


class Fixed:
    """An overlay that does not change."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def neighbours_on(self, topic):
        return self.nodes


def handle(part, event):
    out = []
    part.handle(event, 5, out)
    return out


def part_with(role):
    part = Flood(Fixed(2, 3), node=1)
    handle(part, Subscribe(7, role))
    return part


def test_a_follower_delivers_and_relays_to_every_neighbour_except_the_sender():
    deliver, send = handle(part_with(Role.FOLLOWS), MessageReceived(2, DATA))
    assert deliver == Deliver(7, b"x", 9, 1, 1, 0)
    assert send == Send((3,), Data(7, 9, 1, 1, 0, b"x"))


def test_a_node_that_only_publishes_relays_without_delivering():
    assert [type(action) for action in handle(part_with(Role.PUBLISHES), MessageReceived(2, DATA))] == [Send]


def test_a_second_copy_does_nothing():
    part = part_with(Role.FOLLOWS)
    handle(part, MessageReceived(2, DATA))
    assert handle(part, MessageReceived(3, DATA)) == []


def test_a_topic_that_was_given_up_is_neither_delivered_nor_relayed_nor_published():
    part = part_with(Role.BOTH)
    handle(part, Unsubscribe(7))
    assert not any(isinstance(action, (Deliver, Send)) for action in handle(part, MessageReceived(2, DATA)))
    assert handle(part, Publish(7, b"y")) == []
