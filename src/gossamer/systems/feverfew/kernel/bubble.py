"""BubbleSample: searches that spread over agents (Algorithm 4) and meet matching nodes there (Algorithm 5)."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.cyclon import CyclonState
from gossamer.kernels.draw import ITEM_FACTOR, U64, draw_base, finish
from gossamer.kernels.jit import kernel
from gossamer.model.values.draw import Purpose
from gossamer.systems.feverfew.kernel.selection import bit_of, find, holds, is_in
from gossamer.systems.feverfew.kernel.state import (
    BUBBLES,
    COPIES,
    EVICTIONS,
    MATCHES,
    Agents,
    Rules,
    Scratch,
    SubscriptionState,
    Views,
)

AGENT = U64(Purpose.AGENT_PLACE)
# Marks in `Scratch.position` of topics that are searched for, and of those that a node of the random view holds.
SOUGHT, HELD = -2, -3


@kernel
def distance(agent: int, topic: int) -> U64:
    """How far a node is from a topic: a random number that every node computes equally, whatever its seed."""
    return finish(draw_base(U64(0), U64(agent), AGENT, U64(0)) + U64(topic) * ITEM_FACTOR)


@kernel
def notify(
    subs: SubscriptionState,
    views: Views,
    present: NDArray[np.bool_],
    agent: int,
    topic: int,
    node: int,
    other: int,
    counts: NDArray[np.int64],
) -> None:
    """An agent tells a node about another holder of one of its topics."""
    counts[MATCHES] += node != agent
    if not present[node]:
        return
    at = find(subs, node, topic)
    if at < 0 or subs.missing[at] <= 0:
        return
    size = np.int64(views.found_sizes[node])
    if size < views.found.shape[1] and not is_in(views.found[node], size, other):
        views.found[node, size] = other
        views.found_sizes[node] = size + 1


@kernel
def forward(
    rules: Rules,
    cycle: int,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    present: NDArray[np.bool_],
    me: int,
    peer: int,
    counts: NDArray[np.int64],
) -> None:
    """A node's shuffle carries one copy of every search with hops left that it did not receive in this cycle."""
    sent = False
    for i in range(agents.sizes[me]):
        if agents.ttls[me, i] == 0 or agents.since[me, i] == cycle:
            continue
        agents.ttls[me, i] -= np.uint8(1)
        counts[COPIES] += 1
        sent = True
        if present[peer]:
            topic, node, ttl = agents.topics[me, i], agents.nodes[me, i], agents.ttls[me, i]
            take_search(rules, cycle, subs, views, agents, present, peer, topic, node, ttl, counts)
    if sent:
        counts[BUBBLES] += 1


@kernel
def take_search(
    rules: Rules,
    cycle: int,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    present: NDArray[np.bool_],
    agent: int,
    topic: int,
    node: int,
    ttl: np.uint8,
    counts: NDArray[np.int64],
) -> None:
    """Add a search to an agent view. With `agents_meet` it also meets other searches for the same topic."""
    size = np.int64(agents.sizes[agent])
    if agents.topics.shape[1] == 0:
        return
    for i in range(size):
        if agents.topics[agent, i] == topic and agents.nodes[agent, i] == node:
            agents.ttls[agent, i] = max(agents.ttls[agent, i], ttl)
            return
    if rules.agents_meet:
        for i in range(size):
            other = np.int64(agents.nodes[agent, i])
            if agents.topics[agent, i] == topic:
                notify(subs, views, present, agent, topic, node, other, counts)
                notify(subs, views, present, agent, topic, other, node, counts)
    at = size
    if size == agents.topics.shape[1]:
        counts[EVICTIONS] += 1
        at = _victim(rules, agents, agent)
        if rules.agents_meet and distance(agent, topic) >= distance(agent, np.int64(agents.topics[agent, at])):
            return
    else:
        agents.sizes[agent] = size + 1
    agents.topics[agent, at] = topic
    agents.nodes[agent, at] = node
    agents.ttls[agent, at] = ttl
    agents.since[agent, at] = cycle


@kernel
def _victim(rules: Rules, agents: Agents, agent: int) -> int:
    """The search that a full agent view gives up: the oldest one, or with `agents_meet` the one farthest away."""
    worst = 0
    if not rules.agents_meet:
        for i in range(1, agents.sizes[agent]):
            if agents.since[agent, i] < agents.since[agent, worst]:
                worst = i
        return worst
    farthest = distance(agent, np.int64(agents.topics[agent, 0]))
    for i in range(1, agents.sizes[agent]):
        here = distance(agent, np.int64(agents.topics[agent, i]))
        if here > farthest:
            worst, farthest = i, here
    return worst


