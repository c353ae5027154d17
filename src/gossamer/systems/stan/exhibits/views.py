"""Table 2 and Figure 2: the peers in all views of a node (total), and the distinct peers among them (unique)."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.stan.exhibits.settings import (
    CYCLES,
    fits,
    run_on,
    seeds,
)

NODES = (1000, 2000, 3000)
TOPICS = (100, 200, 300)
TOTAL, FIRST, LAST = "Total", "Unique Initial", "Unique Final"
METRICS = {TOTAL: "view_total", FIRST: "view_unique_first", LAST: "view_unique"}
FIG2 = ((1000, 100), (1000, 300), (3000, 100), (3000, 300))
FIG2_CYCLES = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30)


def _metric(name: str, metrics: Metrics) -> float:
    return float(metrics[name])


def _after(cycle: int, metrics: Metrics) -> float:
    """Distinct peers after a cycle. After the last cycle of a build they no longer change."""
    sizes = [metrics["view_unique_first"], *metrics["view_unique_by_cycle"]]
    return float(sizes[min(cycle, len(sizes) - 1)])


# The mean of Unique Final over all fits is a rival reading: the paper ran one workload, and any of them could be it.
OVER_FITS = ", mean of ten fits"


def _table2_points(quick: bool) -> list[Point]:
    return _best_fit_points(quick) + _fits_points(quick)


def _best_fit_points(quick: bool) -> list[Point]:
    return [
        Point(f"{name}, {topics} topics", float(nodes), run_on(nodes, topics, seed), partial(_metric, METRICS[name]))
        for name in METRICS
        for topics in ((100,) if quick else TOPICS)
        for nodes in NODES
        for seed in seeds(quick)
    ]


def _fits_points(quick: bool) -> list[Point]:
    return [
        Point(
            f"{LAST}, {topics} topics{OVER_FITS}",
            float(nodes),
            run_on(nodes, topics, 1, fit),
            partial(_metric, METRICS[LAST]),
        )
        for topics in ((100,) if quick else TOPICS)
        for nodes in NODES
        for fit in range(len(fits()))
    ]


def _fig2_points(quick: bool) -> list[Point]:
    found = []
    for nodes, topics in FIG2[:1] if quick else FIG2:
        for seed in seeds(quick):
            run = run_on(nodes, topics, seed, view_history=True)
            for cycle in FIG2_CYCLES:
                where = f"{nodes} nodes, {topics} topics"
                found.append(Point(f"Total, {where}", float(cycle), run, partial(_metric, "view_total")))
                found.append(Point(f"Unique, {where}", float(cycle), run, partial(_after, cycle)))
    return found


def _at(values: Sequence[SeriesValue]) -> dict[tuple[str, int, float], float]:
    """The measured values by (quantity, topics, nodes)."""
    found = {}
    for value in values:
        what, _, rest = value.series.partition(", ")
        found[what, int(rest.split()[0]), value.x] = value.measured
    return found


def _ratios(values: Sequence[SeriesValue]) -> dict[tuple[int, float], float]:
    at = _at(values)
    return {
        (topics, nodes): at[LAST, topics, nodes] / at[FIRST, topics, nodes]
        for what, topics, nodes in at
        if what == LAST
    }


def _halves(values: Sequence[SeriesValue]) -> bool:
    return all(0.30 <= ratio <= 0.55 for ratio in _ratios(values).values())


def _share_falls_with_topics(values: Sequence[SeriesValue]) -> bool | None:
    ratios = _ratios(values)
    topics = sorted({topic for topic, _ in ratios})
    if len(topics) < 2:
        return None
    return all(
        ratios[more, nodes] < ratios[fewer, nodes]
        for nodes in {nodes for _, nodes in ratios}
        for fewer, more in pairwise(topics)
    )


def _topics_count_more(values: Sequence[SeriesValue], quantities: Sequence[str]) -> bool | None:
    """Whether three times the topics add more peers than three times the nodes; None without 300 topics."""
    at = _at(values)
    if (LAST, 300, 1000.0) not in at:
        return None
    return all(at[what, 300, 1000.0] > at[what, 100, 3000.0] for what in quantities)


def _is_linear_in_topics(values: Sequence[SeriesValue]) -> bool | None:
    """Whether three times the topics give three times the peers, within a tenth, for each number of nodes."""
    at = _at(values)
    if (TOTAL, 300, 1000.0) not in at:
        return None
    return all(abs(at[TOTAL, 300, float(nodes)] / at[TOTAL, 100, float(nodes)] / 3 - 1) <= 0.1 for nodes in NODES)


def _converges(values: Sequence[SeriesValue]) -> bool:
    """Whether nine tenths of the decrease happen by cycle 10."""
    for name in {value.series for value in values if value.series.startswith("Unique")}:
        sizes = {value.x: value.measured for value in curve(values, name)}
        if sizes[0] - sizes[10] < 0.9 * (sizes[0] - sizes[CYCLES]):
            return False
    return True


def _total_is_kept(values: Sequence[SeriesValue]) -> bool:
    totals = [value for value in values if value.series.startswith("Total")]
    return all(
        len({round(value.measured, 9) for value in curve(totals, name)}) == 1 for name in {v.series for v in totals}
    )


EXHIBITS = (
    Exhibit(
        name="stan/table2",
        title="View sizes: all peers, and distinct peers at the start and at the end",
        x_label="nodes",
        y_label="mean view size (peers)",
        points=_table2_points,
        left_out="200 and 300 topics, seeds 3 to 5",
        tolerance=0.1,
        claims=(
            Claim("distinct peers fall to between 0.30 and 0.55 of their first number in every cell", _halves),
            Claim("this share falls with the number of topics", _share_falls_with_topics),
            Claim(
                "Unique Final grows more with three times the topics than with three times the nodes",
                lambda values: _topics_count_more(values, (LAST,)),
            ),
            Claim(
                "so do Total and Unique Initial",
                lambda values: _topics_count_more(values, (TOTAL, FIRST)),
                is_fitted=True,
            ),
            Claim("Total is proportional to the number of topics (within 10%)", _is_linear_in_topics, is_fitted=True),
        ),
        remark=(
            "The 18 fitted values are met within 5.1%; Final was not fitted. Eight of nine cells fall to between 0.32 "
            "and 0.52, and the ninth (3,000 nodes, 300 topics) to 0.293; its views settle slowest, and the paper does "
            "not say after how many iterations it measured. The ranges of Final over the ten fits are 35 to 45, 46 to "
            "66 and 55 to 79 peers with 1,000 nodes and 100, 200 and 300 topics, 40 to 51, 52 to 76 and 62 to 91 with "
            "2,000, and 43 to 55, 56 to 82 and 67 to 98 with 3,000; the published Final is inside in seven of nine "
            "cells. A fit that includes the clustering before predicts the same Final (studies/tables/stan_joint.md)."
        ),
        studies=("stan_joint",),
    ),
    Exhibit(
        name="stan/fig2",
        title="View sizes from cycle to cycle",
        x_label="cycles",
        y_label="mean view size (peers)",
        points=_fig2_points,
        left_out="3,000 nodes, 300 topics, seeds 3 to 5",
        log_y=True,
        claims=(
            Claim("the number of all peers does not change", _total_is_kept),
            Claim("nine tenths of the decrease of distinct peers happen within 10 cycles", _converges),
        ),
    ),
)
