"""Degree distributions that a user can name, and their generating functions.

A law is a list of degrees with probabilities. With p_k the probability of degree k, the degree of a random node has the
generating function G0(x) = sum p_k x^k, and the number of further links at the end of a random link has
G1(x) = G0'(x) / G0'(1). The methods return 1 - G(1 - z): the probability that at least one of the links works when
each link works with probability z. This form is accurate for small z too.
"""

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.overlay import Overlay
from gossamer.model.arrays.types import Floats, Integers
from gossamer.model.values.errors import InputError

DEGREE_LAWS = "poisson:MEAN, regular:DEGREE, power:EXPONENT[:CUTOFF], scale-free:A:B, given:DEGREE=SHARE,..."

# Chosen: a table of more degrees takes seconds to compute, and no overlay has nodes with more links.
DEGREE_MAX = 1_000_000
# A law without a cutoff has one entry for each degree below _EXPLICIT, above it one entry for each bin, whose edges grow
# by _RATIO up to _LIMIT, and one for all degrees above _LIMIT: with an exponent near 2, most links belong to such nodes.
# The generating functions use the bins; the moments are computed exactly.
_EXPLICIT, _RATIO, _LIMIT = 4_096, 1.02, 1e60
# Bins with a smaller probability are left out: with a large exponent, the probabilities of the last bins are 0 as floats.
_PROBABILITY_LEAST = 1e-290
# Shares that a user or another program wrote are rounded, so their sum may differ from 1 by this much.
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class DegreeLaw:
    """Degrees with their probabilities; `mean_square` may be infinite, `mean` is finite."""

    text: str
    degrees: Floats
    shares: Floats
    mean: float
    mean_square: float

    @property
    def mean_excess(self) -> float:
        """The mean number of further links at the end of a random link (the paper's <q>); 0 if there are no links."""
        return self.mean_square / self.mean - 1 if self.mean > 0 else 0.0

    def reach(self, z: float) -> float:
        """1 - G0(1 - z): the probability that a random node has a working link."""
        return float(self.shares @ _at_least_one(self.degrees, z))

    def excess_reach(self, z: float) -> float:
        """1 - G1(1 - z): the probability that the node at the end of a random link has a further working link."""
        degrees, shares = self._excess
        return float(shares @ _at_least_one(degrees, z))

    def excess_slope(self, z: float) -> float:
        """G1'(1 - z), the derivative of G1."""
        degrees, shares = self._excess
        some = degrees > 0
        powers = np.exp((degrees[some] - 1) * math.log1p(-z)) if z < 1 else (degrees[some] == 1).astype(np.float64)
        return float((shares[some] * degrees[some]) @ powers)

    @cached_property
    def _excess(self) -> tuple[Floats, Floats]:
        some = self.degrees > 0
        if not some.any():
            return np.zeros(1), np.ones(1)
        return self.degrees[some] - 1, self.degrees[some] * self.shares[some] / self.mean


def _at_least_one(degrees: Floats, z: float) -> Floats:
    """1 - (1 - z)^k for each degree k."""
    if z >= 1:
        return (degrees > 0).astype(np.float64)
    return -np.expm1(degrees * math.log1p(-z))


