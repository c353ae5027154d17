"""The faults of links: each has the effect that its name says, while it lasts, and on the links that it names."""

import pytest

from gossamer.simulator.network import ConstantLatency
from gossamer.simulator.torture.network import FaultyNetwork
from gossamer.simulator.torture.scenario import Fault

DELAY_US = 1_000
BITS = 0x1234_5678_9ABC_DEF0


def network(*faults):
    return FaultyNetwork(ConstantLatency(DELAY_US), faults=faults, seed=1)


def test_a_network_without_faults_delays_messages_only():
    assert network().delays_us(5, 1, 2, BITS) == (DELAY_US,)
    assert not network().parted(5, 1, 2)


def test_a_cut_lasts_from_its_beginning_until_its_end():
    cut = network(Fault("cut", 10, 20, (1,)))
    assert [cut.delays_us(at_us, 1, 2, BITS) for at_us in (9, 10, 19, 20)] == [(DELAY_US,), (), (), (DELAY_US,)]
    assert [cut.parted(at_us, 2, 1) for at_us in (9, 10, 19, 20)] == [False, True, True, False]
    assert cut.delays_us(15, 2, 3, BITS) == (DELAY_US,)
    assert cut.hits == [2]


def test_a_cut_in_one_direction_lets_the_other_pass():
    cut = network(Fault("cut_one_way", 0, 10, (1,)))
    assert cut.delays_us(5, 1, 2, BITS) == ()
    assert cut.delays_us(5, 2, 1, BITS) == (DELAY_US,)


def test_a_partial_cut_takes_its_share_of_the_pairs_in_both_directions():
    cut = network(Fault("cut_some", 0, 10, tuple(range(40)), 0.5))
    pairs = [(one, other) for one in range(40) for other in range(40, 80)]
    assert all(cut.parted(5, one, other) == cut.parted(5, other, one) for one, other in pairs)
    assert sum(cut.parted(5, one, other) for one, other in pairs) / len(pairs) == pytest.approx(0.5, abs=0.05)


def test_a_clogged_link_is_slower_and_others_are_not():
    clogged = network(Fault("clog", 0, 10, (1, 2), 500_000.0))
    assert clogged.delays_us(5, 1, 2, BITS) == (DELAY_US + 500_000,)
    assert clogged.delays_us(5, 1, 3, BITS) == (DELAY_US,)


@pytest.mark.parametrize(("kind", "copies"), [("lose", 0), ("repeat", 2)])
def test_loss_and_repetition_affect_their_share_of_messages(kind, copies):
    faulty = network(Fault(kind, 0, 10, (), 0.25))
    counts = [len(faulty.delays_us(5, 1, 2, BITS * number & (2**64 - 1))) for number in range(1, 4_001)]
    assert counts.count(copies) / len(counts) == pytest.approx(0.25, abs=0.03)
    assert faulty.hits == [counts.count(copies)]
