"""Defines exhibits, and turns measured values into a table and a verdict.

An exhibit lists runs, which the command `gossamer reproduce` carries out. Its published values are in `published.toml`
of the system's package. A verdict is always computed from measured and published values.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import isfinite, sqrt
from statistics import mean, stdev
from typing import Any

from gossamer.model.values.run import Run

PUBLISHED = "published.toml"
MET, MISSED, HOLDS, FAILS = "met", "missed", "holds", "does not hold"

# Student's t, two-sided 95%, by degrees of freedom. Above ten seeds the value of the normal distribution is close
# enough.
_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}

Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """One run of one series at one place on the x axis."""

    series: str
    x: float
    run: Run
    # The measure of this point, if it is not that of the exhibit.
    measure: Callable[[Metrics], float] | None = None
    # The value that theory predicts.
    expected: float | None = None


@dataclass(frozen=True)
class SeriesValue:
    """The mean of a series at one x over its seeds, with its 95% interval and the published value."""

    series: str
    x: float
    seeds: int
    measured: float
    low: float
    high: float
    published: float | None
    deviation: float | None
    verdict: str | None
    expected: float | None = None


@dataclass(frozen=True)
class Claim:
    """A statement about the curves as a whole. `holds` gets all values of the exhibit."""

    text: str
    holds: Callable[[Sequence[SeriesValue]], bool]


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper."""

    name: str
    title: str
    x_label: str
    y_label: str
    # From the metrics of a run to the measured value.
    measure: Callable[[Metrics], float]
    # From `quick` to the points. The quick version leaves out the points that `left_out` describes.
    points: Callable[[bool], list[Point]]
    left_out: str
    # A published value is met if the relative deviation is at most this.
    tolerance: float = 0.02
    claims: tuple[Claim, ...] = ()
    # Results of experiments with this exhibit, mainly why published values are missed.
    remark: str = ""
    log_x: bool = False
    log_y: bool = False
    # The package whose `published.toml` has the published values; the catalogue fills it in.
    package: str = ""


@dataclass(frozen=True)
class JudgedExhibit:
    """An exhibit with its measured values and verdicts."""

    exhibit: Exhibit
    quick: bool
    values: tuple[SeriesValue, ...]
    claims: tuple[tuple[str, str], ...] = field(default_factory=tuple)

    @property
    def verdict(self) -> str:
        """Met when every published value is met and every claim holds."""
        missed = any(value.verdict == MISSED for value in self.values)
        return MISSED if missed or any(verdict == FAILS for _, verdict in self.claims) else MET

    def line(self) -> str:
        """One line: the verdict, how many values are met, and the value with the largest deviation."""
        compared = [value for value in self.values if value.deviation is not None]
        parts = [f"{self.exhibit.name}: {self.verdict}"]
        if compared:
            worst = max(compared, key=lambda value: abs(value.deviation or 0.0))
            met = sum(1 for value in compared if value.verdict == MET)
            parts.append(
                f"{met} of {len(compared)} published values met within {self.exhibit.tolerance:.0%}; largest deviation: "
                f"{worst.series} at {worst.x:g}, published {worst.published:g}, measured {worst.measured:.4g}, "
                f"deviation {show_deviation(worst.deviation)}"
            )
        if self.claims:
            true = sum(1 for _, verdict in self.claims if verdict == HOLDS)
            parts.append(f"{true} of {len(self.claims)} claims hold")
        return "; ".join(parts)


def published_values(exhibit: Exhibit) -> dict[tuple[str, float], float]:
    """The published values by (series, x)."""
    entry = _published(exhibit)
    found = {}
    for series, points in entry.get("series", {}).items():
        for x, value in zip(entry["x"], points, strict=True):
            found[series, float(x)] = float(value)
    return found


def published_source(exhibit: Exhibit) -> str:
    """The figure or table and the page where the paper shows the values."""
    return str(_published(exhibit).get("source", ""))


def _published(exhibit: Exhibit) -> dict[str, Any]:
    entry: dict[str, Any] = _published_file(exhibit.package).get(exhibit.name.partition("/")[2], {})
    return entry


@cache
def _published_file(package: str) -> dict[str, Any]:
    """The content of a package's `published.toml`; empty if there is no such file."""
    path = files(package) / PUBLISHED if package else None
    return tomllib.loads(path.read_text(encoding="utf-8")) if path is not None and path.is_file() else {}


def compare(published: float, measured: float, tolerance: float) -> tuple[float, str]:
    """(deviation, verdict) of a measured value. A published zero is met only by zero."""
    if published == 0:
        return (0.0, MET) if measured == 0 else (float("inf"), MISSED)
    deviation = measured / published - 1
    return deviation, MET if abs(deviation) <= tolerance else MISSED


def show_deviation(deviation: float | None) -> str:
    """A deviation in percent; "from zero" where the published value is zero."""
    if deviation is None:
        return ""
    return f"{deviation:+.1%}" if isfinite(deviation) else "from zero"


def measured_at(exhibit: Exhibit, point: Point, metrics: Metrics) -> float:
    """The measured value of a point, from the metrics of its run."""
    return (point.measure or exhibit.measure)(metrics)


def judge(exhibit: Exhibit, quick: bool, measured: Sequence[tuple[Point, float]]) -> JudgedExhibit:
    """Take means over seeds, compare them with the published values, and check the claims."""
    published = published_values(exhibit)
    groups: dict[tuple[str, float], list[float]] = {}
    expected: dict[tuple[str, float], float | None] = {}
    for point, value in measured:
        groups.setdefault((point.series, point.x), []).append(value)
        expected[point.series, point.x] = point.expected
    values = []
    for (series, x), samples in groups.items():
        middle = mean(samples)
        spread = _half_width(samples)
        known = published.get((series, x))
        deviation, verdict = compare(known, middle, exhibit.tolerance) if known is not None else (None, None)
        values.append(
            SeriesValue(
                series,
                x,
                len(samples),
                middle,
                middle - spread,
                middle + spread,
                known,
                deviation,
                verdict,
                expected[series, x],
            )
        )
    claims = tuple((claim.text, HOLDS if claim.holds(values) else FAILS) for claim in exhibit.claims)
    return JudgedExhibit(exhibit, quick, tuple(values), claims)


def _half_width(samples: Sequence[float]) -> float:
    """Half of the 95% interval of the mean."""
    if len(samples) < 2:
        return 0.0
    return _STUDENT.get(len(samples) - 1, 1.96) * stdev(samples) / sqrt(len(samples))


def curve(values: Sequence[SeriesValue], series: str) -> list[SeriesValue]:
    """The values of one series, ordered by x."""
    return sorted((value for value in values if value.series == series), key=lambda value: value.x)


def as_expected(values: Sequence[SeriesValue], tolerance: float) -> bool:
    """Whether every value with a prediction deviates from it by at most this share."""
    return all(abs(value.measured / value.expected - 1) <= tolerance for value in values if value.expected is not None)


def falls(values: Sequence[SeriesValue], series: str) -> bool:
    """Whether a series falls from its first x to its last, and no step rises beyond the interval before it."""
    points = curve(values, series)
    steps_down = all(later.measured <= earlier.high for earlier, later in pairwise(points))
    return points[-1].measured < points[0].measured and steps_down
