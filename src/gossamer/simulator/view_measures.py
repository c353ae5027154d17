"""Measures of directed views by topic (StAN, 3.1): how many logical links a node keeps, and over how many physical ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import TopicViews


@dataclass(frozen=True)
class ViewMeasures:
    """Of the nodes that hold a topic: entries in all views, distinct peers in them, and nodes that have it in theirs."""

    total: NDArray[np.int64]
    unique: NDArray[np.int64]
    known_by: NDArray[np.int64]


def measure_views(views: TopicViews, interest: Interest) -> ViewMeasures:
    """Count; nodes that hold nothing keep no view, and are left out."""
    count = interest.node_count
    pairs = views.nodes.astype(np.int64) * count + views.peers
    pairs.sort()
    pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))] if len(pairs) else pairs
    holding = interest.sizes > 0
    columns = (views.nodes, pairs // count, pairs % count)
    return ViewMeasures(*(np.bincount(column, minlength=count)[holding] for column in columns))


def view_facts(measured: Mapping[str, ViewMeasures]) -> dict[str, Any]:
    """Mean view sizes, as in the paper's Table 2."""
    first, last = measured["first"], measured["last"]
    return {
        "view_total": _mean(last.total),
        "view_unique_first": _mean(first.unique),
        "view_unique": _mean(last.unique),
    }


def view_degree_columns(measured: Mapping[str, ViewMeasures]) -> dict[str, Any]:
    """The columns of `view_degrees.parquet`: physical out- and in-degrees at first and at last (Figure 3)."""
    rows: list[tuple[str, str, int, int]] = []
    for moment, measures in measured.items():
        for direction, counted in (("out", measures.unique), ("in", measures.known_by)):
            degrees, nodes = np.unique(counted, return_counts=True)
            rows += [(moment, direction, int(a), int(b)) for a, b in zip(degrees, nodes, strict=True)]
    names = ("moment", "direction", "degree", "nodes")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _mean(counts: NDArray[np.int64]) -> float:
    return float(counts.mean()) if len(counts) else 0.0
