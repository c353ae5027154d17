"""Every measure, compared with networkx or brute force on random small cases and with values computed by hand."""

from itertools import combinations
from math import sqrt
from statistics import NormalDist, mean

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.kernels import measures as kernel
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose, draw, unit
from gossamer.simulator.measure import (
    after_failure,
    interest_correlation,
    links_per_subscription,
    measure_topics,
    overlay_clustering,
    overlay_diameter,
    summarise,
    top_intersection,
)

NODES, TOPICS = 14, 6
nodes = st.integers(0, NODES - 1)
overlays = st.lists(st.tuples(nodes, nodes), max_size=50)
interests = st.sets(st.tuples(nodes, st.integers(0, TOPICS - 1)), min_size=1, max_size=60)


def overlay_of(links, node_count=NODES):
    ends = np.array(links, int).reshape(-1, 2)
    return Overlay.from_links(ends[:, 0], ends[:, 1], node_count)


def interest_of(rows, node_count=NODES, topic_count=TOPICS):
    columns = np.array(sorted(rows), int).reshape(-1, 2)
    return Interest.from_pairs(columns[:, 0], columns[:, 1], node_count, topic_count)


def graph_of(links, members):
    graph = nx.Graph()
    graph.add_nodes_from(members)
    graph.add_edges_from((a, b) for a, b in links if a != b and a in graph and b in graph)
    return graph


def diameter_of(graph):
    """The largest finite distance."""
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    return max((d for row in lengths.values() for d in row.values()), default=0)


@settings(max_examples=300)
@given(overlays, interests)
def test_topic_measures_agree_with_networkx(links, rows):
    interest = interest_of(rows)
    topics = measure_topics(overlay_of(links), interest)
    for topic in range(TOPICS):
        graph = graph_of(links, [v for v, t in rows if t == topic])
        assert topics.subscribers[topic] == len(graph)
        assert topics.components[topic] == nx.number_connected_components(graph)
        assert topics.links[topic] == graph.number_of_edges()
        assert topics.diameter[topic] == topics.diameter_most[topic] == diameter_of(graph)
        assert topics.clustering[topic] == pytest.approx(nx.average_clustering(graph) if len(graph) else 0.0)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=70))
def test_the_diameter_of_a_sparse_graph_is_exact_and_lies_between_its_bounds(links):
    overlay = overlay_of(links, 40)
    expected = diameter_of(graph_of(links, range(40)))
    assert kernel.graph_diameter(overlay.starts, overlay.neighbours, True) == (expected, expected)
    lower, upper = kernel.graph_diameter(overlay.starts, overlay.neighbours, False)
    assert lower <= expected <= upper <= 2 * lower


@pytest.mark.parametrize("seed", range(6))
def test_the_diameter_is_exact_if_more_than_sixty_four_nodes_are_in_one_shell(seed):
    graph = nx.random_regular_graph(3, 300, seed=seed)
    overlay = overlay_of(list(graph.edges), 300)
    assert overlay_diameter(overlay) == nx.diameter(graph)


@given(overlays)
def test_overlay_clustering_and_distances_agree_with_networkx(links):
    overlay, graph = overlay_of(links), graph_of(links, range(NODES))
    assert overlay_clustering(overlay) == pytest.approx(nx.average_clustering(graph))
    distances = np.full(NODES, -1, np.int32)
    reached = kernel.distances_from(0, overlay.starts, overlay.neighbours, distances, np.empty(NODES, np.int32))
    expected = nx.single_source_shortest_path_length(graph, 0)
    assert reached == len(expected)
    assert distances.tolist() == [expected.get(node, -1) for node in range(NODES)]


@given(interests, st.integers(1, 20))
def test_tdi_agrees_with_brute_force(rows, depth):
    held = [{t for v, t in rows if v == node} for node in range(NODES)]

    def intersection(a, b):
        smaller = min(len(a), len(b))
        return 100 * len(a & b) / smaller if smaller else 0.0

    means = []
    for node in range(NODES):
        values = sorted((intersection(held[node], held[o]) for o in range(NODES) if o != node), reverse=True)
        means.append(mean(values[:depth]))
    assert top_intersection(interest_of(rows), depth) == pytest.approx(mean(means))


