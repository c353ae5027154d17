"""Two halves of a network that were apart for long are one overlay soon after the first contact (`parted_net.py`).

Connections behave like TCP: bytes that were sent into a partition are sent again at growing intervals, up to a minute
after its end. A node that waited for such a connection would not hear the other half for that long.
"""

import pytest

from tests.scenarios.parted_net import Parting, measure

# The promise of docs/live.md.
SECONDS = 10


def assert_healed(healing):
    assert healing.connected is not None
    assert healing.connected < SECONDS
    assert healing.live < SECONDS
    assert healing.delivered_live < SECONDS
    assert healing.filled > 500, "the halves missed nothing"
    assert healing.filled_until < 2 * SECONDS
    assert (healing.missing, healing.reports) == (0, 0)


@pytest.mark.parametrize("seconds", [30, 150])
def test_two_halves_are_one_overlay_soon_after_their_first_contact(seconds):
    healing = measure(Parting(apart_seconds=seconds), seed=1)
    assert healing.contact < SECONDS
    assert_healed(healing)


@pytest.mark.parametrize("contacts", ["first", "own"])
def test_nodes_that_start_during_a_partition_take_part_although_messages_are_lost(contacts):
    assert_healed(measure(Parting(loss=0.02, late=4, contacts=contacts), seed=1))


def test_halves_meet_again_although_the_node_that_knew_both_has_crashed():
    healing = measure(Parting(contacts="own", crash_contact=True), seed=4)
    assert healing.contact < 30
    assert_healed(healing)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(1, 13))
@pytest.mark.parametrize(
    "parting",
    [
        Parting(),
        Parting(apart_seconds=30),
        Parting(contacts="own", crash_contact=True),
        Parting(loss=0.02, late=4),
    ],
    ids=["long", "short", "crash", "loss"],
)
def test_all_new_messages_cross_soon_after_the_first_contact_with_many_seeds(parting, seed):
    assert_healed(measure(parting, seed))


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_larger_network_heals_with_loss_and_nodes_that_started_meanwhile(seed):
    assert_healed(measure(Parting(nodes=40, rate=40.0, loss=0.02, late=4), seed=seed))