def law_of_shares(text: str, degrees: NDArray[np.integer] | Floats, shares: Floats) -> DegreeLaw:
    """A law from degrees and their shares, which must sum to one."""
    if len(degrees) == 0 or (shares < 0).any() or not np.isfinite(shares).all():
        raise InputError(f"the degree distribution {text} needs at least one degree, and no share may be negative")
    total = float(shares.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InputError(f"the degree distribution {text} must sum to one, got {total:g}")
    values = np.asarray(degrees, np.float64)
    return DegreeLaw(text, values, shares / total, float(values @ shares / total), float(values**2 @ shares / total))


def law_of_counts(text: str, degrees: Integers, nodes: Integers) -> DegreeLaw:
    """The law of an existing network, from the number of nodes of each degree."""
    if nodes.sum() <= 0:
        raise InputError(f"{text} has no nodes and therefore no degrees")
    return law_of_shares(text, degrees, nodes / nodes.sum())


def law_of_overlay(text: str, overlay: Overlay) -> DegreeLaw:
    """The degree distribution of an overlay."""
    return law_of_counts(text, *np.unique(overlay.degrees, return_counts=True))


def degree_law(text: str) -> DegreeLaw:
    """Read a degree law such as `poisson:5`."""
    name, _, argument = text.partition(":")
    words = argument.split(":")
    if name == "poisson" and len(words) == 1:
        return poisson(_number(words[0], text, 0, 100_000))
    if name == "regular" and len(words) == 1:
        degree = _whole(words[0], text)
        return law_of_shares(text, np.array([degree]), np.ones(1))
    if name == "power" and 1 <= len(words) <= 2:
        return power_law(_number(words[0], text, 0, 100), _whole(words[1], text, 1) if len(words) == 2 else None)
    if name == "scale-free" and len(words) == 2:
        return scale_free_law(text)
    if name == "given" and argument:
        return _given(text, argument)
    raise InputError(f"there is no degree distribution {text!r}; there are: {DEGREE_LAWS}")


def poisson(mean: float) -> DegreeLaw:
    """The degrees of a large network in which every pair of nodes is linked with the same probability."""
    # Above this degree (the mean, twelve standard deviations and forty) the probability is below a float's precision.
    degrees = np.arange(int(mean + 12 * math.sqrt(mean) + 40))
    logs = degrees * math.log(mean) - mean if mean > 0 else np.where(degrees == 0, 0.0, -np.inf)
    shares = np.exp(logs - np.concatenate(([0.0], np.cumsum(np.log(degrees[1:])))))
    return DegreeLaw(f"poisson:{mean:g}", degrees.astype(np.float64), shares / shares.sum(), mean, mean * mean + mean)


def power_law(exponent: float, cutoff: int | None) -> DegreeLaw:
    """Degrees k = 1, 2, ..., up to `cutoff` if there is one, with probabilities proportional to k^-exponent."""
    if cutoff is not None:
        degrees = np.arange(1, cutoff + 1, dtype=np.float64)
        weights = degrees**-exponent
        return law_of_shares(f"power:{exponent:g}:{cutoff}", degrees, weights / weights.sum())
    text = f"power:{exponent:g}"
    if exponent <= 2:
        raise InputError(
            f"the degree distribution {text} has an infinite mean; give it a cutoff, such as {text}:1000, "
            "or an exponent above 2"
        )
    # Above the explicit degrees each bin has its exact probability, and its degree is the mean degree in the bin.
    edges = np.concatenate((np.arange(1.0, _EXPLICIT), _EXPLICIT * _RATIO ** np.arange(_bins() + 1)))
    tails, firsts = _tail(exponent, edges), _tail(exponent - 1, edges)
    total = float(tails[0])
    masses, links = (values - np.append(values[1:], 0.0) for values in (tails, firsts))
    kept = masses > _PROBABILITY_LEAST * total
    masses, links, starts = masses[kept], links[kept], edges[kept]
    degrees = np.where(starts < _EXPLICIT, starts, links / masses)
    mean_square = float(_tail(exponent - 2, np.ones(1))[0]) / total if exponent > 3 else math.inf
    return DegreeLaw(text, degrees, masses / masses.sum(), float(firsts[0]) / total, mean_square)


def _bins() -> int:
    return int(math.log(_LIMIT / _EXPLICIT) / math.log(_RATIO))


def _tail(exponent: float, starts: Floats) -> Floats:
    """The Hurwitz zeta function, the sum of k^-exponent over k = start, start + 1, ..., by Euler-Maclaurin summation."""
    # From start 64 on the formula is accurate to 1e-16; for smaller starts the first 64 terms are added one by one.
    steps = np.arange(64)
    small = starts < 64
    first = np.where(small, starts + 64, starts)
    sums = first ** (1 - exponent) / (exponent - 1) + first**-exponent / 2
    sums += exponent * first ** (-exponent - 1) / 12
    sums -= exponent * (exponent + 1) * (exponent + 2) * first ** (-exponent - 3) / 720
    sums[small] += ((starts[small, None] + steps) ** -exponent).sum(axis=1)
    return np.asarray(sums)


def scale_free_counts(a: float, b: float) -> tuple[Integers, Integers]:
    """Aiello, Chung and Lu: floor(e^a / x^b) nodes of degree x, for x = 1 .. floor(e^(a/b))."""
    # The factor (1 + 1e-12) prevents floor from rounding down a whole number that was computed slightly too small.
    most = math.floor(math.exp(a / b) * (1 + 1e-12))
    degrees = np.arange(1, most + 1)
    nodes = np.floor(math.exp(a) / degrees.astype(np.float64) ** b * (1 + 1e-12)).astype(np.int64)
    return degrees[nodes > 0], nodes[nodes > 0]


def read_scale_free(text: str) -> tuple[Integers, Integers]:
    """The degrees of a law such as `scale-free:6:1`, and the number of nodes of each degree."""
    a_text, _, b_text = text.removeprefix("scale-free:").partition(":")
    a, b = _number(a_text, text, 0, 20), _number(b_text, text, 0.1, 100)
    if a / b > math.log(DEGREE_MAX):
        raise InputError(
            f"{text} has degrees up to {math.exp(a / b):.3g}; the largest allowed degree is {DEGREE_MAX:,}"
        )
    return scale_free_counts(a, b)


def scale_free_law(text: str) -> DegreeLaw:
    """A law such as `scale-free:6:1`, with degrees and probabilities."""
    return law_of_counts(text, *read_scale_free(text))


def _given(text: str, argument: str) -> DegreeLaw:
    shares: dict[int, float] = {}
    for word in argument.split(","):
        degree, equals, share = word.partition("=")
        if not equals:
            raise InputError(f"a given degree distribution must be DEGREE=SHARE,DEGREE=SHARE, got {word!r}")
        shares[_whole(degree, text)] = _number(share, text, 0, 1)
    return law_of_shares(text, np.array(sorted(shares)), np.array([shares[degree] for degree in sorted(shares)]))


def _number(word: str, text: str, low: float, high: float) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(f"{text!r} contains {word!r}, which is not a number; there are: {DEGREE_LAWS}") from None
    if not low <= value <= high:
        raise InputError(f"{text!r}: {word} must lie between {low:g} and {high:g}")
    return value


def _whole(word: str, text: str, low: int = 0) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", word) or not low <= int(word) <= DEGREE_MAX:
        raise InputError(f"{text!r}: a degree must be a whole number from {low} to {DEGREE_MAX:,}, got {word!r}")
    return int(word)
