"""The report: the page for a decision first, true counts, and every figure as files."""

import csv
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("matplotlib", reason="the report is part of gossamer[report]")

from gossamer.analysis.first_page import check_sample
from gossamer.analysis.report import write_report
from gossamer.model.tables.folders import write_json
from gossamer.model.tables.measures import FIGURES
from gossamer.model.tables.schemas import write_table
from tests.unit.analysis.made_results import row


def write_study(folder, rows, labels, runs=(), metrics='{"parameters": {}}'):
    """The files of a finished study that the report reads."""
    for name in ("results", "workload", "graph", "failure", "profile"):
        (folder / name).mkdir()
    counts = dict.fromkeys(("lines", "comments", "quarantined", "self_loops", "merged", "rows"), 9)
    for name, stage in {
        "results": {
            "gossamer": "1",
            "versions": {},
            "inputs": {"runs": [dict(zip(("label", "kind"), run, strict=True)) for run in runs]},
        },
        "workload": {"rows": {"nodes": 100, "interests": 400}},
        "graph": {"rows": counts, "inputs": {"kind": "edges"}},
        "failure": {"inputs": {"share": 0.2}},
    }.items():
        write_json(folder / name / "manifest.json", {"stage_seconds": 1.0, **stage})
    columns = dict.fromkeys(name for each in rows for name in each)
    table = [{**columns, **each, "metrics": metrics} for each in rows]
    pq.write_table(pa.Table.from_pylist(table), folder / "results" / "results.parquet")
    write_json(folder / "results" / FIGURES, labels)
    write_table(
        "failures", folder / "results" / "failures.parquet", {name: [] for name in ("system", "seed", "run", "reason")}
    )
    write_json(folder / "profile" / "profile.json", {"sample": {"tdi": 3.0}})
    spread = {"data": ["data"], "spread": ["friends"], "value": [1], "count": [2], "share": [1.0]}
    write_table("spreads", folder / "profile" / "spreads.parquet", spread)


def test_the_report_shows_every_labelled_figure_of_the_results_and_the_names_of_the_workload(tmp_path):
    rows = [{**row("a", "spidercast", 9, 0, seed), "colours": float(seed)} for seed in (2, 5)]
    write_study(tmp_path, rows, {"colours": "colours of a topic"})
    write_table("interests", tmp_path / "workload" / "interests.parquet", {"node": [3, 7, 7], "topic": [0, 0, 1]})
    for name, ids, names in (("names", [3, 7], ["ann", "仓库"]), ("topic_names", [0, 1], ["订单", "jazz"])):
        write_table("names", tmp_path / "workload" / f"{name}.parquet", {"id": ids, "name": names})
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<tr><td>订单</td><td>2</td></tr><tr><td>jazz</td><td>1</td></tr>" in page
    assert "<tr><td>仓库</td><td>2</td></tr><tr><td>ann</td><td>1</td></tr>" in page
    assert "Use <b>a</b>" in page
    assert "<th>colours of a topic</th></tr></thead><tbody><tr><td>a</td><td>3.5</td>" in page
    assert "No run failed." in page


def traffic(label, seed, ratio, disconnected):
    numbers = {f"latency_us_{name}": 1000.0 for name in ("p50", "p95", "p99", "most")}
    more = {"delivery_ratio": ratio, "data_messages_per_delivery": 1.5, **numbers}
    return {**row(label, "spidercast", 9.0, disconnected, seed, "churn"), **more}


def test_the_report_counts_failed_runs_and_does_not_round_losses_away(tmp_path):
    rows = [{**row("a", "spidercast", 9, 0, seed), "colours": colours} for seed, colours in ((1, 3.0), (2, None))]
    rows += [traffic("a, tree", 1, 0.99999, 0), traffic("a, tree", 2, 1.0, 1)]
    runs = [("a", "build")] * 3 + [("a, tree", "churn")] * 2 + [("b, tree", "churn")] * 2
    write_study(tmp_path, rows, {"colours": "colours of a topic"}, runs)
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<b>a</b> comes closest: 1 of 3 runs failed." in page
    assert "<td>0 of 100</td><td>0 of 2</td><td>1 of 3</td>" in page
    assert "<td>3 (1 of 2 runs)</td>" in page
    assert "<td>a, tree</td><td>99.99%</td>" in page
    assert "<td>1</td><td>2 of 2</td>" in page
    assert "<td>b, tree</td>" in page
    assert "<td>0 of 2</td></tr>" in page


