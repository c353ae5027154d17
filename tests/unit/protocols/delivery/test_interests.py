"""The topics that a node holds."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.interests import OwnInterests


def test_a_node_follows_a_topic_only_in_a_role_that_says_so():
    interests = OwnInterests()
    for topic, role in ((1, Role.FOLLOWS), (2, Role.PUBLISHES), (3, Role.BOTH)):
        interests.change(Subscribe(topic, role))
    assert [interests.follows(topic) for topic in (1, 2, 3, 4)] == [True, False, True, False]


def test_the_last_subscription_decides_the_role_and_whether_messages_are_validated():
    interests = OwnInterests()
    interests.change(Subscribe(1, Role.BOTH, validates=True))
    assert list(interests.validated) == [1]
    interests.change(Subscribe(1, Role.PUBLISHES))
    assert not interests.validated
    assert not interests.follows(1)


def test_a_topic_that_was_given_up_is_neither_held_nor_validated():
    interests = OwnInterests()
    interests.change(Subscribe(1, Role.BOTH, validates=True))
    interests.change(Unsubscribe(1))
    interests.change(Unsubscribe(2))
    assert not interests.roles
    assert not interests.validated


def test_the_held_topics_of_a_message_are_in_its_own_order():
    interests = OwnInterests()
    for topic in (1, 2, 3):
        interests.change(Subscribe(topic, Role.BOTH))
    assert interests.topics_of(Data(3, 9, 1, 0, 0, b"", 0, ((4, 0), (1, 0)))) == [3, 1]
