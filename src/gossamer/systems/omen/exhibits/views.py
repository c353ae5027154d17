"""Figures 6 and 8(a): how many nodes a successor keeps in view for the node that it watches."""

from collections.abc import Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve
from gossamer.systems.omen.exhibits.settings import SEEDS, metric, views

NODES, QUICK_NODES = 1_000, 300
GRAPH = "ego-facebook"
COVERAGES = (1, 3, 5, 9)


def _histogram(quick: bool) -> list[Point]:
    nodes = QUICK_NODES if quick else NODES
    measures = {
        "views of at most 80 nodes (%)": "at_most_80_percent",
        "views of under 5% of the nodes (%)": "under_5_percent_of_nodes",
    }
    return [
        Point(series, float(nodes), views(GRAPH, seed, nodes, 5), metric(name))
        for seed in (SEEDS[:1] if quick else SEEDS)
        for series, name in measures.items()
    ]


def _by_coverage(quick: bool) -> list[Point]:
    nodes = QUICK_NODES if quick else NODES
    return [
        Point("mean size of a view (nodes)", float(coverage), views(GRAPH, seed, nodes, coverage), metric("mean"))
        for coverage in COVERAGES
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def _is_small(values: Sequence[SeriesValue]) -> bool | None:
    found = [value.measured for value in curve(values, "views of under 5% of the nodes (%)") if value.x == NODES]
    return found[0] >= 95 if found else None


def _grows(values: Sequence[SeriesValue]) -> bool:
    sizes = [value.measured for value in curve(values, "mean size of a view (nodes)")]
    return sizes == sorted(sizes) and sizes[0] < sizes[-1]


EXHIBITS = (
    Exhibit(
        name="omen/fig6",
        title="Sizes of local views, lambda 5 (friends, 1,000 nodes)",
        x_label="nodes",
        y_label="percent",
        points=_histogram,
        left_out="1,000 nodes (300 instead), seeds 2 to 5",
        tolerance=0.05,
        claims=(Claim("95% of the views have under 5% of the nodes", _is_small),),
    ),
    Exhibit(
        name="omen/fig8a",
        title="Mean local view by lambda (friends, 1,000 nodes)",
        x_label="lambda",
        y_label="nodes",
        points=_by_coverage,
        left_out="1,000 nodes (300 instead), seeds 2 to 5",
        tolerance=0.25,
        claims=(Claim("views grow with lambda", _grows),),
    ),
)