@kernel
def match_searches(
    rules: Rules,
    cycle: int,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    cyclon: CyclonState,
    scratch: Scratch,
    me: int,
    counts: NDArray[np.int64],
) -> None:
    """Algorithm 5: compare the searches with the random view; drop those that matched or are over."""
    sought = _mark_held(subs, agents, cyclon, scratch, me)
    kept = 0
    for i in range(agents.sizes[me]):
        topic, node = np.int64(agents.topics[me, i]), np.int64(agents.nodes[me, i])
        matched = False
        for j in range(cyclon.sizes[me] if scratch.position[topic] == HELD else 0):
            other = np.int64(cyclon.nodes[me, j])
            if other != node and holds(subs, other, topic):
                matched = True
                notify(subs, views, cyclon.present, me, topic, node, other, counts)
                notify(subs, views, cyclon.present, me, topic, other, node, counts)
        over = agents.ttls[me, i] == 0 and cycle - agents.since[me, i] >= rules.linger_cycles
        if matched or over:
            continue
        _keep(agents, me, i, kept)
        kept += 1
    agents.sizes[me] = kept
    for i in range(sought):
        scratch.position[scratch.wanted_list[i]] = -1


@kernel
def _mark_held(subs: SubscriptionState, agents: Agents, cyclon: CyclonState, scratch: Scratch, me: int) -> int:
    """Mark the topics of searches that a node of the random view holds; most searches need no comparison then.

    Lists the topics of all searches in `wanted_list`, and returns their number.
    """
    sought = 0
    for i in range(agents.sizes[me]):
        topic = agents.topics[me, i]
        if scratch.position[topic] != SOUGHT:
            scratch.position[topic] = SOUGHT
            scratch.wanted_list[sought] = topic
            sought += 1
    for j in range(cyclon.sizes[me] if agents.sizes[me] > 0 else 0):
        node = cyclon.nodes[me, j]
        for s in range(subs.starts[node], subs.starts[node + 1]):
            if scratch.position[subs.topics[s]] == SOUGHT:
                scratch.position[subs.topics[s]] = HELD
    return sought


@kernel
def compare_both(
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    present: NDArray[np.bool_],
    scratch: Scratch,
    peer: int,
    told_peer: NDArray[np.int32],
    me: int,
    told_me: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """The two ends of an exchange compare their searches with the nodes that the other end named.

    Notices to other nodes are delivered after both ends have handled the exchange.
    """
    waiting = _compare(subs, views, agents, present, scratch, peer, told_peer, 0, counts)
    first = waiting
    waiting = _compare(subs, views, agents, present, scratch, me, told_me, waiting, counts)
    for i in range(waiting):
        topic, node, other = scratch.notices[i]
        notify(subs, views, present, peer if i < first else me, topic, node, other, counts)


@kernel
def _compare(
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    present: NDArray[np.bool_],
    scratch: Scratch,
    agent: int,
    told: NDArray[np.int32],
    waiting: int,
    counts: NDArray[np.int64],
) -> int:
    """Compare an agent's searches with these nodes; a search that matches ends. Returns the number of waiting notices."""
    kept = 0
    for i in range(agents.sizes[agent]):
        topic, node = np.int64(agents.topics[agent, i]), np.int64(agents.nodes[agent, i])
        bit = bit_of(topic)
        word, shift = bit >> 6, U64(bit & 63)
        matched = False
        for j in range(told.shape[0]):
            other = np.int64(told[j])
            if other == node or not (subs.bits[other, word] >> shift) & U64(1):
                continue
            if other == agent or find(subs, other, topic) < 0:
                continue
            matched = True
            for side in range(2):
                tell, about = (node, other) if side == 0 else (other, node)
                if tell == agent:
                    notify(subs, views, present, agent, topic, tell, about, counts)
                    continue
                scratch.notices[waiting, 0] = topic
                scratch.notices[waiting, 1] = tell
                scratch.notices[waiting, 2] = about
                waiting += 1
        if not matched:
            _keep(agents, agent, i, kept)
            kept += 1
    agents.sizes[agent] = kept
    return waiting


@kernel
def _keep(agents: Agents, agent: int, source: int, target: int) -> None:
    """Move a search to another place of the view."""
    agents.topics[agent, target] = agents.topics[agent, source]
    agents.nodes[agent, target] = agents.nodes[agent, source]
    agents.ttls[agent, target] = agents.ttls[agent, source]
    agents.since[agent, target] = agents.since[agent, source]


@kernel
def start_searches(
    rules: Rules,
    cycle: int,
    subs: SubscriptionState,
    views: Views,
    agents: Agents,
    present: NDArray[np.bool_],
    me: int,
    counts: NDArray[np.int64],
) -> None:
    """Search for subscriptions that have lacked neighbours for long; the node is the first agent of each search."""
    started = 0
    first, count = subs.starts[me], subs.starts[me + 1] - subs.starts[me]
    for step in range(count):
        if started == rules.searches:
            return
        # Another subscription comes first in every cycle.
        s = first + (cycle + step) % count
        if subs.missing[s] <= 0 or cycle - subs.since[s] < rules.bubble_cycles or cycle < subs.search_at[s]:
            continue
        topic = np.int64(subs.topics[s])
        ttl = min(np.int64(subs.ttls[subs.popularity[topic]]), rules.ttl_max)
        subs.search_at[s] = cycle + max(ttl + 1, rules.retry_cycles)
        take_search(rules, cycle, subs, views, agents, present, me, topic, me, np.uint8(ttl), counts)
        started += 1
