"""Plans in rounds: parts of nodes, parts of topics, trees; and the sums of the lower bound, against the whole plan."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.planners.bounds import lower_bounds
from gossamer.planners.greedy import GM, plan
from gossamer.planners.rounds import count_needs, link_part, tree_links
from gossamer.workloads.interests import make_interests
from tests.properties.test_plans import assert_connected, workloads


def rows_of(interest):
    return interest.node_topics.astype(np.int64), interest.owners.astype(np.int64)


def in_parts(parts, topics, nodes, components):
    """One round: the links of every part, and the new components."""
    joined, links = components.copy(), [(np.zeros(0, np.int64),) * 2]
    for part in np.unique(parts):
        at = np.flatnonzero(parts == part)
        u, v, joined[at] = link_part(topics[at], nodes[at], components[at])
        links.append((u, v))
    u, v = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return u, v, joined


def in_rounds(interest, node_parts, topic_parts):
    topics, nodes = rows_of(interest)
    u, v, components = in_parts(nodes % node_parts, topics, nodes, nodes)
    if node_parts > 1:
        more_u, more_v, components = in_parts(topics % topic_parts, topics, nodes, components)
        u, v = np.concatenate((u, more_u)), np.concatenate((v, more_v))
    degrees = Overlay.from_links(u, v, interest.node_count).degrees
    tree_u, tree_v = tree_links(topics, nodes, components, degrees[nodes])
    return Overlay.from_links(np.concatenate((u, tree_u)), np.concatenate((v, tree_v)), interest.node_count)


@given(workloads(nodes_most=30), st.integers(1, 4), st.integers(1, 4))
def test_a_plan_in_rounds_is_topic_connected_and_links_only_nodes_that_share_topics(interest, node_parts, topic_parts):
    overlay = in_rounds(interest, node_parts, topic_parts)
    assert_connected(overlay, interest)
    for u, v in zip(*overlay.links(), strict=True):
        assert set(interest.topics_of(u)) & set(interest.topics_of(v))


@pytest.mark.parametrize("law", ["rss", "zipf:1.0", "uniform"])
def test_one_part_needs_as_many_links_as_gm_and_several_at_most_a_quarter_more(law):
    interest = make_interests(1_000, 100, "12", law, seed=1)
    whole = plan(interest, GM).link_count
    # The limit on the links of a node may exclude a few links that GM takes.
    assert in_rounds(interest, 1, 1).link_count <= 1.01 * whole
    assert in_rounds(interest, 3, 3).link_count <= 1.25 * whole


@given(workloads(nodes_most=20))
def test_links_of_a_part_join_two_topics_and_no_node_gets_more_links_than_topics(interest):
    topics, nodes = rows_of(interest)
    u, v, components = link_part(topics, nodes, nodes)
    graph = nx.empty_graph(interest.node_count)
    graph.add_edges_from(zip(u.tolist(), v.tolist(), strict=True))
    assert all(graph.degree(node) <= len(interest.topics_of(node)) for node in graph)
    for topic in np.unique(topics):
        holders = interest.nodes_of(topic).tolist()
        pieces = {node: min(piece) for piece in nx.connected_components(graph.subgraph(holders)) for node in piece}
        found = dict(zip(nodes[topics == topic].tolist(), components[topics == topic].tolist(), strict=True))
        assert found == pieces
    joins = sum(len(interest.nodes_of(topic)) for topic in np.unique(topics)) - len(
        set(zip(topics, components, strict=True))
    )
    assert joins >= 2 * len(u)


@given(workloads(nodes_most=20), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(interest, random):
    topics, nodes = rows_of(interest)
    order = np.array(random.sample(range(len(topics)), len(topics)), np.int64)
    u, v, components = link_part(topics, nodes, nodes)
    again_u, again_v, again = link_part(topics[order], nodes[order], nodes[order])
    assert np.array_equal(u, again_u)
    assert np.array_equal(v, again_v)
    assert np.array_equal(components[order], again)
    ends = np.zeros(len(topics), np.int64)
    trees = tree_links(topics, nodes, components, ends)
    shuffled = tree_links(topics[order], nodes[order], components[order], ends)
    assert np.array_equal(trees, shuffled)


def test_a_tree_joins_many_single_nodes_with_few_links_at_each_and_short_paths():
    nodes = np.arange(1_000)
    u, v = tree_links(np.full(1_000, 7), nodes, nodes, np.zeros(1_000, np.int64))
    graph = nx.Graph(zip(u.tolist(), v.tolist(), strict=True))
    assert nx.is_tree(graph)
    assert max(dict(graph.degree).values()) == 3
    assert nx.diameter(graph) <= 18


def test_a_tree_spreads_its_links_over_the_least_loaded_members_of_a_component():
    # Component 0 has nodes 0 to 4, of which 3 and 4 have many links already; nodes 5 and 6 are alone.
    nodes, components = np.arange(7), np.array([0, 0, 0, 0, 0, 5, 6])
    u, v = tree_links(np.zeros(7, np.int64), nodes, components, np.array([0, 0, 0, 9, 9, 0, 0]))
    assert v.tolist() in ([5, 6], [6, 5])
    assert len(set(u.tolist())) == 2
    assert set(u.tolist()) <= {0, 1, 2}


@given(workloads(nodes_most=20), st.integers(1, 3))
@settings(max_examples=100)
def test_the_sums_of_the_bound_are_those_of_the_whole_workload_in_any_division(interest, parts):
    topics, nodes = rows_of(interest)
    total = 0.0
    for part in range(parts):
        at = topics % parts == part
        lists = [interest.topics_of(node) for node in nodes[at]]
        starts = np.concatenate(([0], np.cumsum([len(held) for held in lists]))).astype(np.int64)
        flat = np.concatenate([*lists, np.zeros(0, np.int32)]).astype(np.int64)
        shares, counts = count_needs(topics[at], interest.sizes[nodes[at]], starts, flat, np.ones(at.sum(), np.bool_))
        total += float((counts / np.maximum(shares, 1)).sum())
    best = {}
    for topic in range(interest.topic_count):
        holders = interest.nodes_of(topic).tolist()
        held = [set(interest.topics_of(node)) for node in holders]
        best[topic] = [max((len(a & b) for b in held if b is not a), default=0) for a in held]
    expected = sum(sum(1 / n for n in most) - max(1 / n for n in most) for most in best.values() if len(most) > 1)
    assert total == pytest.approx(expected)
    assert total <= lower_bounds(interest).links + 1e-6


@given(workloads(nodes_most=20), st.integers(0, 2**20 - 1))
def test_without_the_lists_of_some_nodes_the_bound_is_lower_or_equal(interest, missing):
    topics, nodes = rows_of(interest)
    has_list = (missing >> nodes) & 1 == 0
    lists = [interest.topics_of(node) for node in nodes]
    starts = np.concatenate(([0], np.cumsum([len(held) for held in lists]))).astype(np.int64)
    flat = np.concatenate([*lists, np.zeros(0, np.int32)]).astype(np.int64)
    short = [held if has else held[:0] for held, has in zip(lists, has_list, strict=True)]
    short_starts = np.concatenate(([0], np.cumsum([len(held) for held in short]))).astype(np.int64)
    short_flat = np.concatenate([*short, np.zeros(0, np.int32)]).astype(np.int64)

    def bound(starts, flat, has_list):
        shares, counts = count_needs(topics, interest.sizes[nodes], starts, flat, has_list)
        return float((counts / np.maximum(shares, 1)).sum())

    whole = bound(starts, flat, np.ones(len(nodes), np.bool_))
    assert bound(short_starts, short_flat, has_list) <= whole + 1e-9


def test_topics_of_one_holder_need_no_links():
    interest = Interest.from_pairs(np.arange(4), np.arange(4), 4, 4)
    assert in_rounds(interest, 2, 2).link_count == 0
    topics, _ = rows_of(interest)
    shares, counts = count_needs(topics, np.ones(4, np.int64), np.arange(5), topics, np.ones(4, np.bool_))
    assert len(shares) == len(counts) == 0
