"""Measures of directed views by topic (StAN, 3.1): the logical and the physical links of a node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import TopicViews


@dataclass(frozen=True)
class ViewMeasures:
    """For each node with a topic: entries in its views, distinct peers in them, and nodes that have it in a view."""

    total: NDArray[np.int64]
    unique: NDArray[np.int64]
    known_by: NDArray[np.int64]


def measure_views(views: TopicViews, interest: Interest) -> ViewMeasures:
    """Count entries and peers. Nodes without topics have no view and are left out."""
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
    """The columns of `view_degrees.parquet`: physical out- and in-degrees at the start and at the end (Figure 3)."""
    rows: list[tuple[str, str, int, int]] = []
    for moment, measures in measured.items():
        for direction, counted in (("out", measures.unique), ("in", measures.known_by)):
            degrees, nodes = np.unique(counted, return_counts=True)
            rows += [(moment, direction, int(a), int(b)) for a, b in zip(degrees, nodes, strict=True)]
    names = ("moment", "direction", "degree", "nodes")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def directed_shape(views: TopicViews, node_count: int) -> dict[str, Any]:
    """Clustering, diameter and mean eccentricity of the directed graph of all views. Cost and memory: n squared.

    The clustering of a node is the share of ordered pairs of its peers in which the first has the second in a view. The
    eccentricity of a node is the largest finite distance from it along views, and the diameter is the largest of these.
    """
    linked = np.zeros((node_count, node_count), np.bool_)
    linked[views.nodes, views.peers] = True
    distances = shortest_path(csr_array(linked.astype(np.int8)), unweighted=True)
    shares = np.zeros(node_count)
    for node in range(node_count):
        peers = np.flatnonzero(linked[node])
        if len(peers) > 1:
            shares[node] = linked[np.ix_(peers, peers)].sum() / (len(peers) * (len(peers) - 1))
    holding = linked.any(axis=1)
    farthest = np.where(np.isfinite(distances), distances, 0).max(axis=1, initial=0)[holding]
    return {
        "view_clustering": float(shares[holding].mean()) if holding.any() else 0.0,
        "view_diameter": int(farthest.max(initial=0)),
        "view_eccentricity": float(farthest.mean()) if holding.any() else 0.0,
    }


def _mean(counts: NDArray[np.int64]) -> float:
    return float(counts.mean()) if len(counts) else 0.0
