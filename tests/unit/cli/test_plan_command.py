"""`gossamer plan`."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from gossamer.model.values.errors import InputError
from gossamer.planners.greedy import GM, plan
from gossamer.planners.plan import plan as plan_workload
from gossamer.workloads.social import read_friends, read_memberships
from tests.unit.conftest import files

OPTIONS = [
    (),
    ("--objective", "average", "--improve"),
    ("--objective", "maximum"),
    ("--rho", "1.5", "--diameter", "4"),
    ("--redundancy", "2"),
    ("--parts", "3"),
]


@pytest.mark.parametrize("flags", OPTIONS)
def test_a_plan_is_connected_measured_and_written_for_live_nodes(gossamer, workload, tmp_path, flags):
    code, out, error = gossamer("plan", workload, "p", *flags, "--json")
    assert code == 0, error
    expected = ["degrees.parquet", "interests.parquet", "manifest.json", "metrics.json", "overlay.parquet"]
    expected += ["peers.json", "topics.parquet"]
    assert files(tmp_path / "p") == expected
    metrics = json.loads(out)
    assert metrics == json.loads((tmp_path / "p" / "metrics.json").read_text())
    assert metrics["partitioned_topics"] == 0
    assert metrics["links_at_least"] <= metrics["links"]
    assert metrics["max_degree_at_least"] <= metrics["max_degree"]
    checked = json.loads(gossamer("check", "p", workload, "--json")[1])
    assert checked["links"] == metrics["links"]
    assert checked["partitioned_topics"] == 0


def test_peers_json_lists_each_link_at_both_nodes_and_each_nodes_topics(gossamer, workload, tmp_path):
    assert gossamer("plan", workload, "p")[0] == 0
    peers = json.loads((tmp_path / "p" / "peers.json").read_text())
    links = pq.read_table(tmp_path / "p" / "overlay.parquet").to_pylist()
    stated = {(node, other) for node, entry in peers.items() for other in entry["peers"]}
    assert stated == {
        pair for link in links for pair in ((str(link["u"]), str(link["v"])), (str(link["v"]), str(link["u"])))
    }
    rows = pq.read_table(workload / "interests.parquet").to_pylist()
    held = {(node, topic) for node, entry in peers.items() for topic in entry["topics"]}
    assert held == {(str(row["node"]), str(row["topic"])) for row in rows}


def test_kept_links_stay_and_a_connected_overlay_gets_no_more_links(gossamer, workload, tmp_path):
    assert gossamer("build", "ring-per-topic", workload, "ring", "--seed", 1)[0] == 0
    assert gossamer("plan", workload, "p", "--keep", "ring")[0] == 0
    ring, kept = (pq.read_table(tmp_path / name / "overlay.parquet") for name in ("ring", "p"))
    assert ring.equals(kept)
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    assert set(manifest["inputs"]) == {"interests", "kept"}


def test_topics_that_do_not_fit_in_the_budget_are_listed(gossamer, workload):
    code, out, _ = gossamer("plan", workload, "p", "--degree-budget", 2)
    assert code == 0
    assert "do not fit in the budget" in out
    metrics = json.loads(gossamer("plan", workload, "q", "--degree-budget", 2, "--json")[1])
    assert metrics["max_degree"] <= 2
    assert len(metrics["topics_given_up"]) == metrics["partitioned_topics"] > 0


def test_a_plan_that_names_another_disconnected_topic_than_it_has_is_not_written(
    gossamer, workload, tmp_path, monkeypatch
):
    def wrong(*arguments):
        planned = plan_workload(*arguments)
        given_up = planned.disconnected_topics
        connected = next(topic for topic in planned.workload.topic_ids.tolist() if topic not in given_up)
        return replace(planned, disconnected_topics=[*given_up[1:], connected])

    monkeypatch.setattr("gossamer.planners.plan.plan", wrong)
    code, _, error = gossamer("plan", workload, "p", "--degree-budget", 2)
    assert code == 1
    assert "topics that must be connected are disconnected" in error
    assert not (tmp_path / "p").exists()


def test_topics_with_too_few_nodes_for_the_redundancy_are_listed(gossamer, workload):
    metrics = json.loads(gossamer("plan", workload, "p", "--redundancy", 15, "--json")[1])
    assert metrics["topics_too_small_for_redundancy"]
    assert "too few nodes for this redundancy" in gossamer("plan", workload, "q", "--redundancy", 15)[1]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--rho", "0.5"), "rho must be at least 1, got 0.5"),
        (("--degree-budget", "0"), "--degree-budget must be at least 1, got 0"),
        (("--redundancy", "0"), "--redundancy must be at least 1"),
        (("--parts", "61"), "--parts must be between 1 and the number of nodes (60), got 61"),
        (("--keep", "nowhere"), "nowhere"),
        (("--keep", "w", "--improve"), "overlay"),
        (("--degree-budget", "3", "--parts", "2"), "--degree-budget forbids links"),
    ],
)
def test_bad_options_get_one_sentence_and_leave_no_output(gossamer, workload, tmp_path, flags, sentence):
    code, out, error = gossamer("plan", workload, "p", *flags)
    assert (code, out) == (2, "")
    assert sentence in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "p").exists()


def test_a_kept_overlay_with_unknown_nodes_is_refused(gossamer, workload, tmp_path):
    assert (
        gossamer("workload", "make", "larger", "--nodes", 90, "--topics", 5, "--subscriptions", 2, "--seed", 1)[0] == 0
    )
    assert gossamer("build", "gm", "larger", "other", "--seed", 1)[0] == 0
    code, _, error = gossamer("plan", workload, "p", "--keep", "other")
    assert code == 2
    assert "which is not in the workload" in error


def test_a_list_of_edges_becomes_a_friend_workload(tmp_path):
    (tmp_path / "edges.txt").write_text("# friends\n10 20\n20 10\n30 10\n7 7\n")
    interest = read_friends(tmp_path / "edges.txt")
    assert interest.node_count == 4  # 7, 10, 20, 30
    assert [interest.topics_of(node).tolist() for node in range(4)] == [[], [2, 3], [1], [1]]
    (tmp_path / "bad.txt").write_text("1 two\n")
    with pytest.raises(InputError, match="not a list of edges"):
        read_friends(tmp_path / "bad.txt")
    (tmp_path / "wide.txt").write_text("1 2 3\n")
    with pytest.raises(InputError, match="3 columns, not two"):
        read_friends(tmp_path / "wide.txt")


def test_a_list_of_memberships_becomes_a_workload_of_users_and_groups(tmp_path):
    (tmp_path / "groups.txt").write_text("5 900\n9 900\n9 7\n5 900\n")
    interest = read_memberships(tmp_path / "groups.txt")
    assert (interest.node_count, interest.topic_count) == (2, 2)
    assert [interest.topics_of(node).tolist() for node in range(2)] == [[1], [0, 1]]
    (tmp_path / "wide.txt").write_text("1 2 3\n")
    with pytest.raises(InputError, match="not a list of memberships: it has 3 columns"):
        read_memberships(tmp_path / "wide.txt")


@pytest.mark.parametrize("folder", [(), ("--data", "nowhere")])
def test_an_experiment_on_real_data_names_the_missing_file(gossamer, folder):
    code, _, error = gossamer("reproduce", "feverfew/groups", *folder)
    assert code == 2
    assert "release-youtube-groupmemberships.txt.gz" in error
    assert "--data" in error


def test_exhibits_on_real_data_name_the_missing_file(gossamer):
    code, _, error = gossamer("reproduce", "planners/friends-average-degree")
    assert code == 2
    assert "ego-facebook/facebook_combined.txt.gz; give the folder of the real data sets with --data" in error


def test_the_planners_on_real_friendships_need_no_more_links_than_the_prototype(real_data):
    edges = real_data / "ego-facebook" / "facebook_combined.txt.gz"
    if not edges.is_file():
        pytest.skip(f"no real data at {edges}")
    interest = read_friends(edges)
    overlay = plan(interest, GM)
    assert overlay.link_count <= 7_060
    assert np.all(overlay.degrees > 0)


@pytest.mark.parametrize(
    "flags",
    [
        ("--objective", "maximum"),
        ("--objective", "average"),
        ("--rho", "2"),
        ("--redundancy", "2"),
        ("--degree-budget", "3"),
        ("--diameter", "8"),
        ("--improve",),
        ("--keep", "w"),
        ("--bounds",),
    ],
)
def test_options_that_need_the_whole_overlay_are_refused_before_spark_starts(gossamer, workload, tmp_path, flags):
    for where in (("--spark",), ("--master", "spark://nowhere:1")):
        code, out, error = gossamer("plan", workload, "p", *flags, *where)
        assert (code, out) == (2, "")
        assert (
            f"{flags[0]} needs the whole overlay in one process; leave out {flags[0]} or plan without --spark" in error
        )
        assert not (tmp_path / "p").exists()


def test_a_workload_that_does_not_exist_is_refused_before_spark_starts(gossamer, tmp_path):
    code, _, error = gossamer("plan", "nowhere", "p", "--spark")
    assert code == 2
    assert "nowhere is not a folder; a workload is a folder that contains interests.parquet" in error


SUBS = """service,topic,role,zone
支付-1,заказы,publishes,eu
支付-1,prices,follows,eu
orders-1,заказы,follows,eu
orders-1,prices,both,eu
orders-2,заказы,follows,us
orders-2,prices,follows,us
billing,заказы,follows,asia
"""


def test_names_go_in_from_a_csv_and_come_out_of_every_command(gossamer, tmp_path):
    (tmp_path / "subs.csv").write_text(SUBS)
    code, out, error = gossamer("workload", "show", "subs.csv", "--json")
    assert code == 0, error
    shown = json.loads(out)
    assert shown["largest_topics"] == {"заказы": 4, "prices": 3}
    assert shown["zones"] == {"asia": 1, "eu": 2, "us": 1}
    code, out, error = gossamer("plan", "subs.csv", "p")
    assert code == 0, error
    assert "支付-1" in out
    assert "also without any one of 3 zones" in out
    peers = json.loads((tmp_path / "p" / "peers.json").read_text())
    assert peers["支付-1"]["topics"] == ["prices", "заказы"]
    assert peers["支付-1"]["publishes"] == ["заказы"]
    assert set(peers["billing"]["peers"]) <= set(peers)
    # The folder of a plan is a workload too.
    assert json.loads(gossamer("check", "p", "p", "--json")[1])["disconnected_topics"] == []
    (tmp_path / "more.csv").write_text(SUBS + "late,заказы,follows,us\n")
    code, out, error = gossamer("check", "p", "more.csv")
    assert code == 0, error
    assert "1 of 2 topics are disconnected: заказы" in out


def test_a_plan_for_the_first_nodes_has_only_these_and_their_topics(gossamer, tmp_path):
    (tmp_path / "subs.csv").write_text(SUBS)
    assert gossamer("plan", "subs.csv", "p", "--nodes", 2, "--ignore-zones")[0] == 0
    peers = json.loads((tmp_path / "p" / "peers.json").read_text())
    assert list(peers) == ["billing", "orders-1"]
    code, _, error = gossamer("plan", "subs.csv", "q", "--redundancy", 2)
    assert code == 2
    assert "cannot be combined with zones" in error
