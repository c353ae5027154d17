"""The three turns of a cycle: shuffles with searches on them, exchanges of similar views, and covers."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.cyclon import CyclonState, cyclon_turn
from gossamer.kernels.draw import U64, below, draw
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose
from gossamer.systems.feverfew.kernel.bubble import (
    compare_both,
    forward,
    match_searches,
    start_searches,
)
from gossamer.systems.feverfew.kernel.cover import select_cover
from gossamer.systems.feverfew.kernel.selection import (
    add_candidate,
    begin_merge,
    drop_unanswered,
    fail,
    hear,
    select_similar,
)
from gossamer.systems.feverfew.kernel.state import EXCHANGES, REPLIES, Agents, Rules, Scratch, SubscriptionState, Views

PARTNER = U64(Purpose.SIMILAR_PARTNER)


@kernel
def shuffle_turns(
    rules: Rules,
    cycle: int,
    now_us: U64,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    cyclon: CyclonState,
    cyclon_counts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Cyclon shuffles, and searches ride on them."""
    for me in range(cyclon.nodes.shape[0]):
        if not cyclon.present[me]:
            continue
        peer = cyclon_turn(rules.seed, now_us, rules.shuffle_length, rules.walk_length, cyclon, me, cyclon_counts)
        if peer >= 0:
            forward(rules, cycle, subs, views, agents, cyclon.present, me, peer, counts)


@kernel
def exchange_turns(
    rules: Rules,
    now_us: U64,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    cyclon: CyclonState,
    asked: NDArray[np.int32],
    scratch: Scratch,
    counts: NDArray[np.int64],
) -> None:
    """GossipSample (Algorithms 1 and 2): every node exchanges views with a node of its similar view."""
    sent_nodes = np.empty(cyclon.nodes.shape[1] + views.similar.shape[1] + 1, np.int32)
    sent_ages = np.empty(sent_nodes.shape[0], np.uint8)
    back_nodes = np.empty(sent_nodes.shape[0], np.int32)
    back_ages = np.empty(sent_nodes.shape[0], np.uint8)
    for me in range(cyclon.nodes.shape[0]):
        if not cyclon.present[me]:
            continue
        drop_unanswered(views, me, counts)
        if asked[me] >= 0:
            fail(views, me, np.int64(asked[me]), counts)
            asked[me] = -1
        _grow_older(rules, views, me)
        peer = _partner(rules, now_us, views, cyclon, me)
        if peer < 0:
            continue
        counts[EXCHANGES] += 1
        sent = _own_buffer(views, cyclon, scratch, me, sent_nodes, sent_ages)
        if not cyclon.present[peer]:
            asked[me] = peer
            continue
        counts[REPLIES] += 1
        hear(views, peer, me)
        hear(views, me, peer)
        back = _own_buffer(views, cyclon, scratch, peer, back_nodes, back_ages)
        _merge(rules, now_us, subs, views, scratch, peer, back_nodes, back_ages, back, sent_nodes, sent_ages, sent)
        _merge(rules, now_us, subs, views, scratch, me, sent_nodes, sent_ages, sent, back_nodes, back_ages, back)
        if rules.agents_meet:
            compare_both(
                subs, views, agents, cyclon.present, scratch, peer, sent_nodes[:sent], me, back_nodes[:back], counts
            )


@kernel
def _grow_older(rules: Rules, views: Views, me: int) -> None:
    kept = 0
    for i in range(views.similar_sizes[me]):
        if views.ages[me, i] < rules.age_max:
            views.similar[me, kept] = views.similar[me, i]
            views.ages[me, kept] = views.ages[me, i] + np.uint8(1)
            kept += 1
    views.similar_sizes[me] = kept


@kernel
def _partner(rules: Rules, now_us: U64, views: Views, cyclon: CyclonState, me: int) -> int:
    bits = draw(rules.seed, U64(me), PARTNER, now_us, U64(0))
    if views.similar_sizes[me] > 0:
        return np.int64(views.similar[me, below(bits, np.int64(views.similar_sizes[me]))])
    if cyclon.sizes[me] > 0:
        return np.int64(cyclon.nodes[me, below(bits, np.int64(cyclon.sizes[me]))])
    return -1


@kernel
def _own_buffer(
    views: Views, cyclon: CyclonState, scratch: Scratch, me: int, nodes: NDArray[np.int32], ages: NDArray[np.uint8]
) -> int:
    """The node itself, its random view and its similar view."""
    begin_merge(scratch)
    size = add_candidate(scratch, 0, me, np.uint8(0))
    for i in range(cyclon.sizes[me]):
        size = add_candidate(scratch, size, np.int64(cyclon.nodes[me, i]), cyclon.ages[me, i])
    for i in range(views.similar_sizes[me]):
        size = add_candidate(scratch, size, np.int64(views.similar[me, i]), views.ages[me, i])
    for i in range(size):
        nodes[i] = scratch.nodes[i]
        ages[i] = scratch.ages[i]
    return size


@kernel
def _merge(
    rules: Rules,
    now_us: U64,
    subs: SubscriptionState,
    views: Views,
    scratch: Scratch,
    me: int,
    own_nodes: NDArray[np.int32],
    own_ages: NDArray[np.uint8],
    own: int,
    told_nodes: NDArray[np.int32],
    told_ages: NDArray[np.uint8],
    told: int,
) -> None:
    begin_merge(scratch)
    size = 0
    for i in range(own):
        size = add_candidate(scratch, size, np.int64(own_nodes[i]), own_ages[i])
    for i in range(told):
        size = add_candidate(scratch, size, np.int64(told_nodes[i]), told_ages[i])
    select_similar(rules, now_us, subs, views, scratch, me, size)


@kernel
def cover_turns(
    rules: Rules,
    cycle: int,
    now_us: U64,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    cyclon: CyclonState,
    scratch: Scratch,
    counts: NDArray[np.int64],
) -> None:
    """Algorithm 1, lines 9 to 12, and BubbleSample."""
    for me in range(cyclon.nodes.shape[0]):
        if not cyclon.present[me]:
            continue
        if cycle % rules.cover_cycles == 0:
            select_cover(rules, now_us, subs, views, cyclon.present, scratch, me, counts)
        if rules.clear_cycles and cycle % rules.clear_cycles == 0:
            views.similar_sizes[me] = 0
        if rules.bubble_cycles >= 0:
            match_searches(rules, cycle, subs, views, agents, cyclon, scratch, me, counts)
            start_searches(rules, cycle, subs, views, agents, cyclon.present, me, counts)
