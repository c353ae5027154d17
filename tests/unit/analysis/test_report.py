"""The advice of the report follows its rule: opposite results give opposite advice."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("matplotlib", reason="the report is part of gossamer[report]")

from gossamer.analysis.report import advice, standings, write_report
from gossamer.model.tables.folders import write_json
from gossamer.model.tables.measures import FIGURES
from gossamer.model.tables.schemas import write_table


def row(label, system, degree, disconnected, seed=1, kind="build"):
    return {
        "label": label,
        "kind": kind,
        "system": system,
        "seed": seed,
        "average_degree": degree,
        "max_degree": 3 * degree,
        "links_per_subscription": 1.0,
        "max_topic_diameter": 7,
        "partitioned_topics": disconnected,
        "topics": 100,
        "partitioned_topics_after_failure": disconnected,
        "topics_after_failure": 90,
        "run_seconds": 0.1,
    }


def first(*rows):
    return advice(standings(rows))


def test_the_system_with_fewest_links_among_those_that_connect_every_topic_is_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("b", "random", 5.0, 40), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>a</b>: it connects every topic")
    assert "The second best is c with 12.0" in said[1]
    assert "b (40)" in said[2]


def test_opposite_results_give_opposite_advice():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 0), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>b</b>")
    assert "a (3)" in said[2]


def test_a_system_with_one_bad_seed_is_not_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("a", "spidercast", 9.0, 1, seed=2), row("b", "random", 20.0, 0))
    assert said[0].startswith("Use <b>b</b>")


def test_the_first_sentence_says_so_if_no_system_connects_every_topic():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 40))
    assert said[0].startswith("No system without a central planner connects every topic here. <b>a</b> comes closest")


def test_a_central_plan_is_compared_and_never_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("gm", "gm", 3.0, 0), row("mesh", "mesh-per-topic", 2.0, 5))
    assert said[0].startswith("Use <b>a</b>")
    assert "A central plan (gm) needs 3.0 links per node; a has 3.0 times as many" in said[-1]


def test_labels_are_escaped_in_html():
    assert "&lt;script&gt;" in first(row("<script>", "spidercast", 9.0, 0))[0]


def test_a_study_without_builds_says_that_there_is_no_recommendation():
    assert first() == ["No overlay was built, so there is no recommendation; the failures are listed below."]


def write_study(folder, rows, labels):
    """The files of a finished study that the report reads."""
    for name in ("results", "workload", "graph", "failure", "profile"):
        (folder / name).mkdir()
    counts = dict.fromkeys(("lines", "comments", "quarantined", "self_loops", "merged", "rows"), 9)
    for name, stage in {
        "results": {"gossamer": "1", "versions": {}},
        "workload": {"rows": {"nodes": 100, "interests": 400}},
        "graph": {"rows": counts},
        "failure": {"inputs": {"share": 0.2}},
    }.items():
        write_json(folder / name / "manifest.json", {"stage_seconds": 1.0, **stage})
    table = [{**each, "metrics": '{"parameters": {}}'} for each in rows]
    pq.write_table(pa.Table.from_pylist(table), folder / "results" / "results.parquet")
    write_json(folder / "results" / FIGURES, labels)
    write_table(
        "failures", folder / "results" / "failures.parquet", {name: [] for name in ("system", "seed", "run", "reason")}
    )
    write_json(folder / "profile" / "profile.json", {"sample": {"tdi": 3.0}})
    spread = {"data": ["data"], "spread": ["friends"], "value": [1], "count": [2], "share": [1.0]}
    write_table("spreads", folder / "profile" / "spreads.parquet", spread)


def test_the_report_shows_every_labelled_figure_of_the_results(tmp_path):
    rows = [{**row("a", "spidercast", 9.0, 0, seed), "colours": float(seed)} for seed in (2, 5)]
    write_study(tmp_path, rows, {"colours": "colours of a topic"})
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Use <b>a</b>" in page
    assert "<th>colours of a topic</th></tr></thead><tbody><tr><td>a</td><td>3.5</td>" in page
    assert "No run failed." in page
