"""Numbers of a node's own messages, and the message that each names before it."""

import pytest

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Publish, PublishBurst, Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery import own_messages
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.tree_messages import TreeBurst
from tests.unit.protocols.delivery.one_part import ME, ONE, TWO


def held_on(*topics):
    held = DeliveryState(ME)
    for topic in topics:
        held.set_interest(Subscribe(topic, Role.BOTH))
    return held


def test_each_message_names_the_one_before_it_on_the_topic():
    own = held_on(ONE, TWO).own_messages
    made = [own.publish(Publish(topic, b""), Data, 100) for topic in (ONE, ONE, TWO, ONE, TWO)]
    assert [(data.sequence, data.previous) for data in made] == [(101, 0), (102, 101), (103, 0), (104, 102), (105, 103)]


def test_a_message_on_several_topics_names_the_one_before_it_on_each():
    own = held_on(ONE, TWO).own_messages
    own.publish(Publish(TWO, b""), Data, 100)
    data = own.publish(Publish(ONE, b"", (TWO, ONE, 99)), Data, 100)
    assert (data.topic, data.previous, data.also) == (ONE, 0, ((TWO, 101),))
    assert own.publish(Publish(TWO, b""), Data, 100).previous == 102


def test_a_message_on_topics_that_the_node_does_not_hold_is_not_made():
    own = held_on(ONE).own_messages
    assert own.publish(Publish(99, b""), Data, 100) is None
    assert own.publish(Publish(98, b"", (99,)), Data, 100) is None
    assert own.publish_burst(PublishBurst(99, ((1, b""),)), TreeBurst, 100) is None


def test_a_driver_may_give_sequence_numbers_and_they_must_increase():
    own = held_on(ONE).own_messages
    assert own.publish(Publish(ONE, b"", sequence=50), Data, 100).sequence == 50
    assert own.publish(Publish(ONE, b""), Data, 100).sequence == 51
    with pytest.raises(MachineMisuse, match="number 51 after number 51"):
        own.publish(Publish(ONE, b"", sequence=51), Data, 100)
    with pytest.raises(MachineMisuse, match="number 51 after number 51"):
        own.publish_burst(PublishBurst(ONE, ((1, b""),), sequence=51), TreeBurst, 100)


def test_a_burst_takes_consecutive_numbers_and_the_next_message_follows_its_last():
    own = held_on(ONE).own_messages
    burst = own.publish_burst(PublishBurst(ONE, ((1, b"a"), (2, b"b"))), TreeBurst, 100)
    assert [data.sequence for data in burst.messages] == [101, 102]
    following = own.publish(Publish(ONE, b""), Data, 100)
    assert (following.sequence, following.previous) == (103, 102)


def test_own_messages_count_as_seen_and_are_kept_in_the_history():
    held = held_on(ONE, TWO)
    history = held.require_history()
    data = held.own_messages.publish(Publish(ONE, b"", (TWO,)), Data, 100)
    assert held.seen.has(ME, data.sequence)
    assert history.latest(ONE, 9, 0) == history.latest(TWO, 9, 0) == [(100, data)]


def test_a_topic_that_was_given_up_and_opened_again_continues_after_its_last_message():
    held = held_on(ONE)
    held.own_messages.publish(Publish(ONE, b""), Data, 100)
    held.set_interest(Unsubscribe(ONE))
    held.set_interest(Subscribe(ONE, Role.BOTH))
    assert held.own_messages.publish(Publish(ONE, b""), Data, 100).previous == 101


def test_the_last_numbers_of_closed_topics_are_limited_and_open_topics_keep_theirs(monkeypatch):
    monkeypatch.setattr(own_messages, "CLOSED_MAX", 2)
    held = held_on(ONE, 100, 101, 102)
    for topic in (ONE, 100, 101, 102):
        held.own_messages.publish(Publish(topic, b""), Data, 100)
    held.set_interest(Unsubscribe(ONE))
    held.set_interest(Subscribe(ONE, Role.BOTH))
    for topic in (100, 101, 102):
        held.set_interest(Unsubscribe(topic))
    assert list(held.own_messages.last_on) == [ONE, 101, 102]
