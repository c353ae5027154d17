"""`TopicNeighbours.neighbours_on` returns the same tuple until it changes, for every part that offers it."""

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import MessageReceived, PeerDown, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.views import InterestOracle
from gossamer.systems import all_systems, find_system, make_machine
from gossamer.systems.feverfew.messages import FarewellNotice, HoldRequest, Pulse
from gossamer.systems.omen.messages import Departure, LinkPulse, LinkRequest
from gossamer.systems.spidercast.messages import ConnectRequest, Heartbeat, LeaveNotice, Task
from gossamer.systems.stan.messages import Hold, Release, TopicLeave
from gossamer.systems.stan.proofs import prove, topic_key

ME, ONE, TWO = 50, 3, 90
TOPIC, OTHER = 7, 8


def machine_of(name):
    system = find_system(name)
    parameters = read_parameters(system, {})
    view = InterestOracle(100).view_for(parameters, 1, ME) if system.takes_view(parameters) else None
    return make_machine(system, parameters, 1, ME, view)


def spidercast_messages():
    """(joins TOPIC, joins OTHER, changes nothing, leaves TOPIC), each as (sender, message)."""

    def connect(topic):
        return ConnectRequest(Task.GREEDY, 0, 3, (topic,), version=1, count=1)

    heartbeat = Heartbeat(Task.GREEDY, 2, 3, version=1)
    return (ONE, connect(TOPIC)), (TWO, connect(OTHER)), (ONE, heartbeat), (ONE, LeaveNotice(Task.GREEDY))


def stan_messages():
    """As `spidercast_messages`."""

    def said(sender, message, topic):
        return sender, message(topic, prove(topic_key(topic, b""), b"stan", sender, ME))

    return said(ONE, Hold, TOPIC), said(TWO, Hold, OTHER), said(TWO, Release, TOPIC), said(ONE, TopicLeave, TOPIC)


def feverfew_messages():
    """As `spidercast_messages`."""
    return (
        (ONE, HoldRequest(1, 1, (TOPIC,))),
        (TWO, HoldRequest(1, 1, (OTHER,))),
        (ONE, Pulse(1)),
        (ONE, FarewellNotice()),
    )


def omen_messages():
    """As `spidercast_messages`."""
    return (
        (ONE, LinkRequest(1, 1, 1, (TOPIC,))),
        (TWO, LinkRequest(1, 1, 1, (OTHER,))),
        (ONE, LinkPulse(1, 1, ())),
        (ONE, Departure()),
    )


MESSAGES = {
    "spidercast": spidercast_messages,
    "similarity": spidercast_messages,
    "random": spidercast_messages,
    "stan": stan_messages,
    "feverfew": feverfew_messages,
    "omen": omen_messages,
}


class Watched:
    """A machine that holds two topics, and what its overlay answers for TOPIC."""

    def __init__(self, name):
        self.machine = machine_of(name)
        self.give(Started())
        self.give(Subscribe(TOPIC, Role.BOTH))
        self.give(Subscribe(OTHER, Role.BOTH))

    def give(self, event):
        self.machine.handle(event, 5)

    def hear(self, said):
        self.give(MessageReceived(*said))

    @property
    def answer(self):
        return self.machine.overlay.neighbours_on(TOPIC)


def test_every_system_whose_overlay_answers_is_tested_here():
    answering = {
        name
        for name, system in all_systems().items()
        if system.parts is not None and any(isinstance(part, TopicNeighbours) for part in machine_of(name)._parts)
    }
    assert answering == set(MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_the_answer_is_one_tuple_until_the_neighbours_on_the_topic_change(name):
    joins, joins_other, changes_nothing, leaves = MESSAGES[name]()
    node = Watched(name)
    assert node.answer == ()
    node.hear(joins)
    first = node.answer
    assert first == (ONE,)
    assert type(first) is tuple
    assert node.answer is first
    node.hear(joins_other)
    assert node.answer is first, "a neighbour on another topic changes nothing here"
    node.hear(changes_nothing)
    assert node.answer is first
    node.give(Unsubscribe(OTHER))
    assert node.answer is first
    node.hear(leaves)
    assert node.answer == ()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_neighbour_that_left_and_came_back_is_in_the_answer(name):
    joins, _, _, leaves = MESSAGES[name]()
    node = Watched(name)
    for _ in range(3):
        node.hear(joins)
        assert node.answer == (ONE,)
        node.hear(leaves)
        assert node.answer == ()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_neighbour_that_cannot_be_reached_is_not_in_the_answer(name):
    joins, *_ = MESSAGES[name]()
    node = Watched(name)
    node.hear(joins)
    assert node.answer == (ONE,)
    node.give(PeerDown(ONE))
    assert node.answer == ()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_topic_that_the_node_no_longer_holds_starts_again_without_old_answers(name):
    joins, _, _, leaves = MESSAGES[name]()
    node = Watched(name)
    node.hear(joins)
    assert node.answer == (ONE,)
    node.give(Unsubscribe(TOPIC))
    node.hear(leaves)
    node.give(Subscribe(TOPIC, Role.BOTH))
    assert node.answer == ()
