"""Read and write workloads, overlays and churn. A workload is any folder that contains an `interests` table."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

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
# The names of nodes and of topics, beside the interests.
NODE_NAMES = "names.parquet"
TOPIC_NAMES = "topic_names.parquet"
ZONES = "zones.parquet"
OVERLAY = "overlay.parquet"
ABSENT = "absent.parquet"
CHURN = "churn.parquet"


Names = NDArray[np.object_]
# The nodes of a workload, or their ids only.
NodesOf: TypeAlias = "Workload | NDArray[np.int64]"


@dataclass(frozen=True)
class Workload:
    """The interests of all nodes, and the ids and names that nodes and topics have outside.

    `interest` numbers nodes and topics from zero; node i has the id `node_ids[i]` and topic i the id `topic_ids[i]`,
    both ascending. A node or topic without a name is named by its id. `zones` has the zone of each node, if zones are
    known.
    """

    interest: Interest
    node_ids: NDArray[np.int64]
    topic_ids: NDArray[np.int64]
    node_names: Names | None = None
    topic_names: Names | None = None
    zones: Names | None = None

    @classmethod
    def from_interest(cls, interest: Interest) -> "Workload":
        """A workload whose ids are the numbers that `interest` uses."""
        return cls(interest, np.arange(interest.node_count), np.arange(interest.topic_count))

    def names_of_nodes(self, places: Any = slice(None)) -> list[str]:
        """The names of the nodes at these places; of all nodes by default."""
        return _named(self.node_names, self.node_ids, places)

    def names_of_topics(self, places: Any = slice(None)) -> list[str]:
        """The names of the topics at these places; of all topics by default."""
        return _named(self.topic_names, self.topic_ids, places)

    def places_of(self, names: Sequence[str], where: str) -> NDArray[np.int64]:
        """The places of the nodes with these names; `where` says in an error who named them."""
        places = {name: place for place, name in enumerate(self.names_of_nodes())}
        for name in names:
            if name not in places:
                close = get_close_matches(name, list(places), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise InputError(f"{where} names {name!r}, which is not in the workload{hint}")
        return np.array([places[name] for name in names], np.int64)

    def of_nodes(self, places: NDArray[np.int64]) -> "Workload":
        """The workload of some nodes only, given by ascending places, with the topics that they hold."""
        kept = np.isin(self.interest.owners, places)
        held, topics = np.unique(self.interest.node_topics[kept], return_inverse=True)
        owners = np.searchsorted(places, self.interest.owners[kept])
        return Workload(
            Interest.from_pairs(owners, topics, len(places), len(held), self.interest.roles[kept]),
            self.node_ids[places],
            self.topic_ids[held],
            None if self.node_names is None else self.node_names[places],
            None if self.topic_names is None else self.topic_names[held],
            None if self.zones is None else self.zones[places],
        )


def _named(names: Names | None, ids: NDArray[np.int64], places: Any) -> list[str]:
    if names is not None:
        named: list[str] = names[places].tolist()
        return named
    return list(map(str, ids[places].tolist()))


def write_workload(folder: Path, workload: Workload) -> dict[str, int]:
    """Write interests with the ids of the workload, and its names and zones where it has them; returns row counts."""
    interest = workload.interest
    columns: dict[str, NDArray[Any]] = {
        "node": workload.node_ids[interest.owners],
        "topic": workload.topic_ids[interest.node_topics],
    }
    if (interest.roles != Role.FOLLOWS).any():
        columns["role"] = interest.roles
    rows = {"interests": write_table("interests", folder / INTERESTS, columns), **write_names(folder, workload)}
    if workload.zones is not None:
        rows["zones"] = write_table("zones", folder / ZONES, {"node": workload.node_ids, "zone": workload.zones})
    return rows


def write_names(folder: Path, workload: Workload) -> dict[str, int]:
    """Write the names of a workload, if it has names, beside tables with its ids; returns row counts."""
    rows = {}
    if workload.node_names is not None:
        columns = {"id": workload.node_ids, "name": workload.node_names}
        rows["names"] = write_table("names", folder / NODE_NAMES, columns)
    if workload.topic_names is not None:
        columns = {"id": workload.topic_ids, "name": workload.topic_names}
        rows["topic_names"] = write_table("names", folder / TOPIC_NAMES, columns)
    return rows


def write_interests(folder: Path, interest: Interest) -> int:
    """Write interests whose ids are the numbers from zero; the table has a role column only if some node publishes."""
    return write_workload(folder, Workload.from_interest(interest))["interests"]


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
    names = (_read_names(folder / NODE_NAMES, "node", node_ids), _read_names(folder / TOPIC_NAMES, "topic", topic_ids))
    return Workload(interest, node_ids, topic_ids, *names, _read_zones(folder / ZONES, node_ids))


def _read_names(path: Path, what: str, ids: NDArray[np.int64]) -> Names | None:
    """The names of these ids; None if there is no table of names."""
    if not path.exists():
        return None
    table = read_table("names", path)
    known = dict(zip(table.column("id").to_pylist(), table.column("name").to_pylist(), strict=True))
    missing = [number for number in ids.tolist() if number not in known]
    if missing:
        raise TableError(f"{path} has no name for {what} {missing[0]}; every {what} of the workload needs one")
    names = [known[number] for number in ids.tolist()]
    if len(set(names)) < len(names):
        raise TableError(f"{path} gives two {what}s the same name; names must differ")
    return np.array(names, object)


def _read_zones(path: Path, node_ids: NDArray[np.int64]) -> Names | None:
    """The zone of each node; None if there is no table of zones."""
    if not path.exists():
        return None
    table = read_table("zones", path)
    known = dict(zip(table.column("node").to_pylist(), table.column("zone").to_pylist(), strict=True))
    missing = [number for number in node_ids.tolist() if number not in known]
    if missing:
        raise TableError(f"{path} has no zone for node {missing[0]}; every node of the workload needs one")
    return np.array([known[number] for number in node_ids.tolist()], object)


def write_overlay(folder: Path, overlay: Overlay, node_ids: NDArray[np.int64]) -> int:
    """Write links with the ids of the workload. Those are ascending, so u < v stays true."""
    u, v = overlay.links()
    return write_table("overlay", folder / OVERLAY, {"u": node_ids[u], "v": node_ids[v]})


def read_overlay(path: Path, nodes: NodesOf) -> Overlay:
    """Read an overlay of the nodes of a workload; `path` is the file or the folder that contains it."""
    path = path / OVERLAY if path.is_dir() else path
    table = read_table("overlay", path)
    u, v = (_places(path, table.column(column).to_numpy(), nodes) for column in ("u", "v"))
    return Overlay.from_links(u, v, len(_ids_of(nodes)))


def absent_file(overlay: Path) -> Path | None:
    """The table of absent nodes beside an overlay, which is given by its file or folder; None if all are present."""
    path = (overlay if (overlay / OVERLAY).exists() else overlay.parent) / ABSENT
    return path if path.exists() else None


def read_present(overlay: Path, nodes: NodesOf) -> NDArray[np.bool_] | None:
    """Which nodes of a workload are present in an overlay, which is given by its file or folder; None if all are."""
    path = absent_file(overlay)
    if path is None:
        return None
    present = np.ones(len(_ids_of(nodes)), np.bool_)
    present[_places(path, read_table("absent", path).column("node").to_numpy(), nodes)] = False
    return present


def write_churn(folder: Path, churn: Churn, node_ids: NDArray[np.int64]) -> int:
    """Write a churn table with the ids of the workload and the names of the events."""
    names = np.array(EVENT_NAMES, dtype=object)
    columns = {"at_us": churn.at_us, "node": node_ids[churn.nodes], "event": names[churn.events]}
    return write_table("churn", folder / CHURN, columns)


def read_churn(path: Path, nodes: NodesOf) -> Churn:
    """Read the churn of the nodes of a workload; `path` is the file or the folder that contains it."""
    path = path / CHURN if path.is_dir() else path
    table = read_table("churn", path)
    codes = pc.index_in(table.column("event"), value_set=pa.array(EVENT_NAMES))
    if codes.null_count:
        raise TableError(f"{path}: column event must be one of {', '.join(EVENT_NAMES)}")
    places = _places(path, table.column("node").to_numpy(), nodes)
    return Churn.from_rows(table.column("at_us").to_numpy(), places, codes.to_numpy())


def _ids_of(nodes: NodesOf) -> NDArray[np.int64]:
    return nodes.node_ids if isinstance(nodes, Workload) else nodes


def _places(path: Path, ids: NDArray[np.int64], nodes: NodesOf) -> NDArray[np.int64]:
    """The position of each id in the workload's list of nodes.

    If the workload and the table have names, nodes are found by name: a file of names that has changed since gives
    nodes other ids.
    """
    node_ids, names = _ids_of(nodes), path.parent / NODE_NAMES
    if isinstance(nodes, Workload) and nodes.node_names is not None and names.exists():
        distinct, rows = np.unique(ids, return_inverse=True)
        named = _read_names(names, "node", distinct)
        assert named is not None
        return nodes.places_of(named.tolist(), str(path))[rows]
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
