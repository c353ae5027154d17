"""The columns of the tables that a run writes, with the ids of the workload."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.tables.measures import NODES, node_columns
from gossamer.model.tables.workload import Workload
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import TopicMeasures
from gossamer.simulator.view_measures import measure_views, view_degree_columns, view_facts

# Tables by name, and the columns of each by name.
Tables = dict[str, Mapping[str, Any]]


def measured_tables(
    overlay: Overlay, workload: Workload, topics: TopicMeasures, present: NDArray[np.bool_] | None = None
) -> Tables:
    """The tables of an overlay's measures, over the nodes that are present.

    These are `topics`, `degrees` and, where a measure of nodes is registered, `nodes`.
    """
    kept = np.ones(overlay.node_count, np.bool_) if present is None else present
    degrees, nodes = np.unique(overlay.degrees[kept], return_counts=True)
    tables: Tables = {
        "topics": {"topic": workload.topic_ids, **topics.columns},
        "degrees": {"degree": degrees, "nodes": nodes},
    }
    by_node = {name: values[kept] for name, values in node_columns(overlay, workload.interest).items()}
    return tables | {NODES: {"node": workload.node_ids[kept], **by_node}} if by_node else tables


def absent_tables(workload: Workload, present: NDArray[np.bool_]) -> Tables:
    """The table `absent`, without which the overlay of a simulation could not be measured; none if all are present."""
    return {} if present.all() else {"absent": {"node": workload.node_ids[~present]}}


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
