"""The measures of topics that this package has: subscribers, components, links, diameter and clustering.

To add one, write a function here and register it with `@topic_measure` (model/tables/measures.py).
"""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gossamer.kernels import measures as kernel
from gossamer.model.tables.measures import TopicMeasure, TopicRange, register


def _subscribers(topics: TopicRange) -> tuple[NDArray[np.int64], ...]:
    return (topics.subscribers,)


def _components(topics: TopicRange) -> tuple[NDArray[np.int64], ...]:
    components, links = kernel.topic_components(*topics.arrays, topics.first, topics.last)
    return components, links


def _component_figures(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    components = columns["components"]
    return {"partitioned_topics": int((components > 1).sum()), "components": int(components.sum())}


def _diameters(topics: TopicRange) -> list[NDArray[np.int64]]:
    """Exact for small topics, bounds for large ones: one call of the kernel for each group of consecutive topics."""
    is_small = topics.subscribers <= topics.exact_nodes
    found = []
    for exact, group in groupby(
        range(topics.first, topics.last), key=lambda topic: bool(is_small[topic - topics.first])
    ):
        numbers = list(group)
        found.append(kernel.topic_diameters(*topics.arrays, numbers[0], numbers[-1] + 1, exact))
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _diameter_figures(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    least, most = columns["diameter"], columns["diameter_most"]
    # The largest diameter is exact if its two bounds are equal, even if those of smaller topics are not.
    exact = bool(least.max() == most.max())
    figures = {"max_topic_diameter": int(least.max()), "max_topic_diameter_is_exact": exact}
    return figures if exact else {**figures, "max_topic_diameter_at_most": int(most.max())}


def _clustering(topics: TopicRange) -> tuple[NDArray[np.float64], ...]:
    return (kernel.topic_clustering(*topics.arrays, topics.first, topics.last),)


_COUNT = pa.int64()

register(TopicMeasure({"subscribers": _COUNT}, _subscribers))
register(TopicMeasure({"components": _COUNT, "links": _COUNT}, _components, _component_figures))
register(
    TopicMeasure({"diameter": _COUNT, "diameter_most": _COUNT}, _diameters, _diameter_figures, costly=True),
)
# The figure `clustering` is that of the whole overlay, not a mean over topics.
register(TopicMeasure({"clustering": pa.float64()}, _clustering, costly=True))
