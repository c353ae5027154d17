"""Undirected overlays, and directed views by topic."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.types import Ids, Starts


@dataclass(frozen=True)
class Overlay:
    """An undirected graph of n nodes in compressed rows; each link is in the rows of both its ends.

    Row v is `neighbours[starts[v]:starts[v + 1]]`: the neighbours of v in ascending order, each once, without v itself.

    >>> Overlay.from_links(np.array([2, 0]), np.array([0, 1]), node_count=3).degrees.tolist()
    [2, 1, 1]
    """

    starts: Starts
    neighbours: Ids

    @classmethod
    def from_links(cls, u: NDArray[np.integer], v: NDArray[np.integer], node_count: int) -> "Overlay":
        """From links in any order and direction; repeated links are merged and self-loops are removed."""
        from scipy.sparse import csr_array

        u64, v64 = u.astype(np.int64), v.astype(np.int64)
        low, high = np.minimum(u64, v64), np.maximum(u64, v64)
        # This check comes first: the keys below are unambiguous only for ids in range.
        _check_ids(low, high, node_count)
        keys = low * node_count + high
        if not (low < high).all() or not (keys[1:] > keys[:-1]).all():
            # Links of our own tables are sorted and unique, and skip this step.
            keys = _sorted_unique(keys[low != high])
            low, high = np.divmod(keys, max(node_count, 1))
        starts = np.zeros(node_count + 1, np.int64)
        np.cumsum(np.bincount(low, minlength=node_count), out=starts[1:])
        upper = csr_array((np.ones(len(low), np.bool_), high.astype(np.int32), starts), (node_count, node_count))
        # scipy merges the rows by a counting sort; sorting every link twice took most of the time.
        both = upper + upper.T.tocsr()
        return cls(both.indptr.astype(np.int64), both.indices.astype(np.int32))

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.starts) - 1

    @property
    def link_count(self) -> int:
        """The number of links, each counted once."""
        return len(self.neighbours) // 2

    @cached_property
    def degrees(self) -> Starts:
        """The number of links of each node."""
        return np.diff(self.starts)

    def links(self) -> tuple[Ids, Ids]:
        """Each link once, as two arrays u < v, in ascending order."""
        owners = np.repeat(np.arange(self.node_count, dtype=np.int32), self.degrees)
        once = owners < self.neighbours
        return owners[once], self.neighbours[once]

    def neighbours_of(self, node: int) -> Ids:
        """The neighbours of one node, in ascending order."""
        return self.neighbours[self.starts[node] : self.starts[node + 1]]


@dataclass(frozen=True)
class TopicViews:
    """Directed topic views, one row for each entry: the view of `node` for `topic` contains `peer`."""

    topics: Ids
    nodes: Ids
    peers: Ids

    def union(self, node_count: int) -> Overlay:
        """The overlay of all views: two nodes are linked if the view of one for any topic contains the other."""
        return Overlay.from_links(self.nodes, self.peers, node_count)


def _check_ids(low: Starts, high: Starts, node_count: int) -> None:
    """Raise a ValueError unless all ids of links lie between 0 and node_count - 1."""
    if not len(low):
        return
    least, most = int(low.min()), int(high.max())
    if least < 0 or most >= node_count:
        raise ValueError(f"a link names node {least if least < 0 else most}, but there are only {node_count} nodes")


def _sorted_unique(keys: Starts) -> Starts:
    keys = np.sort(keys)
    return keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys
