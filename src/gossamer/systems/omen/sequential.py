"""OMen with one churn event after another: each is repaired before the next one happens (section 4).

Between two events gossip brings all knowledge up to date, so that a coordinator knows the neighbours of the node that
it watches, their links, and a backup set chosen among all nodes (OMen-G). `leave` and `join` are the work of the
coordinator; `renew` is what gossip does afterwards, in the background.

Backup sets are kept, and nodes that are in few sets are preferred. With `keeps_sets=False` a set is chosen when it is
needed, as by nodes that run `choices=1`: their choice depends on nothing but the nodes that are present.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.planners.repair import Repairer, connect
from gossamer.protocols.repair import Link, labels_inside
from gossamer.systems.omen.backups import among, by_greed, by_primal_dual, by_rank
from gossamer.systems.omen.parameters import OmenGParameters


@dataclass(frozen=True)
class Mended:
    """What the repair of one churn event did."""

    added: tuple[Link, ...]
    shadow_size: int


class MendedOverlay:
    """An overlay that OMen keeps topic-connected while nodes join and leave."""

    def __init__(
        self,
        parameters: OmenGParameters,
        seed: int,
        interest: Interest,
        overlay: Overlay,
        absent: Iterable[int] = (),
        keeps_sets: bool = True,
    ) -> None:
        """`overlay` must be topic-connected on the nodes that are present."""
        self._parameters = parameters
        self._seed = seed
        self._keeps_sets = keeps_sets
        gone = set(absent)
        count = interest.node_count
        self.present = [node not in gone for node in range(count)]
        self.topics = [frozenset(interest.topics_of(node).tolist()) for node in range(count)]
        self.neighbours = [set(overlay.neighbours_of(node).tolist()) for node in range(count)]
        self._holders: list[list[int]] = [[] for _ in range(interest.topic_count)]
        for node in range(count):
            if self.present[node]:
                for topic in self.topics[node]:
                    self._holders[topic].append(node)
        self._repairer = Repairer(interest, parameters.rho, parameters.linked == "seen")
        self._event = 0
        # The backup set of each node, and for each node the nodes whose sets it is in.
        self.backups: dict[int, list[int]] = {}
        self.backup_of: list[set[int]] = [set() for _ in range(count)]
        self._loads: dict[int, int] = {}
        # Nodes whose backup sets lost a node or could have another one.
        self._stale = {node for node in range(count) if self.present[node]}
        # The shadow set of the last event.
        self._touched: Sequence[int] = ()
        self.renew()

    def overlay(self) -> Overlay:
        """All links."""
        links = [(node, other) for node, others in enumerate(self.neighbours) for other in others if node < other]
        u, v = np.array(links, np.int32).reshape(-1, 2).T
        return Overlay.from_links(u, v, len(self.neighbours))

    # Churn events.

    def leave(self, node: int) -> Mended:
        """A node departs; whether it leaves or crashes makes no difference here."""
        self._event += 1
        if not self._keeps_sets:
            self._build(node)
        terminals = self.neighbours[node]
        shadow = sorted(terminals.union(self.backups[node]))
        for other in terminals:
            self.neighbours[other].discard(node)
        self.neighbours[node] = set()
        self.present[node] = False
        for topic in self.topics[node]:
            self._holders[topic].remove(node)
        if self._parameters.counted == "inside":
            links = self._links_inside(self.topics[node], shadow)
        else:
            links = self._repairer.after_departure(node, shadow, terminals, self.neighbours)
        added = self._link(links)
        self._forget(node)
        self._stale.discard(node)
        self._stale |= self.backup_of[node]
        self._touched = shadow
        return Mended(added, len(shadow))

    def join(self, node: int, topics: Collection[int] | None = None) -> Mended:
        """A node joins, perhaps with new topics: it is linked to nodes of its backup set, which counts as connected."""
        self._event += 1
        if topics is not None:
            self.topics[node] = frozenset(topics)
            self._repairer.set_topics(node, topics)
        self.present[node] = True
        for topic in self.topics[node]:
            self._holders[topic].append(node)
        self._build(node)
        shadow = [node, *self.backups[node]]
        added = self._link(self._repairer.after_join(node, self.backups[node], self.neighbours))
        # A topic of few holders needs all of them in the backup sets of the others.
        for topic in self.topics[node]:
            if len(self._holders[topic]) <= self._parameters.coverage + 1:
                self._stale.update(self._holders[topic])
        self._touched = shadow
        return Mended(added, len(shadow))

    def renew(self) -> tuple[Link, ...]:
        """Choose the backup sets anew that need it, and drop links that are not needed any more; returns these links.

        Must be called before the next event.
        """
        if self._keeps_sets:
            for node in sorted(self._stale):
                self._build(node)
        self._stale = set()
        return self._drop(self._touched)

    def _links_inside(self, topics: Collection[int], shadow: Sequence[int]) -> list[Link]:
        """Algorithm 1 as printed."""
        interests = {node: self.topics[node] & frozenset(topics) for node in shadow}
        inside = set(shadow)
        links = [(u, v) for u in shadow for v in self.neighbours[u] if u < v and v in inside]
        labels = labels_inside(interests, links, sorted(topics))
        parted = {topic: nodes for topic, nodes in labels.items() if len(set(nodes.values())) > 1}
        return connect(parted, {node: len(self.neighbours[node]) for node in shadow}, self._parameters.rho)

    def _link(self, links: Iterable[Link]) -> tuple[Link, ...]:
        added = tuple(links)
        for u, v in added:
            self.neighbours[u].add(v)
            self.neighbours[v].add(u)
        return added

    def _drop(self, shadow: Sequence[int]) -> tuple[Link, ...]:
        """Drop links of shadow nodes that are not needed, from the node with most links on.

        A link is not needed if its ends have, for each topic that both hold, a common neighbour that holds it too. A node
        can know this: its neighbours tell it their interests and their neighbours. Links are dropped one at a time.
        """
        dropped: list[Link] = []
        if self._parameters.drops:
            for node in sorted(shadow, key=lambda each: (-len(self.neighbours[each]), each)):
                for other in sorted(self.neighbours[node], key=lambda each: (-len(self.neighbours[each]), each)):
                    if self._is_spare(node, other):
                        self.neighbours[node].discard(other)
                        self.neighbours[other].discard(node)
                        dropped.append((min(node, other), max(node, other)))
        return tuple(dropped)

    def _is_spare(self, node: int, other: int) -> bool:
        left = self.topics[node] & self.topics[other]
        for third in self.neighbours[node] & self.neighbours[other]:
            left -= self.topics[third]
            if not left:
                return True
        return not left

    # Backup sets.

    def _build(self, node: int) -> None:
        self._forget(node)
        topics, coverage = self.topics[node], self._parameters.coverage
        holders, topics_of = self._holders.__getitem__, self.topics.__getitem__
        seed, event = self._seed, self._event
        if not self._keeps_sets:
            pick = by_rank(holders, node, seed)
            chosen = by_primal_dual(node, sorted(topics), pick, topics_of, {}, coverage, seed, 0, choices=1)
        elif self._parameters.backups == "greedy":
            chosen = by_greed(node, topics, holders, topics_of, coverage)
        else:
            pick = among(holders, node, seed, event)
            chosen = by_primal_dual(node, sorted(topics), pick, topics_of, self._loads, coverage, seed, event)
        self.backups[node] = chosen
        for other in chosen:
            self.backup_of[other].add(node)
            self._loads[other] = self._loads.get(other, 0) + 1

    def _forget(self, node: int) -> None:
        for other in self.backups.pop(node, ()):
            self.backup_of[other].discard(node)
            self._loads[other] -= 1
