"""`gossamer plan --spark`: connected, the same for any partitioning, near one plan, and readable by other commands."""

import json
from contextlib import contextmanager

import numpy as np
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.tables.schemas import write_table
from gossamer.model.tables.workload import read_overlay, read_workload, write_interests
from gossamer.pipeline import division, plan
from gossamer.pipeline.plan import SparkPlan, write_plan
from gossamer.planners.bounds import lower_bounds
from gossamer.planners.greedy import GM
from gossamer.planners.greedy import plan as one_plan
from gossamer.simulator.measure import measure_topics
from gossamer.workloads.interests import make_interests
from gossamer.workloads.make import make_workload
from tests.spark.conftest import SHUFFLE_PARTITIONS


@pytest.fixture
def command(gossamer, spark, monkeypatch):
    """Run a command on the session of all tests, which would otherwise end with the first command."""

    @contextmanager
    def same_session(*where):
        yield spark

    monkeypatch.setattr("gossamer.pipeline.session.spark_session", same_session)
    return gossamer


def write_workload(folder, interest):
    folder.mkdir()
    write_interests(folder, interest)
    return folder


def plan_there(spark, workload, folder, parts=None):
    folder.mkdir()
    figures = write_plan(SparkPlan(spark, workload, folder, parts))
    found = read_workload(workload)
    return figures, found, read_overlay(folder, found.node_ids)


def test_the_plan_is_link_for_link_the_same_with_one_two_and_seven_partitions(spark, tmp_path):
    # Ids with holes.
    interest = make_interests(400, 60, "6", "rss", seed=1)
    (tmp_path / "w").mkdir()
    rows = {"node": interest.owners * 3 + 7, "topic": interest.node_topics * 5}
    write_table("interests", tmp_path / "w" / "interests.parquet", rows)
    tables, figures = [], []
    for partitions in (1, 2, 7):
        spark.conf.set(SHUFFLE_PARTITIONS, str(partitions))
        found, _, _ = plan_there(spark, tmp_path / "w", tmp_path / f"p{partitions}", parts=3)
        figures.append(found)
        tables.append(pq.read_table(tmp_path / f"p{partitions}" / "overlay.parquet").to_pydict())
    assert tables[0] == tables[1] == tables[2]
    assert figures[0] == figures[1] == figures[2]
    links = list(zip(tables[0]["u"], tables[0]["v"], strict=True))
    assert links == sorted(set(links))
    assert all(u < v for u, v in links)


@pytest.mark.parametrize("kind", ["zipf:0.5", "zipf:1.0", "friends"])
def test_four_parts_need_at_most_a_quarter_more_links_than_one_plan(spark, tmp_path, kind):
    if kind == "friends":
        interest = make_workload(nodes=2_000, kind="friends", degree=20.0, seed=1).interest
    else:
        interest = make_interests(2_000, 200, "20", kind, seed=1)
    figures, found, overlay = plan_there(spark, write_workload(tmp_path / "w", interest), tmp_path / "p", parts=4)
    whole = one_plan(found.interest, GM)
    assert (measure_topics(overlay, found.interest, exact=False).components <= 1).all()
    assert figures["links"] == overlay.link_count <= 1.25 * whole.link_count
    assert figures["max_degree"] == overlay.degrees.max() <= whole.degrees.max()
    assert figures["links_at_least"] <= lower_bounds(found.interest).links <= whole.link_count


def test_a_workload_that_fits_one_part_is_planned_in_one_with_as_many_links_as_gm(spark, tmp_path):
    interest = make_interests(500, 50, "8", "rss", seed=2)
    figures, found, _ = plan_there(spark, write_workload(tmp_path / "w", interest), tmp_path / "p")
    assert figures["node_parts"] == 1
    assert "topic_parts" not in figures
    assert figures["links"] <= 1.01 * one_plan(found.interest, GM).link_count
    assert not (tmp_path / "p" / plan.ASIDE).exists()


def test_large_topics_and_nodes_outside_the_sample_are_planned(spark, tmp_path, monkeypatch):
    """Topics of more than 40 holders are left to the parts of nodes and to trees; 5 of 6 nodes are not sampled."""
    monkeypatch.setattr(plan, "HOLDERS_MAX", 40)
    monkeypatch.setattr(division, "SAMPLE_ROWS", 400)
    interest = make_interests(400, 60, "6", "rss", seed=1)
    assert 0 < (interest.popularity > 40).sum() < 60
    _, found, overlay = plan_there(spark, write_workload(tmp_path / "w", interest), tmp_path / "p", parts=3)
    assert (measure_topics(overlay, found.interest, exact=False).components == 1).all()


