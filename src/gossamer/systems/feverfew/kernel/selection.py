"""Choosing nodes by interest: the similar view (Algorithm 1, line 7), and nodes that do not answer."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose
from gossamer.systems.feverfew.kernel.state import (
    FAILURES,
    Rules,
    Scratch,
    SubscriptionState,
    Views,
)

SIMILAR = U64(Purpose.SIMILAR_TIE)
# Bits of a node's topics. With 48 topics, a topic that the node does not hold finds its bit set in 1 of 22 cases.
BITS = 1024
BIT_SHIFT = U64(64 - 10)


@kernel
def is_in(nodes: NDArray[np.int32], size: int, node: int) -> bool:
    """Whether a node is among the first `size` entries."""
    for i in range(size):  # noqa: SIM110
        if nodes[i] == node:
            return True
    return False


@kernel
def bit_of(topic: int) -> int:
    """The bit of a topic among the BITS bits of a node."""
    return np.int64((U64(topic) * ITEM_FACTOR) >> BIT_SHIFT)


@kernel
def fill_bits(subs: SubscriptionState) -> None:
    """Set the bits of every node's topics."""
    subs.bits[:] = 0
    for node in range(subs.starts.shape[0] - 1):
        for s in range(subs.starts[node], subs.starts[node + 1]):
            bit = bit_of(np.int64(subs.topics[s]))
            subs.bits[node, bit >> 6] |= U64(1) << U64(bit & 63)


@kernel
def holds(subs: SubscriptionState, node: int, topic: int) -> bool:
    """Whether a node holds a topic."""
    bit = bit_of(topic)
    if not (subs.bits[node, bit >> 6] >> U64(bit & 63)) & U64(1):
        return False
    at = find(subs, node, topic)
    return at >= 0


