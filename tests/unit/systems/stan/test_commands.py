"""`gossamer build stan` and `simulate stan`: the tables they write."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def workload(gossamer):
    gossamer("workload", "make", "w", "--nodes", 120, "--topics", 12, "--subscriptions", 6, "--seed", 2)
    return "w"


def rows(path):
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("engine", ["cycle", "event"])
def test_build_writes_each_topics_views_and_their_union_as_links(gossamer, workload, engine):
    gossamer("build", "stan", workload, "out", "--seed", 1, "--engine", engine, "--cycles", 12)
    views = rows("out/views.parquet")
    held = {(row["node"], row["topic"]) for row in rows("w/interests.parquet")}
    assert views
    for row in views:
        assert row["node"] != row["peer"]
        assert {(row["node"], row["topic"]), (row["peer"], row["topic"])} <= held
    links = {(row["u"], row["v"]) for row in rows("out/overlay.parquet")}
    assert links == {(min(row["node"], row["peer"]), max(row["node"], row["peer"])) for row in views}
    metrics = json.loads(Path("out/metrics.json").read_text())
    assert metrics["view_unique"] < metrics["view_unique_first"] < metrics["view_total"]
    degrees = rows("out/view_degrees.parquet")
    for moment in ("first", "last"):
        sums = {
            direction: sum(
                row["degree"] * row["nodes"]
                for row in degrees
                if (row["moment"], row["direction"]) == (moment, direction)
            )
            for direction in ("in", "out")
        }
        assert sums["in"] == sums["out"] > 0
    assert json.loads(gossamer("check", "out", workload, "--json")[1])["partitioned_topics"] == 0


def test_simulate_delivers_everything_and_keeps_the_views(gossamer, workload):
    text = gossamer(
        "simulate",
        "stan",
        workload,
        "sim",
        "--seed",
        1,
        "--dissemination",
        "flood",
        "--events",
        10,
        "--until",
        "12s",
        "--json",
    )[1]
    assert json.loads(text)["delivery_ratio"] == 1.0
    assert rows("sim/views.parquet")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("build", "--set", "membership=cyclon"), "stan with membership=cyclon has no kernel; use --engine event"),
        (("build", "--set", "view_factor=0"), "view_factor"),
        (("build", "--set", "walk_hops=99"), "walk_hops"),
        (("build", "--set", "membership=phone book"), "membership"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(gossamer, workload, flags, sentence):
    code, _, error = gossamer(flags[0], "stan", workload, "out", "--seed", 1, *flags[1:])
    assert code == 2
    assert sentence in error
    assert len(error.strip().splitlines()) == 1