def test_publishers_single_subscribers_and_nodes_alone_are_planned(spark, tmp_path):
    # Topic 0: a follower and two publishers. Topic 1: one node. Node 9 has a topic of its own.
    (tmp_path / "w").mkdir()
    rows = {"node": [1, 2, 3, 1, 9], "topic": [0, 0, 0, 1, 5], "role": np.array([1, 2, 2, 3, 1], np.uint8)}
    write_table("interests", tmp_path / "w" / "interests.parquet", rows)
    for parts in (None, 2):
        figures, found, overlay = plan_there(spark, tmp_path / "w", tmp_path / f"p{parts}", parts)
        assert (measure_topics(overlay, found.interest).components == 1).all()
        assert (figures["links"], figures["links_at_least"], figures["nodes"]) == (2, 2, 4)


def test_no_links_are_needed_where_no_topic_is_shared(spark, tmp_path):
    (tmp_path / "w").mkdir()
    write_table("interests", tmp_path / "w" / "interests.parquet", {"node": [1, 2], "topic": [1, 2]})
    for parts in (None, 2):
        figures, _, overlay = plan_there(spark, tmp_path / "w", tmp_path / f"p{parts}", parts)
        assert (overlay.link_count, figures["links_at_least"]) == (0, 0)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"node": [4, 4, 1], "topic": [7, 7, 7]}, "1 duplicate rows, the first for node 4 and topic 7"),
        ({"node": [], "topic": []}, "is empty: a workload needs at least one"),
    ],
)
def test_a_workload_with_wrong_rows_is_refused_in_one_sentence_and_nothing_is_written(
    command, tmp_path, rows, sentence
):
    (tmp_path / "w").mkdir()
    write_table("interests", tmp_path / "w" / "interests.parquet", {k: np.array(v, np.int64) for k, v in rows.items()})
    for flags in ((), ("--parts", 2)):
        code, said, error = command("plan", "w", "p", "--spark", *flags)
        assert (code, said) == (2, "")
        assert sentence in error
        assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_negative_ids_are_refused(command, tmp_path):
    (tmp_path / "w").mkdir()
    pq.write_table(_table([1, -2], [3, 3]), tmp_path / "w" / "interests.parquet")
    code, _, error = command("plan", "w", "p", "--spark")
    assert code == 2
    assert "has 1 rows with a null, a negative id, or a role other than 1, 2 and 3" in error


def test_the_command_writes_a_folder_that_check_and_build_read(command, tmp_path):
    write_workload(tmp_path / "w", make_interests(200, 30, "5", "rss", seed=1))
    code, said, error = command("plan", "w", "p", "--spark", "--parts", 2, "--json")
    assert (code, error.count("Traceback")) == (0, 0)
    metrics = json.loads(said)
    assert json.loads((tmp_path / "p" / "metrics.json").read_text()) == metrics
    assert metrics["links"] >= metrics["links_at_least"] > 0
    assert json.loads((tmp_path / "p" / "manifest.json").read_text())["rows"]["overlay"] == metrics["links"]
    checked = json.loads(command("check", "p", "w", "--json")[1])
    assert (checked["links"], checked["partitioned_topics"]) == (metrics["links"], 0)
    assert command("plan", "w", "q", "--keep", "p")[0] == 0, "another plan keeps its links"
    code, said, _ = command("plan", "w", "p", "--spark", "--force")
    assert code == 0
    assert "Every topic is connected; no plan has fewer than" in said


def test_parts_follow_from_rows_and_from_pairs_of_holders():
    assert division.Size(1_000, 10_000).node_parts() == 1
    rows = division.Size(10 * division.PART_ROWS, 0)
    assert (rows.node_parts(), rows.topic_parts()) == (10, 10)
    pairs = division.Size(1_000, 100 * division.PART_PAIRS)
    # Parts of nodes have the square of their share of the pairs.
    assert 10 <= pairs.node_parts() <= 11
    assert pairs.topic_parts() == 101


def _table(nodes, topics):
    import pyarrow as pa

    return pa.table({"node": nodes, "topic": topics})
