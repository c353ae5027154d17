"""The population of Feverfew for the cycle engine: the kernel with its state."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels import cyclon
from gossamer.kernels.draw import U64, finish_all
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.cycle import Population
from gossamer.simulator.population import CycleChanges, introducer
from gossamer.systems.feverfew.kernel import cycle as kernel
from gossamer.systems.feverfew.kernel import selection, state
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import hops, wanted_coverage
from gossamer.systems.feverfew.views import FAILED_MAX, FOUND_MAX


class FeverfewPopulation:
    """Nodes that start at the same time, and the state of the kernel."""

    def __init__(
        self, parameters: FeverfewParameters, seed: int, interest: Interest, absent: Sequence[int] = ()
    ) -> None:
        node_count = interest.node_count
        self.parameters = parameters
        self._seed = seed
        self._topic_count = interest.topic_count
        self._interests = [tuple(interest.topics_of(node).tolist()) for node in range(node_count)]
        self._cycle_count = 0
        self._rules = _rules(parameters, seed)
        self.cyclon = cyclon.cyclon_state(node_count, parameters.view_size)
        cyclon.start_together(U64(seed), self.cyclon)
        for node in sorted(absent):
            cyclon.leave(self.cyclon, node)
        self._cyclon_counts = np.zeros(len(cyclon.KINDS), np.int64)
        self._counts = np.zeros(state.COUNTERS, np.int64)
        self._asked = np.full(node_count, -1, np.int32)
        self.node_views = _views(parameters, node_count)
        # The places for each node's cover; `_fit` makes as many as needed.
        self._rooms = np.full(node_count, -1, np.int64)
        self.agents = _agents(parameters, node_count)
        # Nobody knows the interest of a node that has never been present.
        self._known = [interest if self.present[node] else () for node, interest in enumerate(self._interests)]
        self.subs = _subscriptions(self._known, self._topic_count)
        self._fit()

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which nodes are present."""
        return self.cyclon.present

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """See `Population`."""
        self._cycle_count += 1
        now = self._cycle_count
        now_us = U64(now * self.parameters.period_us)
        if changes is not None:
            self._apply(changes, int(now_us))
        kernel.shuffle_turns(
            self._rules,
            now,
            now_us,
            self.subs,
            self.node_views,
            self.agents,
            self.cyclon,
            self._cyclon_counts,
            self._counts,
        )
        kernel.exchange_turns(
            self._rules,
            now_us,
            self.subs,
            self.node_views,
            self.agents,
            self.cyclon,
            self._asked,
            self._scratch,
            self._counts,
        )
        kernel.cover_turns(
            self._rules, now, now_us, self.subs, self.node_views, self.agents, self.cyclon, self._scratch, self._counts
        )

    def overlay(self) -> Overlay:
        """See `Population`: the undirected union of the ln-covered views."""
        owners, nodes = self.cover()
        return Overlay.from_links(np.minimum(owners, nodes), np.maximum(owners, nodes), len(self._interests))

    def fingerprint(self) -> int:
        """See `Population`: a hash of all ln-covered views."""
        owners, nodes = self.cover()
        return int(np.bitwise_xor.reduce(finish_all((owners.astype(np.uint64) << U64(32)) + nodes.astype(np.uint64))))

    def views(self) -> None:
        """See `Population`: Feverfew has no views by topic."""

    def messages(self) -> dict[str, int]:
        """See `Population`."""
        counted = zip((*cyclon.KINDS, *state.KINDS), (*self._cyclon_counts, *self._counts), strict=False)
        return {kind: int(count) for kind, count in counted}

    def rare_events(self) -> dict[str, int]:
        """Counts of rare events, which a test requires to have happened."""
        return {"evictions": int(self._counts[state.EVICTIONS]), "failures": int(self._counts[state.FAILURES])}

    def search_copies(self) -> int:
        """The copies of searches that nodes have forwarded so far; many ride on one `Bubbles` message."""
        return int(self._counts[state.COPIES])

    def covered(self) -> NDArray[np.bool_]:
        """For each subscription whether it is ln-covered."""
        return self.subs.missing <= 0

    def cover(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The ln-covered views, as columns of owners and of nodes that have answered."""
        used = np.arange(len(self.node_views.cover)) - np.repeat(self.node_views.cover_starts[:-1], self._rooms)
        owners = np.repeat(np.arange(len(self._interests), dtype=np.int32), self._rooms)
        taken = (used < self.node_views.cover_sizes[owners]) & (self.node_views.cover >= 0)
        return owners[taken], self.node_views.cover[taken]

    # Churn and changes of interest.

    def _apply(self, changes: CycleChanges, now_us: int) -> None:
        crashes, gone = set(changes.crashes), set()
        leavers = sorted((*changes.leavers, *changes.crashes))
        linked_to = self._linked_to(leavers)
        for node in leavers:
            linked = [other for other in linked_to[node].tolist() if other not in gone]
            gone.add(node)
            if node not in crashes:
                self._counts[state.FAREWELLS] += len(linked)
            for other in linked:
                selection.fail(self.node_views, other, node, self._counts)
            self._clear(node)
            cyclon.leave(self.cyclon, node)
        present = np.flatnonzero(self.present)
        interests = dict(changes.interests)
        renewed = set()
        for node in sorted(changes.joiners):
            self._interests[node] = self._known[node] = interests.pop(node, self._interests[node])
            renewed.add(node)
        for node, interest in sorted(interests.items()):
            if self.present[node]:
                before = set(self._interests[node])
                changed = len(before.symmetric_difference(interest))
                self._counts[state.INTERESTS] += changed * len(self._linked_to([node])[node])
                self._interests[node] = self._known[node] = tuple(interest)
        for node in sorted(changes.joiners):
            contact = introducer(self._seed, node, now_us, present)
            cyclon.arrive(
                U64(self._seed),
                U64(now_us),
                self._rules.walk_length,
                self.cyclon,
                node,
                node if contact is None else contact,
                self._cyclon_counts,
            )
        self.subs = _kept(self.subs, _subscriptions(self._known, self._topic_count, self._cycle_count), renewed)
        self._fit()

    def _linked_to(self, wanted: Sequence[int]) -> dict[int, NDArray[np.int64]]:
        """For each of these nodes, the nodes that share a link with it, in either direction."""
        if not wanted:
            return {}
        owners, nodes = self.cover()
        count = np.int64(len(self._interests))
        keys = np.unique(np.concatenate((owners * count + nodes, nodes * count + owners)))
        ends = np.searchsorted(keys, np.array([(node * count, (node + 1) * count) for node in wanted]))
        return {node: keys[low:high] % count for node, (low, high) in zip(wanted, ends, strict=True)}

    def _clear(self, node: int) -> None:
        for sizes in (
            self.node_views.similar_sizes,
            self.node_views.cover_sizes,
            self.node_views.found_sizes,
            self.node_views.failed_sizes,
        ):
            sizes[node] = 0
        self.agents.sizes[node] = 0
        self._asked[node] = -1

    def _fit(self) -> None:
        """Count the holders of each topic, and make room for the largest covers that they can need."""
        subs, node_count = self.subs, len(self._interests)
        owners = np.repeat(np.arange(node_count), np.diff(subs.starts))
        popularity = np.bincount(subs.topics[self.present[owners]], minlength=self._topic_count).astype(np.int32)
        network = int(self.present.sum())
        most = int(popularity.max(initial=0)) + 1
        coverage = self.parameters.coverage, self.parameters.random_coverage
        needs, spares = np.array([wanted_coverage(size, *coverage) for size in range(most)], np.int16).T.copy()
        ttls = np.array([hops(network, size, self.parameters.shuffle_length) for size in range(most)], np.uint8)
        self.subs = subs._replace(popularity=popularity, needs=needs, spares=spares, ttls=ttls)
        wanted = np.bincount(owners, weights=needs[popularity[subs.topics]], minlength=node_count).astype(np.int64)
        rooms = np.maximum(np.minimum(wanted, node_count), self.node_views.cover_sizes)
        # A node shares at most all its topics with each candidate of its cover.
        shared = ((self.parameters.similar_size + rooms + FOUND_MAX) * np.diff(subs.starts)).max(initial=1)
        if (rooms > self._rooms).any() or shared > len(self._scratch.shared):
            self._widen(rooms, int(shared))

    def _widen(self, rooms: NDArray[np.int64], shared: int) -> None:
        starts = np.concatenate(([0], np.cumsum(rooms)))
        cover = np.zeros(int(starts[-1]), np.int32)
        for node in np.flatnonzero(self.node_views.cover_sizes):
            size, before = self.node_views.cover_sizes[node], self.node_views.cover_starts[node]
            cover[starts[node] : starts[node] + size] = self.node_views.cover[before : before + size]
        self._rooms = rooms
        self.node_views = self.node_views._replace(cover_starts=starts, cover=cover)
        most = int(rooms.max(initial=0))
        buffers = 2 * (self.parameters.view_size + self.parameters.similar_size + 1)
        candidates = max(buffers, self.parameters.similar_size + most + FOUND_MAX)
        self._scratch = state.Scratch(
            wanted=np.zeros(self._topic_count, np.bool_),
            wanted_list=np.zeros(self._topic_count, np.int32),
            position=np.full(self._topic_count, -1, np.int32),
            met=np.zeros(len(self._interests), np.int64),
            mark=np.ones(1, np.int64),
            nodes=np.zeros(candidates, np.int32),
            ages=np.zeros(candidates, np.uint8),
            scores=np.zeros(candidates, np.float64),
            ties=np.zeros(candidates, np.uint64),
            order=np.zeros(candidates, np.int32),
            old_cover=np.zeros(most + 1, np.int32),
            shared_starts=np.zeros(candidates, np.int64),
            shared_ends=np.zeros(candidates, np.int64),
            shared=np.zeros(shared, np.int32),
            pairs=np.zeros((shared, 2), np.int32),
            notices=np.zeros((2 * buffers * self.parameters.agent_size, 3), np.int32),
        )


def _subscriptions(interests: Sequence[Sequence[int]], topic_count: int, cycle: int = 0) -> state.SubscriptionState:
    """New subscriptions: what they lack is unknown until the first cover."""
    sizes = np.array([len(topics) for topics in interests], np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    topics = (
        np.concatenate([np.asarray(each, np.int32) for each in interests]) if len(interests) else np.zeros(0, np.int32)
    )
    subs = state.SubscriptionState(
        starts=starts,
        topics=topics,
        missing=np.ones(len(topics), np.int16),
        since=np.full(len(topics), cycle, np.int32),
        search_at=np.zeros(len(topics), np.int32),
        popularity=np.zeros(topic_count, np.int32),
        needs=np.zeros(1, np.int16),
        spares=np.zeros(1, np.int16),
        ttls=np.zeros(1, np.uint8),
        bits=np.zeros((len(sizes), selection.BITS // 64), np.uint64),
        holder_starts=np.concatenate(([0], np.cumsum(np.bincount(topics, minlength=topic_count)))),
        holders=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[np.argsort(topics, kind="stable")],
    )
    selection.fill_bits(subs)
    return subs


def _kept(
    before: state.SubscriptionState, after: state.SubscriptionState, renewed: set[int]
) -> state.SubscriptionState:
    """The new table with the state of subscriptions that were in the old one; nodes that start anew keep nothing."""
    span = np.int64(len(before.popularity) + 1)
    old_owners = np.repeat(np.arange(len(before.starts) - 1), np.diff(before.starts))
    new_owners = np.repeat(np.arange(len(after.starts) - 1), np.diff(after.starts))
    old, new = old_owners * span + before.topics, new_owners * span + after.topics
    places = np.searchsorted(old, new)
    same = (
        (places < len(old)) & (old[np.minimum(places, len(old) - 1)] == new) if len(old) else np.zeros(len(new), bool)
    )
    same &= ~np.isin(new_owners, list(renewed))
    for column in ("missing", "since", "search_at"):
        getattr(after, column)[same] = getattr(before, column)[places[same]]
    return after


def _rules(parameters: FeverfewParameters, seed: int) -> state.Rules:
    return state.Rules(
        seed=U64(seed),
        shuffle_length=parameters.shuffle_length,
        walk_length=CyclonParameters().walk_length,
        age_max=parameters.age_max,
        jaccard=parameters.utility == "jaccard",
        random_coverage=parameters.random_coverage,
        cover_cycles=parameters.cover_cycles,
        clear_cycles=parameters.clear_cycles,
        bubble_cycles=parameters.bubble_cycles,
        retry_cycles=parameters.retry_cycles,
        linger_cycles=parameters.linger_cycles,
        searches=parameters.searches,
        agents_meet=parameters.agents_meet,
        ttl_max=parameters.ttl_max,
    )


def _views(parameters: FeverfewParameters, node_count: int) -> state.Views:
    return state.Views(
        similar=np.zeros((node_count, parameters.similar_size), np.int32),
        ages=np.zeros((node_count, parameters.similar_size), np.uint8),
        similar_sizes=np.zeros(node_count, np.int32),
        cover_starts=np.zeros(node_count + 1, np.int64),
        cover=np.zeros(0, np.int32),
        cover_sizes=np.zeros(node_count, np.int32),
        found=np.zeros((node_count, FOUND_MAX), np.int32),
        found_sizes=np.zeros(node_count, np.int32),
        failed=np.zeros((node_count, FAILED_MAX), np.int32),
        failed_sizes=np.zeros(node_count, np.int32),
    )


def _agents(parameters: FeverfewParameters, node_count: int) -> state.Agents:
    shape = (node_count, parameters.agent_size)
    return state.Agents(
        topics=np.zeros(shape, np.int32),
        nodes=np.zeros(shape, np.int32),
        ttls=np.zeros(shape, np.uint8),
        since=np.zeros(shape, np.int32),
        sizes=np.zeros(node_count, np.int32),
    )


def feverfew_population(
    parameters: FeverfewParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """Feverfew's population (`System.population`)."""
    if parameters.membership != "oracle":
        raise InputError("membership=cyclon has no kernel; use engine='event'")
    for name in ("exchange_size", "keep_cover", "links_max", "matches_max", "mend_cycles"):
        if getattr(parameters, name):
            raise InputError(f"{name} has no kernel; use engine='event'")
    if parameters.answer_cycles != 1:
        raise InputError("answer_cycles other than 1 has no kernel; use engine='event'")
    return FeverfewPopulation(parameters, seed, interest, absent)
