"""Past the greedy: local search, shorter topics, and overlays that survive failures.

Local search removes links that no topic needs and moves single ends of others, and stops when a round gains nothing. A
move strictly raises what links carry or evens out degrees, so it ends by itself; rounds are bounded all the same.
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

# Chosen: later rounds gained nothing on any workload tried.
ROUNDS_MAX = 6
# Chosen: nodes between two reports of progress.
NODES_AT_ONCE = 1_024
# What half-links can be numbered with.
LINKS_MAX = 2**30 - 1


@dataclass(frozen=True)
class Improved:
    """An overlay after local search, and what it took."""

    overlay: Overlay
    removed: int
    moved: int
    rounds: int


def improve(interest: Interest, overlay: Overlay, for_degree: bool = False, progress: Progress = silent) -> Improved:
    """Fewer links, or with `for_degree` a smaller maximum degree first, with every topic as connected as before."""
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
    """Add links until no topic overlay is longer than `diameter`; those that are not are left alone.

    A topic gets a centre (one node, or two neighbours where the diameter is odd) within half the diameter of everybody.
    Topics with many holders come first: their links serve smaller ones too. A topic overlay must be connected.
    """
    if diameter < 1:
        raise InputError(f"`diameter` must be at least 1, got {diameter}")
    shorter = _shorten(interest, overlay, diameter, progress)
    if diameter % 2 == 0 or diameter == 1:
        return shorter
    # Two centres share fewer of their links with other topics than one does; one may do for less.
    shortest = _shorten(interest, overlay, diameter - 1, progress)
    return min(shorter, shortest, key=lambda found: found.link_count)


def _shorten(interest: Interest, overlay: Overlay, diameter: int, progress: Progress) -> Overlay:
    rows = interest.topic_starts, interest.topic_nodes
    node_count = interest.node_count
    if diameter == 1 and int((interest.popularity * (interest.popularity - 1) // 2).sum()) > LINKS_MAX:
        raise InputError(
            f"`diameter=1` links all subscribers of a topic to each other: that is more than {LINKS_MAX:,} links here"
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
    """An overlay that holds the existing links and in which every topic survives the loss of any `redundancy` - 1 nodes.

    Nodes come one after another, those with most topics first, and each is linked in each of its topics to `redundancy`
    that came before it, or to all if there are fewer. Adding a node with k neighbours to a graph that k - 1 losses do not
    part gives another such graph, so each topic is one; with no more than k holders it is complete.
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
    """The overlay as lists of half-links, with room for more links."""
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
    """Links by the larger degree of their ends, the largest first."""
    v, u = graph.ends[: graph.used[0] : 2], graph.ends[1 : graph.used[0] : 2]
    return np.argsort(-np.maximum(graph.degrees[u], graph.degrees[v]), kind="stable")
