"""A small study from raw text to the report, and sweeps of runs on Spark."""

import sys
from importlib import import_module
from shutil import rmtree

import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.analysis.report import write_report
from gossamer.model.tables.measures import unregister
from gossamer.model.values.progress import silent
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.pipeline.study import run_study
from gossamer.pipeline.study_settings import Candidate, Study
from gossamer.pipeline.sweep import sweep

SMALL = Study(
    users=3_000,
    mean_degree=8.0,
    machines=300,
    nodes=120,
    seeds=(1, 2),
    systems=(Candidate("spidercast"), Candidate("gm"), Candidate("random", {"links": 3}, "three random links")),
    churn_nodes=30,
    churn_minutes=1.0,
    churn_events=5,
    churn_systems=(
        Candidate("spidercast"),
        Candidate("unstructured", {"degree": "poisson:10"}, "random links", ("gossip",), {"gamma": 0.3}),
    ),
    disseminations=("tree",),
)


def results(folder):
    table = pq.read_table(folder / "results" / "results.parquet")
    return [
        {name: value for name, value in row.items() if name not in ("run_seconds", "metrics")}
        for row in table.to_pylist()
    ]


def test_a_study_goes_from_raw_text_to_a_report_and_skips_finished_stages(spark, tmp_path):
    said = []
    stages = run_study(spark, SMALL, tmp_path, silent, said.append)
    made, read = (stages.done[name]["rows"] for name in ("raw", "graph"))
    assert read["lines"] == made["edges"]["lines"]
    assert read["quarantined"] == made["edges"]["bad"] > 0
    assert read["self_loops"] == made["edges"]["self_loops"]
    assert read["merged"] == made["edges"]["repeated"]
    found = results(tmp_path)
    kinds = [(row["kind"], row["label"]) for row in found]
    assert kinds.count(("build", "spidercast")) == kinds.count(("live", "spidercast")) == 2
    assert kinds.count(("build", "gm")) == 2, "the nodes that fail depend on the seed"
    churned = {row["label"] for row in found if row["kind"] == "churn"}
    assert churned == {"spidercast, tree", "random links, gossip"}
    assert all(row["partitioned_topics"] == 0 for row in found if row["label"] in ("spidercast", "gm"))
    said.clear()
    run_study(spark, SMALL, tmp_path, silent, said.append)
    assert all(line.endswith("nothing has changed") for line in said), said

    write_report(tmp_path, tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert "Use <b>spidercast</b>" in report
    assert "every node knows all others" in report
    assert "Live nodes know others only from messages." in report
    assert "blank line" in report
    assert "http" not in report.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", ""), "it opens offline"

    # A stage that is lost is made again, and comes out the same.
    rmtree(tmp_path / "results")
    said.clear()
    run_study(spark, SMALL, tmp_path, silent, said.append)
    assert [line for line in said if not line.endswith("nothing has changed")] == ["results ..."]
    assert results(tmp_path) == found


def test_a_failed_run_is_listed_and_does_not_stop_the_others(spark, tmp_path):
    runs = [
        Run(system="gm", seed=1, workload=str(tmp_path / "nowhere")),
        Run(system="random", seed=1, workload=WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")),
    ]
    swept = sweep(spark, runs, tmp_path / "runs", silent)
    assert len(swept.metrics) == 1
    assert "nowhere" in swept.failures[0].reason
    again = sweep(spark, runs, tmp_path / "runs", silent)
    assert again.metrics == swept.metrics


def test_a_run_that_takes_too_long_does_not_stop_the_others(spark, tmp_path):
    law = WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")
    large = WorkloadLaw(nodes=200_000, topics=1_000, subscriptions="20", popularity="rss")
    runs = [
        Run(system="gm", seed=1, workload=large),
        *(Run(system="random", seed=seed, workload=law) for seed in range(3)),
    ]
    done = []
    swept = sweep(spark, runs, tmp_path / "runs", lambda *progress: done.append(progress[1:]), limit_seconds=3)
    assert [failure.run.system for failure in swept.failures] == ["gm"]
    assert "longer than 3 s" in swept.failures[0].reason
    assert len(swept.metrics) == 3
    assert done == [(count, 4) for count in range(5)], "progress is reported as each run ends"


def test_runs_of_a_sweep_know_the_registered_measures(spark, tmp_path):
    sys.modules.pop("tests.extra_measures", None)
    extra = import_module("tests.extra_measures")
    try:
        law = WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")
        swept = sweep(spark, [Run(system="gm", seed=1, workload=law)], tmp_path / "runs", silent)
    finally:
        unregister(extra.TOPIC_COLUMN)
        unregister(extra.NODE_COLUMN)
    (metrics,) = swept.metrics.values()
    assert metrics["mean_links_per_subscriber"] > 0
    assert extra.NODE_COLUMN in metrics
