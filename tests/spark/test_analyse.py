"""Measures on Spark: both ways give the results of `check`, and of networkx."""

import math
import sys
from importlib import import_module
from statistics import quantiles

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.tables.measures import unregister
from gossamer.model.tables.schemas import read_table, write_table
from gossamer.model.tables.workload import write_overlay
from gossamer.model.values.errors import InputError
from gossamer.pipeline import analyse, files
from gossamer.pipeline.analyse import write_analysis
from gossamer.pipeline.traffic import has_traffic, write_traffic
from gossamer.planners.per_topic import mesh_per_topic
from gossamer.simulator.measure import measure_topics, summarise
from gossamer.workloads.interests import make_interests

NODES, TOPICS = 300, 40


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A workload, and an overlay with disconnected topics."""
    folder = tmp_path_factory.mktemp("case")
    interest = make_interests(NODES, TOPICS, "3", "rss", seed=1)
    overlay = mesh_per_topic(interest, 1, seed=1)
    for name in ("w", "o"):
        (folder / name).mkdir()
    # Ids with holes, as a sample has them.
    write_table(
        "interests", folder / "w" / "interests.parquet", {"node": interest.owners * 3, "topic": interest.node_topics}
    )
    write_overlay(folder / "o", overlay, np.arange(NODES) * 3)
    return folder, interest, overlay


def by_plain_python(interest, overlay):
    """Components and diameters of topics, by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(zip(*map(list, overlay.links()), strict=True))
    found = []
    for topic in range(interest.topic_count):
        part = graph.subgraph(interest.nodes_of(topic).tolist())
        pieces = [part.subgraph(piece) for piece in nx.connected_components(part)]
        found.append((len(pieces), max(nx.diameter(piece) for piece in pieces), nx.average_clustering(part)))
    return found, nx.average_clustering(graph)


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES, analyse.AUTO])
def test_analysis_on_spark_equals_the_measures_of_check(spark, case, tmp_path, way):
    folder, interest, overlay = case
    found = write_analysis(spark, folder / "o", folder / "w", tmp_path, way)
    measured = measure_topics(overlay, interest)
    expected = summarise(overlay, interest, measured)
    assert found.pop("way") == (analyse.SHUFFLE if way == analyse.SHUFFLE else analyse.FILES)
    assert found == pytest.approx(expected)
    assert list(found) == list(expected)
    assert found["partitioned_topics"] > 0
    topics = read_table("topics", tmp_path / "topics.parquet").sort_by("topic").to_pydict()
    for name in ("subscribers", "components", "links", "diameter", "diameter_most"):
        assert topics[name] == getattr(measured, name).tolist(), name
    assert topics["clustering"] == pytest.approx(measured.clustering.tolist())
    degrees = read_table("degrees", tmp_path / "degrees.parquet").sort_by("degree").to_pydict()
    assert (degrees["degree"], degrees["nodes"]) == tuple(
        column.tolist() for column in np.unique(overlay.degrees, return_counts=True)
    )
    by_topic, clustering = by_plain_python(interest, overlay)
    rows = zip(topics["components"], topics["diameter"], topics["clustering"], strict=True)
    assert list(rows) == [pytest.approx(row) for row in by_topic]
    assert found["clustering"] == pytest.approx(clustering)
    assert not list(tmp_path.glob("*.aside"))


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES])
def test_nodes_that_a_simulation_left_absent_are_not_counted(spark, case, tmp_path, way):
    folder, interest, overlay = case
    present = np.ones(NODES, np.bool_)
    present[::4] = False
    # A topic of which every subscriber is absent.
    present[interest.nodes_of(TOPICS - 1)] = False
    (tmp_path / "sim").mkdir()
    (tmp_path / "out").mkdir()
    write_overlay(tmp_path / "sim", overlay, np.arange(NODES) * 3)
    write_table("absent", tmp_path / "sim" / "absent.parquet", {"node": np.flatnonzero(~present) * 3})
    found = write_analysis(spark, tmp_path / "sim", folder / "w", tmp_path / "out", way)
    here = interest.among(present)
    measured = measure_topics(overlay, here)
    assert found.pop("way") == way
    assert found == pytest.approx(summarise(overlay, here, measured, present))
    topics = read_table("topics", tmp_path / "out" / "topics.parquet").sort_by("topic").to_pydict()
    assert topics["components"] == measured.components.tolist()
    assert topics["subscribers"][-1] == 0
    degrees = read_table("degrees", tmp_path / "out" / "degrees.parquet").to_pydict()
    assert sum(degrees["nodes"]) == present.sum()


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES])
def test_components_only_leaves_out_diameters_and_clustering(spark, case, tmp_path, way):
    folder, interest, overlay = case
    found = write_analysis(spark, folder / "o", folder / "w", tmp_path, way, lengths=False)
    assert "max_topic_diameter" not in found
    topics = read_table("topics", tmp_path / "topics.parquet").sort_by("topic").to_pydict()
    assert list(topics) == ["topic", "subscribers", "components", "links"]
    assert topics["components"] == measure_topics(overlay, interest).components.tolist()


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES])
def test_diameters_of_large_topics_are_bounds_around_the_exact_value(spark, case, tmp_path, way, monkeypatch):
    folder, interest, overlay = case
    monkeypatch.setattr(analyse, "EXACT_NODES", 20)
    found = write_analysis(spark, folder / "o", folder / "w", tmp_path, way)
    exact = measure_topics(overlay, interest).diameter
    topics = read_table("topics", tmp_path / "topics.parquet").sort_by("topic").to_pydict()
    rows = list(zip(topics["diameter"], exact.tolist(), topics["diameter_most"], strict=True))
    assert all(least <= true <= most for least, true, most in rows)
    assert not found["max_topic_diameter_is_exact"]
    assert found["max_topic_diameter_at_most"] >= exact.max()
    small = interest.popularity <= 20
    assert all(least == most for (least, _, most), is_small in zip(rows, small, strict=True) if is_small)


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES])
def test_a_registered_measure_is_measured_by_workers(spark, case, tmp_path, way):
    folder, interest, overlay = case
    sys.modules.pop("tests.extra_measures", None)
    extra = import_module("tests.extra_measures")
    try:
        found = write_analysis(spark, folder / "o", folder / "w", tmp_path, way)
        measured = measure_topics(overlay, interest)
        topics = read_table("topics", tmp_path / "topics.parquet").sort_by("topic").to_pydict()
        expected = summarise(overlay, interest, measured)
    finally:
        unregister(extra.TOPIC_COLUMN)
        unregister(extra.NODE_COLUMN)
    assert topics[extra.TOPIC_COLUMN] == pytest.approx(measured.links_per_subscriber.tolist())
    figure = "mean_links_per_subscriber"
    assert found[figure] == pytest.approx(expected[figure])
    if way == analyse.FILES:
        assert found[extra.NODE_COLUMN] == expected[extra.NODE_COLUMN]
    else:
        assert found["left_out"] == [extra.NODE_COLUMN], "a measure of nodes needs the whole overlay in memory"


