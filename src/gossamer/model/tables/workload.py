"""Read and write workloads, overlays and churn. A workload is any folder that contains an `interests` table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gossamer.model.arrays.churn import EVENT_NAMES, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.schemas import read_table, write_table
from gossamer.model.values.errors import InputError, TableError
from gossamer.model.values.ids import Role

INTERESTS = "interests.parquet"
OVERLAY = "overlay.parquet"
ABSENT = "absent.parquet"
CHURN = "churn.parquet"


@dataclass(frozen=True)
class Workload:
    """The interests of all nodes, and the ids that nodes and topics have outside.

    `interest` numbers nodes and topics from zero; node i has the id `node_ids[i]` and topic i the id `topic_ids[i]`,
    both ascending.
    """

    interest: Interest
    node_ids: NDArray[np.int64]
    topic_ids: NDArray[np.int64]

    @classmethod
    def from_interest(cls, interest: Interest) -> "Workload":
        """A workload whose ids are the numbers that `interest` uses."""
        return cls(interest, np.arange(interest.node_count), np.arange(interest.topic_count))


def write_interests(folder: Path, interest: Interest) -> int:
    """Write interests; the table has a role column only if some node publishes."""
    columns: dict[str, NDArray[Any]] = {"node": interest.owners, "topic": interest.node_topics}
    if (interest.roles != Role.FOLLOWS).any():
        columns["role"] = interest.roles
    return write_table("interests", folder / INTERESTS, columns)


def read_workload(folder: Path) -> Workload:
    """Read a workload from a folder and check it; ids may have gaps.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = {"node": [7, 7, 9], "topic": [1, 2, 1]}
    ...     _ = write_table("interests", Path(folder) / INTERESTS, rows)
    ...     read_workload(Path(folder)).node_ids.tolist()
    [7, 9]
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; a workload is a folder that contains {INTERESTS}")
    path = folder / INTERESTS
    table = read_table("interests", path)
    if not table.num_rows:
        raise InputError(f"{path} is empty: a workload needs at least one (node, topic) row")
    nodes, topics = table.column("node").to_numpy(), table.column("topic").to_numpy()
    roles = table.column("role").to_numpy() if "role" in table.column_names else None
    if roles is not None and ((roles < 1) | (roles > int(Role.BOTH))).any():
        raise TableError(f"{path}: column role must be 1 (follows), 2 (publishes) or 3 (both)")
    node_ids, dense_nodes = _dense(nodes)
    topic_ids, dense_topics = _dense(topics)
    try:
        interest = Interest.from_pairs(dense_nodes, dense_topics, len(node_ids), len(topic_ids), roles)
    except InputError:
        raise _duplicates(path, nodes, topics, dense_nodes * len(topic_ids) + dense_topics) from None
    return Workload(interest, node_ids, topic_ids)


def write_overlay(folder: Path, overlay: Overlay, node_ids: NDArray[np.int64]) -> int:
    """Write links with the ids of the workload. Those are ascending, so u < v stays true."""
    u, v = overlay.links()
    return write_table("overlay", folder / OVERLAY, {"u": node_ids[u], "v": node_ids[v]})


def read_overlay(path: Path, node_ids: NDArray[np.int64]) -> Overlay:
    """Read an overlay of the nodes of a workload; `path` is the file or the folder that contains it."""
    path = path / OVERLAY if path.is_dir() else path
    table = read_table("overlay", path)
    u, v = (_places(path, table.column(column).to_numpy(), node_ids) for column in ("u", "v"))
    return Overlay.from_links(u, v, len(node_ids))


def absent_file(overlay: Path) -> Path | None:
    """The table of absent nodes beside an overlay, which is given by its file or folder; None if all are present."""
    path = (overlay if (overlay / OVERLAY).exists() else overlay.parent) / ABSENT
    return path if path.exists() else None


def read_present(overlay: Path, node_ids: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Which nodes of a workload are present in an overlay, which is given by its file or folder; None if all are."""
    path = absent_file(overlay)
    if path is None:
        return None
    present = np.ones(len(node_ids), np.bool_)
    present[_places(path, read_table("absent", path).column("node").to_numpy(), node_ids)] = False
    return present


def write_churn(folder: Path, churn: Churn, node_ids: NDArray[np.int64]) -> int:
    """Write a churn table with the ids of the workload and the names of the events."""
    names = np.array(EVENT_NAMES, dtype=object)
    columns = {"at_us": churn.at_us, "node": node_ids[churn.nodes], "event": names[churn.events]}
    return write_table("churn", folder / CHURN, columns)


def read_churn(path: Path, node_ids: NDArray[np.int64]) -> Churn:
    """Read the churn of the nodes of a workload; `path` is the file or the folder that contains it."""
    path = path / CHURN if path.is_dir() else path
    table = read_table("churn", path)
    codes = pc.index_in(table.column("event"), value_set=pa.array(EVENT_NAMES))
    if codes.null_count:
        raise TableError(f"{path}: column event must be one of {', '.join(EVENT_NAMES)}")
    nodes = _places(path, table.column("node").to_numpy(), node_ids)
    return Churn.from_rows(table.column("at_us").to_numpy(), nodes, codes.to_numpy())


def _places(path: Path, ids: NDArray[np.int64], node_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each id in the workload's list of nodes."""
    if len(node_ids) and node_ids[-1] == len(node_ids) - 1:
        # Ids without gaps equal their positions.
        places, known = ids, (ids >= 0) & (ids < len(node_ids))
    else:
        places = np.searchsorted(node_ids, ids)
        known = node_ids[np.minimum(places, len(node_ids) - 1)] == ids
    if not known.all():
        raise InputError(f"{path} names node {ids[~known][0]}, which is not in the workload")
    return places


def _dense(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ids in ascending order, and the position of each id among them."""
    highest = int(ids.max())
    if highest < 4 * len(ids) + 1024:
        # The ids have few gaps: an array of flags is faster than sorting twenty million rows.
        used = np.zeros(highest + 1, np.bool_)
        used[ids] = True
        places = np.cumsum(used) - 1
        return np.flatnonzero(used), places[ids]
    distinct, places = np.unique(ids, return_inverse=True)
    return distinct, places


def _duplicates(path: Path, nodes: NDArray[np.int64], topics: NDArray[np.int64], keys: NDArray[np.int64]) -> TableError:
    """An error with the number of repeated rows and the first of them, in the ids of the table."""
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    row = int(np.flatnonzero(keys == again[0])[0])
    return TableError(
        f"{path} contains {len(again)} duplicate rows, the first for node {nodes[row]} and topic {topics[row]}; "
        "keep each pair once"
    )
