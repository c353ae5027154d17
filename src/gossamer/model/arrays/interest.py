"""The interest of every node: the topics of each node, the nodes of each topic, and both as bitsets."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.types import Ids, Starts
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role


@dataclass(frozen=True)
class Interest:
    """The subscriptions of n nodes to T topics, in compressed rows by node. Ids are 0..n-1 and 0..T-1.

    Row v is `node_topics[node_starts[v]:node_starts[v + 1]]`: topics in ascending order, each once. `roles` is in the
    same order. The interest of a node includes topics on which it only publishes.
    """

    node_starts: Starts
    node_topics: Ids
    roles: NDArray[np.uint8]
    topic_count: int

    @classmethod
    def from_pairs(
        cls,
        nodes: NDArray[np.integer],
        topics: NDArray[np.integer],
        node_count: int,
        topic_count: int,
        roles: NDArray[np.integer] | None = None,
    ) -> "Interest":
        """From (node, topic) pairs in any order; a repeated pair is an error."""
        owners, wanted = nodes.astype(np.int64), topics.astype(np.int64)
        if len(wanted) and not (int(wanted.min()) >= 0 and int(wanted.max()) < topic_count):
            raise ValueError(f"a subscription names topic {int(wanted.max())}, but there are only {topic_count} topics")
        if len(owners) and not (int(owners.min()) >= 0 and int(owners.max()) < node_count):
            raise ValueError(f"a subscription names node {int(owners.max())}, but there are only {node_count} nodes")
        keys = owners * topic_count + wanted
        if (keys[1:] > keys[:-1]).all():
            # The rows are sorted already, as in our own tables: skip the sort, which takes most of the time.
            given = np.full(len(keys), int(Role.FOLLOWS), np.uint8) if roles is None else roles.astype(np.uint8)
            return cls(_starts(owners, node_count), wanted.astype(np.int32), given, topic_count)
        if roles is None:
            keys.sort()
            sorted_roles = np.full(len(keys), int(Role.FOLLOWS), np.uint8)
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            sorted_roles = roles[order].astype(np.uint8)
        if len(keys) and (keys[1:] == keys[:-1]).any():
            again = int(keys[:-1][keys[1:] == keys[:-1]][0])
            raise InputError(f"node {again // topic_count} has topic {again % topic_count} twice")
        owners, node_topics = np.divmod(keys, max(topic_count, 1))
        return cls(_starts(owners, node_count), node_topics.astype(np.int32), sorted_roles, topic_count)

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.node_starts) - 1

    @property
    def subscription_count(self) -> int:
        """The number of (node, topic) pairs."""
        return len(self.node_topics)

    @cached_property
    def sizes(self) -> Starts:
        """The number of topics that each node holds."""
        return np.diff(self.node_starts)

    @cached_property
    def popularity(self) -> Starts:
        """The number of nodes that hold each topic."""
        return np.bincount(self.node_topics, minlength=self.topic_count).astype(np.int64)

    @cached_property
    def owners(self) -> Ids:
        """The node of each subscription, in the order of `node_topics`."""
        return np.repeat(np.arange(self.node_count, dtype=np.int32), self.sizes)

    @cached_property
    def topic_starts(self) -> Starts:
        """Where each topic's row begins in `topic_nodes`."""
        starts = np.zeros(self.topic_count + 1, np.int64)
        np.cumsum(self.popularity, out=starts[1:])
        return starts

    @cached_property
    def topic_nodes(self) -> Ids:
        """The nodes of each topic, one topic after another, in ascending order within a topic."""
        from scipy.sparse import csr_array

        # scipy turns rows into columns by a counting sort, which keeps the order of nodes within a topic.
        flags = np.ones(self.subscription_count, np.bool_)
        shape = (self.node_count, self.topic_count)
        columns: Ids = csr_array((flags, self.node_topics, self.node_starts), shape).tocsc().indices
        return columns.astype(np.int32, copy=False)

    def among(self, present: NDArray[np.bool_]) -> "Interest":
        """The interests of the nodes that are present; other nodes keep their ids and hold no topics."""
        if present.all():
            return self
        kept = np.repeat(present, self.sizes)
        starts = np.concatenate(([0], np.cumsum(np.where(present, self.sizes, 0))))
        return Interest(starts, self.node_topics[kept], self.roles[kept], self.topic_count)

    def topics_of(self, node: int) -> Ids:
        """The topics of one node, in ascending order."""
        return self.node_topics[self.node_starts[node] : self.node_starts[node + 1]]

    def nodes_of(self, topic: int) -> Ids:
        """The nodes of one topic, in ascending order."""
        return self.topic_nodes[self.topic_starts[topic] : self.topic_starts[topic + 1]]


def _starts(owners: Starts, count: int) -> Starts:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=starts[1:])
    return starts
