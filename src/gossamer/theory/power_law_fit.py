"""Fit a power law to counts: the exponent of the tail, its standard error, and the beginning of the tail.

Clauset, Shalizi and Newman, "Power-law distributions in empirical data" (2009): the exponent is the maximum likelihood
estimate for whole numbers; the tail begins where the Kolmogorov-Smirnov distance between fit and data is smallest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import zeta

# Chosen: a law with an exponent near 1 has no mean, and with an exponent above 6 it has hardly any tail.
EXPONENTS = (1.01, 6.0)
# Chosen: larger than the distance at which the search stops before a bound (1e-5), smaller than any standard error.
EDGE = 1e-4
# Chosen: a fit to fewer values is not meaningful.
TAIL_LEAST = 50
# Chosen: the number of beginnings that are tried, evenly spread over the distinct values; each costs a few passes.
BEGINNINGS_MOST = 60


@dataclass(frozen=True)
class PowerLawFit:
    """A power law p(x) ~ x^-exponent for x >= `begins`."""

    exponent: float
    # One standard error of the exponent.
    error: float
    begins: int
    # The number of values in the tail, and the largest distance between data and fit there.
    tail: int
    distance: float
    # Whether the exponent is at the edge of the search range: the data has no exponent within the range, and `exponent`
    # and `error` are not estimates.
    is_at_edge: bool = False


def fit_power_law(values: NDArray[np.int64], counts: NDArray[np.int64]) -> PowerLawFit | None:
    """Fit distinct ascending values that occur `counts` times; zeros are ignored; None if there are too few values."""
    keep = (values > 0) & (counts > 0)
    sizes, often = values[keep].astype(np.float64), counts[keep].astype(np.float64)
    tails = np.cumsum(often[::-1])[::-1]
    able = np.flatnonzero((tails >= TAIL_LEAST) & (np.arange(len(sizes)) < len(sizes) - 1))
    if not len(able):
        return None
    tried = able[np.unique(np.linspace(0, len(able) - 1, min(len(able), BEGINNINGS_MOST)).astype(int))]
    return min((_fit_from(sizes[place:], often[place:]) for place in tried), key=lambda fit: fit.distance)


def _fit_from(values: NDArray[np.float64], counts: NDArray[np.float64]) -> PowerLawFit:
    begins, total = values[0], counts.sum()
    logs = float((counts * np.log(values)).sum())

    def loss(exponent: float) -> float:
        return float(total * np.log(zeta(exponent, begins)) + exponent * logs)

    exponent = float(minimize_scalar(loss, bounds=EXPONENTS, method="bounded").x)
    normal = zeta(exponent, begins)
    # Shares of values of at least x, at the values that occur and just above each of them. Between two values that occur,
    # the share seen stays the same while the fit falls, so the distance is largest at one of these two ends.
    seen = np.append(np.cumsum(counts[::-1])[::-1] / total, 0.0)
    at, above = (zeta(exponent, places) / normal for places in (values, values + 1))
    distance = max(np.abs(seen[:-1] - at).max(), np.abs(seen[1:] - above).max())
    return PowerLawFit(
        exponent,
        _error(exponent, begins, total),
        int(begins),
        int(total),
        float(distance),
        is_at_edge=min(exponent - EXPONENTS[0], EXPONENTS[1] - exponent) < EDGE,
    )


def _error(exponent: float, begins: float, total: float) -> float:
    """The standard error from the curvature of the likelihood: the second derivative of log zeta, by differences."""
    step = 1e-3
    low, middle, high = (np.log(zeta(exponent + shift, begins)) for shift in (-step, 0.0, step))
    return float(1 / np.sqrt(total * max((low - 2 * middle + high) / step**2, 1e-12)))
