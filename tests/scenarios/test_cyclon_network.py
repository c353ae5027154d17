"""A network that runs Cyclon: close to a random graph, with even in-degrees, connected, and quick to forget dead nodes."""

import networkx as nx
import numpy as np
import pytest

from gossamer.kernels import cyclon as kernel
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.engine import EventEngine
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import Network, Partition, UniformLatency
from gossamer.simulator.population import CycleChanges, newcomer, together
from gossamer.systems import find_system, make_machine
from gossamer.systems.cyclon.population import CyclonPopulation

NODES = 2_000
PARAMETERS = CyclonParameters()


def in_degrees(state):
    used = np.arange(state.nodes.shape[1]) < state.sizes[:, None]
    return np.bincount(state.nodes[used], minlength=len(state.sizes))


def graph_of(overlay):
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.node_count))
    graph.add_edges_from(zip(*(end.tolist() for end in overlay.links()), strict=True))
    return graph


@pytest.fixture(scope="module", params=[1, 2, 3])
def settled(request):
    population = CyclonPopulation(PARAMETERS, request.param, NODES)
    for _ in range(60):
        population.cycle()
    return population


def test_views_stay_full_and_in_degrees_are_narrower_than_a_random_graphs(settled):
    assert (settled.state.sizes >= PARAMETERS.view_size - 1).all()
    degrees = in_degrees(settled.state)
    assert degrees.mean() == pytest.approx(PARAMETERS.view_size, abs=0.5)
    # Paper (Cyclon, Figure 6): in-degrees gather around the view size; a random graph's spread is sqrt(20).
    assert degrees.std() < np.sqrt(PARAMETERS.view_size)
    assert np.percentile(degrees, 1) > PARAMETERS.view_size / 2


def test_clustering_and_path_length_are_close_to_a_random_graphs(settled):
    overlay = settled.overlay()
    graph = graph_of(overlay)
    assert nx.is_connected(graph)
    random = nx.gnm_random_graph(NODES, overlay.link_count, seed=1)
    assert nx.average_clustering(graph) == pytest.approx(nx.average_clustering(random), rel=0.25)

    def path_length(which):
        lengths = [nx.single_source_shortest_path_length(which, node) for node in range(0, NODES, 50)]
        return np.mean([length for row in lengths for length in row.values() if length])

    assert path_length(graph) == pytest.approx(path_length(random), rel=0.02)


@pytest.mark.parametrize("seed", range(40))
def test_nodes_that_all_join_through_one_contact_have_even_in_degrees(seed):
    population = CyclonPopulation(PARAMETERS, seed, 300, absent=range(1, 300))
    counts = np.zeros(5, np.int64)
    for node in range(1, 300):
        kernel.arrive(np.uint64(seed), np.uint64(node), PARAMETERS.walk_length, population.state, node, 0, counts)
        if node % 10 == 0:
            population.cycle()
    for _ in range(40):
        population.cycle()
    degrees = in_degrees(population.state)
    assert degrees.min() >= 5
    assert degrees.max() <= 50
    assert nx.is_connected(graph_of(population.overlay()))


@pytest.mark.parametrize("gap_us", [2_000, 100_000])
@pytest.mark.parametrize("seed", range(5))
def test_nodes_that_join_one_by_one_under_loss_make_one_network(seed, gap_us):
    links, engine = started_engine(seed, Network(UniformLatency(5_000, 50_000), 0.05))
    for node in range(150):
        engine.call_at(
            node * gap_us,
            lambda node=node: engine.start(node, newcomer(seed, node, engine.now_us, engine.present)),
        )
    engine.run(60_000_000)
    assert nx.is_connected(graph_of(links.overlay(150)))


def test_nodes_whose_views_became_empty_during_a_partition_rejoin():
    side = frozenset({3, 70, 111})
    network = Network(UniformLatency(5_000, 50_000), 0.0, (Partition(10_000_000, 100_000_000, side),))
    links, _ = run_events(2, network, cycles=140)
    assert nx.is_connected(graph_of(links.overlay(150)))
    assert min(len(links.neighbours[node]) for node in side) >= 4


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_half_of_the_nodes_crash_the_others_stay_connected_and_forget_them(seed):
    population = CyclonPopulation(PARAMETERS, seed, NODES)
    for _ in range(30):
        population.cycle()
    gone = tuple(range(0, NODES, 2))
    population.cycle(CycleChanges(crashes=gone))
    for _ in range(60):
        population.cycle()
    state = population.state
    used = (np.arange(PARAMETERS.view_size) < state.sizes[:, None]) & state.present[:, None]
    assert state.present[state.nodes[used]].all()
    alive = graph_of(population.overlay()).subgraph(range(1, NODES, 2))
    assert nx.is_connected(alive)


def started_engine(seed, network):
    system, links = find_system("cyclon"), LinkBook()
    parameters = CyclonParameters(view_size=8, shuffle_length=4, period_us=1_000_000)
    return links, EventEngine(
        lambda node: make_machine(system, parameters, seed, node, None), network, seed, (links, *all_checkers())
    )


def run_events(seed, network, faults=(), nodes=150, cycles=40):
    links, engine = started_engine(seed, network)
    for node in range(nodes):
        engine.start(node, together(seed, node, nodes, 8))
    for at_us, call in faults:
        engine.call_at(at_us, lambda call=call: call(engine))
    engine.run(cycles * 1_000_000)
    return links, engine


@pytest.mark.parametrize("seed", range(8))
def test_the_overlay_stays_connected_under_latency_loss_and_a_partition(seed):
    side = frozenset(range(0, 150, 3))
    network = Network(UniformLatency(5_000, 400_000), 0.05, (Partition(10_000_000, 13_000_000, side),))
    links, engine = run_events(seed, network)
    assert nx.is_connected(graph_of(links.overlay(150)))
    assert engine.lost_count > 0


@pytest.mark.parametrize("seed", range(8))
def test_nodes_that_crash_and_restart_rejoin(seed):
    def crash(engine):
        for node in range(40):
            engine.crash(node)

    def restart(engine):
        for node in range(40):
            engine.start(node, newcomer(seed, node, engine.now_us, engine.present))

    faults = [(10_500_000, crash), (20_500_000, restart)]
    links, engine = run_events(seed, Network(UniformLatency(5_000, 50_000), 0.02), faults)
    assert len(engine.present) == 150
    assert nx.is_connected(graph_of(links.overlay(150)))
    assert min(len(links.neighbours.get(node, {})) for node in range(40)) >= 4


def test_event_engine_and_kernel_agree_on_the_statistics_of_the_overlay():
    """The two engines differ in latencies and draws, but produce the same kind of graph."""
    links, _ = run_events(1, Network(UniformLatency(5_000, 50_000)), nodes=600, cycles=50)
    population = CyclonPopulation(CyclonParameters(view_size=8, shuffle_length=4), 1, 600)
    for _ in range(50):
        population.cycle()
    by_events, by_cycles = links.overlay(600), population.overlay()
    assert by_events.degrees.mean() == pytest.approx(by_cycles.degrees.mean(), rel=0.05)
    assert by_events.degrees.std() == pytest.approx(by_cycles.degrees.std(), rel=0.25)
