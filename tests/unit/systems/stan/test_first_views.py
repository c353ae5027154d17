"""First views, measures of views, and the fit of StAN's workload."""

from math import log

import networkx as nx
import numpy as np
import pytest
from studies import stan_fit

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import TopicViews
from gossamer.simulator.measure import interest_shape
from gossamer.simulator.view_measures import directed_shape, measure_views, view_degree_columns, view_facts
from gossamer.systems.stan.first_views import first_contact, first_view
from gossamer.systems.stan.kernel import is_strong


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40, 300])
@pytest.mark.parametrize("factor", [0.2, 1.0, 2.5])
def test_first_views_are_strongly_connected_without_loops_or_repeats(count, factor):
    for topic in range(6):
        members = np.arange(100, 100 + count, dtype=np.int32)
        owners, peers = first_view(factor, 3, topic, members)
        links = list(zip(owners.tolist(), peers.tolist(), strict=True))
        graph = nx.DiGraph(links)
        graph.add_nodes_from(range(count))
        assert nx.is_strongly_connected(graph)
        assert links == sorted(set(links))
        assert all(owner != peer for owner, peer in links)


def test_first_views_have_the_expected_size_and_differ_by_topic_and_seed():
    members = np.arange(400, dtype=np.int32)
    drawn = [first_view(1.5, seed, topic, members) for seed in (1, 2) for topic in range(10)]
    mean = np.mean([len(owners) for owners, _ in drawn]) / 400
    assert abs(mean - 1.5 * log(400)) < 0.1
    assert len({peers.tobytes() for _, peers in drawn}) == len(drawn)
    again = first_view(1.5, 1, 0, members)
    assert all((one == other).all() for one, other in zip(again, drawn[0], strict=True))


def test_the_fast_check_for_strong_connection_agrees_with_networkx():
    generator = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        count = int(generator.integers(1, 9))
        links = generator.integers(0, count, (int(generator.integers(0, 3 * count)), 2)).astype(np.int32)
        graph = nx.DiGraph(links.tolist())
        graph.add_nodes_from(range(count))
        expected = nx.is_strongly_connected(graph)
        seen.add(expected)
        assert bool(is_strong(count, links[:, 0].copy(), links[:, 1].copy())) is expected
    assert seen == {True, False}


def test_a_newcomer_is_introduced_by_a_random_other_holder():
    holders = np.array([3, 5, 8], np.int32)
    found = {first_contact(1, 5, 2, time, holders) for time in range(50)}
    assert found == {3, 8}
    assert first_contact(1, 5, 2, 0, np.array([5], np.int32)) is None


def test_view_counts_agree_with_a_table_made_by_hand():
    # Node 0 holds topics 0 and 1, 1 both, 2 topic 0, 3 nothing.
    interest = Interest.from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), 4, 2)
    rows = np.array([(0, 0, 1), (1, 0, 1), (0, 0, 2), (0, 1, 2), (1, 1, 0), (0, 2, 0)], np.int32)
    measured = measure_views(TopicViews(rows[:, 0], rows[:, 1], rows[:, 2]), interest)
    assert measured.total.tolist() == [3, 2, 1]
    assert measured.unique.tolist() == [2, 2, 1]
    assert measured.known_by.tolist() == [2, 1, 2]
    facts = view_facts({"first": measured, "last": measured})
    assert facts == {"view_total": 2.0, "view_unique_first": 5 / 3, "view_unique": 5 / 3}
    columns = view_degree_columns({"first": measured})
    assert list(zip(columns["direction"], columns["degree"], columns["nodes"], strict=True)) == [
        ("out", 1, 1),
        ("out", 2, 2),
        ("in", 1, 1),
        ("in", 2, 2),
    ]


def test_the_fit_reads_only_total_and_unique_initial_of_table_2(tmp_path, monkeypatch):
    text = (stan_fit.FOLDER / "published.toml").read_text()
    kept = [line for line in text.splitlines() if "Final" not in line]
    (tmp_path / "published.toml").write_text("\n".join(kept))
    expected = stan_fit.published()
    monkeypatch.setattr(stan_fit, "FOLDER", tmp_path)
    stan_fit.published.cache_clear()
    assert stan_fit.published() == expected
    assert expected[1000, 100] == (89, 65)
    assert len(expected) == 9


def test_the_fit_stays_inside_its_ranges():
    for share in (-1.0, 0.0, 0.3, 1.0, 2.0):
        numbers = stan_fit.numbers_at(np.full(5, share))
        for name, (low, high, _) in stan_fit.RANGES.items():
            assert low * 0.999 <= numbers[name] <= high * 1.001


def test_similar_nodes_are_nodes_whose_rows_correlate():
    # 0 and 1 have equal interests; 2 has half of it; 3 has a topic that only 4 shares; 4 has all topics, 5 none.
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 3)] + [(4, topic) for topic in range(4)]
    columns = np.array(rows)
    shape = interest_shape(Interest.from_pairs(columns[:, 0], columns[:, 1], 6, 4))
    assert shape["topic_sizes"] == [4, 3, 2, 1]
    assert shape["interest_sizes"] == [4, 2, 2, 1, 1, 0]
    assert shape["nodes_with_a_like_one"] == dict.fromkeys(("0.9", "0.95", "0.98", "0.99"), 2 / 6)


def test_the_directed_shape_of_views_agrees_with_networkx_and_with_counting():
    generator = np.random.default_rng(2)
    for _ in range(20):
        rows = generator.integers(0, 12, (60, 2)).astype(np.int32)
        rows = rows[rows[:, 0] != rows[:, 1]]
        shape = directed_shape(TopicViews(np.zeros(len(rows), np.int32), rows[:, 0], rows[:, 1]), 12)
        graph = nx.DiGraph(rows.tolist())
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        assert shape["view_diameter"] == max(length for row in lengths.values() for length in row.values())
        farthest = [max(lengths[node].values()) for node in graph if graph.out_degree(node)]
        assert shape["view_eccentricity"] == pytest.approx(sum(farthest) / len(farthest))
        shares = []
        for node in graph:
            peers = list(graph.successors(node))
            pairs = [(a, b) for a in peers for b in peers if a != b]
            if peers:
                shares.append(sum(graph.has_edge(*pair) for pair in pairs) / len(pairs) if pairs else 0.0)
        assert shape["view_clustering"] == pytest.approx(np.mean(shares))
