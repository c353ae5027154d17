"""Overlays that are built separately for each topic."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.arrays.interest import Interest
from gossamer.planners.per_topic import mesh_per_topic, ring_per_topic
from gossamer.workloads.interests import make_interests

rows = st.sets(st.tuples(st.integers(0, 11), st.integers(0, 4)), min_size=1, max_size=40)


def interest_of(pairs):
    columns = np.array(sorted(pairs), int)
    return Interest.from_pairs(columns[:, 0], columns[:, 1], 12, 5)


def links_of(overlay):
    return set(zip(*(end.tolist() for end in overlay.links()), strict=True))


@given(rows)
def test_a_ring_links_each_node_to_the_next_in_each_topic_and_the_last_to_the_first(pairs):
    expected = set()
    for topic in range(5):
        ring = sorted(node for node, held in pairs if held == topic)
        for one, other in zip(ring, [*ring[1:], ring[0]] if ring else [], strict=True):
            if one != other:
                expected.add((min(one, other), max(one, other)))
    assert links_of(ring_per_topic(interest_of(pairs))) == expected


@given(rows, st.integers(1, 8))
def test_a_mesh_links_only_nodes_that_share_a_topic_and_respects_its_limit(pairs, links):
    overlay = mesh_per_topic(interest_of(pairs), links, seed=1)
    for one, other in links_of(overlay):
        assert {topic for node, topic in pairs if node == one} & {topic for node, topic in pairs if node == other}
    for node in range(12):
        held = sum(1 for owner, _ in pairs if owner == node)
        assert overlay.degrees[node] <= links * held


def test_a_mesh_of_six_connects_large_topics_with_almost_six_links_each():
    interest = make_interests(2_000, 10, "1", "uniform", seed=3)
    overlay = mesh_per_topic(interest, 6, seed=3)
    assert overlay.degrees.mean() == pytest.approx(6, abs=0.2)
    graph = nx.Graph(list(links_of(overlay)))
    graph.add_nodes_from(range(2_000))
    assert nx.number_connected_components(graph) == 10
