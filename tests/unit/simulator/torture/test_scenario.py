"""Scenarios: drawn from a seed alone, and read from files that are checked."""

import msgspec
import pytest

from gossamer.model.values.errors import InputError
from gossamer.simulator.torture.scenario import (
    HEAL_US,
    KINDS,
    NODES_MAX,
    NODES_MIN,
    Fault,
    draw_scenario,
    read_scenario,
    stacks,
    write_scenario,
)


def test_a_seed_decides_the_whole_scenario():
    assert draw_scenario(7) == draw_scenario(7)
    assert draw_scenario(7) != draw_scenario(8)


def test_a_hundred_seeds_draw_every_kind_of_fault_and_most_stacks():
    drawn = [draw_scenario(seed) for seed in range(100)]
    assert {fault.kind for scenario in drawn for fault in scenario.faults} == set(KINDS)
    assert len({(scenario.live, scenario.dissemination) for scenario in drawn}) > len(stacks()) * 3 / 4


@pytest.mark.parametrize("seed", range(20))
def test_a_scenario_is_a_network_whose_faults_end_before_it_heals(seed):
    scenario = draw_scenario(seed)
    assert NODES_MIN <= scenario.node_count <= NODES_MAX
    assert all(scenario.topics)
    for fault in scenario.faults:
        assert fault.at_us < fault.until_us <= HEAL_US
        assert all(0 <= node < scenario.node_count for node in fault.nodes)


def test_a_node_has_at_most_one_fault_of_its_process_or_topics():
    scenario = draw_scenario(3)
    own = ("crash", "crash_without_files", "stop", "die", "crowd", "pause", "slow", "close", "swap")
    nodes = [node for fault in scenario.faults if fault.kind in own for node in fault.nodes]
    assert len(nodes) == len(set(nodes))


def test_a_chosen_system_is_run_and_an_unknown_one_refused():
    assert draw_scenario(1, "stan").live == "stan"
    with pytest.raises(InputError, match="got 'cyclon'"):
        draw_scenario(1, "cyclon")


def test_a_written_scenario_is_read_back_unchanged(tmp_path):
    scenario = draw_scenario(5)
    write_scenario(tmp_path / "s.json", scenario)
    assert read_scenario(tmp_path / "s.json") == scenario


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 99}, "has version 99, and this Gossamer reads version 1"),
        ({"live": "cyclon"}, "asks for cyclon with"),
        ({"faults": (Fault("cut", 1, 2, (999,)),)}, "a fault cut with nodes or times that the network does not have"),
        ({"faults": (Fault("cut", 2, 1, (0,)),)}, "a fault cut with nodes or times"),
        ({"messages": ((1, 999, 0),)}, "a message of a node that the network does not have"),
    ],
)
def test_a_scenario_that_cannot_be_run_is_refused_in_one_sentence(tmp_path, changes, sentence):
    write_scenario(tmp_path / "s.json", msgspec.structs.replace(draw_scenario(5), **changes))
    with pytest.raises(InputError, match=sentence):
        read_scenario(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is not a scenario of this version"),
        (b'{"seed": 1}', "is not a scenario of this version"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused_in_one_sentence(tmp_path, content, sentence):
    (tmp_path / "s.json").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_scenario(tmp_path / "s.json")


def test_a_scenario_that_names_an_unknown_fault_is_refused_in_one_sentence(tmp_path):
    write_scenario(tmp_path / "s.json", draw_scenario(5))
    content = (tmp_path / "s.json").read_bytes().replace(b'"kind": "', b'"kind": "un')
    (tmp_path / "s.json").write_bytes(content)
    with pytest.raises(InputError, match="Invalid enum value"):
        read_scenario(tmp_path / "s.json")


def test_a_missing_file_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_scenario(tmp_path / "absent.json")
