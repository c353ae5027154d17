"""`gossamer theory ln-cover` and `gossamer theory bubble`."""

import json
import sys
from types import MappingProxyType, ModuleType

import pytest

from gossamer import systems
from gossamer.protocols.contract.system import NoParameters, System

LN_COVER = ("theory", "ln-cover", "--nodes", 10_000, "--size", 50, "--random", 10, "--similar", 40)
BUBBLE = ("theory", "bubble", "--nodes", 10_000, "--size", 10, "--shuffle", 10)


def test_ln_cover_prints_both_forms_of_theorem_1(gossamer):
    code, out, _ = gossamer(*LN_COVER, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["cycles_as_stated"] == pytest.approx(16.3, abs=0.05)
    assert found["cycles_section_3_2"] == pytest.approx(20.7, abs=0.05)
    code, out, _ = gossamer(*LN_COVER)
    assert code == 0
    assert "cycles section 3 2" in out
    assert "n / (n - 1 - ln n)" in out


def test_bubble_prints_the_time_to_live_of_theorem_2(gossamer):
    found = json.loads(gossamer(*BUBBLE, "--json")[1])
    assert found["ttl"] == pytest.approx(6.77, abs=0.005)
    assert (found["hops"], found["copies"], found["is_capped"]) == (7, 128, False)
    capped = gossamer("theory", "bubble", "--nodes", 100_000, "--size", 2)[1]
    assert "99,999 agents take part instead" in capped


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("theory", "ln-cover", "--nodes", 10, "--size", 11), "--size must lie between 2 and the number of nodes (10)"),
        (("theory", "ln-cover", "--nodes", 100, "--size", 5, "--similar", 200), "--similar must lie between 0 and 99"),
        (("theory", "bubble", "--nodes", 100, "--size", 5, "--shuffle", 0), "--shuffle must lie between 1 and 99"),
        (("theory", "bubble", "--nodes", 1, "--size", 2), "--nodes must lie between 2 and"),
    ],
)
def test_wrong_input_is_one_sentence(gossamer, arguments, sentence):
    code, out, err = gossamer(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def offer(monkeypatch, **checks):
    """Make the registry have one system, with a module of these checks."""
    module = ModuleType("offered_checks")
    vars(module).update(checks)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    system = System("offering", "", "", NoParameters, theory_checks=module.__name__ if checks else None)
    monkeypatch.setattr(systems, "all_systems", lambda: MappingProxyType({system.name: system}))


@pytest.mark.parametrize("command", [LN_COVER, BUBBLE])
def test_check_is_refused_in_one_sentence_if_no_system_offers_it(gossamer, monkeypatch, command):
    offer(monkeypatch)
    code, out, err = gossamer(*command, "--check")
    assert (code, out) == (2, "")
    assert err == "gossamer: no installed system offers a simulation of this theorem; leave out --check\n"


def test_check_calls_the_simulation_that_a_system_offers(gossamer, monkeypatch):
    calls = []

    def check_bubble(nodes, size, shuffle, seed, progress):
        calls.append((nodes, size, shuffle, seed))
        return {"ttl": 6.5}

    def check_ln_cover(nodes, size, random, similar, seed, progress):
        calls.append((nodes, size, random, similar, seed))
        return {"cycles_section_3_2": 21.0}

    offer(monkeypatch, check_bubble=check_bubble, check_ln_cover=check_ln_cover)
    assert json.loads(gossamer(*BUBBLE, "--check", "--seed", 4, "--json")[1])["simulated"] == {"ttl": 6.5}
    code, out, _ = gossamer(*LN_COVER, "--check")
    assert code == 0
    assert "Theory and simulation" in out
    assert calls == [(10_000, 10, 10, 4), (10_000, 50, 10, 40, 1)]
    # A system that offers only the other simulation is no answer.
    offer(monkeypatch, check_ln_cover=check_ln_cover)
    assert gossamer(*BUBBLE, "--check")[0] == 2
