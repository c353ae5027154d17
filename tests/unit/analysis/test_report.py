"""The advice of the report follows its rule: opposite results give opposite advice."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("matplotlib", reason="the report is part of gossamer[report]")

from gossamer.analysis.advice import advice, standings
from gossamer.analysis.report import write_report
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


def first(*rows, wanted=None):
    return advice(standings(rows, wanted=wanted or {}), wanted or {})


def test_the_system_with_fewest_links_among_those_that_connect_every_topic_is_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("b", "random", 5.0, 40), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>a</b>: it connects every topic")
    assert "The second best is c with 12.0" in said[1]
    assert "b (disconnected topics in 1 of 1 finished runs, at most 40 of 100)" in said[2]


def test_opposite_results_give_opposite_advice():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 0), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>b</b>")
    assert "a (disconnected topics in 1 of 1 finished runs, at most 3 of 100)" in said[2]


def test_a_system_with_one_bad_seed_is_not_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("a", "spidercast", 9.0, 1, seed=2), row("b", "random", 20.0, 0))
    assert said[0].startswith("Use <b>b</b>")


def test_the_first_sentence_says_so_if_no_system_connects_every_topic():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 40))
    assert said == [
        "No system without a central planner connects every topic here in every run. <b>a</b> comes closest: "
        "disconnected topics in 1 of 1 finished runs, at most 3 of 100.",
        "The others: b (disconnected topics in 1 of 1 finished runs, at most 40 of 100).",
    ]


def test_a_central_plan_is_compared_and_never_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("gm", "gm", 3.0, 0), row("mesh", "mesh-per-topic", 2.0, 5))
    assert said[0].startswith("Use <b>a</b>")
    assert "A central plan (gm) needs 3.0 links per node; a has 3.0 times as many" in said[-2]
    assert said[-1] == (
        "Central plans with disconnected topics or failed runs: "
        "mesh (disconnected topics in 1 of 1 finished runs, at most 5 of 100)."
    )


def test_a_topic_that_is_disconnected_in_one_run_of_five_is_counted_and_not_rounded_away():
    rows = [row("K_g = 2", "spidercast", 7.0, int(seed == 5), seed) for seed in range(1, 6)]
    said = first(*rows, row("b", "random", 20.0, 0))
    assert "K_g = 2 (disconnected topics in 1 of 5 finished runs, at most 1 of 100)" in said[1]


def test_the_maximum_degree_is_the_largest_of_all_runs_and_not_their_mean():
    (found,) = standings([row("a", "spidercast", 9, 0), row("a", "spidercast", 4, 0, seed=2)])
    assert found.max_degree == 27
    assert "(at most 27 at any node in any run)" in advice([found])[0]


def test_a_system_with_a_failed_run_does_not_connect_every_topic_in_every_run():
    wanted = {"a": 3, "b": 1}
    said = first(
        row("a", "spidercast", 9.0, 0), row("a", "spidercast", 9.0, 0, 2), row("b", "random", 20.0, 0), wanted=wanted
    )
    assert said[0].startswith("Use <b>b</b>: it connects every topic in every run (1)")
    assert "a (1 of 3 runs failed)" in said[1]
    (closest, *_) = first(row("a", "spidercast", 9.0, 0), wanted={"a": 3})
    assert closest.endswith("<b>a</b> comes closest: 2 of 3 runs failed.")


def test_a_system_of_which_every_run_failed_is_named():
    said = first(row("a", "spidercast", 9.0, 0), wanted={"a": 1, "b": 3})
    assert said[-1] == "Not compared, because no run finished: b (3 of 3 runs failed)."


def test_central_plans_that_all_have_disconnected_topics_are_not_recommended():
    said = first(row("mesh", "mesh-per-topic", 2.0, 5))
    assert said[0] == "The study has only central plans, and none of them connects every topic in every run."
    assert "mesh (disconnected topics in 1 of 1 finished runs, at most 5 of 100)" in said[1]


def test_labels_are_escaped_in_html():
    assert "&lt;script&gt;" in first(row("<script>", "spidercast", 9.0, 0))[0]


def test_a_study_without_builds_says_that_there_is_no_recommendation():
    assert first() == ["No overlay was built, so there is no recommendation; the failures are listed below."]


def write_study(folder, rows, labels, runs=()):
    """The files of a finished study that the report reads."""
    for name in ("results", "workload", "graph", "failure", "profile"):
        (folder / name).mkdir()
    counts = dict.fromkeys(("lines", "comments", "quarantined", "self_loops", "merged", "rows"), 9)
    for name, stage in {
        "results": {"gossamer": "1", "versions": {}, "inputs": {"runs": [[*run, {}] for run in runs]}},
        "workload": {"rows": {"nodes": 100, "interests": 400}},
        "graph": {"rows": counts},
        "failure": {"inputs": {"share": 0.2}},
    }.items():
        write_json(folder / name / "manifest.json", {"stage_seconds": 1.0, **stage})
    columns = dict.fromkeys(name for each in rows for name in each)
    table = [{**columns, **each, "metrics": '{"parameters": {}}'} for each in rows]
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


def traffic(label, seed, ratio, disconnected):
    numbers = {f"latency_us_{name}": 1000.0 for name in ("p50", "p95", "p99", "most")}
    more = {"delivery_ratio": ratio, "data_messages_per_delivery": 1.5, **numbers}
    return {**row(label, "spidercast", 9.0, disconnected, seed, "churn"), **more}


def test_the_report_counts_failed_runs_and_does_not_round_losses_away(tmp_path):
    rows = [{**row("a", "spidercast", 9.0, 0, seed), "colours": colours} for seed, colours in ((1, 3.0), (2, None))]
    rows += [traffic("a, tree", 1, 0.99999, 0), traffic("a, tree", 2, 1.0, 1)]
    runs = [("a", "build")] * 3 + [("a, tree", "churn")] * 2 + [("b, tree", "churn")] * 2
    write_study(tmp_path, rows, {"colours": "colours of a topic"}, runs)
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<b>a</b> comes closest: 1 of 3 runs failed." in page
    assert "<td>0 of 2</td><td>1 of 3</td>" in page
    assert "<td>3 (1 of 2 runs)</td>" in page
    assert "<td>a, tree</td><td>99.99%</td>" in page
    assert "<td>1</td><td>2 of 2</td>" in page
    assert "<td>b, tree</td>" in page
    assert "<td>0 of 2</td></tr>" in page
