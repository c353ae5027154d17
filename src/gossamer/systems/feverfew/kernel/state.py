"""The state of Feverfew's kernel.

n nodes, S entries in a similar view, A places in an agent view. Subscriptions are numbered: those of node v are
`starts[v]` to `starts[v + 1]`, with topics in ascending order. Bytes for each node: 5 S for the similar view, 13 A for the
agent view, 4 for each neighbour that its subscriptions need, 18 for each subscription, and 128 for the bits of its topics.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Positions in the array of message counts, which follow those of Cyclon.
EXCHANGES, REPLIES, HOLDS, HOLD_OKS, RELEASES, FAREWELLS, INTERESTS, BUBBLES, MATCHES = range(9)
KINDS = (
    "Exchange",
    "ExchangeReply",
    "HoldRequest",
    "HoldOk",
    "ReleaseNotice",
    "FarewellNotice",
    "InterestNotice",
    "Bubbles",
    "Match",
)
# Rare events, counted for tests: entries that a full agent view gave up, and nodes that did not answer. Copies of searches
# that `Bubbles` carried.
EVICTIONS, FAILURES, COPIES = 9, 10, 11
COUNTERS = 12


class Rules(NamedTuple):
    """The parameters as numbers; see `parameters.py`. Periods are in cycles, 0 means never."""

    seed: np.uint64
    shuffle_length: int
    walk_length: int
    age_max: int
    jaccard: bool
    random_coverage: int
    cover_cycles: int
    clear_cycles: int
    bubble_cycles: int
    retry_cycles: int
    linger_cycles: int
    searches: int
    agents_meet: bool
    ttl_max: int


class SubscriptionState(NamedTuple):
    """The interests of all nodes, present or not, and what each subscription still needs."""

    starts: NDArray[np.int64]
    topics: NDArray[np.int32]
    # The neighbours that a subscription lacks, the cycle in which it began, and the cycle until which it does not search.
    missing: NDArray[np.int16]
    since: NDArray[np.int32]
    search_at: NDArray[np.int32]
    # For each topic the nodes that hold it and are present; for each such number the neighbours to have and the TTL.
    popularity: NDArray[np.int32]
    needs: NDArray[np.int16]
    # Of these neighbours, how many are chosen at random.
    spares: NDArray[np.int16]
    ttls: NDArray[np.uint8]
    # For each node a bit for each of its topics (`selection.bit_of`); topics may share a bit.
    bits: NDArray[np.uint64]
    # The same subscriptions by topic: the nodes that hold topic t, by id, are `holder_starts[t]` to `holder_starts[t + 1]`.
    holder_starts: NDArray[np.int64]
    holders: NDArray[np.int32]


class Views(NamedTuple):
    """The similar view, the ln-covered view, nodes found by searches, and nodes that did not answer."""

    similar: NDArray[np.int32]
    ages: NDArray[np.uint8]
    similar_sizes: NDArray[np.int32]
    cover_starts: NDArray[np.int64]
    cover: NDArray[np.int32]
    cover_sizes: NDArray[np.int32]
    found: NDArray[np.int32]
    found_sizes: NDArray[np.int32]
    failed: NDArray[np.int32]
    failed_sizes: NDArray[np.int32]


class Agents(NamedTuple):
    """The agent views: the searches that a node takes part in."""

    topics: NDArray[np.int32]
    nodes: NDArray[np.int32]
    ttls: NDArray[np.uint8]
    since: NDArray[np.int32]
    sizes: NDArray[np.int32]


class Scratch(NamedTuple):
    """Work space."""

    # By topic: whether the node in turn still needs it. The topics that it needs.
    wanted: NDArray[np.bool_]
    wanted_list: NDArray[np.int32]
    # By topic: the position of the subscription of the node in turn, or -1.
    position: NDArray[np.int32]
    # By node: the mark of the last merge that met it.
    met: NDArray[np.int64]
    mark: NDArray[np.int64]
    # Candidates: nodes, ages, scores, ties.
    nodes: NDArray[np.int32]
    ages: NDArray[np.uint8]
    scores: NDArray[np.float64]
    ties: NDArray[np.uint64]
    # Candidates in the order of choice: a sorted list, or a heap.
    order: NDArray[np.int32]
    old_cover: NDArray[np.int32]
    # For each candidate of a cover, where the subscriptions stand in `shared` that the node in turn shares with it.
    shared_starts: NDArray[np.int64]
    shared_ends: NDArray[np.int64]
    shared: NDArray[np.int32]
    # The same as pairs of a candidate and a subscription, before they are sorted.
    pairs: NDArray[np.int32]
    # Notices of agents that wait for delivery: topic, node to tell, node that it is told about.
    notices: NDArray[np.int32]
