"""The table of systems and their parameters."""

import subprocess
import sys

import pytest

from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import check_dissemination, find_system


def test_the_error_for_an_unknown_system_lists_the_known_ones():
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


def test_a_system_is_found_without_importing_the_others():
    code = "import sys; from gossamer.systems import find_live; find_live('spidercast'); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "gossamer.systems.spidercast.machine" in done.stdout
    assert "gossamer.systems.stan" not in done.stdout


def test_the_order_of_systems_does_not_depend_on_earlier_look_ups():
    code = "from gossamer.systems import all_systems, find_system; {}; print(list(all_systems()))"
    orders = {
        subprocess.run([sys.executable, "-c", code.format(first)], capture_output=True, text=True, check=True).stdout
        for first in ("pass", "find_system('stan')", "find_system('gm')")
    }
    assert len(orders) == 1


def test_an_overlay_that_does_not_know_its_links_carries_no_flooding():
    with pytest.raises(InputError, match="carries no dissemination 'flood'"):
        check_dissemination(find_system("cyclon"), "flood")
