"""How parts stack into one machine."""

import pytest

from gossamer.model.values.errors import MachineMisuse
from gossamer.protocols.contract.actions import Observe
from gossamer.protocols.contract.events import MessageReceived, PeerDown, PeerUp, TimerFired
from gossamer.protocols.contract.facts import Fact, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Timer, WireMessage
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import NOTHING, SilenceDetector


class Ping(WireMessage, frozen=True, array_like=True, tag="ping"):
    pass


class Wake(Timer, frozen=True, array_like=True, tag="wake"):
    pass


class Low:
    MESSAGES = (Ping,)
    TIMERS = ()

    def handle(self, event, now_us, out):
        out.append(Observe(NeighbourUp(100)))
        return (NeighbourUp(1),) if isinstance(event, MessageReceived) else NOTHING

    def learn(self, fact, now_us, out):
        raise AssertionError("there is no part below the lowest one")


class Middle:
    MESSAGES = ()
    TIMERS = (Wake,)

    def handle(self, event, now_us, out):
        out.append(Observe(NeighbourUp(200)))
        return NOTHING

    def learn(self, fact: Fact, now_us, out):
        out.append(Observe(NeighbourUp(210)))
        return (NeighbourUp(fact.node + 1),)


class High:
    MESSAGES = ()
    TIMERS = ()

    def handle(self, event, now_us, out):
        out.append(Observe(NeighbourUp(300)))
        return NOTHING

    def learn(self, fact, now_us, out):
        out.append(Observe(NeighbourUp(310 + fact.node)))
        return NOTHING


class Watchful(Middle):
    def __init__(self):
        self.heard = {}


def observed(machine, event):
    return [action.fact.node for action in machine.handle(event, 0)]


def test_a_message_goes_to_its_part_and_facts_go_up_in_order():
    machine = NodeMachine((Low(), Middle(), High()))
    assert observed(machine, MessageReceived(5, Ping())) == [100, 210, 312, 311]


def test_a_timer_goes_to_its_part_and_other_events_go_to_all_parts_from_the_lowest():
    machine = NodeMachine((Low(), Middle(), High()))
    assert observed(machine, TimerFired(Wake())) == [200]
    assert observed(machine, PeerDown(3)) == [100, 200, 300]


def test_a_part_that_detects_silence_gets_the_time_of_each_peer_s_last_message():
    part = Watchful()
    assert isinstance(part, SilenceDetector)
    assert not isinstance(Middle(), SilenceDetector)
    machine = NodeMachine((Low(), part))
    machine.handle(MessageReceived(5, Ping()), 10)
    machine.handle(PeerUp(6), 20)
    machine.handle(PeerDown(7), 30)
    machine.handle(MessageReceived(5, Ping()), 40)
    assert part.heard == {5: 40, 6: 20}


def test_a_message_of_another_system_is_reported_and_dropped():
    machine = NodeMachine((Middle(),))
    actions = machine.handle(MessageReceived(5, Ping()), 0)
    assert actions == (Observe(PeerMisbehaved(5, "no part of this node takes Ping")),)


def test_a_timer_that_no_part_sets_is_an_error_of_the_driver():
    with pytest.raises(MachineMisuse, match="Wake"):
        NodeMachine((Low(),)).handle(TimerFired(Wake()), 0)


def test_two_parts_that_own_the_same_message_class_are_refused():
    class Rival(Middle):
        MESSAGES = (Ping,)
        TIMERS = ()

    with pytest.raises(MachineMisuse, match="both own Ping"):
        NodeMachine((Low(), Rival()))
