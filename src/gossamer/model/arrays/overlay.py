"""Who is linked to whom: undirected overlays, and directed views by topic."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.types import Ids, Starts


@dataclass(frozen=True)
class Overlay:
    """An undirected graph on n nodes in compressed rows; every link stands in both rows.

    Row v is `neighbours[starts[v]:starts[v + 1]]`, ascending, without v itself, none twice.
    """

    starts: Starts
    neighbours: Ids

    @classmethod
    def from_links(cls, u: NDArray[np.integer], v: NDArray[np.integer], node_count: int) -> "Overlay":
        """From links in any order and direction; repeated links merge and self-loops go."""
        from scipy.sparse import csr_array

        u64, v64 = u.astype(np.int64), v.astype(np.int64)
        low, high = np.minimum(u64, v64), np.maximum(u64, v64)
        keys = low * node_count + high
        if not (low < high).all() or not (keys[1:] > keys[:-1]).all():
            # Our own tables stand sorted, each link once.
            keys = _sorted_unique(keys[low != high])
            low, high = np.divmod(keys, max(node_count, 1))
        if len(high) and (int(low.min()) < 0 or int(high.max()) >= node_count):
            raise ValueError(f"a link names node {int(high.max())}, of {node_count}")
        starts = np.zeros(node_count + 1, np.int64)
        np.cumsum(np.bincount(low, minlength=node_count), out=starts[1:])
        upper = csr_array((np.ones(len(low), np.bool_), high.astype(np.int32), starts), (node_count, node_count))
        # Rows merged by counting: sorting each link twice took most of the time.
        both = upper + upper.T.tocsr()
        return cls(both.indptr.astype(np.int64), both.indices.astype(np.int32))

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.starts) - 1

    @property
    def link_count(self) -> int:
        """How many links there are, each counted once."""
        return len(self.neighbours) // 2

    @cached_property
    def degrees(self) -> Starts:
        """How many links each node has."""
        return np.diff(self.starts)

    def links(self) -> tuple[Ids, Ids]:
        """Each link once, as u < v, ascending."""
        owners = np.repeat(np.arange(self.node_count, dtype=np.int32), self.degrees)
        once = owners < self.neighbours
        return owners[once], self.neighbours[once]

    def neighbours_of(self, node: int) -> Ids:
        """The neighbours of one node, ascending."""
        return self.neighbours[self.starts[node] : self.starts[node + 1]]


@dataclass(frozen=True)
class TopicViews:
    """Directed views, one for each (topic, node): `node` keeps `peer` for `topic`."""

    topics: Ids
    nodes: Ids
    peers: Ids

    def union(self, node_count: int) -> Overlay:
        """The physical links: every pair that any view of any topic joins."""
        return Overlay.from_links(self.nodes, self.peers, node_count)


def _sorted_unique(keys: Starts) -> Starts:
    keys = np.sort(keys)
    return keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys
