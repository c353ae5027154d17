"""The columns of the tables that a run writes, with the ids of the workload."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.tables.workload import Workload
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import TopicMeasures
from gossamer.simulator.view_measures import measure_views, view_degree_columns, view_facts

# Tables by name, and the columns of each by name.
Tables = dict[str, Mapping[str, Any]]


def topic_columns(workload: Workload, topics: TopicMeasures) -> dict[str, Any]:
    """The columns of `topics.parquet`; where `diameter_most` is larger, the true diameter lies between the two."""
    return {
        "topic": workload.topic_ids,
        "subscribers": topics.subscribers,
        "components": topics.components,
        "links": topics.links,
        "diameter": topics.diameter,
        "diameter_most": topics.diameter_most,
        "clustering": topics.clustering,
    }


def degree_columns(overlay: Overlay, present: NDArray[np.bool_] | None = None) -> dict[str, Any]:
    """The columns of `degrees.parquet`: the degrees of the nodes that are present."""
    counted = overlay.degrees if present is None else overlay.degrees[present]
    degrees, nodes = np.unique(counted, return_counts=True)
    return {"degree": degrees, "nodes": nodes}


def link_columns(links: LinkBook, workload: Workload) -> dict[str, Any]:
    """The columns of `links.parquet`: every change of a link."""
    rows = np.array(links.history, dtype=np.int64).reshape(-1, 4)
    ids = workload.node_ids
    return {"at_us": rows[:, 0], "u": ids[rows[:, 1]], "v": ids[rows[:, 2]], "up": rows[:, 3].astype(np.bool_)}


def with_workload_ids(columns: Mapping[str, Any], workload: Workload) -> dict[str, Any]:
    """The same columns, with places of nodes and topics replaced by the ids of the workload."""
    known = {"node": workload.node_ids, "topic": workload.topic_ids}
    replaced = {name: ids[np.array(columns[name], dtype=np.int64)] for name, ids in known.items() if name in columns}
    return {**columns, **replaced}


def view_tables(
    first: TopicViews, last: TopicViews, workload: Workload, interest: Interest
) -> tuple[dict[str, Any], Tables]:
    """Facts and tables of a system that keeps a view for each topic: its views at the start and at the end."""
    measured = {"first": measure_views(first, interest), "last": measure_views(last, interest)}
    columns = {
        "topic": workload.topic_ids[last.topics],
        "node": workload.node_ids[last.nodes],
        "peer": workload.node_ids[last.peers],
    }
    return view_facts(measured), {"views": columns, "view_degrees": view_degree_columns(measured)}
