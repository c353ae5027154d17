"""GM, LowODA and MinMaxODA: topic-connected overlays by a central greedy algorithm.

The contribution of a link is the number of topics in which it joins two components. GM (Chockler, Melamed, Tock,
Vitenberg, PODC 2007) repeatedly adds the link with the largest contribution. MinMaxODA and LowODA (Onus, Richa, 2009
and 2011) also consider degrees: MinMaxODA adds the best link among those that raise the maximum degree least; LowODA
does the same unless the best link of all contributes more than rho times as much.

The papers call the cost prohibitive: O(V^2 T) for GM, O(V^4 T) for MinMaxODA. `kernels/planning/greedy.py` explains why
it is not. Ties: nodes are ranked by number of topics, fewest first, then by id. Among links with the same contribution
the one whose lower-ranked end comes first wins, then the one whose other end comes first. Compared with ranks by id, GM
then needs 8% fewer links on a friendship graph, and its maximum degree falls to a fifth where interests vary in size.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from gossamer.kernels.planning import greedy as kernel
from gossamer.kernels.planning.greedy import Pass
from gossamer.kernels.planning.state import PlanState, find_places, join_groups, join_labels, take_links
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.arrays.types import Ids, Integers
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent

# Chosen: links between two reports of progress, enough that the cost of a report does not matter.
LINKS_AT_ONCE = 4_096


@dataclass(frozen=True)
class GreedyRule:
    """How the greedy weighs contribution against degree; `rho` is None if degrees do not matter (GM)."""

    rho: float | None

    def __post_init__(self) -> None:
        if self.rho is not None and not self.rho >= 1:
            raise InputError(
                f"rho must be at least 1, got {self.rho:g}: it is how many times better a link must be before it may "
                "raise the maximum degree"
            )


GM = GreedyRule(None)
MINMAXODA = GreedyRule(inf)


def lowoda(rho: float) -> GreedyRule:
    """The rule of LowODA with this rho."""
    return GreedyRule(rho)


class Draft:
    """A plan that is not finished: its links so far, and the components of each topic."""

    def __init__(
        self,
        interest: Interest,
        existing: Overlay | None = None,
        degrees: Ids | None = None,
        groups: Ids | None = None,
        labels: Ids | None = None,
    ) -> None:
        """Start from the links of `existing`.

        `degrees` are the degrees of the nodes if `existing` is only a piece of a larger overlay. `groups` numbers
        groups of nodes from zero: nodes of the same group that share a topic count as connected in it. `labels` has the
        component of each subscription instead, in the order of `topic_nodes`: a number for each topic apart.
        """
        if interest.subscription_count >= 2**31:
            raise InputError("a single plan is limited to 2,147,483,647 subscriptions; plan with `parts`")
        self.interest = interest
        # The node of each rank, and the rank of each node.
        self._nodes = np.argsort(interest.sizes, kind="stable").astype(np.int32)
        self._ranks = np.empty_like(self._nodes)
        self._ranks[self._nodes] = np.arange(interest.node_count, dtype=np.int32)
        ranked = Interest.from_pairs(
            self._ranks[interest.owners], interest.node_topics, interest.node_count, interest.topic_count
        )
        self._state = _plan_state(ranked)
        self._u = self._v = np.zeros(0, np.int32)
        if existing is not None:
            self._u, self._v = (self._ranks[ends] for ends in existing.links())
            take_links(self._state, self._u, self._v)
        if groups is not None:
            join_groups(self._state, groups[self._nodes], int(groups.max(initial=0)) + 1)
        if labels is not None:
            join_labels(self._state, labels[self._ranked_places()])
        if degrees is not None:
            self._state.degrees[:] = degrees[self._nodes]

    @property
    def components(self) -> Ids:
        """The number of components of each topic."""
        return self._state.components

    def _ranked_places(self) -> Integers:
        """The positions in `topic_nodes` of the interest, sorted by topic and then by rank."""
        topics = np.repeat(np.arange(self.interest.topic_count), self.interest.popularity)
        return np.lexsort((self._ranks[self.interest.topic_nodes], topics))

    def first_members(self) -> Ids:
        """For each position in `topic_nodes`: the node with the smallest id in its component of the topic."""
        places = self._ranked_places()
        members, labels = np.empty_like(places), np.empty_like(places)
        members[places] = places
        labels[places] = places[self._state.labels]
        first = np.full(len(places), len(places))
        np.minimum.at(first, labels, members)
        nodes: Ids = self.interest.topic_nodes[first[labels]]
        return nodes

    def overlay(self) -> Overlay:
        """All links so far."""
        return Overlay.from_links(self._nodes[self._u], self._nodes[self._v], self.interest.node_count)

    def connect(
        self, rule: GreedyRule, capacities: Ids | None = None, progress: Progress = silent, least: int = 1
    ) -> list[tuple[int, int]]:
        """Add links by the rule until every topic is connected or no node has capacity; returns the links in order.

        Links that contribute less than `least` are not added; above 1, topics can therefore stay disconnected.
        """
        node_count = self.interest.node_count

        def by_node(value: int = 0) -> Ids:
            return np.full(node_count, value, np.int32)

        work = Pass(
            numbers=np.zeros(kernel.NUMBERS, np.int64),
            bounds=by_node(),
            aside=by_node(-1),
            capacities=by_node(np.iinfo(np.int32).max)
            if capacities is None
            else capacities[self._nodes].astype(np.int32),
            candidates=by_node(),
            counts=by_node(),
            reached=by_node(),
        )
        work.numbers[kernel.LEAST] = least
        counts_degrees, rho = rule.rho is not None, float(rule.rho or 0)
        kernel.begin_pass(self._state, work, counts_degrees)
        total = int(work.numbers[kernel.LEFT])
        before = len(self._u)
        while not work.numbers[kernel.IS_DONE]:
            u, v = np.empty(LINKS_AT_ONCE, np.int32), np.empty(LINKS_AT_ONCE, np.int32)
            taken = kernel.take_greedily(self._state, work, counts_degrees, rho, u, v)
            self._u, self._v = np.concatenate((self._u, u[:taken])), np.concatenate((self._v, v[:taken]))
            progress("joining components", total - int(work.numbers[kernel.LEFT]), total)
        u, v = self._nodes[self._u[before:]], self._nodes[self._v[before:]]
        return list(zip(np.minimum(u, v).tolist(), np.maximum(u, v).tolist(), strict=True))


def plan(interest: Interest, rule: GreedyRule, existing: Overlay | None = None, progress: Progress = silent) -> Overlay:
    """A topic-connected overlay that contains the existing links."""
    draft = Draft(interest, existing)
    draft.connect(rule, progress=progress)
    return draft.overlay()


def _plan_state(interest: Interest) -> PlanState:
    """A state without links: every holder of a topic is a component of its own."""
    places = np.empty(interest.subscription_count, np.int64)
    find_places(interest.node_topics, interest.topic_starts, places)
    every_place = np.arange(interest.subscription_count, dtype=np.int32)
    return PlanState(
        node_starts=interest.node_starts,
        node_topics=interest.node_topics,
        places=places,
        topic_starts=interest.topic_starts,
        topic_nodes=interest.topic_nodes,
        labels=every_place.copy(),
        following=every_place.copy(),
        sizes=np.ones(interest.subscription_count, np.int32),
        components=interest.popularity.astype(np.int32),
        degrees=np.zeros(interest.node_count, np.int32),
    )
