"""Figures 4 to 18: above the phase transition, where the paper's model gives infinity and ours a number."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, as_expected, curve
from gossamer.model.arrays.degrees import read_scale_free
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.systems.gossip.exhibits.settings import (
    gossip_run,
    metric,
    nodes_of,
    seeds,
    theory,
)

# sigma or gamma, in tenths; with the other at 0.1 a Poisson network is above its transition from 0.2 on.
TENTHS = (1, 2, 3, 4, 5, 6, 8)
FIXED = 1
POISSON, POISSON_NODES = "poisson:5", 5_000
LEFT_OUT = "every other value of x, 16 of 20 networks"
ALL = "receivers"
SPREAD = "receivers of messages that take off"
PUBLISHED_RECEIVERS, PUBLISHED_AT = 2_200, 0.6
SIMILAR_REMARK = (
    'The paper says only that "a similar behavior" is obtained at sigma 0.6, gamma 0.1. We read it as the same number, '
    "above 2,200. Theory and simulation give about 1,950 over all messages; no rule for publishers or double links that we "
    "tried gives more than 2,110 (studies/tables/gossip.md)."
)
PUBLISHERS_REMARK = (
    "Of 2,482 nodes, 403 have one link and 201 have two; with sigma 0.1 and gamma 0.6 a random publisher often sends its message "
    "to no neighbour. Publishers that are drawn by degree, or that send to all of their neighbours, give 2,291 and 2,293 "
    "receivers instead of 2,128; links that are drawn twice change nothing (20 networks, studies/tables/gossip.md). How the paper "
    "chose publishers is unknown; section V-B says random nodes. With either rule sigma 0.6, gamma 0.1 gives 2,100."
)


def _points(degree: str, nodes: int, varies: str, tenths: Sequence[int], quick: bool, spread: bool) -> list[Point]:
    found = []
    for tenth in tenths[1::2] if quick else tenths:
        sigma_tenths, gamma = (tenth, FIXED / 10) if varies == "sigma" else (FIXED, tenth / 10)
        expected = theory(degree, nodes, sigma_tenths / 10, gamma)
        for seed in seeds(quick):
            run = gossip_run(degree, nodes, (sigma_tenths, 10), gamma, seed)
            found.append(Point(ALL, tenth / 10, run, None, expected.receivers_per_event))
            if spread and expected.receivers_per_event is not None:
                large = expected.receivers_per_event / expected.takes_off
                found.append(Point(SPREAD, tenth / 10, run, metric("receivers_when_taken_off"), large))
    return found


def _grows(values: Sequence[SeriesValue]) -> bool:
    """Whether no value is below the value before it by more than its interval."""
    return all(later.high > earlier.measured for earlier, later in pairwise(curve(values, ALL)))


# Chosen: what counts as a non-negligible portion of the nodes.
PORTION = 0.05


def _reaches_a_portion(values: Sequence[SeriesValue], nodes: int) -> bool:
    return all(value.measured >= PORTION * nodes for value in curve(values, ALL))


def _leaves_some_out(values: Sequence[SeriesValue], nodes: int) -> bool:
    """Whether at least one node in a hundred is not reached, in every configuration."""
    return all(value.measured <= 0.99 * nodes for value in curve(values, ALL))


def _above(values: Sequence[SeriesValue], series: str) -> bool | None:
    """Whether more nodes than the published number receive a message at x = 0.6; None if this x is left out."""
    found = [value.measured for value in curve(values, series) if value.x == PUBLISHED_AT]
    return found[0] > PUBLISHED_RECEIVERS if found else None


def _sweep(figure: int, degree: str, nodes: int, varies: str, tolerance: float, what: str) -> Exhibit:
    tenths = TENTHS if degree != POISSON else TENTHS[1:]
    claims = [
        Claim(f"receivers are within {tolerance:.0%} of the theory", lambda values: as_expected(values, tolerance)),
        Claim(f"receivers increase with {varies}", _grows),
    ]
    # The paper's text gives one number (V-B.2), for a = 6, b = 1: at gamma 0.6 (Figure 8), and "a similar behavior" at
    # sigma 0.6 (Figure 7).
    numbered = figure in (7, 8)
    if numbered:
        text = f"more than {PUBLISHED_RECEIVERS:,} of {nodes:,} nodes receive a message at {varies} 0.6"
        claims += [
            Claim(text, lambda values: _above(values, ALL)),
            Claim(f"{text}, if it takes off", lambda values: _above(values, SPREAD), is_rival=True),
        ]
    claims.append(
        Claim("at least 5% of the nodes receive a message on average", lambda values: _reaches_a_portion(values, nodes))
    )
    if degree == POISSON:
        claims.append(Claim("the whole network is never reached", lambda values: _leaves_some_out(values, nodes)))
    remark = {7: SIMILAR_REMARK, 8: PUBLISHERS_REMARK}.get(figure, "")
    fixed = "gamma" if varies == "sigma" else "sigma"
    return Exhibit(
        name=f"gossip/fig{figure}",
        title=f"Receivers above the phase transition, {what}, {fixed} 0.1",
        x_label="share of subscribers (sigma)" if varies == "sigma" else "gossip probability (gamma)",
        y_label="nodes per message",
        measure=metric("receivers_per_event"),
        points=lambda quick: _points(degree, nodes, varies, tenths, quick, numbered),
        left_out=LEFT_OUT,
        claims=tuple(claims),
        remark=remark,
        studies=("gossip",) if numbered else (),
    )


SCALE_FREE_B = ("1", "1.1", "1.2", "1.3", "1.4", "1.5")
# Figure 6 shows three of the networks of Figures 7 to 18.
SHOWN_B = ("1", "1.2", "1.5")
# The lowest degree of each bin. A bin of several degrees shows the mean over them; the last ends at the last degree.
BINS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320)


def _bins(last: int) -> list[range]:
    ends = [*(start for start in BINS if start <= last), last + 1]
    return [range(start, end) for start, end in pairwise(ends)]


def _count(degrees: range) -> Callable[[Metrics], float]:
    def measure(metrics: Metrics) -> float:
        columns = metrics["degrees"]
        counts = dict(zip(columns["degree"], columns["nodes"], strict=True))
        return sum(float(counts.get(degree, 0)) for degree in degrees) / len(degrees)

    return measure


def _degree_points(quick: bool) -> list[Point]:
    found = []
    for b in SHOWN_B:
        law = f"scale-free:6:{b}"
        wanted = dict(zip(*(column.tolist() for column in read_scale_free(law)), strict=True))
        for seed in seeds(quick):
            workload = WorkloadLaw(nodes=nodes_of(law), topics=10, subscriptions="1", popularity="uniform")
            run = Run(system="unstructured", parameters={"degree": law}, seed=seed, workload=workload, lengths=False)
            for degrees in _bins(max(wanted)):
                expected = sum(float(wanted.get(degree, 0)) for degree in degrees) / len(degrees)
                found.append(Point(f"a 6, b {b}", float(degrees.start), run, _count(degrees), expected))
    return found


# Chosen: the least r squared of a curve that is "almost linear"; and the degree up to which its slope is compared.
LINE_FIT, SLOPE_UP_TO = 0.95, 20


def _line(values: Sequence[SeriesValue], b: str, up_to: float) -> tuple[float, float]:
    """(slope, r squared) of the least-squares line of a curve on logarithmic axes, up to a degree."""
    points = [(log(at.x), log(at.measured)) for at in curve(values, f"a 6, b {b}") if at.measured > 0 and at.x <= up_to]
    mean_x, mean_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    both = sum((x - mean_x) * (y - mean_y) for x, y in points)
    squares = sum((x - mean_x) ** 2 for x, _ in points)
    return both / squares, both**2 / (squares * sum((y - mean_y) ** 2 for _, y in points))


def _is_almost_linear(values: Sequence[SeriesValue]) -> bool:
    """Whether every degree of the curves occurs, and a line explains nearly all of their variance."""
    if any(value.measured <= 0 for value in values):
        return False
    return all(_line(values, b, max(BINS))[1] >= LINE_FIT for b in SHOWN_B)


def _has_slope(values: Sequence[SeriesValue]) -> bool:
    if any(value.measured <= 0 for value in values if value.x <= SLOPE_UP_TO):
        return False
    return all(abs(_line(values, b, SLOPE_UP_TO)[0] / -float(b) - 1) <= 0.1 for b in SHOWN_B)


_FIG6 = Exhibit(
    name="gossip/fig6",
    title="Degrees of scale-free networks",
    x_label="degree (the lowest of a bin)",
    y_label="nodes of one degree (mean over a bin)",
    points=_degree_points,
    left_out="16 of 20 networks",
    claims=(
        Claim(
            "on logarithmic axes the curves are almost lines, to the last degree (r squared at least 0.95)",
            _is_almost_linear,
        ),
        Claim("up to degree 20 their slope is -b (within 10%)", _has_slope),
    ),
    remark=(
        "We drop self-loops and links that are drawn twice, so that hubs lose links: with b = 1 hardly any node keeps more than "
        "320 of up to 403. The paper draws links until nodes reach their degrees, and does not say what becomes of double links "
        "(studies/gossip.py keeps them)."
    ),
    studies=("gossip",),
    log_x=True,
    log_y=True,
)

EXHIBITS = (
    _sweep(4, POISSON, POISSON_NODES, "sigma", 0.03, "Poisson, mean degree 5, 5,000 nodes"),
    _sweep(5, POISSON, POISSON_NODES, "gamma", 0.03, "Poisson, mean degree 5, 5,000 nodes"),
    _FIG6,
    *(
        _sweep(
            7 + 2 * place + second,
            f"scale-free:6:{b}",
            nodes_of(f"scale-free:6:{b}"),
            varies,
            0.08,
            f"scale-free, a 6, b {b}, {nodes_of(f'scale-free:6:{b}'):,} nodes",
        )
        for place, b in enumerate(SCALE_FREE_B)
        for second, varies in enumerate(("sigma", "gamma"))
    ),
)
