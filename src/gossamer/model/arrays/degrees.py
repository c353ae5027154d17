"""How many links nodes have: degree laws that a user can name, and their generating functions.

A law is a list of degrees with probabilities. With p_k the probability of degree k, G0(x) = sum p_k x^k, and the
number of further links at the end of a random link has G1(x) = G0'(x) / G0'(1). Both are given as 1 - G(1 - z), the
probability that at least one of the links works when each does with probability z: exact for small z too.
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

# Chosen: above this a table of all degrees takes seconds, and no overlay has nodes with so many links.
DEGREE_MAX = 1_000_000
# A law without a cutoff is tabled degree by degree so far, and beyond that in bins of this ratio up to the limit. Its
# moments are exact besides; the bins only serve the generating functions.
_EXPLICIT, _RATIO, _LIMIT = 4_096, 1.02, 1e60
# Shares written by hand or by another program are rounded.
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class DegreeLaw:
    """Degrees with their probabilities; `mean_square` may be infinite, the mean may not."""

    text: str
    degrees: Floats
    shares: Floats
    mean: float
    mean_square: float

    @property
    def mean_excess(self) -> float:
        """The mean number of further links at the end of a random link (the paper's <q>); 0 where there are no links."""
        return self.mean_square / self.mean - 1 if self.mean > 0 else 0.0

    def reach(self, z: float) -> float:
        """1 - G0(1 - z): a random node has a working link, each working with probability z."""
        return float(self.shares @ _at_least_one(self.degrees, z))

    def excess_reach(self, z: float) -> float:
        """1 - G1(1 - z): the node at the end of a random link has a further working link."""
        degrees, shares = self._excess
        return float(shares @ _at_least_one(degrees, z))

    def excess_slope(self, z: float) -> float:
        """G1'(1 - z)."""
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
        raise InputError(f"the degree distribution {text} needs at least one degree, and shares that are not negative")
    total = float(shares.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InputError(f"the degree distribution {text} must sum to one, got {total:g}")
    values = np.asarray(degrees, np.float64)
    return DegreeLaw(text, values, shares / total, float(values @ shares / total), float(values**2 @ shares / total))


def law_of_counts(text: str, degrees: Integers, nodes: Integers) -> DegreeLaw:
    """The law of an overlay that is there: how many nodes have each degree."""
    if nodes.sum() <= 0:
        raise InputError(f"{text} has no nodes, so no degrees")
    return law_of_shares(text, degrees, nodes / nodes.sum())


def law_of_overlay(text: str, overlay: Overlay) -> DegreeLaw:
    """The law of an overlay's degrees."""
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
    """Every pair of nodes is linked with the same probability, in a large network."""
    # Beyond twelve deviations and a few there is nothing that a float can see.
    degrees = np.arange(int(mean + 12 * math.sqrt(mean) + 40))
    logs = degrees * math.log(mean) - mean if mean > 0 else np.where(degrees == 0, 0.0, -np.inf)
    shares = np.exp(logs - np.concatenate(([0.0], np.cumsum(np.log(degrees[1:])))))
    return DegreeLaw(f"poisson:{mean:g}", degrees.astype(np.float64), shares / shares.sum(), mean, mean * mean + mean)


def power_law(exponent: float, cutoff: int | None) -> DegreeLaw:
    """Degree k = 1, 2, ... up to a cutoff with probability in proportion to k^-exponent."""
    if cutoff is not None:
        degrees = np.arange(1, cutoff + 1, dtype=np.float64)
        weights = degrees**-exponent
        return law_of_shares(f"power:{exponent:g}:{cutoff}", degrees, weights / weights.sum())
    text = f"power:{exponent:g}"
    if exponent <= 2:
        raise InputError(
            f"the degree distribution {text} has an infinite mean; give it a cutoff, such as {text}:1000, or an exponent above 2"
        )
    # Beyond the explicit degrees, bins with their exact mass, each at the mean degree of its members.
    edges = np.concatenate((np.arange(1.0, _EXPLICIT), _EXPLICIT * _RATIO ** np.arange(_bins() + 1)))
    tails = _tail(exponent, edges)
    masses, firsts = tails[:-1] - tails[1:], _tail(exponent - 1, edges)
    degrees = np.where(np.arange(len(masses)) < _EXPLICIT - 1, edges[:-1], (firsts[:-1] - firsts[1:]) / masses)
    total = float(tails[0])
    mean_square = float(_tail(exponent - 2, np.ones(1))[0]) / total if exponent > 3 else math.inf
    return DegreeLaw(text, degrees, masses / masses.sum(), float(firsts[0]) / total, mean_square)


def _bins() -> int:
    return int(math.log(_LIMIT / _EXPLICIT) / math.log(_RATIO))


def _tail(exponent: float, starts: Floats) -> Floats:
    """Hurwitz' zeta: the sum of k^-exponent over k = start, start + 1, ..., by Euler and Maclaurin."""
    # The formula is exact to 1e-16 from 64 on; smaller starts add their first terms one by one.
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
    # Rounding must not make a whole number fall below itself: e^a / x^b is computed in logarithms at the edge.
    most = math.floor(math.exp(a / b) * (1 + 1e-12))
    degrees = np.arange(1, most + 1)
    nodes = np.floor(math.exp(a) / degrees.astype(np.float64) ** b * (1 + 1e-12)).astype(np.int64)
    return degrees[nodes > 0], nodes[nodes > 0]


def read_scale_free(text: str) -> tuple[Integers, Integers]:
    """Degrees and how many nodes have each, for a law such as `scale-free:6:1`."""
    a_text, _, b_text = text.removeprefix("scale-free:").partition(":")
    a, b = _number(a_text, text, 0, 20), _number(b_text, text, 0.1, 100)
    if a / b > math.log(DEGREE_MAX):
        raise InputError(f"{text} has degrees up to {math.exp(a / b):.3g}; the largest may be {DEGREE_MAX:,}")
    return scale_free_counts(a, b)


def scale_free_law(text: str) -> DegreeLaw:
    """The degrees of such a network as a law."""
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
        raise InputError(f"{text!r} holds {word!r}, which is no number; there are: {DEGREE_LAWS}") from None
    if not low <= value <= high:
        raise InputError(f"{text!r}: {word} must lie between {low:g} and {high:g}")
    return value


def _whole(word: str, text: str, low: int = 0) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", word) or not low <= int(word) <= DEGREE_MAX:
        raise InputError(f"{text!r}: a degree must be a whole number from {low} to {DEGREE_MAX:,}, got {word!r}")
    return int(word)
