"""Random laws that a user can name: topic popularity, sizes of interests, durations."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.types import Floats
from gossamer.model.values.errors import InputError
from gossamer.model.values.time import LONGEST_US, duration_us

POPULARITIES = "rss, zipf:A, nyse, uniform, expo, expo:RATE"
# Paper: "the probability to choose one of the 10% most popular topics is 0.55" (SpiderCast, 3.1).
NYSE_TOP_SHARE, NYSE_TOP_MASS = 0.1, 0.55


def popularity(text: str, topic_count: int) -> Floats:
    """The probability of each topic, most popular first, for a law such as `rss` or `zipf:1.2`."""
    name, _, argument = text.partition(":")
    ranks = np.arange(1, topic_count + 1, dtype=np.float64)
    if name == "rss" and not argument:
        weights = ranks**-0.5
    elif name == "zipf" and argument:
        weights = ranks ** -_number(argument, "the exponent of zipf")
    elif name == "uniform" and not argument:
        weights = np.ones(topic_count)
    elif name == "nyse" and not argument:
        weights = np.exp(-nyse_rate(topic_count) * (ranks - 1) / topic_count)
    elif name == "expo":
        # Chosen: OMen gives no rate but cites the source of NYSE, so `expo` without a rate has the rate of NYSE.
        rate = _number(argument, "the rate of expo") if argument else nyse_rate(topic_count)
        weights = np.exp(-rate * (ranks - 1) / topic_count)
    else:
        raise InputError(f"there is no popularity {text!r}; there are: {POPULARITIES}")
    # A weight that underflows to 0 would make its topic impossible, and then no node could hold all topics.
    weights = np.maximum(weights, 1e-300)
    probabilities: Floats = weights / weights.sum()
    return probabilities


def nyse_rate(topic_count: int) -> float:
    """The exponential rate at which the top 10% of topics have 0.55 of the probability."""
    top = max(1, round(NYSE_TOP_SHARE * topic_count))
    if top / topic_count >= NYSE_TOP_MASS:
        return 0.0
    positions = np.arange(topic_count) / topic_count
    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        weights = np.exp(-middle * positions)
        if weights[:top].sum() / weights.sum() < NYSE_TOP_MASS:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class SizeLaw:
    """The number of topics of a node: each size from low to high has a weight of size**-exponent."""

    low: int
    high: int
    exponent: float = 0.0

    def sizes(self, uniforms: Floats) -> NDArray[np.int64]:
        """One size for each uniform number in [0, 1)."""
        values = np.arange(self.low, self.high + 1)
        # Relative to the lowest size, so that its weight never underflows, however large the exponent.
        cumulative = np.cumsum((values / self.low) ** -self.exponent)
        places = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
        sizes: NDArray[np.int64] = values[np.minimum(places, len(values) - 1)]
        return sizes


# Chosen: the default exponent; OMen gives none for its power law of subscription sizes.
SIZE_EXPONENT = 2.0


def size_law(text: str, topic_count: int) -> SizeLaw:
    """Read `10`, `10:30` (uniform) or `power:10:90[:exponent]`."""
    words = text.split(":")
    exponent = 0.0
    if words[0] == "power":
        words = words[1:]
        exponent = SIZE_EXPONENT
        if len(words) == 3:
            exponent = _number(words.pop(), "the exponent of power")
    if not 1 <= len(words) <= 2 or not all(re.fullmatch(r"-?[0-9]{1,9}", word.strip()) for word in words):
        raise InputError(f"subscriptions must be S, a:b, power:a:b or power:a:b:EXPONENT, got {text!r}")
    low, high = int(words[0]), int(words[-1])
    if low < 1:
        raise InputError(f"subscriptions must be at least 1, got {low}")
    if high < low:
        raise InputError(f"subscriptions must be given as low:high, got {text!r}")
    if high > topic_count:
        raise InputError(
            f"subscriptions must be at most the number of topics ({topic_count}), got {high}; "
            "ask for fewer subscriptions or more `topics`"
        )
    return SizeLaw(low, high, exponent)


@dataclass(frozen=True)
class DurationLaw:
    """A random duration: `exp:300s`, `fixed:10s` or `uniform:5s-50s`."""

    kind: str
    low_us: int
    high_us: int

    @property
    def mean_us(self) -> float:
        """The mean duration."""
        return (self.low_us + self.high_us) / 2 if self.kind == "uniform" else float(self.low_us)

    def durations_us(self, uniforms: Floats) -> NDArray[np.int64]:
        """One duration of at least a microsecond for each uniform number in [0, 1)."""
        if self.kind == "exp":
            values = -np.log1p(-uniforms) * self.low_us
        else:
            values = self.low_us + uniforms * (self.high_us - self.low_us)
        durations: NDArray[np.int64] = np.clip(np.rint(values), 1, LONGEST_US // 4).astype(np.int64)
        return durations


def duration_law(text: str, what: str) -> DurationLaw:
    """Read a duration law; `what` is the name of the field in the error message."""
    kind, _, argument = text.partition(":")
    low, dash, high = argument.partition("-")
    if kind not in ("exp", "fixed", "uniform") or bool(dash) != (kind == "uniform"):
        raise InputError(f"{what} must be exp:MEAN, fixed:TIME or uniform:LOW-HIGH, such as exp:300s, got {text!r}")
    low_us = duration_us(low, what)
    high_us = duration_us(high, what) if dash else low_us
    if low_us <= 0 or high_us < low_us:
        raise InputError(f"{what} must be longer than 0, and LOW at most HIGH, got {text!r}")
    return DurationLaw(kind, low_us, high_us)


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{what} must be a number, got {text!r}") from None
    if not 0 <= value < 1000:
        raise InputError(f"{what} must lie between 0 and 1000, got {text}")
    return value