def test_without_a_shared_folder_rows_are_shuffled(spark, case, tmp_path, monkeypatch):
    folder, _, _ = case
    monkeypatch.setattr(files, "FILES_ROWS_MAX", 10)
    assert write_analysis(spark, folder / "o", folder / "w", tmp_path)["way"] == analyse.SHUFFLE
    rows = list(files.probe_rows(str(tmp_path / "nowhere"), "written", [None]))
    assert rows[0].to_pydict() == {"sees": [0]}


@pytest.mark.parametrize("way", [analyse.SHUFFLE, analyse.FILES])
def test_a_link_to_a_node_outside_the_workload_is_refused(spark, case, tmp_path, way):
    folder, _, _ = case
    write_table("overlay", tmp_path / "overlay.parquet", {"u": [0], "v": [1]})
    with pytest.raises(InputError, match="names node 1, which is not in the workload"):
        write_analysis(spark, tmp_path / "overlay.parquet", folder / "w", tmp_path, way)


def test_traffic_is_counted_by_topic_and_window(spark, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir()
    out.mkdir()
    assert not has_traffic(spark, run)
    # Topic 7: two messages in the first window, one in the second that nobody got; topic 8: nobody else was there.
    write_table(
        "publications",
        run / "publications.parquet",
        {
            "event": [0, 1, 2, 3],
            "topic": [7, 7, 7, 8],
            "node": [0] * 4,
            "at_us": [5, 9, 10, 3],
            "expected": [3, 3, 3, 0],
        },
    )
    arrivals = {0: [6, 8, 11], 1: [10, 12]}
    rows = [
        (event, 7, node, at_us, 1, 0, True) for event, times in arrivals.items() for node, at_us in enumerate(times)
    ]
    # A node that joined later got a message too; that does not make up for the missing delivery.
    rows.append((1, 7, 9, 40, 1, 0, False))
    names = ("event", "topic", "node", "at_us", "hops", "duplicates", "due")
    columns = zip(*rows, strict=True)
    write_table("deliveries", run / "deliveries.parquet", dict(zip(names, map(list, columns), strict=True)))
    write_table(
        "control",
        run / "control.parquet",
        {
            "at_us": [1, 2, 11],
            "node": [0, 1, 0],
            "kind": ["A", "A", "B"],
            "messages": [2, 3, 4],
            "frames": [1, 0, 2],
            "bytes": [20, 30, 40],
        },
    )
    assert has_traffic(spark, run)
    assert write_traffic(spark, run, out, window_us=10) == {"delivery_windows": 3, "control_windows": 2}
    found = read_table("delivery_windows", out / "delivery_windows.parquet")
    first, alone, second = found.sort_by([("at_us", "ascending"), ("topic", "ascending")]).to_pylist()
    latencies = [1, 3, 6, 1, 3]
    assert (first["at_us"], first["topic"], first["published"], first["expected"], first["delivered"]) == (
        0,
        7,
        2,
        6,
        5,
    )
    assert first["delivery_ratio"] == 5 / 6
    cuts = quantiles(latencies, n=100, method="inclusive")
    assert [first[f"latency_us_{name}"] for name in ("p50", "p95", "p99")] == pytest.approx(
        [cuts[49], cuts[94], cuts[98]]
    )
    assert first["latency_us_most"] == 6
    assert (alone["topic"], alone["delivery_ratio"]) == (8, 1.0)
    assert (second["at_us"], second["delivered"], second["delivery_ratio"]) == (10, 0, 0.0)
    assert math.isnan(second["latency_us_p50"])
    control = read_table("control_windows", out / "control_windows.parquet").sort_by("at_us").to_pylist()
    assert control == [
        {"at_us": 0, "kind": "A", "messages": 5, "frames": 1, "bytes": 50},
        {"at_us": 10, "kind": "B", "messages": 4, "frames": 2, "bytes": 40},
    ]
