"""`--set NAME=VALUE`: parameters of the system, of its dissemination and of recovery."""

import json

import pytest

from gossamer.cli.live_options import live_parameters
from gossamer.cli.options import read_set_flags, read_system_settings
from gossamer.model.values.errors import InputError


def test_the_prefix_selects_the_layer():
    found = read_set_flags(["view=5", "degree=given:1=0.5", "gossip.gamma=0.3", "recovery.history=9"], "gossip")
    assert found.system == {"view": "5", "degree": "given:1=0.5"}
    assert found.dissemination == {"gamma": "0.3"}
    assert found.recovery == {"history": "9"}


def test_the_prefix_dissemination_stands_for_the_one_in_use():
    assert read_set_flags(["dissemination.gamma=0.3"], "gossip").dissemination == {"gamma": "0.3"}


@pytest.mark.parametrize(
    ("text", "dissemination", "sentence"),
    [
        ("view", "tree", "--set must be NAME=VALUE, got 'view'"),
        ("=5", "tree", "--set must be NAME=VALUE, got '=5'"),
        ("gossip.=5", "gossip", "--set must be NAME=VALUE, got 'gossip.=5'"),
        (
            "cyclon.view=5",
            "tree",
            "--set cyclon.view=5 has the unknown prefix 'cyclon'; the prefixes are: flood, tree, gossip, push-pull, "
            "recovery; a parameter of the system has no prefix",
        ),
        ("gossip.gamma=1", "tree", "--set gossip.gamma=1 sets a parameter of gossip, but the dissemination is tree"),
        ("gossip.gamma=1", None, "--set gossip.gamma=1 sets a parameter of a dissemination; give --dissemination too"),
    ],
)
def test_a_wrong_setting_is_one_clear_sentence(text, dissemination, sentence):
    with pytest.raises(InputError) as refused:
        read_set_flags([text], dissemination)
    assert str(refused.value) == sentence


def test_a_command_without_dissemination_takes_no_prefix():
    assert read_system_settings(["view=5"]) == {"view": "5"}
    with pytest.raises(InputError, match="takes parameters of the system only"):
        read_system_settings(["gossip.gamma=1"])


def test_a_live_node_knows_the_dissemination_that_its_system_runs_by_default():
    assert live_parameters(["links=4", "gossip.gamma=0.3"], "gossip", None) == ({"links": "4"}, {"gamma": "0.3"})
    with pytest.raises(InputError, match="but the dissemination is tree"):
        live_parameters(["gossip.gamma=0.3"], "spidercast", None)


def test_a_live_node_refuses_parameters_of_recovery():
    with pytest.raises(InputError, match=r"leave out --set recovery\.history"):
        live_parameters(["recovery.history=9"], "spidercast", None)


def test_all_layers_can_be_set_in_one_simulation(gossamer, workload):
    settings = ("--set", "greedy_coverage=2", "--set", "gossip.gamma=0.9", "--set", "recovery.history=9")
    flags = ("--dissemination", "gossip", "--recovery", "--events", 3, "--until", "9s", "--json")
    code, out, err = gossamer("simulate", "spidercast", "w", "o", "--seed", 1, *flags, *settings)
    assert (code, err) == (0, "")
    metrics = json.loads(out)
    assert metrics["dissemination_parameters"]["gamma"] == 0.9
    assert metrics["recovery_parameters"]["history"] == 9


def test_up_checks_the_parameters_of_the_dissemination_before_it_starts_nodes(gossamer):
    code, _, err = gossamer("up", "--system", "gossip", "--set", "gossip.gama=0.3")
    assert code == 2
    assert "did you mean gamma?" in err
