"""Unstructured overlays have the requested degrees and random links."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.kernels.graphs import draw_degrees, pair_stubs, spread_degrees
from gossamer.model.arrays.degrees import degree_law, read_scale_free
from gossamer.model.values.errors import InputError
from gossamer.systems.gossip.wiring import unstructured

U64 = np.uint64


@given(degrees=st.lists(st.integers(0, 9), min_size=1, max_size=60), seed=st.integers(0, 2**64 - 1))
def test_every_stub_is_paired_once_except_an_odd_one(degrees, seed):
    u, v = pair_stubs(U64(seed), np.array(degrees))
    assert len(u) == len(v) == sum(degrees) // 2
    used = np.bincount(np.concatenate((u, v)), minlength=len(degrees))
    left = np.array(degrees) - used
    assert (left >= 0).all()
    assert left.sum() == sum(degrees) % 2


def test_all_pairings_of_four_stubs_are_equally_likely():
    """There are three ways to pair four stubs of four nodes."""
    partners = np.zeros(4)
    for seed in range(3000):
        u, v = pair_stubs(U64(seed), np.ones(4, np.int64))
        pairs = dict(zip(u.tolist(), v.tolist(), strict=True)) | dict(zip(v.tolist(), u.tolist(), strict=True))
        partners[pairs[0]] += 1
    assert partners[0] == 0
    assert np.abs(partners[1:] / 3000 - 1 / 3).max() < 0.04


@pytest.mark.parametrize("text", ["poisson:5", "power:2.5:30", "given:0=0.2,3=0.5,8=0.3"])
def test_drawn_degrees_follow_the_law_and_their_sum_is_even(text):
    law = degree_law(text)
    for seed in range(20):
        drawn = draw_degrees(U64(seed), law.degrees.astype(np.int64), np.cumsum(law.shares), 2001)
        assert drawn.sum() % 2 == 0
    many = draw_degrees(U64(1), law.degrees.astype(np.int64), np.cumsum(law.shares), 200_000)
    for degree, share in zip(law.degrees, law.shares, strict=True):
        assert (many == degree).mean() == pytest.approx(share, abs=0.006)


def test_scale_free_degrees_have_the_exact_counts_of_the_formula_in_random_order():
    degrees, nodes = read_scale_free("scale-free:6:1.2")
    dealt = spread_degrees(U64(1), degrees, nodes)
    assert [(dealt == degree).sum() for degree in degrees] == nodes.tolist()
    # Degrees do not depend on ids: the mean of the first half is near that of the second.
    other = spread_degrees(U64(2), degrees, nodes)
    assert not np.array_equal(dealt, other)
    halves = np.array([spread_degrees(U64(seed), degrees, nodes)[:724].mean() for seed in range(30)])
    assert halves.mean() == pytest.approx(dealt.mean(), rel=0.05)


def test_few_pairs_are_dropped_if_degrees_are_small():
    overlay = unstructured("regular:4", 5000, 1)
    assert (overlay.degrees <= 4).all()
    assert overlay.degrees.mean() > 3.99
    assert unstructured("poisson:5", 5000, 1).degrees.mean() == pytest.approx(5, abs=0.1)
    # Degrees above the number of nodes are cut off.
    assert unstructured("power:2.05", 50, 3).degrees.max() < 50


def test_the_same_seed_draws_the_same_overlay_and_another_seed_another_one():
    first, same, other = (unstructured("poisson:5", 300, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.neighbours, same.neighbours)
    assert not np.array_equal(first.neighbours, other.neighbours)


@pytest.mark.parametrize(
    ("law", "nodes", "sentence"),
    [
        ("regular:3", 7, "7 nodes 21 ends of links, an odd number"),
        ("given:1=0.5,3=0.5", 9, "an odd number"),
        ("regular:7", 7, "asks for 7 neighbours, and there are 6 other nodes"),
        ("scale-free:6:1", 2481, "a network of 2482 nodes; the workload has 2481"),
    ],
)
def test_an_impossible_overlay_is_refused_in_one_sentence(law, nodes, sentence):
    with pytest.raises(InputError, match=sentence):
        unstructured(law, nodes, 1)
