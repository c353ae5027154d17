"""Measures of an overlay for a workload: registered measures of topics and nodes, and figures of the overlay."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Registers the measures of this package.
import gossamer.simulator.topic_measures  # noqa: F401
from gossamer.kernels import measures as kernel
from gossamer.kernels.sampling import units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.measures import TopicRange, node_columns, node_figures, topic_figures, topic_measures
from gossamer.model.tables.workload import Workload
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent


class TopicMeasures:
    """The registered measures of every topic, one array for each column: `topics.components`, `topics.diameter` ..."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.columns = columns

    def __getattr__(self, column: str) -> NDArray[Any]:
        try:
            return self.columns[column]
        except KeyError:
            raise AttributeError(f"there is no measure {column}; there are: {', '.join(self.columns)}") from None


def measure(
    overlay: Overlay,
    workload: Workload,
    exact: bool = True,
    progress: Progress = silent,
    present: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """The metrics of an overlay for a workload: links, degrees, disconnected topics, diameters, clustering.

    With `exact=False` topic diameters are bounds, which take much less time on large topics. `present` leaves out the
    nodes that are absent, such as those that a simulation's churn has removed.

    >>> from gossamer.planners.plan import plan
    >>> from gossamer.workloads.make import make_workload
    >>> workload = make_workload(nodes=50, topics=5, subscriptions=2, seed=1)
    >>> measure(plan(workload).overlay, workload)["partitioned_topics"]
    0
    """
    if overlay.node_count != workload.interest.node_count:
        raise InputError(
            f"the overlay has {overlay.node_count} nodes and the workload {workload.interest.node_count}; "
            "measure an overlay with the workload that it was built for"
        )
    interest = workload.interest if present is None else workload.interest.among(present)
    topics = measure_topics(overlay, interest, exact, progress)
    return summarise(overlay, interest, topics, present)


def measure_topics(
    overlay: Overlay, interest: Interest, exact: bool = True, progress: Progress = silent, costly: bool = True
) -> TopicMeasures:
    """All registered measures of every topic; without `costly`, only the cheap ones.

    Without `exact`, diameters are bounds: `diameter` and `diameter_most`.
    """
    exact_nodes = overlay.node_count if exact else -1
    arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    found: list[dict[str, NDArray[Any]]] = []
    for first, last in _ranges(interest.topic_starts, interest.topic_count):
        progress("measuring topics", first, interest.topic_count)
        found.append(measure_range(TopicRange(*arrays, first, last, exact_nodes), costly))
    progress("measuring topics", interest.topic_count, interest.topic_count)
    return TopicMeasures({name: np.concatenate([columns[name] for columns in found]) for name in found[0]})


def measure_range(topics: TopicRange, costly: bool = True) -> dict[str, NDArray[Any]]:
    """All registered measures of a range of topics, by column; without `costly`, only the cheap ones."""
    columns: dict[str, NDArray[Any]] = {}
    for each in topic_measures(costly):
        columns |= zip(each.columns, each.function(topics), strict=True)
    return columns


def summarise(
    overlay: Overlay,
    interest: Interest,
    topics: TopicMeasures,
    present: NDArray[np.bool_] | None = None,
    lengths: bool = True,
) -> dict[str, Any]:
    """The figures that `gossamer check` prints and `metrics.json` has, over the nodes that are present.

    Without `lengths`, diameters and clustering are left out.
    """
    degrees = overlay.degrees if present is None else overlay.degrees[present]
    nodes = {
        name: column if present is None else column[present] for name, column in node_columns(overlay, interest).items()
    }
    return {
        "nodes": len(degrees),
        "links": overlay.link_count,
        "average_degree": float(degrees.mean()) if len(degrees) else 0.0,
        "max_degree": int(degrees.max(initial=0)),
        "topics": interest.topic_count,
        "subscriptions": interest.subscription_count,
        **topic_figures(lambda each: topics.columns, lengths),
        "links_per_subscription": links_per_subscription(overlay, interest),
        **({"clustering": overlay_clustering(overlay, present)} if lengths else {}),
        **node_figures(nodes),
    }


def after_failure(overlay: Overlay, interest: Interest, share: float, seed: int) -> dict[str, int]:
    """Topics with two or more subscribers left, and disconnected ones, after a random share of the nodes has failed."""
    left = units(np.uint64(seed), np.uint64(Purpose.FAILED), np.uint64(0), interest.node_count) >= share
    topics = interest.among(left)
    return {
        "topics_after_failure": int((topics.popularity > 1).sum()),
        "partitioned_topics_after_failure": disconnected_topics(overlay, topics),
    }


def disconnected_topics(overlay: Overlay, interest: Interest) -> int:
    """How many topics are disconnected, without the other measures of topics, which cost much more."""
    arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    components, _ = kernel.topic_components(*arrays, 0, interest.topic_count)
    return int((components > 1).sum())


def describe_interest(interest: Interest) -> dict[str, Any]:
    """Sizes and popularity of a workload, which `gossamer workload show` prints first."""
    popularity = np.sort(interest.popularity)[::-1]
    top = max(1, round(len(popularity) / 10))
    return {
        "nodes": interest.node_count,
        "topics": interest.topic_count,
        "subscriptions": interest.subscription_count,
        "subscriptions_per_node_least": int(interest.sizes.min()),
        "subscriptions_per_node_mean": float(interest.sizes.mean()),
        "subscriptions_per_node_most": int(interest.sizes.max()),
        "subscribers_per_topic_least": int(popularity[-1]),
        "subscribers_per_topic_median": float(np.median(popularity)),
        "subscribers_per_topic_most": int(popularity[0]),
        "share_of_top_tenth_of_topics": float(popularity[:top].sum() / interest.subscription_count),
    }


def overlay_clustering(overlay: Overlay, present: NDArray[np.bool_] | None = None) -> float:
    """The mean clustering coefficient of all nodes of the overlay, or of those that are present."""
    values = np.zeros(overlay.node_count)
    kernel.local_clustering(overlay.starts, overlay.neighbours, values)
    values = values if present is None else values[present]
    return float(values.mean()) if len(values) else 0.0


def overlay_diameter(overlay: Overlay) -> int:
    """The largest finite distance in the whole overlay, over links of any topic."""
    return int(kernel.graph_diameter(overlay.starts, overlay.neighbours, True)[0])


def links_per_subscription(overlay: Overlay, interest: Interest) -> float:
    """Degree divided by subscriptions, mean over the nodes that have subscriptions (Ma, Wang, Sun 2014, section 4.2)."""
    holding = interest.sizes > 0
    if not holding.any():
        return 0.0
    return float((overlay.degrees[holding] / interest.sizes[holding]).mean())


def top_intersection(interest: Interest, depth: int) -> float:
    """tdi(d) in percent (SpiderCast, 3.4). The cost grows with n squared."""
    arrays = (interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes)
    return float(kernel.top_intersections(*arrays, depth, 0, interest.node_count).mean())


def interest_correlation(interest: Interest, confidence: float) -> float:
    """The share of pairs of nodes whose interests correlate at this confidence, two-sided (StAN, Table 1)."""
    node_count = interest.node_count
    if node_count < 2:
        return 0.0
    arrays = (interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes)
    critical = NormalDist().inv_cdf((1 + confidence) / 2)
    return int(kernel.correlated_pairs(*arrays, critical, 0, node_count)) / (node_count * (node_count - 1) / 2)


# Paper: the confidence levels of StAN's Table 1.
CONFIDENCES = (0.90, 0.95, 0.98, 0.99)


def interest_shape(interest: Interest) -> dict[str, Any]:
    """Sizes of topics and interests, largest first, and how similar interests are. Cost and memory: n squared."""
    likest = _highest_correlations(interest)
    return {
        "topic_sizes": np.sort(interest.popularity)[::-1].tolist(),
        "interest_sizes": np.sort(interest.sizes)[::-1].tolist(),
        "correlated_pairs": {f"{level:g}": interest_correlation(interest, level) for level in CONFIDENCES},
        "nodes_with_a_like_one": {f"{level:g}": float((likest >= level).mean()) for level in CONFIDENCES},
    }


def _highest_correlations(interest: Interest) -> NDArray[np.float64]:
    """For each node, the highest correlation of its interest with another node's, as rows of zeros and ones; or -1."""
    highest = np.full(interest.node_count, -1.0)
    varied = np.flatnonzero((interest.sizes > 0) & (interest.sizes < interest.topic_count))
    if len(varied) > 1:
        rows = np.zeros((interest.node_count, interest.topic_count))
        rows[interest.owners, interest.node_topics] = 1.0
        correlations = np.atleast_2d(np.corrcoef(rows[varied]))
        np.fill_diagonal(correlations, -1.0)
        # Rounding may give equal rows a correlation slightly below 1.
        highest[varied] = correlations.max(axis=1) + 1e-9
    return highest


def _ranges(topic_starts: NDArray[np.int64], topic_count: int) -> Iterator[tuple[int, int]]:
    """Up to 50 ranges of topics with about equally many subscriptions: few calls, and regular progress reports."""
    wanted = np.linspace(0, topic_starts[-1], 51)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(topic_starts, wanted), [topic_count])))
    return ((int(a), int(b)) for a, b in pairwise(cuts))
