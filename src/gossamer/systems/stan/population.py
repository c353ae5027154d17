"""The population of StAN for the cycle engine: the kernel with its state."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import U64
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.values.errors import InputError
from gossamer.simulator.cycle import Population
from gossamer.simulator.population import CycleChanges
from gossamer.systems.stan import kernel
from gossamer.systems.stan.first_views import first_contact, first_view
from gossamer.systems.stan.parameters import VIEW_MAX, VIEW_MIN, StanParameters
from gossamer.systems.stan.view import topic_seed

# Spare entries in each row beyond the largest view, because views grow.
SPARE = 2


class StanPopulation:
    """Nodes that start at the same time, with first views drawn as in the paper."""

    def __init__(self, parameters: StanParameters, seed: int, interest: Interest, absent: Sequence[int] = ()) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node_count = interest.node_count
        self._cycle_count = 0
        self._counters = np.zeros(kernel.COUNTERS, np.int64)
        self._places = np.full(interest.node_count, -1, np.int32)
        self.present = np.ones(interest.node_count, np.bool_)
        self.present[list(absent)] = False
        self._interests = [tuple(interest.topics_of(node).tolist()) for node in range(interest.node_count)]
        held = interest.among(self.present)
        self.topics = [self._begin(topic, held.nodes_of(topic)) for topic in range(interest.topic_count)]
        self._rules = [self._rules_of(topic) for topic in range(interest.topic_count)]

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """See `Population`."""
        self._cycle_count += 1
        now_us = U64(self._cycle_count * self._parameters.period_us)
        if changes is not None:
            self._apply(changes, now_us)
        for number, rules in enumerate(self._rules):
            alone = int(((self.topics[number].counts == 0) & (self.topics[number].contacts >= 0)).sum())
            if alone:
                self._make_room(number, alone)
            kernel.walk_topic(self.topics[number], rules, now_us, self._places, self._counters)

    def fingerprint(self) -> int:
        """See `Population`: a hash of all views, which contain more than the links."""
        total = 0
        for number, topic in enumerate(self.topics):
            total += int(kernel.topic_fingerprint(topic)) * (2 * number + 1)
        return total & (2**64 - 1)

    def overlay(self) -> Overlay:
        """See `Population`."""
        return self.views().union(self._node_count)

    def views(self) -> TopicViews:
        """All views, ordered by topic and node, with the lightest peer first."""
        columns: list[tuple[NDArray[np.int32], ...]] = []
        for number, topic in enumerate(self.topics):
            used = np.arange(topic.peers.shape[1]) < topic.counts[:, None]
            owners = np.repeat(topic.members, topic.counts)
            columns.append((np.full(len(owners), number, np.int32), owners, topic.peers[used]))
        topics, nodes, peers = (np.concatenate(column) for column in zip(*columns, strict=True))
        return TopicViews(topics, nodes, peers)

    def messages(self) -> dict[str, int]:
        """See `Population`."""
        return {kind: int(count) for kind, count in zip(kernel.KINDS, self._counters, strict=False)}

    def rare_events(self) -> dict[str, int]:
        """Counts of rare events, which a test requires to have happened."""
        return {"refills": int(self._counters[kernel.REFILLS])}

    def _rules_of(self, topic: int) -> kernel.TopicRules:
        parameters = self._parameters
        return kernel.TopicRules(
            U64(self._seed),
            U64(topic_seed(self._seed, topic)),
            parameters.walk_hops,
            float(parameters.view_factor),
            parameters.weigh_sources,
            VIEW_MIN,
            VIEW_MAX,
        )

    def _begin(self, number: int, members: NDArray[np.int32]) -> kernel.TopicArrays:
        owners, peers = first_view(self._parameters.view_factor, self._seed, number, members)
        width = int(np.bincount(owners, minlength=1).max(initial=1)) + SPARE
        topic = _empty(members.copy(), width)
        kernel.begin_views(topic, U64(self._seed), owners, peers, self._counters)
        return topic

    # Churn: rows are inserted and deleted, and widened when views grow.

    def _apply(self, changes: CycleChanges, now_us: np.uint64) -> None:
        crashes = set(changes.crashes)
        for node in sorted((*changes.leavers, *changes.crashes)):
            for topic in self._interests[node]:
                self._leave(topic, node, now_us, node not in crashes)
            self.present[node] = False
        for node in sorted(changes.joiners):
            self._interests[node] = changes.interests.get(node, self._interests[node])
            self.present[node] = True
            for topic in self._interests[node]:
                self._join(topic, node, now_us)
        for node, interest in sorted(changes.interests.items()):
            if self.present[node] and node not in changes.joiners:
                before, self._interests[node] = self._interests[node], interest
                for topic in before:
                    if topic not in interest:
                        self._leave(topic, node, now_us, True)
                for topic in interest:
                    if topic not in before:
                        self._join(topic, node, now_us)

    def _leave(self, number: int, node: int, now_us: np.uint64, says_so: bool) -> None:
        topic = self.topics[number]
        place = int(np.searchsorted(topic.members, node))
        kernel.leave(topic, self._rules[number], now_us, place, says_so, self._counters)
        columns: tuple[NDArray[Any], ...] = topic
        self.topics[number] = kernel.TopicArrays(*(np.delete(column, place, axis=0) for column in columns))

    def _join(self, number: int, node: int, now_us: np.uint64) -> None:
        topic = self.topics[number]
        contact = first_contact(self._seed, node, number, int(now_us), topic.members)
        place = int(np.searchsorted(topic.members, node))
        row = _empty(np.array([node], np.int32), topic.peers.shape[1])
        row.sizes[0] = VIEW_MIN
        row.contacts[0] = -1 if contact is None else contact
        columns: tuple[NDArray[Any], ...] = topic
        added: tuple[NDArray[Any], ...] = row
        wider = (np.insert(column, place, new, axis=0) for column, new in zip(columns, added, strict=True))
        self.topics[number] = kernel.TopicArrays(*wider)
        self._make_room(number, 1)
        if contact is not None:
            topic = self.topics[number]
            at = int(np.searchsorted(topic.members, contact))
            kernel.enter(topic, self._rules[number], now_us, place, at, self._counters)

    def _make_room(self, number: int, newcomers: int) -> None:
        """Widen the rows for the largest views that these newcomers can cause: their own, and those of their contacts."""
        topic = self.topics[number]
        most_known = int(
            np.bincount(topic.peers[np.arange(topic.peers.shape[1]) < topic.counts[:, None]], minlength=1).max()
        )
        most = max(int(topic.sizes.max(initial=0)), most_known, VIEW_MIN)
        wanted = min(most + newcomers * (int(self._parameters.view_factor) + 1), VIEW_MAX)
        missing = wanted - topic.peers.shape[1]
        if missing > 0:
            room = ((0, 0), (0, missing + SPARE))
            wider = np.pad(topic.peers, room), np.pad(topic.weights, room)
            self.topics[number] = kernel.TopicArrays(*topic[:4], *wider)


def _empty(members: NDArray[np.int32], width: int) -> kernel.TopicArrays:
    count = len(members)
    return kernel.TopicArrays(
        members,
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.full(count, -1, np.int32),
        np.zeros((count, width), np.int32),
        np.zeros((count, width), np.uint64),
    )


def stan_population(
    parameters: StanParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """StAN's population (`System.population`)."""
    if parameters.membership != "oracle":
        raise InputError("stan with membership=cyclon has no kernel; use engine='event'")
    return StanPopulation(parameters, seed, interest, absent)