@kernel
def find(subs: SubscriptionState, node: int, topic: int) -> int:
    """The position of a node's subscription to a topic, or -1."""
    low, high = subs.starts[node], subs.starts[node + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if subs.topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low if low < end and subs.topics[low] == topic else -1


@kernel
def mark_wanted(subs: SubscriptionState, scratch: Scratch, me: int) -> int:
    """Mark the topics that still need neighbours; returns their number."""
    count = 0
    for s in range(subs.starts[me], subs.starts[me + 1]):
        if subs.missing[s] > 0:
            scratch.wanted[subs.topics[s]] = True
            scratch.wanted_list[count] = subs.topics[s]
            count += 1
    return count


@kernel
def clear_wanted(subs: SubscriptionState, scratch: Scratch, me: int) -> None:
    """Undo `mark_wanted`."""
    for s in range(subs.starts[me], subs.starts[me + 1]):
        scratch.wanted[subs.topics[s]] = False


@kernel
def is_faster_by_topic(subs: SubscriptionState, scratch: Scratch, topics: NDArray[np.int32], size: int) -> bool:
    """Whether the holders of these topics are fewer than the topics of all candidates.

    Shared topics are found by a pass over either of them. Similar nodes have large interests, rare topics few holders.
    """
    by_topic = 0
    for i in range(topics.shape[0]):
        by_topic += subs.holder_starts[topics[i] + 1] - subs.holder_starts[topics[i]]
    for i in range(size):
        by_topic -= subs.starts[scratch.nodes[i] + 1] - subs.starts[scratch.nodes[i]]
        if by_topic < 0:
            return True
    return False


@kernel
def count_shared(subs: SubscriptionState, scratch: Scratch, wanted: int, size: int) -> None:
    """Count for each candidate the topics that it shares among those that `mark_wanted` marked, into its score."""
    topics = scratch.wanted_list[:wanted]
    scores, met, mark = scratch.scores, scratch.met, scratch.mark[0]
    scores[:size] = 0.0
    if is_faster_by_topic(subs, scratch, topics, size):
        for i in range(wanted):
            for h in range(subs.holder_starts[topics[i]], subs.holder_starts[topics[i] + 1]):
                at = met[subs.holders[h]] - mark
                if at >= 0:
                    scores[at] += 1.0
        return
    for i in range(size):
        node = scratch.nodes[i]
        shared = 0
        for s in range(subs.starts[node], subs.starts[node + 1]):
            shared += scratch.wanted[subs.topics[s]]
        scores[i] = shared


@kernel
def add_candidate(scratch: Scratch, size: int, node: int, age: np.uint8) -> int:
    """Add a node that this merge has not met; of two ages the younger one is kept. Returns the new number."""
    if scratch.met[node] >= scratch.mark[0]:
        at = scratch.met[node] - scratch.mark[0]
        scratch.ages[at] = min(scratch.ages[at], age)
        return size
    scratch.met[node] = scratch.mark[0] + size
    scratch.nodes[size] = node
    scratch.ages[size] = age
    return size + 1


@kernel
def begin_merge(scratch: Scratch) -> None:
    """Forget which nodes the last merge met."""
    scratch.mark[0] += scratch.nodes.shape[0]


@kernel
def is_before(score: float, tie: U64, other_score: float, other_tie: U64) -> bool:
    """Whether the first of two candidates is chosen first: the greater score, then the smaller tie."""
    return score > other_score or (score == other_score and tie < other_tie)


@kernel
def select_similar(
    rules: Rules, now_us: U64, subs: SubscriptionState, views: Views, scratch: Scratch, me: int, size: int
) -> None:
    """The similar view becomes the best of the candidates by equation (2), best first."""
    wanted = mark_wanted(subs, scratch, me)
    base = draw_base(rules.seed, U64(me), SIMILAR, now_us)
    room = views.similar.shape[1]
    nodes, scores, ties, order = scratch.nodes, scratch.scores, scratch.ties, scratch.order
    failed, failed_size = views.failed[me], views.failed_sizes[me]
    count_shared(subs, scratch, wanted, size)
    kept = 0
    for i in range(size):
        node = np.int64(nodes[i])
        if node == me or is_in(failed, failed_size, node):
            continue
        score = scores[i]
        if rules.jaccard:
            union = wanted + (subs.starts[node + 1] - subs.starts[node]) - score
            score = score / union if union > 0 else 0.0
        tie = finish(base + U64(node) * ITEM_FACTOR)
        if kept == room and not is_before(score, tie, scores[order[kept - 1]], ties[order[kept - 1]]):
            continue
        scores[i], ties[i] = score, tie
        at = kept if kept < room else room - 1
        while at > 0 and is_before(score, tie, scores[order[at - 1]], ties[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        kept = min(kept + 1, room)
    view, ages = views.similar[me], views.ages[me]
    for at in range(kept):
        view[at] = nodes[order[at]]
        ages[at] = scratch.ages[order[at]]
    views.similar_sizes[me] = kept
    clear_wanted(subs, scratch, me)


@kernel
def unanswered(node: int) -> int:
    """How the ln-covered view stores a node that has not answered; applied again it gives the node."""
    return -1 - node


@kernel
def drop_unanswered(views: Views, me: int, counts: NDArray[np.int64]) -> None:
    """Remove the nodes of the ln-covered view that did not answer when they entered it."""
    start = views.cover_starts[me]
    i = 0
    while i < views.cover_sizes[me]:
        if views.cover[start + i] < 0:
            node = unanswered(np.int64(views.cover[start + i]))
            views.cover[start + i] = node
            fail(views, me, node, counts)
        else:
            i += 1


@kernel
def fail(views: Views, me: int, node: int, counts: NDArray[np.int64]) -> None:
    """A node does not answer or has left: forget it, and ignore it until it sends something."""
    counts[FAILURES] += 1
    forget(views, me, node)
    size = np.int64(views.failed_sizes[me])
    if is_in(views.failed[me], size, node):
        return
    if size == views.failed.shape[1]:
        hear(views, me, np.int64(views.failed[me, 0]))
        size -= 1
    views.failed[me, size] = node
    views.failed_sizes[me] = size + 1


@kernel
def forget(views: Views, me: int, node: int) -> None:
    """Remove a node from both views. The next turn finds out which topics need a neighbour again."""
    for i in range(views.similar_sizes[me]):
        if views.similar[me, i] == node:
            for j in range(i, views.similar_sizes[me] - 1):
                views.similar[me, j] = views.similar[me, j + 1]
                views.ages[me, j] = views.ages[me, j + 1]
            views.similar_sizes[me] -= 1
            break
    start = views.cover_starts[me]
    for i in range(views.cover_sizes[me]):
        if views.cover[start + i] == node:
            for j in range(i, views.cover_sizes[me] - 1):
                views.cover[start + j] = views.cover[start + j + 1]
            views.cover_sizes[me] -= 1
            break


@kernel
def hear(views: Views, me: int, node: int) -> None:
    """A node that sends something is alive."""
    kept = 0
    for i in range(views.failed_sizes[me]):
        if views.failed[me, i] != node:
            views.failed[me, kept] = views.failed[me, i]
            kept += 1
    views.failed_sizes[me] = kept
