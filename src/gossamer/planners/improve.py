"""Improvements after the greedy: local search, shorter topic overlays, and overlays that survive failures.

Local search removes links that no topic needs, moves single ends of other links, and stops when a round brings no gain.
Every move increases the number of topics that links carry or evens out degrees, so the search terminates; the number of
rounds is bounded as well.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.measures import topic_diameters
from gossamer.kernels.planning import trim
from gossamer.kernels.planning.attach import attach_nodes
from gossamer.kernels.planning.graph import LinkGraph, add_links
from gossamer.kernels.planning.shorten import complete_topic, shorten_topic
from gossamer.kernels.planning.state import find_places
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent

# Chosen: later rounds brought no gain on any workload that we measured.
ROUNDS_MAX = 6
# Chosen: nodes between two reports of progress.
NODES_AT_ONCE = 1_024
# The largest number of links whose half-links have 32-bit indices.
LINKS_MAX = 2**30 - 1


@dataclass(frozen=True)
class Improved:
    """An overlay after local search: how many links were removed and moved, in how many rounds."""

    overlay: Overlay
    removed: int
    moved: int
    rounds: int


def improve(interest: Interest, overlay: Overlay, for_degree: bool = False, progress: Progress = silent) -> Improved:
    """Reduce links, or with `for_degree` the maximum degree first; every topic stays as connected as it was."""
    rows = interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes
    removed = moved = 0
    for number in range(1, ROUNDS_MAX + 1):
        graph = _graph(overlay, overlay.link_count)
        moves = trim.move_links(graph, *rows, _order(graph), not for_degree)
        spare = trim.remove_spare(graph, *rows, _order(graph))
        moved, removed = moved + moves, removed + spare
        overlay = _overlay(graph)
        progress("improving, rounds", number, ROUNDS_MAX)
        if not spare and (not for_degree or not moves):
            break
    progress("improving, rounds", ROUNDS_MAX, ROUNDS_MAX)
    return Improved(overlay, removed, moved, number)


def shorten(interest: Interest, overlay: Overlay, diameter: int, progress: Progress = silent) -> Overlay:
    """Add links until no topic overlay has a larger diameter. Every topic overlay must be connected.

    A topic that is too long gets a centre (one node, or two neighbours if `diameter` is odd) that is within half the
    diameter of all holders. Topics with many holders come first, because their links also shorten smaller topics.
    """
    if diameter < 1:
        raise InputError(f"`diameter` must be at least 1, got {diameter}")
    shorter = _shorten(interest, overlay, diameter, progress)
    if diameter % 2 == 0 or diameter == 1:
        return shorter
    # Topics share fewer links with two centres than with one, so the next smaller even diameter may need fewer links.
    shortest = _shorten(interest, overlay, diameter - 1, progress)
    return min(shorter, shortest, key=lambda found: found.link_count)


def _shorten(interest: Interest, overlay: Overlay, diameter: int, progress: Progress) -> Overlay:
    rows = interest.topic_starts, interest.topic_nodes
    node_count = interest.node_count
    if diameter == 1 and int((interest.popularity * (interest.popularity - 1) // 2).sum()) > LINKS_MAX:
        raise InputError(
            f"`diameter` 1 links all subscribers of a topic to each other: that is more than {LINKS_MAX:,} links here"
        )
    lengths = np.zeros(interest.topic_count, np.int64)
    for topic in range(interest.topic_count if diameter > 1 else 0):
        lengths[topic] = topic_diameters(*rows, overlay.starts, overlay.neighbours, topic, topic + 1, True)[0][0]
    depths = np.full(node_count, -2, np.int32)
    queue, parents = np.empty(node_count, np.int32), np.empty(node_count, np.int32)
    order = np.argsort(-interest.popularity, kind="stable")
    graph = _graph(overlay, 0)
    for done, topic in enumerate(order.tolist(), start=1):
        holders = int(interest.popularity[topic])
        progress("shortening topics", done, interest.topic_count)
        if diameter > 1 and lengths[topic] <= diameter:
            continue
        room = holders * (holders - 1) // 2 if diameter == 1 else holders
        if graph.used[0] + 2 * room > len(graph.ends):
            graph = _graph(_overlay(graph), room + overlay.link_count)
        if diameter == 1:
            queue[:] = -1
            complete_topic(graph, *rows, topic, queue)
        else:
            shorten_topic(graph, *rows, topic, diameter, depths, queue, parents)
    return _overlay(graph)


def attach(
    interest: Interest, redundancy: int, existing: Overlay | None = None, progress: Progress = silent
) -> Overlay:
    """An overlay with the existing links in which every topic stays connected when any `redundancy` - 1 nodes fail.

    Nodes are added one after another, those with the most topics first. In each of its topics a node is linked to
    `redundancy` earlier nodes, or to all earlier ones if there are fewer. This is enough: a graph that stays connected
    without any k - 1 nodes keeps this property when a node with k neighbours is added, and a topic with at most k
    holders becomes a complete graph.
    """
    if redundancy < 1:
        raise InputError(f"`redundancy` must be at least 1, got {redundancy}")
    node_count = interest.node_count
    redundancy = min(redundancy, node_count)
    nodes = np.argsort(-interest.sizes, kind="stable")
    ranks = np.empty_like(nodes)
    ranks[nodes] = np.arange(node_count)
    ranked = Interest.from_pairs(ranks[interest.owners], interest.node_topics, node_count, interest.topic_count)
    places = np.empty(ranked.subscription_count, np.int64)
    find_places(ranked.node_topics, ranked.topic_starts, places)
    rows = ranked.node_starts, ranked.node_topics, ranked.topic_starts, ranked.topic_nodes
    kept_u, kept_v = existing.links() if existing is not None else (np.zeros(0, np.int32), np.zeros(0, np.int32))
    kept = Overlay.from_links(ranks[kept_u], ranks[kept_v], node_count)
    degrees = kept.degrees.astype(np.int32)
    found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    for first in range(0, node_count, NODES_AT_ONCE):
        last = min(first + NODES_AT_ONCE, node_count)
        room = int(np.minimum(ranked.sizes[first:last] * redundancy, node_count).sum())
        u, v = np.empty(room, np.int32), np.empty(room, np.int32)
        taken = attach_nodes(*rows, places, redundancy, first, last, kept.starts, kept.neighbours, degrees, u, v)
        found.append((u[:taken], v[:taken]))
        progress("attaching nodes", last, node_count)
    u, v = (np.concatenate([*(pair[side] for pair in found), np.zeros(0, np.int32)]) for side in range(2))
    return Overlay.from_links(np.concatenate((nodes[u], kept_u)), np.concatenate((nodes[v], kept_v)), node_count)


def _graph(overlay: Overlay, extra: int) -> LinkGraph:
    """The overlay as lists of half-links, with room for `extra` more links."""
    u, v = overlay.links()
    room = 2 * (len(u) + extra)
    graph = LinkGraph(
        first=np.full(overlay.node_count, -1, np.int32),
        after=np.empty(room, np.int32),
        ends=np.full(room, -1, np.int32),
        degrees=np.zeros(overlay.node_count, np.int32),
        used=np.zeros(1, np.int64),
    )
    add_links(graph, u, v)
    return graph


def _overlay(graph: LinkGraph) -> Overlay:
    v, u = graph.ends[: graph.used[0] : 2], graph.ends[1 : graph.used[0] : 2]
    return Overlay.from_links(u[u >= 0], v[v >= 0], len(graph.first))


def _order(graph: LinkGraph) -> NDArray[np.int64]:
    """The order of links by the larger degree of their two ends, largest first."""
    v, u = graph.ends[: graph.used[0] : 2], graph.ends[1 : graph.used[0] : 2]
    return np.argsort(-np.maximum(graph.degrees[u], graph.degrees[v]), kind="stable")
