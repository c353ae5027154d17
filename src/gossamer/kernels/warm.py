"""Calls every shared kernel once on a tiny input, with the argument types that the rooms use."""

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels import (
    cyclon,
    draw,
    flood,
    graphs,
    measures,
    sampling,
)
from gossamer.kernels.planning import attach, bounds, cover, graph, greedy, repair, shorten, trim
from gossamer.kernels.planning import state as plan_state
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay

U64 = np.uint64
Ids = NDArray[np.int32]


def warm_up() -> None:
    """Compile the shared kernels. Each system has its own `warm_up`; `python -m gossamer.systems` calls all."""
    for warm in (_warm_draws, _warm_cyclon, _warm_flood, _warm_graphs, _warm_measures, _warm_planning):
        warm()


def _warm_draws() -> None:
    bits = draw.draw(U64(1), U64(2), U64(3), U64(4), U64(5))
    draw.below(U64(bits), 3)
    draw.unit(U64(bits))
    draw.finish(U64(bits))
    draw.draw_base(U64(1), U64(2), U64(3), U64(4))
    sampling.draws(U64(1), U64(1), U64(0), 2)
    sampling.units(U64(1), U64(1), U64(0), 2)
    sampling.view_walks(U64(1), 3)
    sampling.draw_interests(U64(1), np.full(2, 0.5), np.array([0, 1, 3]), 0, 2)
    places = np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1, np.int32), 1
    sampling.topics_within(*places, np.empty(1, np.int32))


def _warm_cyclon() -> None:
    state = cyclon.cyclon_state(4, 2)
    counts = np.zeros(len(cyclon.KINDS), np.int64)
    cyclon.start_together(U64(1), state)
    cyclon.draw_contacts(U64(1), 0, 4, np.zeros(2, np.uint32))
    cyclon.cyclon_cycle(U64(1), U64(1), 2, 2, state, counts)
    cyclon.cyclon_fingerprint(state)
    cyclon.leave(state, 0)
    cyclon.arrive(U64(1), U64(2), 2, state, 0, 1, counts)


def _warm_flood() -> None:
    overlay = Overlay.from_links(np.array([0, 1]), np.array([1, 2]), 3)
    columns = np.zeros(3, np.int32), np.zeros(3, np.int32)
    flood.flood(0, np.ones(3, np.bool_), overlay.starts, overlay.neighbours, *columns)


def _warm_graphs() -> None:
    degrees = graphs.draw_degrees(U64(1), np.array([1, 2]), np.array([0.5, 1.0]), 4)
    graphs.spread_degrees(U64(1), np.array([1, 2]), np.array([2, 1]))
    graphs.pair_stubs(U64(1), degrees)


def _warm_measures() -> None:
    nodes = np.array([0, 1, 2, 0, 1])
    interest = Interest.from_pairs(nodes, np.array([0, 0, 0, 1, 1]), 3, 2)
    overlay = Overlay.from_links(np.array([0, 1]), np.array([1, 2]), 3)
    links = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    measures.topic_components(*links, 0, 2)
    measures.topic_clustering(*links, 0, 2)
    measures.topic_diameters(*links, 0, 2, True)
    measures.graph_diameter(overlay.starts, overlay.neighbours, True)
    measures.distances_from(0, overlay.starts, overlay.neighbours, np.full(3, -1, np.int32), np.empty(3, np.int32))
    measures.local_clustering(overlay.starts, overlay.neighbours, np.zeros(3))
    pairs = (interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes)
    measures.top_intersections(*pairs, 2, 0, 3)
    measures.correlated_pairs(*pairs, 1.96, 0, 3)


def _warm_planning() -> None:
    nodes = np.array([0, 1, 2, 0, 1])
    interest = Interest.from_pairs(nodes, np.array([0, 0, 0, 1, 1]), 3, 2)
    rows = interest.node_starts, interest.node_topics, interest.topic_starts, interest.topic_nodes
    places = np.empty(5, np.int64)
    plan_state.find_places(interest.node_topics, interest.topic_starts, places)

    def by_node() -> Ids:
        return np.zeros(3, np.int32)

    def by_place() -> Ids:
        return np.arange(5, dtype=np.int32)

    state = plan_state.PlanState(
        *rows[:2],
        places,
        *rows[2:],
        by_place(),
        by_place(),
        np.ones(5, np.int32),
        np.array([3, 2], np.int32),
        by_node(),
    )
    capacities = np.full(3, 9, np.int32)
    work = greedy.Pass(
        np.zeros(greedy.NUMBERS, np.int64), by_node(), by_node() - 1, capacities, by_node(), by_node(), by_node()
    )
    plan_state.take_links(state, np.array([0], np.int32), np.array([1], np.int32))
    plan_state.join_groups(state, by_node(), 1)
    plan_state.join_labels(state, np.zeros(len(state.labels), np.int32))
    greedy.begin_pass(state, work, True)
    greedy.take_greedily(state, work, True, 1.0, by_node(), by_node())
    bounds.least_needs(*rows, 1, 0, 3, np.zeros(3), np.zeros(2), np.zeros(2))
    shared = interest.topic_starts, by_node()[:2], np.arange(6), np.zeros(5, np.int32), np.ones(5, np.int64)
    bounds.most_shared(*shared, np.ones(2, np.bool_), 1, np.zeros(5, np.int64))
    cover.cover_topics(*rows[:2], np.arange(3, dtype=np.int32), np.ones(2, np.int32), by_node())
    kept = np.zeros(4, np.int64), np.zeros(0, np.int32)
    attach.attach_nodes(*rows, places, 1, 0, 3, *kept, by_node(), np.zeros(9, np.int32), np.zeros(9, np.int32))
    network = graph.LinkGraph(
        by_node() - 1, np.zeros(20, np.int32), np.zeros(20, np.int32) - 1, by_node(), np.zeros(1, np.int64)
    )
    graph.add_links(network, np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    order = np.arange(2)
    trim.move_links(network, *rows, order, True)
    trim.remove_spare(network, *rows, order)
    shorten.shorten_topic(network, *rows[2:], 0, 2, by_node() - 2, by_node(), by_node())
    shorten.complete_topic(network, *rows[2:], 0, by_node() - 1)
    room = repair.RepairRoom(rows[0][:-1].copy(), rows[0][1:].copy(), rows[1], by_node()[:2] - 1, by_node() - 1)
    shadow = np.array([0, 1], np.int32)
    links = np.array([0, 0, 0]), by_node()[:0]
    nodes, found = repair.places_of_terminals(room, rows[1][:1], shadow, *links, np.ones(2, np.bool_), True)
    repair.join_places(found, nodes, by_node()[:2], 3.0)
    repair.places_of_newcomer(room, rows[1][:1], shadow)