@given(interests, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_interest_correlation_agrees_with_numpy(rows, confidence):
    table = np.zeros((NODES, TOPICS))
    for node, topic in rows:
        table[node, topic] = 1
    critical = NormalDist().inv_cdf((1 + confidence) / 2)
    found = 0
    for a, b in combinations(range(NODES), 2):
        if table[a].std() and table[b].std():
            strength = abs(np.corrcoef(table[a], table[b])[0, 1]) * sqrt(TOPICS)
            if abs(strength - critical) < 1e-9:
                return  # exactly at the limit, where rounding decides
            found += strength > critical
    assert interest_correlation(interest_of(rows), confidence) == found / (NODES * (NODES - 1) / 2)


@given(overlays, interests)
def test_links_per_subscription_agrees_with_brute_force(links, rows):
    graph = graph_of(links, range(NODES))
    sizes = {node: sum(1 for v, _ in rows if v == node) for node in range(NODES)}
    expected = mean(graph.degree[node] / sizes[node] for node in range(NODES) if sizes[node])
    assert links_per_subscription(overlay_of(links), interest_of(rows)) == pytest.approx(expected)


# Computed by hand: a square 0-1-2-3 with one diagonal 0-2, a tail 3-4, and an isolated node 5.
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)]
# Topic 0: all nodes. Topic 1: 1, 3, 4 (1 is disconnected). Topic 2: 0, 1, 2 (a triangle). Topic 3: 5.
HOLDINGS = [*((node, 0) for node in range(6)), (1, 1), (3, 1), (4, 1), (0, 2), (1, 2), (2, 2), (5, 3)]


def test_measures_of_a_square_with_a_tail_equal_values_computed_by_hand():
    overlay, interest = overlay_of(SQUARE, 6), interest_of(HOLDINGS, 6, 4)
    topics = measure_topics(overlay, interest)
    assert topics.subscribers.tolist() == [6, 3, 3, 1]
    assert topics.components.tolist() == [2, 2, 1, 1]
    assert topics.links.tolist() == [6, 1, 3, 0]
    assert topics.diameter.tolist() == [3, 1, 1, 0]
    # 0 and 2: two of three pairs of neighbours linked; 1: its one pair; 3: one pair of three; 4, 5: none.
    assert overlay_clustering(overlay) == pytest.approx((2 / 3 + 1 + 2 / 3 + 1 / 3) / 6)
    assert topics.clustering.tolist() == pytest.approx([(2 / 3 + 1 + 2 / 3 + 1 / 3) / 6, 0, 1, 0])
    summary = summarise(overlay, interest, topics)
    assert (summary["nodes"], summary["links"], summary["topics"]) == (6, 6, 4)
    assert (summary["average_degree"], summary["max_degree"]) == (2.0, 3)
    assert (summary["partitioned_topics"], summary["components"], summary["max_topic_diameter"]) == (2, 6, 3)
    # Degrees 3 2 3 3 1 0 over interests of 2 3 2 2 2 2.
    assert summary["links_per_subscription"] == pytest.approx((1.5 + 2 / 3 + 1.5 + 1.5 + 0.5 + 0) / 6)


def test_tdi_of_three_interests_equals_values_computed_by_hand():
    interest = interest_of([(0, 0), (0, 1), (1, 1), (1, 2), (1, 3), (2, 3)], 3, 4)
    # 0-1: 1 of 2 = 50%; 1-2: 1 of 1 = 100%; 0-2: no common topic.
    assert top_intersection(interest, 1) == pytest.approx((50 + 100 + 100) / 3)
    assert top_intersection(interest, 2) == pytest.approx((25 + 75 + 50) / 3)


@given(overlays, interests, st.floats(0.05, 0.95), st.integers(0, 2**64 - 1))
def test_topics_disconnected_by_a_failure_agree_with_networkx(links, rows, share, seed):
    overlay, interest = overlay_of(links), interest_of(rows)
    found = after_failure(overlay, interest, share, seed)
    left = [node for node in range(NODES) if unit(draw(seed, node, Purpose.FAILED, 0)) >= share]
    graph = nx.Graph(links)
    graph.add_nodes_from(range(NODES))
    alive = [graph.subgraph(set(interest.nodes_of(topic).tolist()) & set(left)) for topic in range(TOPICS)]
    assert found["topics_after_failure"] == sum(len(part) > 1 for part in alive)
    parted = sum(len(part) > 1 and not nx.is_connected(part) for part in alive)
    assert found["partitioned_topics_after_failure"] == parted
