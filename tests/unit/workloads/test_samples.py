"""Samples of real data in memory."""

import gzip

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.workloads.samples import make_churn_events, sample_churn, sample_graph

PATH = "\n".join(f"{node} {node + 1}" for node in range(100, 130))


def test_a_sample_is_connected_and_keeps_all_edges_between_its_nodes(tmp_path):
    (tmp_path / "edges.txt").write_text(PATH)
    for seed in range(5):
        interest = sample_graph(tmp_path / "edges.txt", 10, 1, seed, directed=False)
        assert interest.node_count == interest.topic_count == 10
        # A connected piece of a path of ten nodes has nine edges, each in both directions.
        assert interest.subscription_count == 18


def test_another_component_is_searched_when_one_is_exhausted(tmp_path):
    (tmp_path / "edges.txt").write_text("1 2\n3 4\n5 6\n")
    assert sample_graph(tmp_path / "edges.txt", 6, 1, 1, directed=False).subscription_count == 6
    with pytest.raises(InputError, match="1 to 6 nodes"):
        sample_graph(tmp_path / "edges.txt", 7, 1, 1, directed=False)


def test_followers_subscribe_in_one_direction(tmp_path):
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    interest = sample_graph(tmp_path / "edges.txt", 3, 1, 1, directed=True)
    assert [interest.topics_of(node).tolist() for node in range(3)] == [[1], [2], []]


def trace(path, rows):
    with gzip.open(path, "wt") as file:
        file.write("".join(f"{at},{machine},{event},platform,0.5,0.2\n" for at, machine, event in rows))
    return path


def test_a_trace_gives_joins_and_leaves_that_are_possible_and_is_repeated_where_it_ends(tmp_path):
    rows = [(0, 7, 0), (0, 8, 0), (5, 7, 1), (6, 9, 0), (7, 8, 2), (9, 7, 0), (12, 9, 1)]
    absent, churn = sample_churn(trace(tmp_path / "t.csv.gz", rows), 3, 10, 1)
    assert absent.tolist() == [2]
    once = [[0, 0], [2, 1], [0, 1], [2, 0]]
    assert churn.tolist() == (once * 3)[:10]


def test_a_trace_with_too_few_machines_or_bad_rows_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="has 1 machines, fewer than the 2 nodes"):
        sample_churn(trace(tmp_path / "t.csv.gz", [(0, 7, 0)]), 2, 5, 1)
    with pytest.raises(InputError, match="has no events of the chosen machines"):
        sample_churn(trace(tmp_path / "t.csv.gz", [(0, 7, 0)]), 1, 5, 1)
    (tmp_path / "bad.csv").write_text("now,7,0\n")
    with pytest.raises(InputError, match="not a table of machine events"):
        sample_churn(tmp_path / "bad.csv", 1, 5, 1)


def test_generated_churn_keeps_most_nodes_present_and_never_repeats_a_state():
    absent, churn = make_churn_events(200, 1_000, 5)
    present = np.ones(200, np.bool_)
    present[absent] = False
    for node, is_join in churn.tolist():
        assert present[node] != is_join
        present[node] = is_join
    assert present.mean() > 0.5
    assert make_churn_events(200, 1_000, 5)[1].tolist() == churn.tolist()
    with pytest.raises(InputError, match="churn needs more than 1 nodes"):
        make_churn_events(1, 5, 1)
