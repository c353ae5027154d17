"""Components and diameters of scenes, against networkx."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.protocols.telemetry import InterestChanged, LinkChanged, NodeLeft, NodeStarted, TopicLinksChanged
from gossamer.web import overlays
from gossamer.web.overlays import Diameters, components_of, links_of, topic_graphs
from gossamer.web.scene import Scene

NODES = range(8)
pairs = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda pair: pair[0] != pair[1]))


def scene_of(links=(), holders=NODES, topic=1):
    scene = Scene(str, str)
    for node in NODES:
        scene.apply(NodeStarted(0, node), 0)
        if node in holders:
            scene.apply(InterestChanged(0, node, topic, 3), 0)
    for one, other in links:
        scene.apply(LinkChanged(0, one, other, True), 0)
    return scene


@given(pairs, st.sets(st.sampled_from(NODES), min_size=1))
def test_components_and_diameters_of_a_topic_equal_those_of_networkx(links, holders):
    scene = scene_of(links, holders)
    graph = topic_graphs(scene, links_of(scene))[1]
    oracle = nx.Graph(links)
    oracle.add_nodes_from(holders)
    oracle = oracle.subgraph(holders)
    parts = components_of(graph)
    assert sorted(map(sorted, parts)) == sorted(map(sorted, nx.connected_components(oracle)))
    diameter, is_exact = Diameters().of(graph, parts[0])
    assert is_exact
    assert diameter == nx.diameter(oracle.subgraph(parts[0]))


@given(pairs)
def test_without_time_left_a_diameter_is_a_lower_bound(links):
    scene = scene_of(links)
    graph = topic_graphs(scene, links_of(scene))[1]
    parts = components_of(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlays, "SEARCHED_MAX", -1)
        bound, is_exact = Diameters().of(graph, parts[0])
    exact, _ = Diameters().of(graph, parts[0])
    assert not is_exact
    assert exact / 2 <= bound <= exact


def test_a_link_is_up_while_one_end_reports_it_and_both_are_present():
    scene = scene_of([(0, 1), (1, 0), (2, 3)])
    assert set(links_of(scene)) == {(0, 1), (2, 3)}
    scene.apply(LinkChanged(1, 0, 1, False), 1)
    assert set(links_of(scene)) == {(0, 1), (2, 3)}
    scene.apply(LinkChanged(1, 1, 0, False), 1)
    scene.apply(NodeLeft(1, 3), 1)
    assert not links_of(scene)
    scene.apply(NodeStarted(2, 3), 2)
    assert set(links_of(scene)) == {(2, 3)}


def test_where_nodes_report_their_neighbours_on_a_topic_only_these_count():
    scene = scene_of([(0, 1), (1, 2)], holders=(0, 1, 2))
    scene.apply(TopicLinksChanged(0, 0, 1, (), (1, 7)), 0)
    assert topic_graphs(scene, links_of(scene))[1] == {0: {1: None}, 1: {0: None}, 2: {}}
