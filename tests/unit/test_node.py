"""How parts stack into one machine, and the table of systems."""

import pytest

from gossamer.model.values.errors import InputError, MachineMisuse
from gossamer.protocols.contract.actions import Observe
from gossamer.protocols.contract.events import MessageReceived, PeerDown, TimerFired
from gossamer.protocols.contract.facts import Fact, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Message, Timer
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import check_dissemination, find_system


class Ping(Message, frozen=True, array_like=True, tag="ping"):
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
        raise AssertionError("nothing stands below the lowest part")


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


def observed(machine, event):
    return [action.fact.node for action in machine.handle(event, 0)]


def test_a_message_goes_to_its_part_and_facts_go_up_in_order():
    machine = NodeMachine((Low(), Middle(), High()))
    assert observed(machine, MessageReceived(5, Ping())) == [100, 210, 312, 311]


def test_a_timer_goes_to_its_part_and_other_events_to_all_lowest_first():
    machine = NodeMachine((Low(), Middle(), High()))
    assert observed(machine, TimerFired(Wake())) == [200]
    assert observed(machine, PeerDown(3)) == [100, 200, 300]


def test_a_message_of_another_system_is_observed_and_dropped():
    machine = NodeMachine((Middle(),))
    actions = machine.handle(MessageReceived(5, Ping()), 0)
    assert actions == (Observe(PeerMisbehaved(5, "no part of this node takes Ping")),)


def test_a_timer_that_no_part_sets_is_the_drivers_mistake():
    with pytest.raises(MachineMisuse, match="Wake"):
        NodeMachine((Low(),)).handle(TimerFired(Wake()), 0)


def test_two_parts_that_own_one_message_are_refused():
    class Rival(Middle):
        MESSAGES = (Ping,)
        TIMERS = ()

    with pytest.raises(MachineMisuse, match="both own Ping"):
        NodeMachine((Low(), Rival()))


def test_an_unknown_system_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no system 'cylon'; there are: cyclon, .*; did you mean cyclon"):
        find_system("cylon")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"view": 3}, "no parameter 'view'; it has: view_size.*did you mean view_size"),
        ({"view_size": "many"}, "view_size is 'many'"),
        ({"view_size": "0"}, "view_size is '0'.*>= 1"),
        ({"view_size": "4"}, "shuffle_length must be at most view_size"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        read_parameters(find_system("cyclon"), settings)


def test_parameters_are_read_from_text_and_the_rest_are_defaults():
    parameters = read_parameters(find_system("cyclon"), {"view_size": "30"})
    assert (parameters.view_size, parameters.shuffle_length) == (30, 8)


def test_a_dissemination_that_has_not_landed_is_refused():
    with pytest.raises(InputError, match="carries no dissemination 'flood'"):
        check_dissemination(find_system("cyclon"), "flood")
