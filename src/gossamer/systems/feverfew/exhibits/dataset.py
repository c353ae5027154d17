"""Figures 1 and 4: sizes of topics and of interests. The workload is generated with the published figures."""

from collections.abc import Sequence
from functools import partial

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.feverfew.exhibits.settings import COMMUNITIES, DOUBAN, FULL, QUICK, experiment, figures

TOPIC_SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1_304)
INTEREST_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
NAMES = {DOUBAN: "independent", COMMUNITIES: "with communities"}


def _share(name: str, most: int, metrics: Metrics) -> float:
    sizes = metrics[name]
    return 100.0 * float(sum(size <= most for size in sizes)) / len(sizes)


def _points(table: str, sizes: Sequence[int], quick: bool) -> list[Point]:
    nodes = QUICK if quick else FULL
    found = []
    for kind, name in NAMES.items():
        run = experiment("workload", 1, {"kind": kind, "figures": {"nodes": nodes, **figures(nodes)}})
        # Another name for the quick workload, so that it is not compared with values of 10,000 users.
        series = f"{name}, {nodes:,} users" if quick else name
        found += [Point(series, float(size), run, partial(_share, table, size)) for size in sizes]
    return found[: -len(sizes)] if quick else found


def _mostly_small(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured > 70 for value in values if value.x == 16)


def _has_long_tail(values: Sequence[SeriesValue]) -> bool:
    """Whether most users have less than the mean of 49 subscriptions, and some more than 200."""
    for name in {value.series for value in values}:
        at = {value.x: value.measured for value in curve(values, name)}
        if at[50] <= 60 or at[200] >= 100:
            return False
    return True


EXHIBITS = (
    Exhibit(
        name="feverfew/fig1",
        title="Sizes of topics (Douban), generated",
        x_label="topic size",
        y_label="topics of at most this size (%)",
        points=partial(_points, "topic_sizes", TOPIC_SIZES),
        left_out="10,000 users (1,000 instead), communities",
        claims=(Claim("more than 70% of the topics have at most 16 users", _mostly_small, is_fitted=True),),
        log_x=True,
    ),
    Exhibit(
        name="feverfew/fig4",
        title="Subscriptions of users (Douban), generated",
        x_label="subscriptions",
        y_label="users with at most as many (%)",
        points=partial(_points, "interest_sizes", INTEREST_SIZES),
        left_out="10,000 users (1,000 instead), communities",
        claims=(Claim("most users are below the mean, and some have more than 200 subscriptions", _has_long_tail),),
        log_x=True,
    ),
)
