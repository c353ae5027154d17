"""The figures of `what-if` against networkx."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.arrays.churn import CRASH, JOIN, Churn
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.simulator.single_points import single_points
from gossamer.simulator.what_if import (
    Loss,
    connectivity,
    links_among,
    path_lengths,
    random_losses,
    trace_losses,
    what_if,
    zone_losses,
)
from tests.properties.test_plans import assert_connected, graph_of, workloads


@st.composite
def overlays(draw):
    """Interests, and an overlay that need not connect them."""
    interest = draw(workloads())
    ends = st.integers(0, interest.node_count - 1)
    links = np.array(draw(st.lists(st.tuples(ends, ends), max_size=30)), np.int64).reshape(-1, 2)
    return interest, Overlay.from_links(links[:, 0], links[:, 1], interest.node_count)


def topic_graphs(overlay, interest):
    for topic in range(interest.topic_count):
        yield topic, graph_of(overlay).subgraph(interest.nodes_of(topic).tolist())


@given(overlays())
def test_topics_disconnected_and_nodes_cut_off_are_those_of_networkx(drawn):
    interest, overlay = drawn
    found, apart = connectivity(overlay, interest)
    parts = {
        topic: sorted(map(len, nx.connected_components(graph))) for topic, graph in topic_graphs(overlay, interest)
    }
    assert found["topics_disconnected"] == sum(len(sizes) > 1 for sizes in parts.values())
    assert found["subscriptions_cut_off"] == apart.sum() == sum(sum(sizes[:-1]) for sizes in parts.values())
    assert found["topics"] == sum(sum(sizes) > 1 for sizes in parts.values())


@given(overlays())
def test_single_points_are_articulation_points_with_the_nodes_that_they_cut_off(drawn):
    interest, overlay = drawn
    expected = set()
    for topic, graph in topic_graphs(overlay, interest):
        for node in nx.articulation_points(graph):
            component = nx.node_connected_component(graph, node) - {node}
            sizes = sorted(map(len, nx.connected_components(graph.subgraph(component))))
            expected.add((node, topic, sum(sizes[:-1])))
    assert list(single_points(overlay, interest)) == sorted(expected, key=lambda point: (point[1], point[0]))


@given(overlays())
def test_path_lengths_are_those_of_networkx(drawn):
    interest, overlay = drawn
    hops = [
        length
        for _, graph in topic_graphs(overlay, interest)
        for source, lengths in nx.all_pairs_shortest_path_length(graph)
        for target, length in lengths.items()
        if source != target
    ]
    found = path_lengths(overlay, interest)
    assert found["max_hops"] == max(hops, default=0)
    assert abs(found["mean_hops"] - (sum(hops) / max(len(hops), 1))) < 1e-9


@given(overlays(), st.data())
def test_mending_connects_what_is_left_and_keeps_its_links(drawn, data):
    interest, overlay = drawn
    left = np.array(data.draw(st.lists(st.booleans(), min_size=interest.node_count, max_size=interest.node_count)))
    found = what_if(overlay, Workload.from_interest(interest), [Loss("some", left)])
    rest = graph_of(links_among(overlay, left))
    assert rest.edges == graph_of(overlay).subgraph(np.flatnonzero(left).tolist()).edges
    assert found.after["links"] == rest.number_of_edges()
    assert found.mended["links"] == found.after["links"] + found.new_links
    assert found.mended["topics_disconnected"] == 0
    assert found.lost_nodes == np.flatnonzero(~left).tolist()
    if not found.after["topics_disconnected"]:
        assert found.new_links == 0
        assert_connected(overlay, interest.among(left))


def test_random_losses_take_the_share_and_repeat_with_the_seed():
    one, other = (random_losses(50, 0.2, 3, 7) for _ in range(2))
    assert [loss.left.sum() for loss in one] == [40, 40, 40]
    assert all((a.left == b.left).all() for a, b in zip(one, other, strict=True))
    assert len({loss.left.tobytes() for loss in one}) == 3


def test_the_worst_case_is_the_one_that_cuts_off_most():
    # A chain 0-1-2-3-4 in one topic: without 2 two nodes are cut off, without 0 nobody.
    interest = Workload.from_interest(_one_topic(5))
    chain = Overlay.from_links(np.arange(4), np.arange(1, 5), 5)
    losses = zone_losses(["end", "middle"], np.array([0, -1, 1, -1, -1]))
    found = what_if(chain, interest, losses)
    assert found.worst == "middle"
    assert [case["subscriptions_cut_off"] for case in found.cases] == [0, 2]
    assert found.new_links == 1
    assert found.single_points == [(1, 0, 1), (2, 0, 2), (3, 0, 1)]


def test_a_trace_is_measured_at_every_moment_and_returning_nodes_have_their_links():
    churn = Churn.from_rows(np.array([5, 9]) * 1_000_000, np.array([1, 1]), np.array([CRASH, JOIN]))
    losses = trace_losses(churn, 3)
    assert [(loss.name, loss.left.tolist()) for loss in losses] == [
        ("0 s", [True] * 3),
        ("5 s", [True, False, True]),
        ("9 s", [True] * 3),
    ]


def _one_topic(nodes):
    from gossamer.model.arrays.interest import Interest

    return Interest.from_pairs(np.arange(nodes), np.zeros(nodes, np.int64), nodes, 1)
