"""Defines exhibits, and turns measured values into a table and a verdict.

An exhibit lists runs, which the command `gossamer reproduce` carries out. Its published values are in `published.toml`
of the system's package. A verdict is always computed from measured and published values. It is one of met, missed and
not compared.

Each published value is compared on one of three grounds, which are counted apart:

- a prediction: nothing of the experiment was adjusted to this value;
- fitted: a parameter of the experiment was chosen so that this value is met (`fitted` in `published.toml`);
- a rival reading: the value is already compared with another series, and this series is another reading of the paper or
  another way to measure it (`rival_readings` in `published.toml`). Rival readings never change a verdict.
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

from gossamer.model.values.run import Experiment, Run

PUBLISHED = "published.toml"
MET, MISSED, NOT_COMPARED = "met", "missed", "not compared"
HOLDS, HOLDS_BY_FIT, FAILS = "holds", "holds by fit", "does not hold"
PREDICTION, FITTED, RIVAL = "prediction", "fitted", "rival reading"

# Student's t, two-sided 95%, by degrees of freedom. Above ten seeds the value of the normal distribution is close
# enough.
_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}

Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """One run or experiment of one series at one place on the x axis."""

    series: str
    x: float
    run: Run | Experiment
    # The measure of this point, if it is not that of the exhibit.
    measure: Callable[[Metrics], float] | None = None
    # The value of the theory.
    expected: float | None = None
    # The label of the y axis on which the series is drawn, if it is not that of the exhibit.
    quantity: str | None = None


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
    # How the value is compared with the published one: prediction, fitted or rival reading.
    ground: str | None = None
    # As in `Point`.
    quantity: str | None = None


@dataclass(frozen=True)
class Claim:
    """A statement about the curves as a whole.

    `holds` gets the values of the exhibit without rival readings. It returns None where these values cannot contradict
    the claim, such as a trend over a single x in a quick version.
    """

    text: str
    holds: Callable[[Sequence[SeriesValue]], bool | None]
    # A rival reading of another claim: it gets rival readings too, and never changes the verdict of the exhibit.
    is_rival: bool = False
    # The experiment was fitted to the claim: if it holds, that does not make the exhibit met.
    is_fitted: bool = False


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper."""

    name: str
    title: str
    x_label: str
    y_label: str
    # From `quick` to the points. The quick version leaves out the points that `left_out` describes.
    points: Callable[[bool], list[Point]]
    left_out: str
    # From the metrics of a run to the measured value, for points without a measure of their own.
    measure: Callable[[Metrics], float] | None = None
    # A published value is met if the relative deviation is at most this.
    tolerance: float = 0.02
    claims: tuple[Claim, ...] = ()
    # Results of experiments with this exhibit, mainly why published values are missed.
    remark: str = ""
    # Studies (studies/NAME.py of the repository) with experiments on why values are missed.
    studies: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    # The y axis begins at zero, because ratios are read from it.
    from_zero: bool = False
    # The x is a value, the y the share of nodes that have it.
    is_histogram: bool = False
    # The x is the number of a setting: no line joins the points.
    is_categorical: bool = False
    # Half of the 95% interval over the nodes of a run. Where the paper's error bars are over nodes, so are ours; otherwise
    # they are over seeds.
    spread: Callable[[Metrics], float] | None = None
    # By series: the x at which the theory is infinite. Its line is drawn up to there and begins anew behind it.
    asymptotes: Mapping[str, float] = field(default_factory=dict)
    # The package whose `published.toml` has the published values; the catalogue fills it in.
    package: str = ""


