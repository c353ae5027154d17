"""What is delivered to the application."""

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.events import Subscribe
from gossamer.protocols.contract.messages import Burst, Data
from gossamer.protocols.delivery.application import Application
from gossamer.protocols.delivery.interests import OwnInterests


def delivered(message, **roles):
    interests = OwnInterests()
    for topic, role in roles.items():
        interests.change(Subscribe(int(topic[1:]), role))
    out = []
    application = Application(interests)
    (application.deliver_burst if isinstance(message, Burst) else application.deliver)(message, out)
    return out


def test_a_message_is_delivered_once_under_the_first_topic_that_the_application_follows():
    message = Data(1, 9, 5, 3, 70, b"x", 0, ((2, 0), (3, 0), (4, 0)))
    found = delivered(message, t1=Role.PUBLISHES, t2=Role.FOLLOWS, t4=Role.BOTH)
    assert found == [Deliver(2, b"x", 9, 5, 3, 70, (4,))]


@pytest.mark.parametrize(
    "message", [Data(1, 9, 5, 3, 70, b"x"), Data(1, 9, 5, 3, 70, b"x", 0, ((2, 0),)), Burst(1, 9, 5, 3, ((70, b"x"),))]
)
def test_nothing_is_delivered_on_topics_that_the_node_only_publishes_on(message):
    assert delivered(message, t1=Role.PUBLISHES) == []
    assert delivered(message) == []


def test_the_messages_of_a_burst_are_delivered_one_by_one():
    found = delivered(Burst(1, 9, 5, 3, ((70, b"x"), (71, b"y"))), t1=Role.FOLLOWS)
    assert found == [Deliver(1, b"x", 9, 5, 3, 70), Deliver(1, b"y", 9, 6, 3, 71)]