def test_every_figure_is_also_an_svg_a_png_and_a_csv_file(tmp_path):
    rows = [row("a", "spidercast", 9, 0), row("b", "random", 4, 40), row("gm", "gm", 3, 0, after=60)]
    rows += [traffic("a, tree", 1, 1.0, 0)]
    write_study(tmp_path, rows, {})
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    folder = tmp_path / "figures"
    names = {path.stem for path in folder.glob("*.svg")}
    assert {"trade-offs", "links-99th-percentile", "links-maximum", "links-average", "failure", "latency"} <= names
    assert page.count("<figure>") == len(names)
    for name in names:
        assert f'<a href="figures/{name}.csv">' in page
        ElementTree.parse(folder / f"{name}.svg")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "trade-offs.csv").open(newline="") as file:
        first, *points = csv.reader(file)
    assert first[3:] == ["no system beats it", "recommended", "planned centrally"]
    assert [(point[0], *point[3:]) for point in points] == [
        ("a", "True", "True", "False"),
        ("gm", "True", "False", "True"),
    ]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_report(tmp_path, tmp_path / "report.html")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_decision_comes_first_and_raw_parameters_only_in_the_appendix(tmp_path):
    rows = [row("a", "spidercast", 9, 0)]
    write_study(tmp_path, rows, {}, metrics='{"parameters": {"greedy_coverage": 3}}')
    write_report(tmp_path, tmp_path / "report.html", max_links=50)
    page = (tmp_path / "report.html").read_text()
    order = [
        "Use <b>a</b>",
        "What it costs",
        "What it survives",
        "What this assumes",
        "How far to trust it",
        "<h2>Links",
    ]
    places = [page.index(text) for text in (*order, "<h2>Appendix</h2>", "greedy_coverage=3")]
    assert places == sorted(places)
    assert page.count("greedy_coverage") == 1
    assert "prefers-color-scheme: dark" in page
    for word in (" in parts", "parted", "partitioned"):
        assert word not in page


def test_the_first_box_warns_of_a_sample_that_is_not_like_the_input(tmp_path):
    write_study(tmp_path, [row("a", "spidercast", 9, 0)], {})
    profile = {"data": friends(11, 600), "sample": friends(3, 60)}
    write_json(tmp_path / "profile" / "profile.json", profile)
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.index("Caution: the sample is not like the whole input") < page.index("What it costs")
    write_json(tmp_path / "profile" / "profile.json", {**profile, "sample": friends(10, 40)})
    write_report(tmp_path, tmp_path / "report.html")
    assert "Caution" not in (tmp_path / "report.html").read_text()


def friends(median, most):
    return {"nodes": 1000, "friends": {"median": median, "most": most}}


def test_a_sample_that_is_not_like_the_input_is_named_on_the_first_page():
    workload = {"nodes": 200, "of_nodes": 1000}
    far = check_sample({"data": friends(11, 600), "sample": friends(3, 60)}, workload, topics=200)
    assert not far.is_like
    assert (
        far.sentences[0] == "The study ran on a sample of 200 of 1,000 nodes, which is <b>not like the whole input</b>."
    )
    assert "the median is 3 in the sample and 11 in the whole input" in far.sentences[1]
    near = check_sample({"data": friends(11, 600), "sample": friends(8, 60)}, workload, topics=200)
    assert near.is_like
    hub = check_sample({"data": friends(11, 600), "sample": friends(8, 150)}, workload, topics=200)
    assert not hub.is_like
    assert "One node follows 150 of the 200 topics of the sample." in hub.sentences
    whole = check_sample(
        {"data": friends(11, 600), "sample": friends(11, 600)}, {"nodes": 1000, "of_nodes": 1000}, 1000
    )
    assert whole.sentences == ["The study uses all 1,000 nodes of the input; nothing was sampled."]
