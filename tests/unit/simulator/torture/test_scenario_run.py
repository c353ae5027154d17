"""Runs of scenarios: the same seed gives the same run, faults take effect, and failures are found and made smaller."""

import msgspec
import pytest

from gossamer.protocols.delivery.recovery.ordering import Ordering
from gossamer.simulator.torture.judge import BROKEN, SILENT, UNSAFE, judge
from gossamer.simulator.torture.scenario import Fault, Scenario
from gossamer.simulator.torture.shrink import Shrinker
from gossamer.simulator.torture.swarm import run_seed, run_swarm

SECOND_US = 1_000_000


def small(*faults, live="spidercast", dissemination="tree", nodes=8):
    """Nodes that all follow two topics, and ten messages on each."""
    messages = tuple((at * SECOND_US, at % nodes, at % 2) for at in range(4, 24))
    return Scenario(1, live, dissemination, ((0, 1),) * nodes, (5_000, 20_000), faults, messages, 26 * SECOND_US)


def test_a_network_without_faults_delivers_everything():
    outcome = judge(small())
    assert outcome.problems == ()
    # Twenty messages and two probes, each to the other seven nodes.
    assert outcome.deliveries == (20 + 2) * 7
    assert outcome.reported == 0


def test_a_scenario_gives_the_same_outcome_again():
    scenario = small(Fault("lose", 4 * SECOND_US, 20 * SECOND_US, (), 0.1), Fault("crash", 6_000_000, 9_000_000, (3,)))
    assert judge(scenario) == judge(scenario)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("crash", 8_000_000, 12_000_000, (3,)),
        Fault("crash_without_files", 8_000_000, 12_000_000, (3,)),
        Fault("stop", 8_000_000, 12_000_000, (3,)),
        Fault("die", 8_000_000, 12_000_000, (3,)),
        Fault("crowd", 8_000_000, 12_000_000, (3, 4)),
        Fault("pause", 8_000_000, 20_000_000, (3,)),
        Fault("slow", 8_000_000, 12_000_000, (3,), 20_000.0),
        Fault("close", 8_000_000, 12_000_000, (3,)),
        Fault("cut", 8_000_000, 20_000_000, (0, 1, 2, 3)),
        Fault("cut_some", 8_000_000, 20_000_000, (0, 1, 2, 3), 0.5),
        Fault("cut_one_way", 8_000_000, 20_000_000, (0, 1, 2, 3)),
        Fault("clog", 8_000_000, 12_000_000, (0, 1, 2, 3), 500_000.0),
        Fault("lose", 8_000_000, 12_000_000, (), 0.2),
        Fault("repeat", 8_000_000, 12_000_000, (), 0.5),
        Fault("clock", 8_000_000, 12_000_000, (3,), 3_600_000_000.0),
        Fault("drift", 8_000_000, 12_000_000, (3,), 0.02),
    ],
    ids=lambda fault: fault.kind,
)
def test_every_kind_of_fault_takes_effect_and_is_survived(fault):
    outcome = judge(small(fault))
    assert outcome.problems == ()
    assert outcome.hits[fault.kind] > 0


def test_a_node_that_swaps_a_topic_follows_the_new_one():
    scenario = small(Fault("swap", 8_000_000, 12_000_000, (3,)))
    scenario = msgspec.structs.replace(scenario, topics=((0,),) * 4 + ((1,),) * 4)
    outcome = judge(scenario)
    assert outcome.problems == ()
    assert outcome.hits["swap"] == 1


LOSE = Fault("lose", 8_000_000, 24_000_000, (), 0.6)


def test_a_last_message_that_nobody_asks_for_is_found_missing(monkeypatch):
    monkeypatch.setattr(Ordering, "claim", lambda *ignored: None)
    outcome = judge(small(LOSE, dissemination="flood"))
    assert {problem.kind for problem in outcome.problems} == {SILENT}


def test_a_delivery_out_of_order_is_unsafe(monkeypatch):
    def deliver_at_once(ordering, fact, topics, now_us, out):
        ordering._application.deliver(fact.data, out)

    monkeypatch.setattr(Ordering, "put", deliver_at_once)
    [problem] = judge(small(LOSE, dissemination="flood")).problems
    assert problem.kind == UNSAFE


def test_an_exception_in_a_machine_is_a_finding(monkeypatch):
    def fail(*ignored):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Ordering, "put", fail)
    [problem] = judge(small(Fault("lose", 8_000_000, 20_000_000, (), 0.3))).problems
    assert problem.kind == BROKEN
    assert "a defect" in problem.sentence


def test_a_failing_scenario_is_made_smaller_and_still_fails(monkeypatch):
    monkeypatch.setattr(Ordering, "claim", lambda *ignored: None)
    pause = Fault("pause", 8_000_000, 10_000_000, (3,))
    scenario = small(LOSE, pause, Fault("repeat", 8_000_000, 12_000_000, (), 0.5), dissemination="flood")
    shrinker = Shrinker(scenario, runs_max=60)
    smallest = shrinker.shrink()
    assert [fault.kind for fault in smallest.faults] == ["lose"]
    assert len(smallest.messages) < len(scenario.messages)
    assert {problem.kind for problem in judge(smallest).problems} == {SILENT}


def test_a_swarm_counts_what_its_seeds_reached():
    swarm = run_swarm((3, 4), 1, "spidercast", lambda: False, lambda *ignored: None)
    assert swarm.seeds == 2
    assert swarm.deliveries == sum(run_seed(seed, "spidercast").outcome.deliveries for seed in (3, 4))
    assert swarm.handlers["Announce"] > 0
    assert set(swarm.idle_faults) == {kind for kind in ("crash", *swarm.idle_faults) if not swarm.hits[kind]}


def test_a_swarm_begins_no_further_seed_when_it_is_over():
    assert run_swarm((3, 4, 5), 1, "spidercast", lambda: True, lambda *ignored: None).seeds == 1
