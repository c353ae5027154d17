"""Isolated searches and the simulations beside the theorems."""

import numpy as np
import pytest

from gossamer.kernels.draw import U64
from gossamer.systems.feverfew.check import check_bubble, check_ln_cover, search_figures
from gossamer.systems.feverfew.kernel.search import isolated_searches
from gossamer.theory.coverage import bubble, ln_cover

# Table 2 of the paper.
NOTICES = {
    2: 12.26, 10: 4.18, 100: 6.74, 200: 6.2, 400: 5.28, 600: 8.2, 825: 4.7, 1007: 6.1, 1110: 6.88, 1208: 7.66, 1304: 7.12,
}  # fmt: skip


@pytest.mark.parametrize("size", NOTICES)
def test_isolated_searches_cost_what_table_2_prints_within_a_quarter(size):
    figures = search_figures(10_000, size, 10, seed=1)
    assert figures["notices_per_search"] == pytest.approx(NOTICES[size], rel=0.25)


def test_one_search_in_ten_finds_nobody_at_most_and_a_topic_of_ten_is_the_worst():
    missed = {size: search_figures(10_000, size, 10, seed=1)["miss_probability"] for size in NOTICES}
    assert np.mean(list(missed.values())) < 0.1
    # Exactly: 2^8 - 1 turns of agents with 10 samples each, of which 9 in 10,000 match.
    assert missed[10] == max(missed.values()) == pytest.approx(np.exp(-255 * 10 * 9 / 10_000), abs=0.03)


def test_a_search_with_k_hops_has_two_to_the_k_agents_in_a_large_network():
    rows = isolated_searches(U64(1), 10**6, 2, 6, 1, False, 50)
    assert rows[:, 2].mean() == pytest.approx(64, rel=0.01)


def test_all_copies_at_once_find_a_match_no_later_and_cost_more():
    one, all_at_once = (search_figures(10_000, 2, 10, 1, at_once) for at_once in (False, True))
    assert all_at_once["first_match_cycles_mean"] < one["first_match_cycles_mean"]
    assert all_at_once["notices_per_search"] > 2 * one["notices_per_search"]


def test_without_hops_only_the_asker_searches():
    rows = isolated_searches(U64(1), 100, 50, 0, 10, False, 20)
    assert (rows[:, 2] == 1).all()
    assert set(rows[:, 0].tolist()) <= {0, 1}


def test_a_check_of_theorem_2_shows_figures_with_the_names_of_the_theory():
    found, theory = check_bubble(1_000, 5, 10, 1), bubble(1_000, 5, shuffle=10)
    assert found["hops"] == theory.hops
    assert set(found) & set(vars(theory)) == {"hops", "agents", "miss_probability"}


def test_gossip_covers_a_topic_about_as_fast_as_theorem_1_says():
    found, theory = check_ln_cover(1_000, 50, 10, 40, 1), ln_cover(1_000, 50, random=10, similar=40)
    assert found["covered_share"] == 1.0
    assert found["cycles_section_3_2"] <= 3 * theory.cycles_section_3_2
    assert found["cycles_until_all_are_covered"] >= found["cycles_section_3_2"]
