"""Call every kernel once on a tiny input, with the types that the rooms use."""

from collections.abc import Callable

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
from gossamer.kernels.jit import COMPILED
from gossamer.kernels.planning import attach, bounds, cover, graph, greedy, shorten, trim
from gossamer.kernels.planning import state as plan_state
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.systems.gossip import kernel as gossip
from gossamer.systems.spidercast.kernel import cycle as spidercast
from gossamer.systems.spidercast.kernel import mend
from gossamer.systems.spidercast.kernel.selection import fill_masks
from gossamer.systems.spidercast.kernel.state import (
    COUNTERS,
    RootState,
    TaskState,
    World,
)
from gossamer.systems.stan import kernel as stan

U64 = np.uint64
Ids = NDArray[np.int32]


def compile_all() -> int:
    """Compile what is not yet compiled; returns how many kernels there are."""
    for group in GROUPS.values():
        compile_group(group)
    return len(COMPILED)


def compile_group(group: "Group") -> None:
    """Compile some of them."""
    for warm in group:
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


def _warm_spidercast() -> None:
    # The state is put together by the population; that room stands above this one, so it is made here by hand.
    world = World(
        starts=np.array([0, 1, 2]),
        sizes=np.ones(2, np.int32),
        topics=np.zeros(2, np.int32),
        present=np.zeros(2, np.bool_),
        holders=np.zeros((1, 1), np.uint64),
        everybody=np.zeros(1, np.uint64),
        view_size=0,
        strides=np.zeros(0, np.int64),
        offsets=np.zeros(0, np.int64),
        mask_starts=np.zeros(3, np.int64),
        masks=np.zeros(0, np.uint32),
        counts=np.zeros(0, np.uint8),
        blocked=np.zeros(1, np.uint64),
        wanted=np.zeros(1, np.bool_),
        planes=np.zeros((2, 1), np.uint64),
    )
    greedy, random = (
        TaskState(
            np.array([0, 4, 8]),
            np.zeros(2, np.int32),
            np.zeros(8, np.int32),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint16),
            np.zeros(8, np.uint64),
            np.zeros(8, np.int64),
            np.zeros(2, np.int32),
            np.zeros(2, np.int32),
            np.zeros(2, np.int32),
            np.zeros(2, np.uint16),
            np.zeros(2, np.int32),
            np.zeros((2, 1), np.int32),
            np.zeros(2, np.bool_),
            np.zeros(8, np.bool_),
            np.zeros(8, np.bool_),
            np.zeros(2, np.bool_),
        )
        for _ in range(2)
    )
    counters = np.zeros(COUNTERS, np.int64)
    spidercast.begin_together(world, greedy, random, 1, 0, np.ones(2, np.bool_))
    fill_masks(world, np.zeros((2, 1), np.uint16), 1)
    for node in range(2):
        spidercast.hold(world, node, True)
        for task in (greedy, random):
            spidercast.begin(world, task, 1, node)
    order = np.arange(2, dtype=np.int32)
    sampling.draw_items(U64(1), U64(0), U64(1), U64(1), order)
    rules = np.array([0, 1])
    spidercast.spidercast_cycle(world, greedy, random, rules, 1, False, True, False, U64(1), U64(1), 1, order, counters)
    roots = RootState(np.zeros(2, np.int32), np.zeros(2, np.uint8), np.zeros(2, np.uint8), np.zeros(2, np.bool_))
    mend.begin_roots(world, roots, 0)
    mend.mend_cycle(world, greedy, random, roots, 1, 1, 1, 1, False, U64(1), U64(1), order, counters)
    spidercast.spidercast_fingerprint(greedy, random)
    for last, task in enumerate((greedy, random)):
        spidercast.change_interest(world, task, 0, np.zeros(1, np.int32), 1, counters, bool(last))
        spidercast.recover_around(world, task, 0)
        spidercast.depart(world, task, 0, True, counters)


def _warm_stan() -> None:
    members, places = np.arange(3, dtype=np.int32), np.full(3, -1, np.int32)
    links = np.zeros(9, np.int32), np.zeros(9, np.int32)
    stan.draw_first_views(U64(1), members, 1.0, *links)
    stan.is_strong(3, *links)
    topic = stan.TopicArrays(
        members,
        np.zeros(3, np.int32),
        np.zeros(3, np.int32),
        np.zeros(3, np.int32),
        np.zeros((3, 4), np.int32),
        np.zeros((3, 4), np.uint64),
    )
    rules = stan.TopicRules(U64(1), U64(2), 1, 1.0, True, 1, 4)
    counters = np.zeros(stan.COUNTERS, np.int64)
    stan.begin_views(topic, U64(1), links[0][:2] + np.int32(1), links[1][:2], counters)
    stan.enter(topic, rules, U64(1), 0, 1, counters)
    stan.walk_topic(topic, rules, U64(1), places, counters)
    stan.topic_fingerprint(topic)
    stan.leave(topic, rules, U64(1), 0, True, counters)


def _warm_flood() -> None:
    overlay = Overlay.from_links(np.array([0, 1]), np.array([1, 2]), 3)
    columns = np.zeros(3, np.int32), np.zeros(3, np.int32)
    flood.flood(0, np.ones(3, np.bool_), overlay.starts, overlay.neighbours, *columns)


def _warm_gossip() -> None:
    degrees = graphs.draw_degrees(U64(1), np.array([1, 2]), np.array([0.5, 1.0]), 4)
    graphs.spread_degrees(U64(1), np.array([1, 2]), np.array([2, 1]))
    overlay = Overlay.from_links(*graphs.pair_stubs(U64(1), degrees), 4)
    events = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    holders = np.array([0, 1]), np.zeros(1, np.int32)
    gossip.disseminate_many(U64(1), *events, *holders, overlay.starts, overlay.neighbours, 0.5, 2)


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
    greedy.begin_pass(state, work, True)
    greedy.take_greedily(state, work, True, 1.0, by_node(), by_node())
    bounds.least_needs(*rows, 1, 0, 3, np.zeros(3), np.zeros(2), np.zeros(2))
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


Group = tuple[Callable[[], None], ...]

# Groups of about the same cost: a set-up with two cores compiles them side by side.
GROUPS: dict[str, Group] = {
    "spidercast": (_warm_draws, _warm_spidercast),
    "others": (_warm_draws, _warm_cyclon, _warm_stan, _warm_flood, _warm_gossip, _warm_measures, _warm_planning),
}
