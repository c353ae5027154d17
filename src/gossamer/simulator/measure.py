"""Measures of an overlay over a workload, put together from the kernels."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels import measures as kernel
from gossamer.kernels.sampling import units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress as Progress  # noqa: PLC0414
from gossamer.model.values.progress import silent as silent  # noqa: PLC0414


@dataclass(frozen=True)
class TopicMeasures:
    """One row a topic. Where diameters are bounds, the true one lies between `diameter` and `diameter_most`."""

    subscribers: NDArray[np.int64]
    components: NDArray[np.int64]
    links: NDArray[np.int64]
    diameter: NDArray[np.int64]
    diameter_most: NDArray[np.int64]
    clustering: NDArray[np.float64]


def measure(overlay: Overlay, workload: Workload, exact: bool = True, progress: Progress = silent) -> dict[str, Any]:
    """The metrics of an overlay for a workload: links, degrees, disconnected topics, diameters, clustering.

    With `exact=False` topic diameters are bounds, which take much less time on large topics.

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
    topics = measure_topics(overlay, workload.interest, exact, progress)
    return summarise(overlay, workload.interest, topics)


def measure_topics(
    overlay: Overlay, interest: Interest, exact: bool = True, progress: Progress = silent
) -> TopicMeasures:
    """Components, links, diameter and clustering of every topic overlay."""
    arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    columns: list[tuple[NDArray[Any], ...]] = []
    for first, last in _ranges(interest.topic_starts, interest.topic_count):
        progress("measuring topics", first, interest.topic_count)
        columns.append(
            (
                *kernel.topic_components(*arrays, first, last),
                *kernel.topic_diameters(*arrays, first, last, exact),
                kernel.topic_clustering(*arrays, first, last),
            )
        )
    progress("measuring topics", interest.topic_count, interest.topic_count)
    components, links, lower, upper, clustering = (np.concatenate(column) for column in zip(*columns, strict=True))
    return TopicMeasures(interest.popularity, components, links, lower, upper, clustering)


def summarise(
    overlay: Overlay,
    interest: Interest,
    topics: TopicMeasures,
    present: NDArray[np.bool_] | None = None,
    lengths: bool = True,
) -> dict[str, Any]:
    """The figures that `gossamer check` prints and `metrics.json` holds; of those present, where some are away.

    Without `lengths` neither diameters nor clustering.
    """
    degrees = overlay.degrees if present is None else overlay.degrees[present]
    exact = bool((topics.diameter == topics.diameter_most).all())
    summary: dict[str, Any] = {
        "nodes": len(degrees),
        "links": overlay.link_count,
        "average_degree": float(degrees.mean()) if len(degrees) else 0.0,
        "max_degree": int(degrees.max(initial=0)),
        "topics": interest.topic_count,
        "subscriptions": interest.subscription_count,
        "partitioned_topics": int((topics.components > 1).sum()),
        "components": int(topics.components.sum()),
        **({"max_topic_diameter": int(topics.diameter.max()), "max_topic_diameter_is_exact": exact} if lengths else {}),
        "links_per_subscription": links_per_subscription(overlay, interest),
        **({"clustering": overlay_clustering(overlay, present)} if lengths else {}),
    }
    if lengths and not exact:
        summary["max_topic_diameter_at_most"] = int(topics.diameter_most.max())
    return summary


def after_failure(overlay: Overlay, interest: Interest, share: float, seed: int) -> dict[str, int]:
    """Topics with two or more left, and those in parts, when a share of the nodes, drawn at random, is gone at once."""
    left = units(np.uint64(seed), np.uint64(Purpose.FAILED), np.uint64(0), interest.node_count) >= share
    topics = interest.among(left)
    arrays = (topics.topic_starts, topics.topic_nodes, overlay.starts, overlay.neighbours)
    components, _ = kernel.topic_components(*arrays, 0, topics.topic_count)
    return {
        "topics_after_failure": int((topics.popularity > 1).sum()),
        "partitioned_topics_after_failure": int((components > 1).sum()),
    }


def describe_interest(interest: Interest) -> dict[str, Any]:
    """Sizes and popularity of a workload: what `gossamer workload show` prints first."""
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
    """The mean clustering coefficient of the whole overlay's nodes, or of those present."""
    values = np.zeros(overlay.node_count)
    kernel.local_clustering(overlay.starts, overlay.neighbours, values)
    values = values if present is None else values[present]
    return float(values.mean()) if len(values) else 0.0


def overlay_diameter(overlay: Overlay) -> int:
    """The largest finite distance over all links, whatever topics they serve."""
    return int(kernel.graph_diameter(overlay.starts, overlay.neighbours, True)[0])


def links_per_subscription(overlay: Overlay, interest: Interest) -> float:
    """The mean over nodes of degree over number of subscriptions (Feverfew, 4.2); nodes without any left out."""
    holding = interest.sizes > 0
    if not holding.any():
        return 0.0
    return float((overlay.degrees[holding] / interest.sizes[holding]).mean())


def top_intersection(interest: Interest, depth: int) -> float:
    """tdi(d), in %: SpiderCast, 3.4. Cost grows with n squared."""
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
    """Sizes of topics and of interests, largest first, and how alike interests are. Cost and memory: n squared."""
    likest = _highest_correlations(interest)
    return {
        "topic_sizes": np.sort(interest.popularity)[::-1].tolist(),
        "interest_sizes": np.sort(interest.sizes)[::-1].tolist(),
        "correlated_pairs": {f"{level:g}": interest_correlation(interest, level) for level in CONFIDENCES},
        "nodes_with_a_like_one": {f"{level:g}": float((likest >= level).mean()) for level in CONFIDENCES},
    }


def _highest_correlations(interest: Interest) -> NDArray[np.float64]:
    """For each node, the highest correlation of its row of zeros and ones with another's; -1 where there is none."""
    highest = np.full(interest.node_count, -1.0)
    varied = np.flatnonzero((interest.sizes > 0) & (interest.sizes < interest.topic_count))
    if len(varied) > 1:
        rows = np.zeros((interest.node_count, interest.topic_count))
        rows[interest.owners, interest.node_topics] = 1.0
        correlations = np.atleast_2d(np.corrcoef(rows[varied]))
        np.fill_diagonal(correlations, -1.0)
        # Equal rows may come out a rounding below 1.
        highest[varied] = correlations.max(axis=1) + 1e-9
    return highest


def _ranges(topic_starts: NDArray[np.int64], topic_count: int) -> Iterator[tuple[int, int]]:
    """Topics in up to 50 runs of about as many subscriptions each: few calls, yet progress moves."""
    wanted = np.linspace(0, topic_starts[-1], 51)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(topic_starts, wanted), [topic_count])))
    return ((int(a), int(b)) for a, b in pairwise(cuts))
