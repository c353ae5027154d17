"""`protocols.repair` in compiled form: the same links, for studies with many repairs."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain

import numpy as np

from gossamer.kernels.planning import repair as kernel
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.types import Ids
from gossamer.model.values.errors import InputError

# Larger than any real degree, yet small enough that adding links does not overflow 32 bits.
DEGREE_MAX = 2**30


def connect(
    labels: Mapping[int, Mapping[int, int]], degrees: Mapping[int, int], rho: float = 3.0
) -> list[tuple[int, int]]:
    """See `protocols.repair.connect`."""
    if not rho >= 1:
        raise InputError(f"rho must be at least 1, got {rho:g}")
    nodes = sorted({node for group in labels.values() for node in group}.union(degrees))
    number = {node: place for place, node in enumerate(nodes)}
    rows = [
        (number[node], number[label])
        for group in labels.values()
        for node, label in sorted(group.items(), key=lambda each: each[1])
    ]
    members, components = np.array(rows, np.int32).reshape(-1, 2).T.copy()
    starts = np.array([0, *accumulate(map(len, labels.values()))], np.int64)
    counts = np.array([min(degrees.get(node, 0), DEGREE_MAX) for node in nodes], np.int32)
    everyone = np.arange(len(nodes), dtype=np.int32)
    added = kernel.join_places(kernel.Places(starts, members, components), everyone, counts, rho)
    return [(min(nodes[u], nodes[v]), max(nodes[u], nodes[v])) for u, v in added.T.tolist()]


class Repairer:
    """Repairs an overlay on one workload; its arrays are used again for every event."""

    def __init__(self, interest: Interest, rho: float, takes_seen: bool) -> None:
        self._rho = rho
        self._takes_seen = takes_seen
        self._room = kernel.RepairRoom(
            interest.node_starts[:-1].copy(),
            interest.node_starts[1:].copy(),
            interest.node_topics,
            np.full(interest.topic_count, -1, np.int32),
            np.full(interest.node_count, -1, np.int32),
        )

    def set_topics(self, node: int, topics: Collection[int]) -> None:
        """A node has other topics."""
        room = self._room
        room.firsts[node] = len(room.topics)
        self._room = room._replace(topics=np.concatenate((room.topics, np.array(sorted(topics), np.int32))))
        room.ends[node] = len(self._room.topics)

    def after_departure(
        self, node: int, shadow: Sequence[int], terminals: AbstractSet[int], neighbours: Sequence[AbstractSet[int]]
    ) -> list[tuple[int, int]]:
        """The links to add when a node has departed: `labels_of_terminals` and `connect`."""
        rows = [neighbours[other] for other in shadow]
        starts = np.array([0, *accumulate(map(len, rows))], np.int64)
        others = np.fromiter(chain.from_iterable(rows), np.int32, int(starts[-1]))
        is_terminal = np.array([other in terminals for other in shadow], np.bool_)
        nodes, places = kernel.places_of_terminals(
            self._room, self._topics_of(node), np.array(shadow, np.int32), starts, others, is_terminal, self._takes_seen
        )
        return self._join(places, nodes, neighbours)

    def after_join(
        self, node: int, backups: Sequence[int], neighbours: Sequence[AbstractSet[int]]
    ) -> list[tuple[int, int]]:
        """The links to add for a newcomer, whose backups count as connected."""
        nodes = np.array([node, *backups], np.int32)
        places = kernel.places_of_newcomer(self._room, self._topics_of(node), nodes)
        return self._join(places, nodes, neighbours)

    def _topics_of(self, node: int) -> Ids:
        return self._room.topics[self._room.firsts[node] : self._room.ends[node]]

    def _join(self, places: kernel.Places, nodes: Ids, neighbours: Sequence[AbstractSet[int]]) -> list[tuple[int, int]]:
        if len(places.starts) < 2:
            return []
        ids = nodes.tolist()
        degrees = np.array([len(neighbours[node]) for node in ids], np.int32)
        added = kernel.join_places(places, nodes, degrees, self._rho)
        return [(min(ids[u], ids[v]), max(ids[u], ids[v])) for u, v in added.T.tolist()]
