"""The theorems of Feverfew against the paper's own numbers and against balls thrown into boxes."""

import math

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.theory.coverage import bubble, ln_cover

# Table 1, page 10: topic sizes and the rows "Theory".
SIZES = (2, 10, 100, 200, 400, 600, 825, 1007, 1110, 1208, 1304)
TABLE_1 = {
    10_000: ("11.5", "6.77", "3.30", "2.36", "1.49", "1.03", "0.72", "0.54", "0.46", "0.40", "0.34"),
    100_000: ("14.7", "10.4", "6.88", "5.87", "4.88", "4.31", "3.86", "3.59", "3.46", "3.34", "3.24"),
}
# The one cell that no reading gives: the cap of M gives 20.1.
MISSED = (100_000, 2)


@pytest.mark.parametrize("nodes", TABLE_1)
def test_theorem_2_gives_table_1_to_the_printed_digits(nodes):
    for size, printed in zip(SIZES, TABLE_1[nodes], strict=True):
        digits = len(printed.partition(".")[2])
        found = bubble(nodes, size, shuffle=10)
        if (nodes, size) == MISSED:
            assert f"{found.ttl:.{digits}f}" == "20.1" != printed
            assert found.is_capped
        else:
            assert f"{found.ttl:.{digits}f}" == printed
            assert not found.is_capped


def test_a_capped_search_has_the_time_to_live_that_the_paper_bounds():
    found = bubble(100_000, 2, shuffle=10)
    assert found.agents == 99_999
    assert found.ttl == pytest.approx(math.log2(100_000 * math.log(100_000)))
    assert found.miss_probability > 1 / 100_000


@pytest.mark.parametrize(("nodes", "size", "shuffle"), [(10_000, 2, 10), (500, 30, 8), (10**6, 40, 5)])
def test_the_agents_of_theorem_2_miss_with_probability_one_over_n(nodes, size, shuffle):
    found = bubble(nodes, size, shuffle)
    assert found.miss_probability == pytest.approx(1 / nodes)
    # The copies that the time to live makes reach the expected number of agents.
    assert nodes * (1 - math.exp(-(2**found.ttl) / nodes)) == pytest.approx(found.agents)
    assert found.copies == 2**found.hops >= 2**found.ttl


def test_a_topic_that_nearly_everybody_holds_needs_no_agents_but_the_asker():
    found = bubble(10_000, 9_000, shuffle=10)
    assert found.agents < 1
    assert (found.ttl, found.hops, found.copies) == (0, 0, 1)


def test_theorem_1_in_the_form_of_section_3_2_gives_the_21_cycles_of_figure_6():
    found = ln_cover(10_000, 50, random=10, similar=40)
    assert found.cycles_section_3_2 == pytest.approx(20.7, abs=0.05)
    assert found.cycles_as_stated == pytest.approx(16.3, abs=0.05)
    assert found.neighbours_needed == pytest.approx(3.912, abs=0.001)


def test_samples_drawn_for_the_cycles_of_theorem_1_hit_ln_n_subscribers():
    """A simulation of the proof: the distinct subscribers among uniform samples, against ln n."""
    nodes, size, sampled = 2_000, 60, 10
    cycles = round(ln_cover(nodes, size, random=sampled, similar=0).cycles_as_stated)
    generator = np.random.default_rng(1)
    hits = [
        len(np.unique(samples[samples < size]))
        for samples in generator.integers(0, nodes, size=(2_000, cycles * sampled))
    ]
    assert np.mean(hits) == pytest.approx(math.log(size), rel=0.03)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ln_cover(100, 1, 5, 5), "size must lie between 2 and the number of nodes"),
        (lambda: ln_cover(100, 101, 5, 5), "size must lie between 2 and the number of nodes"),
        (lambda: ln_cover(100, 10, 0, 0), "at least one node in a cycle"),
        (lambda: ln_cover(100, 10, -1, 5), "random must lie between 0 and 99"),
        (lambda: ln_cover(1, 2, 1, 0), "nodes must lie between 2 and"),
        (lambda: bubble(100, 10, 0), "shuffle must lie between 1 and 99"),
        (lambda: bubble(10**13, 10, 10), "nodes must lie between 2 and"),
    ],
)
def test_numbers_outside_the_theorems_are_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
