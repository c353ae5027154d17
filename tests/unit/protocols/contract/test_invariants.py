"""The rules that checkers and audit share, each on plain values."""

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.invariants import (
    DuplicateInvariant,
    InterestInvariants,
    NeighbourInvariants,
    OrderInvariant,
    message_name,
)
from gossamer.protocols.contract.messages import Data


def data(topic=5, also=()):
    return Data(topic, 9, 1, 0, 0, b"", 0, tuple((other, 0) for other in also))


def deliver(sequence=1, topic=5, also=(), publisher=9):
    return Deliver(topic, b"", publisher, sequence, 1, 0, also)


@pytest.fixture
def interests():
    """A node that follows topic 5 and publishes on topic 6."""
    made = InterestInvariants()
    made.subscribe(5, Role.FOLLOWS)
    made.subscribe(6, Role.PUBLISHES)
    return made


def test_data_is_sent_on_at_least_one_held_topic(interests):
    assert interests.check_send(data(5)) is None
    assert interests.check_send(data(4, also=[6])) is None
    assert interests.check_send(data(4, also=[3])) == "sent message 1 of 9 on topic 4 without holding it"


def test_after_unsubscribing_data_may_arrive_but_not_be_sent_or_delivered(interests):
    interests.unsubscribe(5)
    assert interests.check_receive(data(5), 2) is None
    assert interests.check_receive(data(4, also=[5]), 2) is None
    assert interests.check_send(data(5)) == "sent message 1 of 9 on topic 5 without holding it"
    assert interests.check_delivery(deliver()) == "delivered message 1 of 9 on topic 5 without following it"


def test_data_on_a_topic_that_was_never_held_must_not_arrive(interests):
    assert interests.check_receive(data(4), 2) == "received message 1 of 9 from 2 and never held topic 4"


def test_every_topic_of_a_delivery_is_followed(interests):
    assert interests.check_delivery(deliver()) is None
    assert interests.check_delivery(deliver(also=(6,))) == "delivered message 1 of 9 on topic 6 without following it"
    interests.subscribe(6, Role.BOTH)
    assert interests.check_delivery(deliver(also=(6,))) is None


def test_a_message_with_several_topics_is_delivered_once():
    once = DuplicateInvariant()
    assert once.check_delivery(deliver(1)) is None
    assert once.check_delivery(deliver(2)) is None
    assert once.check_delivery(deliver(1, publisher=8)) is None
    assert once.check_delivery(deliver(1, topic=6)) == "delivered message 1 of 9 twice"


def test_each_publisher_s_messages_on_a_topic_come_in_order():
    order = OrderInvariant()
    assert order.check_delivery(deliver(3, also=(6,))) is None
    assert order.check_delivery(deliver(2, publisher=8)) is None
    assert order.check_delivery(deliver(2, topic=7)) is None
    assert order.check_delivery(deliver(2, topic=6)) == "delivered message 2 of 9 on topic 6 after message 3"
    order.unsubscribe(5)
    assert order.check_delivery(deliver(1)) is None


def test_each_change_of_neighbours_is_reported_once():
    neighbours = NeighbourInvariants(1)
    assert neighbours.down(2) == "lost 2, which is not its neighbour"
    assert neighbours.up(2) is None
    assert neighbours.up(2) == "stated 2 as a new neighbour twice"
    assert neighbours.up(1) == "stated itself as its neighbour"
    assert neighbours.down(2) is None
    assert neighbours.down(2) == "lost 2, which is not its neighbour"


def test_data_goes_to_neighbours_of_now_or_of_the_same_step():
    neighbours = NeighbourInvariants(1)
    neighbours.up(2)
    assert neighbours.are_neighbours((2,))
    assert not neighbours.are_neighbours((2, 3))
    assert list(neighbours.check_send([data()], (2, 3), [3])) == []
    assert list(neighbours.check_send([data()], (2, 3), ())) == ["sent message 1 of 9 to 3, which is not its neighbour"]


def test_sentences_show_ids_as_the_caller_wants_them():
    assert message_name(255, 3, hex) == "message 3 of 0xff"
    assert InterestInvariants(hex).check_send(data(255)) == "sent message 1 of 0x9 on topic 0xff without holding it"
