"""How well a power law describes counts: the exponent of the tail, its error, and where the tail begins.

Clauset, Shalizi and Newman, "Power-law distributions in empirical data" (2009): the exponent by maximum likelihood for
whole numbers, the beginning of the tail where the fit lies closest to the data (Kolmogorov-Smirnov).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import zeta

# Chosen: an exponent near one has no mean, and above six the tail is as good as none.
EXPONENTS = (1.01, 6.0)
# Chosen: a tail of fewer values than this says nothing.
TAIL_LEAST = 50
# Chosen: so many beginnings are tried, evenly over the distinct values; each costs a few passes over those.
BEGINNINGS_MOST = 60


@dataclass(frozen=True)
class PowerLawFit:
    """p(x) ~ x^-exponent from `begins` on."""

    exponent: float
    # One standard error of the exponent.
    error: float
    begins: int
    # How many of the values are in the tail, and the largest distance between data and fit there.
    tail: int
    distance: float


def fit_power_law(values: NDArray[np.int64], counts: NDArray[np.int64]) -> PowerLawFit | None:
    """Fit distinct values (ascending, zeros left out) that occur `counts` times; None where there is too little."""
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
    # Both from above: the share of values of at least x.
    seen = np.cumsum(counts[::-1])[::-1] / total
    fitted = zeta(exponent, values) / normal
    return PowerLawFit(
        exponent, _error(exponent, begins, total), int(begins), int(total), float(np.abs(seen - fitted).max())
    )


def _error(exponent: float, begins: float, total: float) -> float:
    """From the curvature of the likelihood: the second derivative of log zeta, by differences."""
    step = 1e-3
    low, middle, high = (np.log(zeta(exponent + shift, begins)) for shift in (-step, 0.0, step))
    return float(1 / np.sqrt(total * max((low - 2 * middle + high) / step**2, 1e-12)))
