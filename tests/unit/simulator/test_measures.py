"""A measure that is registered in one place appears in tables, `check`, `analyse` and the report."""

import json
import sys
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.folders import write_json
from gossamer.model.tables.measures import (
    FIGURES,
    figure_labels,
    measure_modules,
    node_measure,
    topic_measure,
    topic_measures,
    unregister,
)
from gossamer.model.tables.schemas import SCHEMAS, read_table
from gossamer.model.tables.workload import read_overlay, read_workload
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.measure import measure_topics
from gossamer.simulator.pool import execute_all, run_key

EXTRA = "tests.extra_measures"
OWN_COLUMNS = ["subscribers", "components", "links", "diameter", "diameter_most", "clustering"]


@pytest.fixture
def extra():
    """The module of the extra measures, registered for one test."""
    sys.modules.pop(EXTRA, None)
    module = import_module(EXTRA)
    yield module
    unregister(module.TOPIC_COLUMN)
    unregister(module.NODE_COLUMN)


def columns_by_loops(folder, workload):
    """Both extra columns, computed link by link."""
    found = read_workload(workload)
    links = list(zip(*read_overlay(folder, found.node_ids).links(), strict=True))
    held = [set(found.interest.topics_of(node).tolist()) for node in range(found.interest.node_count)]
    per_topic = [
        sum(topic in held[u] and topic in held[v] for u, v in links) / sum(topic in topics for topics in held)
        for topic in range(found.interest.topic_count)
    ]
    per_node = [sum(node in link for link in links) - len(held[node]) for node in range(len(held))]
    return per_topic, per_node


def test_a_registered_measure_is_in_the_tables_of_build_and_in_check(gossamer, workload, tmp_path, extra):
    assert gossamer("build", "random", "w", "o", "--seed", 1)[0] == 0
    per_topic, per_node = columns_by_loops(tmp_path / "o", workload)
    topics = read_table("topics", tmp_path / "o" / "topics.parquet").to_pydict()
    assert list(topics) == ["topic", *OWN_COLUMNS, extra.TOPIC_COLUMN]
    assert topics[extra.TOPIC_COLUMN] == pytest.approx(per_topic)
    nodes = read_table("nodes", tmp_path / "o" / "nodes.parquet").to_pydict()
    assert nodes == {"node": list(range(60)), extra.NODE_COLUMN: per_node}
    metrics = json.loads((tmp_path / "o" / "metrics.json").read_text())
    code, out, _ = gossamer("check", "o", "w", "--json")
    assert code == 0
    for figures in (metrics, json.loads(out)):
        assert figures["mean_links_per_subscriber"] == pytest.approx(np.mean(per_topic))
        assert figures[extra.NODE_COLUMN] == max(per_node)


def test_without_further_measures_the_tables_are_as_documented(gossamer, workload, tmp_path):
    assert gossamer("build", "random", "w", "o", "--seed", 1)[0] == 0
    assert pq.read_schema(tmp_path / "o" / "topics.parquet").names == ["topic", *OWN_COLUMNS]
    assert not (tmp_path / "o" / "nodes.parquet").exists()
    assert figure_labels() == {}


def test_processes_of_a_pool_know_the_registered_measures(tmp_path, extra):
    run = Run(
        system="ring-per-topic",
        seed=1,
        workload=WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss"),
    )
    assert measure_modules() == (EXTRA,)
    (with_measures,) = execute_all([run], tmp_path, 1, lambda *_: None).values()
    assert with_measures["mean_links_per_subscriber"] > 0
    unregister(extra.TOPIC_COLUMN)
    unregister(extra.NODE_COLUMN)
    again = execute_all([run], tmp_path, 1, lambda *_: None)[run_key(run)]
    assert "mean_links_per_subscriber" not in again, "a kept result of other measures is not used"


def test_a_measure_that_cannot_be_stored_or_told_apart_is_refused():
    with pytest.raises(InputError, match="there is a column diameter already"):
        topic_measure("diameter", pa.int64(), label="")(len)
    with pytest.raises(InputError, match="there is a column node already"):
        node_measure("node", pa.int64(), label="")(len)
    with pytest.raises(InputError, match="column colour must be int64 or float64, got string"):
        topic_measure("colour", pa.string(), label="")(len)
    assert [name for each in topic_measures() for name in each.columns] == OWN_COLUMNS


def test_a_measure_of_a_script_is_refused_where_other_processes_need_it():
    def size(topics):
        return topics.subscribers

    size.__module__ = "__main__"
    topic_measure("size", pa.int64(), label="size")(size)
    try:
        with pytest.raises(InputError, match="move it to a module"):
            measure_modules()
    finally:
        unregister("size")
    assert "size" not in SCHEMAS["topics"].optional.names


def test_an_unknown_column_names_the_measures_that_exist(workload):
    found = read_workload(workload)
    nothing = np.zeros(0, np.int64)
    no_links = Overlay.from_links(nothing, nothing, found.interest.node_count)
    with pytest.raises(AttributeError, match="there is no measure colour; there are: subscribers"):
        _ = measure_topics(no_links, found.interest).colour


def test_labelled_figures_are_in_the_report(tmp_path, extra):
    pytest.importorskip("matplotlib", reason="the report is part of gossamer[report]")
    from gossamer.analysis.charts import FigureFiles
    from gossamer.analysis.sections import measures_section
    from gossamer.analysis.standing import standings

    write_json(tmp_path / FIGURES, figure_labels())
    labels = json.loads((tmp_path / FIGURES).read_text())
    assert labels == {"mean_links_per_subscriber": extra.TOPIC_LABEL, extra.NODE_COLUMN: extra.NODE_LABEL}
    row = dict.fromkeys(
        (
            "average_degree",
            "max_degree",
            "links_per_subscription",
            "max_topic_diameter",
            "partitioned_topics",
            "topics",
            "partitioned_topics_after_failure",
            "topics_after_failure",
            "run_seconds",
            extra.NODE_COLUMN,
        ),
        1.0,
    ) | {"label": "a", "kind": "build", "system": "random", "mean_links_per_subscriber": 2.5}
    page = measures_section(standings([row, {**row, "mean_links_per_subscriber": 3.5}], labels), FigureFiles())
    assert f"<th>{extra.TOPIC_LABEL}</th><th>{extra.NODE_LABEL}</th>" in page
    assert "<td>a</td><td>3</td><td>1</td>" in page
    assert measures_section(standings([row]), FigureFiles()) == ""


def test_the_largest_diameter_is_exact_if_its_bounds_are_equal():
    """The bounds of a smaller topic may differ: its diameter is not the largest."""
    columns = {"diameter": np.array([6, 2]), "diameter_most": np.array([6, 4])}
    (measure,) = [each for each in topic_measures(True) if "diameter" in each.columns]
    assert measure.figures(columns) == {"max_topic_diameter": 6, "max_topic_diameter_is_exact": True}
    columns["diameter_most"][1] = 8
    assert measure.figures(columns) == {
        "max_topic_diameter": 6,
        "max_topic_diameter_is_exact": False,
        "max_topic_diameter_at_most": 8,
    }