@dataclass(frozen=True)
class JudgedExhibit:
    """An exhibit with its measured values and verdicts."""

    exhibit: Exhibit
    quick: bool
    values: tuple[SeriesValue, ...]
    claims: tuple[tuple[str, str], ...] = field(default_factory=tuple)
    rival_claims: tuple[tuple[str, str], ...] = field(default_factory=tuple)

    @property
    def verdict(self) -> str:
        """Missed, met, or not compared where there is neither a predicted value nor a claim to compare.

        A fitted value that is missed makes the exhibit missed. A fitted value that is met does not make it met.
        """
        claims = [verdict for _, verdict in self.claims]
        if FAILS in claims or any(value.verdict == MISSED for value in self.values if value.ground != RIVAL):
            return MISSED
        return MET if HOLDS in claims or self.compared(PREDICTION) else NOT_COMPARED

    def compared(self, ground: str) -> list[SeriesValue]:
        """The values that are compared with published values on this ground."""
        return [value for value in self.values if value.ground == ground]

    def line(self) -> str:
        """One line: the verdict, how many values are met on each ground, and the claims that hold."""
        parts = [f"{self.exhibit.name}: {self.verdict}"]
        for ground, name in ((PREDICTION, "predictions"), (FITTED, "fitted values"), (RIVAL, "rival readings")):
            if compared := self.compared(ground):
                parts.append(self._count(compared, name))
        if self.claims:
            verdicts = [verdict for _, verdict in self.claims]
            fitted, skipped = verdicts.count(HOLDS_BY_FIT), verdicts.count(NOT_COMPARED)
            parts.append(f"{verdicts.count(HOLDS) + fitted} of {len(verdicts)} claims hold")
            if fitted:
                parts.append(f"{fitted} of them fitted")
            if skipped:
                parts.append(f"{skipped} of them not compared")
        return "; ".join(parts)

    def _count(self, compared: Sequence[SeriesValue], name: str) -> str:
        """How many of these values are met, and the one with the largest deviation."""
        worst = max(compared, key=lambda value: abs(value.deviation or 0.0))
        met = sum(1 for value in compared if value.verdict == MET)
        return (
            f"{met} of {len(compared)} {name} met within {self.exhibit.tolerance:.0%}; largest deviation: "
            f"{worst.series} at {worst.x:g}, published {worst.published:g}, measured {worst.measured:.4g}, "
            f"deviation {show_deviation(worst.deviation)}"
        )


def summary(outcomes: Sequence[JudgedExhibit]) -> str:
    """How many exhibits have each verdict, and how many values are met on each ground."""
    verdicts = [outcome.verdict for outcome in outcomes]
    parts = [", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in (MET, MISSED, NOT_COMPARED))]
    for ground, name in ((PREDICTION, "predictions"), (FITTED, "fitted values")):
        values = [value for outcome in outcomes for value in outcome.compared(ground)]
        if values:
            parts.append(f"{sum(value.verdict == MET for value in values)} of {len(values)} {name} met")
    return f"{len(outcomes)} {'exhibit' if len(outcomes) == 1 else 'exhibits'}: {'; '.join(parts)}."


def published_values(exhibit: Exhibit) -> dict[tuple[str, float], float]:
    """The published values by (series, x), without rival readings."""
    entry = _published(exhibit)
    found = {}
    for series, points in entry.get("series", {}).items():
        for x, value in zip(entry["x"], points, strict=True):
            found[series, float(x)] = float(value)
    return found


def rival_readings(exhibit: Exhibit) -> dict[str, str]:
    """Measured series that are rival readings, and the published series that each is compared with."""
    return dict(_published(exhibit).get("rival_readings", {}))


def fitted_series(exhibit: Exhibit) -> frozenset[str]:
    """The published series to which the experiment was fitted."""
    return frozenset(_published(exhibit).get("fitted", ()))


def chosen_settings(exhibit: Exhibit) -> str:
    """The settings of the experiment that the paper does not give and that we chose."""
    return str(_published(exhibit).get("chosen", ""))


def published_source(exhibit: Exhibit) -> str:
    """The figure or table and the page where the paper shows the values."""
    return str(_published(exhibit).get("source", ""))


def claim_sources(exhibit: Exhibit) -> dict[str, str]:
    """Where each claim comes from, by its text: a section and the paper's words, or `ours` and the reason."""
    return dict(_published(exhibit).get("claims", {}))


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
    measure = point.measure or exhibit.measure
    if measure is None:
        raise ValueError(f"{exhibit.name}: {point.series} at {point.x:g} has no measure")
    return measure(metrics)


def spread_at(exhibit: Exhibit, point: Point, metrics: Metrics) -> float | None:
    """Half of the interval over the nodes of a point's run, if the exhibit's error bars are over nodes."""
    return exhibit.spread(metrics) if exhibit.spread and point.quantity is None else None


def judge(
    exhibit: Exhibit,
    quick: bool,
    measured: Sequence[tuple[Point, float]],
    spreads: Sequence[float | None] | None = None,
) -> JudgedExhibit:
    """Take means over seeds, compare them with the published values, and check the claims.

    `spreads` has `spread_at` for each point; without it, intervals are over seeds.
    """
    published, rivals, fitted = published_values(exhibit), rival_readings(exhibit), fitted_series(exhibit)
    groups: dict[tuple[str, float], list[float]] = {}
    widths: dict[tuple[str, float], list[float]] = {}
    points: dict[tuple[str, float], Point] = {}
    for (point, value), width in zip(measured, spreads or [None] * len(measured), strict=True):
        groups.setdefault((point.series, point.x), []).append(value)
        points[point.series, point.x] = point
        if width is not None:
            widths.setdefault((point.series, point.x), []).append(width)
    values = []
    for (series, x), samples in groups.items():
        over_nodes = widths.get((series, x))
        middle, spread = mean(samples), mean(over_nodes) if over_nodes else _half_width(samples)
        ground = RIVAL if series in rivals else FITTED if series in fitted else PREDICTION
        known = published.get((rivals.get(series, series), x))
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
                points[series, x].expected,
                None if known is None else ground,
                points[series, x].quantity,
            )
        )
    own = MeasuredValues([value for value in values if value.series not in rivals], exhibit)
    everything = MeasuredValues(values, exhibit)
    claims = tuple((claim.text, _claim_verdict(claim, own)) for claim in exhibit.claims if not claim.is_rival)
    others = tuple((claim.text, _claim_verdict(claim, everything)) for claim in exhibit.claims if claim.is_rival)
    return JudgedExhibit(exhibit, quick, tuple(values), claims, others)


