"""The ln-covered view (Algorithm 3): a greedy cover of all subscriptions, and the messages that it causes."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose
from gossamer.systems.feverfew.kernel.selection import (
    add_candidate,
    begin_merge,
    hear,
    is_before,
    is_faster_by_topic,
    is_in,
    unanswered,
)
from gossamer.systems.feverfew.kernel.state import (
    HOLD_OKS,
    HOLDS,
    RELEASES,
    Rules,
    Scratch,
    SubscriptionState,
    Views,
)

COVER = U64(Purpose.COVER_TIE)
RANDOM = U64(Purpose.COVER_RANDOM)


@kernel
def select_cover(
    rules: Rules,
    now_us: U64,
    subs: SubscriptionState,
    views: Views,
    present: NDArray[np.bool_],
    scratch: Scratch,
    me: int,
    counts: NDArray[np.int64],
) -> None:
    """Algorithm 3: cover every subscription by as few nodes as a greedy choice needs; tells nodes that come and go."""
    old_size = np.int64(views.cover_sizes[me])
    left = _list_candidates(rules, now_us, subs, views, scratch, me)
    chosen = _choose_greedily(rules, subs, views, scratch, me, left)
    if rules.random_coverage > 0:
        for s in range(subs.starts[me], subs.starts[me + 1]):
            subs.missing[s] += _spare(subs, s)
        chosen = _choose_at_random(rules, subs, views, scratch, me, left - chosen, chosen)
    views.cover_sizes[me] = chosen
    _tell(views, present, scratch, me, old_size, counts)


@kernel
def _list_candidates(
    rules: Rules, now_us: U64, subs: SubscriptionState, views: Views, scratch: Scratch, me: int
) -> int:
    """List the nodes that may be chosen, with ties and with the own subscriptions that each shares."""
    begin_merge(scratch)
    left = 0
    for i in range(views.similar_sizes[me]):
        left = _add(views, scratch, left, me, np.int64(views.similar[me, i]))
    start = views.cover_starts[me]
    for i in range(views.cover_sizes[me]):
        scratch.old_cover[i] = views.cover[start + i]
        left = _add(views, scratch, left, me, np.int64(views.cover[start + i]))
    for i in range(views.found_sizes[me]):
        left = _add(views, scratch, left, me, np.int64(views.found[me, i]))
    views.found_sizes[me] = 0
    for s in range(subs.starts[me], subs.starts[me + 1]):
        size = subs.popularity[subs.topics[s]]
        subs.missing[s] = subs.needs[size] - subs.spares[size]
    base = draw_base(rules.seed, U64(me), COVER, now_us)
    for i in range(left):
        scratch.ties[i] = finish(base + U64(scratch.nodes[i]) * ITEM_FACTOR)
    _list_shared(subs, scratch, me, left)
    return left


@kernel
def _add(views: Views, scratch: Scratch, left: int, me: int, node: int) -> int:
    """Add a candidate, unless it is the node itself or does not answer; returns the new number."""
    if node == me or is_in(views.failed[me], views.failed_sizes[me], node):
        return left
    return add_candidate(scratch, left, node, np.uint8(0))


@kernel
def _list_shared(subs: SubscriptionState, scratch: Scratch, me: int, left: int) -> None:
    """List the own subscriptions that each candidate shares. They are counted often, its other topics never again."""
    first, end = subs.starts[me], subs.starts[me + 1]
    used = 0
    if not is_faster_by_topic(subs, scratch, subs.topics[first:end], left):
        for s in range(first, end):
            scratch.position[subs.topics[s]] = s
        for i in range(left):
            node = scratch.nodes[i]
            scratch.shared_starts[i] = used
            for s in range(subs.starts[node], subs.starts[node + 1]):
                mine = scratch.position[subs.topics[s]]
                if mine >= 0:
                    scratch.shared[used] = mine
                    used += 1
            scratch.shared_ends[i] = used
        for s in range(first, end):
            scratch.position[subs.topics[s]] = -1
        return
    met, mark, pairs, ends = scratch.met, scratch.mark[0], scratch.pairs, scratch.shared_ends
    ends[:left] = 0
    for s in range(first, end):
        topic = subs.topics[s]
        for h in range(subs.holder_starts[topic], subs.holder_starts[topic + 1]):
            at = met[subs.holders[h]] - mark
            if at >= 0:
                pairs[used, 0], pairs[used, 1] = at, s
                ends[at] += 1
                used += 1
    total = 0
    for i in range(left):
        scratch.shared_starts[i] = total
        total += ends[i]
        ends[i] = scratch.shared_starts[i]
    for i in range(used):
        at = pairs[i, 0]
        scratch.shared[ends[at]] = pairs[i, 1]
        ends[at] += 1


@kernel
def _spare(subs: SubscriptionState, s: int) -> int:
    """The neighbours of a subscription that the greedy choice leaves to the random one."""
    return subs.spares[subs.popularity[subs.topics[s]]]


@kernel
def _score(rules: Rules, subs: SubscriptionState, scratch: Scratch, wanted: int, at: int) -> float:
    """Equation (2) for a candidate: uncovered topics that it shares, as a count or divided by the union."""
    shared = 0
    for i in range(scratch.shared_starts[at], scratch.shared_ends[at]):
        shared += subs.missing[scratch.shared[i]] > 0
    if rules.jaccard:
        node = scratch.nodes[at]
        union = wanted + (subs.starts[node + 1] - subs.starts[node]) - shared
        return shared / union if union > 0 else 0.0
    return float(shared)


@kernel
def _choose_greedily(rules: Rules, subs: SubscriptionState, views: Views, scratch: Scratch, me: int, left: int) -> int:
    """Move the best candidate into the view until all is covered or none helps; returns the size of the view.

    The candidates that are not chosen remain in the first places of `order`.
    """
    wanted = 0
    for s in range(subs.starts[me], subs.starts[me + 1]):
        wanted += subs.missing[s] > 0
    for i in range(left):
        scratch.scores[i] = _score(rules, subs, scratch, wanted, i)
        scratch.order[i] = i
    _make_heap(scratch, left)
    start = views.cover_starts[me]
    chosen = 0
    while wanted > 0 and left > 0:
        _raise_best(rules, subs, scratch, wanted, left)
        best = scratch.order[0]
        if scratch.scores[best] == 0.0:
            break
        views.cover[start + chosen] = scratch.nodes[best]
        chosen += 1
        for i in range(scratch.shared_starts[best], scratch.shared_ends[best]):
            s = scratch.shared[i]
            # A node more than the greedy choice needs is one fewer to choose at random.
            if subs.missing[s] > -_spare(subs, s):
                subs.missing[s] -= 1
                wanted -= subs.missing[s] == 0
        left -= 1
        scratch.order[0] = scratch.order[left]
        _sift(scratch, 0, left)
    return chosen


@kernel
def _make_heap(scratch: Scratch, size: int) -> None:
    for at in range(size // 2 - 1, -1, -1):
        _sift(scratch, at, size)


@kernel
def _sift(scratch: Scratch, at: int, size: int) -> None:
    """Restore the heap below a place: no candidate comes before the one above it."""
    order, scores, ties = scratch.order, scratch.scores, scratch.ties
    item = order[at]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        other = order[below]
        if below + 1 < size:
            beside = order[below + 1]
            if is_before(scores[beside], ties[beside], scores[other], ties[other]):
                below += 1
                other = beside
        if not is_before(scores[other], ties[other], scores[item], ties[item]):
            break
        order[at] = other
        at = below
    order[at] = item


@kernel
def _raise_best(rules: Rules, subs: SubscriptionState, scratch: Scratch, wanted: int, left: int) -> None:
    """Bring the best candidate to the top of the heap. A count can only have fallen, so only the top is counted again."""
    if rules.jaccard:
        # A Jaccard index can rise while topics are covered.
        for i in range(left):
            scratch.scores[scratch.order[i]] = _score(rules, subs, scratch, wanted, np.int64(scratch.order[i]))
        _make_heap(scratch, left)
        return
    while True:
        top = np.int64(scratch.order[0])
        now = _score(rules, subs, scratch, wanted, top)
        if now == scratch.scores[top]:
            return
        scratch.scores[top] = now
        _sift(scratch, 0, left)


@kernel
def _choose_at_random(
    rules: Rules, subs: SubscriptionState, views: Views, scratch: Scratch, me: int, left: int, chosen: int
) -> int:
    """Add candidates in a random order, each if it shares a topic that still lacks a neighbour; returns the new size."""
    base = draw_base(rules.seed, U64(me), RANDOM, U64(0))
    start = views.cover_starts[me]
    for i in range(left):
        at = scratch.order[i]
        scratch.ties[at] = finish(base + U64(scratch.nodes[at]) * ITEM_FACTOR)
        scratch.scores[at] = 0.0
    _make_heap(scratch, left)
    while left > 0:
        first = scratch.order[0]
        helps = False
        for i in range(scratch.shared_starts[first], scratch.shared_ends[first]):
            s = scratch.shared[i]
            if subs.missing[s] > 0:
                subs.missing[s] -= 1
                helps = True
        if helps:
            views.cover[start + chosen] = scratch.nodes[first]
            chosen += 1
        left -= 1
        scratch.order[0] = scratch.order[left]
        _sift(scratch, 0, left)
    return chosen


@kernel
def _tell(
    views: Views,
    present: NDArray[np.bool_],
    scratch: Scratch,
    me: int,
    old_size: int,
    counts: NDArray[np.int64],
) -> None:
    """Tell nodes that are new in the ln-covered view, and those that left it."""
    start = views.cover_starts[me]
    view = views.cover[start : start + views.cover_sizes[me]]
    begin_merge(scratch)
    # The view and the old view are compared through marks: `met` is below the mark, or a place in the old view.
    for i in range(old_size):
        scratch.met[scratch.old_cover[i]] = scratch.mark[0] + i
    kept = 0
    for i in range(view.shape[0]):
        node = np.int64(view[i])
        if scratch.met[node] >= scratch.mark[0]:
            kept += 1
            continue
        counts[HOLDS] += 1
        if present[node]:
            counts[HOLD_OKS] += 1
            hear(views, node, me)
        else:
            view[i] = unanswered(node)
    counts[RELEASES] += old_size - kept
