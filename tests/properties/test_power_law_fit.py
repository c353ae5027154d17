"""Fits of power laws find the exponent of generated data and estimate its error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import zeta

from gossamer.kernels.sampling import units
from gossamer.theory.power_law_fit import EXPONENTS, fit_power_law


def draws(exponent, begins, count, seed):
    """Whole numbers of p(x) ~ x^-exponent from `begins` on, by inversion over a long table."""
    values = np.arange(begins, 200_000)
    above = zeta(exponent, values.astype(np.float64)) / zeta(exponent, begins)
    chances = units(np.uint64(seed), np.uint64(0), np.uint64(0), count)
    places = np.searchsorted(-above, -(1 - chances), side="right") - 1
    return np.unique(values[places], return_counts=True)


@settings(max_examples=20, deadline=None)
@given(exponent=st.floats(1.8, 3.5), begins=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_the_exponent_of_generated_data_is_found_within_its_error(exponent, begins, seed):
    fit = fit_power_law(*draws(exponent, begins, 20_000, seed))
    assert fit is not None
    # The choice of the tail's beginning makes the error slightly larger than the estimate from the likelihood.
    assert abs(fit.exponent - exponent) < 5 * fit.error + 0.02
    assert fit.distance < 0.03
    assert 0 < fit.error < 0.3


def test_values_that_do_not_follow_a_power_law_are_not_part_of_the_tail():
    values, counts = draws(2.5, 50, 20_000, 1)
    body = np.arange(1, 50)
    fit = fit_power_law(np.concatenate((body, values)), np.concatenate((np.full(49, 2_000), counts)))
    assert 45 <= fit.begins <= 90
    assert fit.exponent == pytest.approx(2.5, abs=0.1)


@settings(max_examples=50, deadline=None)
@given(
    counts=st.dictionaries(st.integers(1, 400), st.integers(1, 60), min_size=2, max_size=12).filter(
        lambda found: sum(found.values()) >= 50
    )
)
def test_the_distance_is_the_largest_over_all_whole_numbers_also_where_values_have_gaps(counts):
    values = np.array(sorted(counts))
    often = np.array([counts[value] for value in values.tolist()])
    fit = fit_power_law(values, often)
    if fit is None:
        return
    tail = values >= fit.begins
    numbers = np.arange(fit.begins, values[-1] + 2)
    seen = np.array([often[tail & (values >= number)].sum() for number in numbers]) / often[tail].sum()
    fitted = zeta(fit.exponent, numbers.astype(np.float64)) / zeta(fit.exponent, fit.begins)
    assert fit.distance == pytest.approx(np.abs(seen - fitted).max(), abs=1e-9)


@pytest.mark.parametrize("values", [[], [0, 0], [5] * 1_000, [1, 2, 3]])
def test_too_few_values_have_no_fit(values):
    found, counts = np.unique(np.array(values, np.int64), return_counts=True)
    assert fit_power_law(found, counts) is None


def test_an_exponent_at_the_edge_of_the_search_range_says_so():
    fit = fit_power_law(np.array([1, 2]), np.array([100_000, 5]))
    assert fit.exponent == pytest.approx(EXPONENTS[1], abs=1e-4)
    assert fit.is_at_edge
    assert not fit_power_law(*draws(2.5, 1, 20_000, 1)).is_at_edge