def _claim_verdict(claim: Claim, values: Sequence[SeriesValue]) -> str:
    """The verdict of a claim. A claim that divides by a measured zero does not hold."""
    try:
        holds = claim.holds(values)
    except ZeroDivisionError:
        holds = False
    if holds is None:
        return NOT_COMPARED
    if not holds:
        return FAILS
    return HOLDS_BY_FIT if claim.is_fitted else HOLDS


def _half_width(samples: Sequence[float]) -> float:
    """Half of the 95% interval of the mean."""
    if len(samples) < 2:
        return 0.0
    return _STUDENT.get(len(samples) - 1, 1.96) * stdev(samples) / sqrt(len(samples))


class MeasuredValues(list[SeriesValue]):
    """The values that a claim gets. It knows which series its exhibit has."""

    def __init__(self, values: Sequence[SeriesValue], exhibit: Exhibit) -> None:
        super().__init__(values)
        self._exhibit = exhibit
        self._series = {value.series for value in values}

    def check(self, series: str) -> None:
        """Raise a ValueError for a series that neither version of the exhibit has."""
        if series in self._series:
            return
        known = _all_series(self._exhibit.points)
        if series not in known:
            raise ValueError(
                f"{self._exhibit.name} has no series {series!r}; it has: {', '.join(sorted(known | self._series))}"
            )


@cache
def _all_series(points: Callable[[bool], list[Point]]) -> frozenset[str]:
    return frozenset(point.series for quick in (False, True) for point in points(quick))


def curve(values: Sequence[SeriesValue], series: str) -> list[SeriesValue]:
    """The values of one series, ordered by x. A claim about a series that the exhibit never has is refused."""
    if isinstance(values, MeasuredValues):
        values.check(series)
    return sorted((value for value in values if value.series == series), key=lambda value: value.x)


def as_expected(values: Sequence[SeriesValue], tolerance: float) -> bool | None:
    """Whether every value with a theoretical value deviates from it by at most this share; None if there is none."""
    found = [value.measured / value.expected - 1 for value in values if value.expected is not None]
    return all(abs(deviation) <= tolerance for deviation in found) if found else None


def is_ordered(numbers: Sequence[float], rising: bool) -> bool | None:
    """Whether each number is above (or below) the one before it; None with fewer than two numbers."""
    if len(numbers) < 2:
        return None
    return all(later > earlier if rising else later < earlier for earlier, later in pairwise(numbers))


def steps(values: Sequence[SeriesValue], names: Sequence[str], rising: bool) -> bool | None:
    """Whether every one of these series rises (or falls) at every step of x; None if none has two points."""
    found = [is_ordered([value.measured for value in curve(values, name)], rising) for name in names]
    known = [each for each in found if each is not None]
    return all(known) if known else None


def falls(values: Sequence[SeriesValue], series: str) -> bool:
    """Whether a series falls from its first x to its last, and no step rises beyond the interval before it."""
    points = curve(values, series)
    steps_down = all(later.measured <= earlier.high for earlier, later in pairwise(points))
    return points[-1].measured < points[0].measured and steps_down
