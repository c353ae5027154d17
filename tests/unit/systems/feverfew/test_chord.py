"""Chord's lookups against a ring that is walked one node at a time in plain Python."""

import math

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.systems.feverfew.chord import chord_ring, lookup_hops, successors, walk

CIRCLE = 2**64


def brute_hops(ids, start, key):
    """Chord's find_successor (SIGCOMM 2001, Figure 4) with fingers that are found by a walk around the ring."""
    count = len(ids)
    order = sorted(ids)

    def owner_of(point):
        return min(order, key=lambda node: (node - point) % CIRCLE)

    at, hops = order[start], 0
    while at != owner_of(key):
        successor = order[(order.index(at) + 1) % count]
        hops += 1
        if (key - at) % CIRCLE <= (successor - at) % CIRCLE:
            at = successor
            continue
        for k in reversed(range(64)):
            finger = owner_of((at + 2**k) % CIRCLE)
            if 0 < (finger - at) % CIRCLE < (key - at) % CIRCLE:
                at = finger
                break
    return hops


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("seed", [1, 2])
def test_lookups_take_the_hops_of_a_ring_that_is_walked_in_plain_python(count, seed):
    ring = chord_ring(count, seed)
    ids = [int(each) for each in ring.ids]
    generator = np.random.default_rng(seed)
    starts = generator.integers(0, count, 30)
    keys = generator.integers(0, CIRCLE - 1, 30, dtype=np.uint64, endpoint=True)
    # Keys on a node, just before it and just after it.
    keys[:3] = ring.ids[0], ring.ids[0] - np.uint64(1), ring.ids[-1] + np.uint64(1)
    found = walk(ring, starts, keys)
    assert found.tolist() == [brute_hops(ids, int(at), int(key)) for at, key in zip(starts, keys, strict=True)]


def test_fingers_are_the_first_nodes_at_or_beyond_powers_of_two():
    ring = chord_ring(50, seed=3)
    ids = [int(each) for each in ring.ids]
    for node in (0, 17, 49):
        for k in (0, 40, 60, 63):
            point = (ids[node] + 2**k) % CIRCLE
            assert ring.fingers[node, k] == min(range(50), key=lambda other: (ids[other] - point) % CIRCLE)
    assert ring.fingers[:, 0].tolist() == [*range(1, 50), 0]
    assert successors(ring.ids, ring.ids).tolist() == list(range(50))


@pytest.mark.parametrize("count", [256, 1_000, 10_000])
def test_lookups_need_half_of_log2_n_hops_on_average_and_about_log2_n_at_most(count):
    hops = lookup_hops(count, seed=1, lookups=4_000)
    assert hops.mean() == pytest.approx(0.5 * math.log2(count), abs=1)
    assert 0.75 * math.log2(count) < hops.max() <= math.log2(count) + 2


def test_lookups_depend_on_the_seed_alone():
    one, again, other = (lookup_hops(300, seed, lookups=200) for seed in (1, 1, 2))
    assert one.tolist() == again.tolist() != other.tolist()
    assert not lookup_hops(1, 1, 20).any()
    assert len(lookup_hops(10, 1, 0)) == 0


def test_impossible_numbers_are_refused():
    with pytest.raises(InputError, match="number of nodes must lie"):
        lookup_hops(0, 1, 5)
    with pytest.raises(InputError, match="must not be negative"):
        lookup_hops(5, 1, -5)
