"""Interests, overlays and churn, compared with plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.arrays.churn import CRASH, JOIN, LEAVE, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay, TopicViews
from gossamer.model.values.errors import InputError
from gossamer.simulator.population import CycleChanges, changes_by_cycle

NODES, TOPICS = 70, 66  # each more than one 64-bit word
pairs = st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, TOPICS - 1)), max_size=200)


def interest_of(subscriptions, roles=None):
    rows = list(subscriptions)
    nodes, topics = np.array([r[0] for r in rows], int), np.array([r[1] for r in rows], int)
    return Interest.from_pairs(nodes, topics, NODES, TOPICS, roles)


@given(pairs)
def test_an_interest_is_the_same_by_node_and_by_topic(subscriptions):
    interest = interest_of(subscriptions)
    for node in range(NODES):
        held = sorted(t for v, t in subscriptions if v == node)
        assert interest.topics_of(node).tolist() == held
    for topic in range(TOPICS):
        holding = sorted(v for v, t in subscriptions if t == topic)
        assert interest.nodes_of(topic).tolist() == holding
        assert interest.popularity[topic] == len(holding)


@given(pairs)
def test_roles_stay_with_their_subscription_in_any_order_of_rows(subscriptions):
    rows = sorted(subscriptions, key=lambda row: (row[1] * 7919 + row[0] * 31) % 97)
    roles = np.array([1 + (v + t) % 3 for v, t in rows], int)
    interest = interest_of(rows, roles)
    for node, topic, role in zip(interest.owners, interest.node_topics, interest.roles, strict=True):
        assert role == 1 + (node + topic) % 3


@given(pairs, st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=200))
def test_sorted_and_unsorted_rows_give_the_same_interest(subscriptions, ends):
    """Sorted rows take a path without sorting."""
    rows = sorted(subscriptions)
    one, other = interest_of(rows), interest_of(rows[::-1])
    for name in ("node_starts", "node_topics", "roles", "topic_starts", "topic_nodes"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    links = np.array(sorted({(min(link), max(link)) for link in ends if link[0] != link[1]}), int).reshape(-1, 2)
    one, other = (Overlay.from_links(*columns, NODES) for columns in (links.T, links[::-1, ::-1].T))
    assert one.starts.tolist() == other.starts.tolist()
    assert one.neighbours.tolist() == other.neighbours.tolist()


def test_a_repeated_subscription_is_refused():
    with pytest.raises(InputError, match="node 3 has topic 5 twice"):
        interest_of([(3, 5), (3, 5)])


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60))
def test_an_overlay_merges_repeated_links_and_drops_self_loops(links):
    u, v = np.array([a for a, _ in links], int), np.array([b for _, b in links], int)
    overlay = Overlay.from_links(u, v, 12)
    expected = {(min(a, b), max(a, b)) for a, b in links if a != b}
    assert set(zip(*(end.tolist() for end in overlay.links()), strict=True)) == expected
    assert overlay.link_count == len(expected)
    for node in range(12):
        mine = sorted({b if a == node else a for a, b in expected if node in (a, b)})
        assert overlay.neighbours_of(node).tolist() == mine
        assert overlay.degrees[node] == len(mine)


def test_ids_of_missing_nodes_and_topics_are_refused():
    with pytest.raises(ValueError, match="names node 5, but there are only 3 nodes"):
        Overlay.from_links(np.array([0]), np.array([5]), 3)
    with pytest.raises(ValueError, match="names topic 5, but there are only 3 topics"):
        Interest.from_pairs(np.array([0, 2]), np.array([5, 0]), 3, 3)


@pytest.mark.parametrize("ends", [(4, 5), (-1, 2), (5, 5), (0, 5), (0, 3 * 3 + 1)])
@pytest.mark.parametrize("links", [[(0, 1)], [(1, 2), (0, 1)], [(0, 1), (0, 1)], [(2, 2)]])
def test_a_link_to_a_missing_node_is_refused_in_any_order_of_links(links, ends):
    """Unsorted and repeated links are sorted by a key, in which a missing node looks like another one: 0-5 like 1-2."""
    u, v = np.array([*links, ends]).T
    named = ends[0] if ends[0] < 0 else ends[1]
    with pytest.raises(ValueError, match=f"names node {named}, but there are only 3 nodes"):
        Overlay.from_links(u, v, 3)


@pytest.mark.parametrize("nodes", [[0, 3], [3, 0]])
def test_a_subscription_of_a_missing_node_is_refused_in_any_order_of_rows(nodes):
    with pytest.raises(ValueError, match="names node 3, but there are only 3 nodes"):
        Interest.from_pairs(np.array(nodes), np.array([0, 0]), 3, 1)


def test_the_overlay_of_directed_views_is_their_undirected_union():
    views = TopicViews(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([1, 0, 0]))
    assert [end.tolist() for end in views.union(3).links()] == [[0, 0], [1, 2]]


def churn_of(*rows):
    columns = np.array(rows, int).reshape(-1, 3)
    return Churn.from_rows(columns[:, 0], columns[:, 1], columns[:, 2])


def test_at_the_same_time_departures_come_first_and_then_joins_both_by_id():
    churn = churn_of((5, 3, JOIN), (5, 2, LEAVE), (5, 1, JOIN), (5, 0, CRASH), (1, 9, LEAVE))
    assert churn.nodes.tolist() == [9, 0, 2, 1, 3]


def test_a_node_is_present_at_first_unless_its_first_row_is_a_join():
    churn = churn_of((5, 0, JOIN), (6, 1, LEAVE), (7, 0, LEAVE))
    assert churn.present_at_start(3).tolist() == [False, True, True]


def test_a_node_that_joins_twice_or_departs_twice_in_a_row_is_refused():
    with pytest.raises(InputError, match="node 4 joins twice in a row, the second time at 9 us"):
        churn_of((1, 4, JOIN), (9, 4, JOIN))
    with pytest.raises(InputError, match="node 4 leaves or crashes twice"):
        churn_of((1, 4, LEAVE), (9, 4, CRASH))
    with pytest.raises(InputError, match="at the same time"):
        churn_of((1, 4, LEAVE), (1, 4, JOIN))


def test_churn_takes_effect_in_the_first_cycle_at_or_after_it():
    churn = churn_of(
        (10, 0, LEAVE), (11, 1, CRASH), (25, 0, JOIN), (21, 2, LEAVE), (29, 2, JOIN), (31, 3, JOIN), (39, 3, LEAVE)
    )
    gathered = changes_by_cycle(churn, 10)
    assert gathered[1] == CycleChanges(leavers=(0,))
    assert gathered[2] == CycleChanges(crashes=(1,))
    assert gathered[3] == CycleChanges(leavers=(2,), joiners=(0, 2))
    assert gathered[4] == CycleChanges()
