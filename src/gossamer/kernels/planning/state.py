"""The state of a planner: the components of each topic.

A place is a position in `topic_nodes`, that is, one (topic, node) pair. `labels` has the component of each place. When
two components merge, the smaller one gets the label of the larger one, so looking up a component is one read and all
mergers of a topic with m nodes cost m log m.
"""

from typing import NamedTuple

import numpy as np

from gossamer.kernels.jit import kernel
from gossamer.model.arrays.types import Ids, Starts


class PlanState(NamedTuple):
    """An interest by node and by topic, and the components of its topics."""

    node_starts: Starts
    node_topics: Ids
    # The place of each subscription, in the order of `node_topics`.
    places: Starts
    topic_starts: Starts
    topic_nodes: Ids
    # By place: the label of its component (a place in it), and the next place of the component, in a circular list.
    labels: Ids
    following: Ids
    # By label: the number of places of the component. By topic: the number of components.
    sizes: Ids
    components: Ids
    degrees: Ids


@kernel
def find_places(node_topics: Ids, topic_starts: Starts, places: Starts) -> None:
    """The place of each subscription; a topic lists its subscriptions in the order of their nodes."""
    filled = topic_starts[:-1].copy()
    for i in range(len(node_topics)):
        topic = node_topics[i]
        places[i] = filled[topic]
        filled[topic] += 1


@kernel
def merge(state: PlanState, topic: int, one: int, other: int) -> None:
    """Merge the components of two places of a topic."""
    keep, lose = state.labels[one], state.labels[other]
    if state.sizes[keep] < state.sizes[lose]:
        keep, lose = lose, keep
    place = lose
    while True:
        state.labels[place] = keep
        place = state.following[place]
        if place == lose:
            break
    state.following[keep], state.following[lose] = state.following[lose], state.following[keep]
    state.sizes[keep] += state.sizes[lose]
    state.components[topic] -= 1


@kernel
def contribution(state: PlanState, u: int, v: int) -> int:
    """The number of topics in which a link would join two components."""
    found = 0
    i, j = state.node_starts[u], state.node_starts[v]
    i_end, j_end = state.node_starts[u + 1], state.node_starts[v + 1]
    while i < i_end and j < j_end:
        a, b = state.node_topics[i], state.node_topics[j]
        if a == b:
            found += state.labels[state.places[i]] != state.labels[state.places[j]]
        i += a <= b
        j += b <= a
    return found


@kernel
def link(state: PlanState, u: int, v: int) -> int:
    """Add a link; returns the number of topics in which it joined two components."""
    found = 0
    i, j = state.node_starts[u], state.node_starts[v]
    i_end, j_end = state.node_starts[u + 1], state.node_starts[v + 1]
    while i < i_end and j < j_end:
        a, b = state.node_topics[i], state.node_topics[j]
        if a == b and state.labels[state.places[i]] != state.labels[state.places[j]]:
            merge(state, a, state.places[i], state.places[j])
            found += 1
        i += a <= b
        j += b <= a
    state.degrees[u] += 1
    state.degrees[v] += 1
    return found


@kernel
def take_links(state: PlanState, u: Ids, v: Ids) -> None:
    """Add links that exist already."""
    for i in range(len(u)):
        link(state, u[i], v[i])


@kernel
def join_groups(state: PlanState, groups: Ids, group_count: int) -> None:
    """Connect nodes of the same group in every topic that they share."""
    last = np.full(group_count, -1, np.int64)
    for topic in range(len(state.components)):
        for place in range(state.topic_starts[topic], state.topic_starts[topic + 1]):
            group = groups[state.topic_nodes[place]]
            if last[group] >= 0 and state.labels[last[group]] != state.labels[place]:
                merge(state, topic, last[group], place)
            last[group] = place
        for place in range(state.topic_starts[topic], state.topic_starts[topic + 1]):
            last[groups[state.topic_nodes[place]]] = -1


@kernel
def join_labels(state: PlanState, labels: Ids) -> None:
    """Connect the places of a topic that have the same label."""
    last = np.full(labels.max() + 1 if len(labels) else 0, -1, np.int64)
    for topic in range(len(state.components)):
        for place in range(state.topic_starts[topic], state.topic_starts[topic + 1]):
            label = labels[place]
            if last[label] >= 0 and state.labels[last[label]] != state.labels[place]:
                merge(state, topic, last[label], place)
            last[label] = place
        for place in range(state.topic_starts[topic], state.topic_starts[topic + 1]):
            last[labels[place]] = -1
