"""Each departure from the paper is a parameter, and `paper=true` gives the paper's rule for all of them."""

import pytest

from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.actions import SetTimer
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import describe_parameters, read_parameters
from gossamer.systems import find_system
from gossamer.systems.spidercast.messages import (
    ConnectRequest,
    DisconnectOk,
    DisconnectRequest,
    Heartbeat,
    MaintenanceDue,
    Redirect,
    Task,
)
from gossamer.systems.spidercast.parameters import AS_WRITTEN, RandomParameters, SpiderCastParameters
from gossamer.systems.spidercast.population import spidercast_numbers
from tests.unit.systems.spidercast.one_node import OneNode, of_kind


def asked_to_part(node):
    return [to for to, message in node.turn() if isinstance(message, DisconnectRequest)]


def with_one_to_spare(**settings):
    """A node that 60 covers and that could part from 61."""
    node = OneNode(margin=5, **settings)
    node.connect_from(60, 7, degree=0, target=9)
    node.connect_from(61, 7, degree=3, target=2)
    return node


def test_paper_sets_every_departure_to_the_papers_rule():
    parameters = SpiderCastParameters(paper=True)
    assert {name: getattr(parameters, name) for name in AS_WRITTEN} == AS_WRITTEN
    assert parameters.heartbeat_us == SpiderCastParameters().heartbeat_us
    assert RandomParameters(paper=True).ask_again == "always"


def test_paper_leaves_alone_what_was_set_to_something_else():
    lazy = SpiderCastParameters(paper=True, ask_again="once", wakes="loss")
    assert (lazy.ask_again, lazy.wakes, lazy.drop_when_stuck) == ("once", "loss", False)
    read = read_parameters(find_system("spidercast"), {"paper": "true", "ask_again": "once"})
    assert (read.ask_again, read.mend_us) == ("once", 0)


def test_every_parameter_that_paper_changes_says_that_it_differs():
    origins = {each["name"]: each["origin"] for each in describe_parameters(SpiderCastParameters)}
    assert {name for name, origin in origins.items() if origin.startswith("Differs:")} == set(AS_WRITTEN)


def test_the_kernel_refuses_a_set_of_redirects_beside_bridges():
    with pytest.raises(InputError, match="redirect"):
        spidercast_numbers(SpiderCastParameters(redirects=2))


@pytest.mark.parametrize(("ask_again", "asked"), [("always", [61, 61, 61]), ("changed", [61, 61]), ("once", [61])])
def test_a_neighbour_that_refused_is_asked_again_as_ask_again_says(ask_again, asked):
    node = with_one_to_spare(ask_again=ask_again)
    found = asked_to_part(node)
    node.hear(61, Heartbeat(Task.GREEDY, 3, 2, version=1))
    found += asked_to_part(node)
    node.hear(61, Heartbeat(Task.GREEDY, 4, 2, version=1))
    assert found + asked_to_part(node) == asked


@pytest.mark.parametrize(("parts_above", "asked"), [("target", [61]), ("degree", [])])
def test_figure_3_line_9_as_printed_spares_a_neighbour_at_its_target(parts_above, asked):
    node = OneNode(margin=5, parts_above=parts_above)
    node.connect_from(60, 7, degree=0, target=9)
    node.connect_from(61, 7, degree=2, target=2)
    assert asked_to_part(node) == asked


@pytest.mark.parametrize("agrees_above", ["L_max", "L"])
def test_figure_4_line_23_as_printed_agrees_above_the_target(agrees_above):
    node = OneNode(topics=(7, 8, 9), margin=1, agrees_above=agrees_above)
    node.connect_from(60, 7)
    node.connect_from(61, 8, 9)
    assert node.greedy.target < node.greedy.degree < node.greedy.degree_max
    agreed = [(60, DisconnectOk(Task.GREEDY))] if agrees_above == "L" else []
    assert node.hear(60, DisconnectRequest(Task.GREEDY)) == agreed


@pytest.mark.parametrize(("random_parts", "asked"), [("redundant", [61]), ("above", [])])
def test_the_random_task_can_be_told_to_part_only_above_its_limit(random_parts, asked):
    node = OneNode(margin=5, greedy_coverage=0, random_coverage=1, random_parts=random_parts)
    node.connect_from(60, 7, degree=0, target=9, task=Task.RANDOM)
    node.connect_from(61, 7, degree=3, target=2, task=Task.RANDOM)
    # The limit is one link for one topic, so that two are above it in both cases; with two topics two are not.
    assert asked_to_part(node) == [61]
    node = OneNode(topics=(7, 8), margin=5, greedy_coverage=0, random_coverage=1, random_parts=random_parts)
    node.connect_from(60, 7, 8, degree=0, target=9, task=Task.RANDOM)
    node.connect_from(61, 7, degree=3, target=2, task=Task.RANDOM)
    assert asked_to_part(node) == asked


def sets_a_turn(node):
    return any(isinstance(action, SetTimer) and isinstance(action.timer, MaintenanceDue) for action in node.actions)


@pytest.mark.parametrize(("wakes", "sets"), [("change", False), ("always", True)])
def test_a_covered_node_without_work_sets_a_timer_only_if_it_always_wakes(wakes, sets):
    node = OneNode(margin=5, wakes=wakes)
    node.connect_from(60, 7, degree=0, target=9)
    node.turn()
    node.turn()
    assert sets_a_turn(node) is sets


def test_a_node_that_wakes_on_loss_sleeps_until_it_loses_a_neighbour():
    node = OneNode(topics=(7, 8, 9), margin=5, wakes="loss")
    node.connect_from(60, 7, 8, 9, degree=0, target=9)
    node.turn()
    assert node.greedy.is_asleep
    node.connect_from(61, 7, degree=3, target=2)
    assert asked_to_part(node) == [], "a new neighbour does not wake it"
    node.connect_from(62, 7, degree=3, target=2)
    node.hear(62, DisconnectOk(Task.GREEDY))
    assert not node.greedy.is_asleep
    assert asked_to_part(node) == [61]


@pytest.mark.parametrize(("redirects", "used"), [(1, [61]), (2, [60, 61])])
def test_a_set_of_redirect_candidates_keeps_late_answers(redirects, used):
    node = OneNode(topics=(7, 8), view={30: (7, 8), 31: (7, 8)}, redirects=redirects, greedy_coverage=1)
    (late,) = of_kind(node.turn(), ConnectRequest)
    # No answer in time: the next peer is asked.
    (open_peer,) = of_kind(node.turn(after_us=600_000), ConnectRequest)
    node.hear(late, Redirect(Task.GREEDY, Peer(60)))
    node.hear(open_peer, Redirect(Task.GREEDY, Peer(61)))
    asked = []
    while found := of_kind(node.turn(after_us=600_000), ConnectRequest):
        asked += found
    assert [peer for peer in asked if peer >= 60] == used
