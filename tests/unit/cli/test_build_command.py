"""`gossamer build`, `check` and `systems`."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.protocols.contract.system import System
from gossamer.systems import all_systems
from tests.unit.conftest import files


@pytest.mark.parametrize("engine", ["cycle", "event"])
def test_a_build_writes_links_in_order_and_measures_them(gossamer, workload, tmp_path, engine):
    code, out, _ = gossamer("build", "cyclon", "w", "o", "--seed", 2, "--engine", engine, "--cycles", 12, "--json")
    assert code == 0
    metrics = json.loads(out)
    assert files(tmp_path / "o") == [
        "degrees.parquet",
        "manifest.json",
        "metrics.json",
        "overlay.parquet",
        "topics.parquet",
    ]
    links = pq.read_table(tmp_path / "o" / "overlay.parquet").to_pydict()
    assert all(u < v for u, v in zip(links["u"], links["v"], strict=True))
    assert len(links["u"]) == metrics["links"]
    assert (metrics["stopped_by"], metrics["cycles"]) == ("limit", 12)
    assert metrics["messages"]["ShuffleRequest"] > 0
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert len(manifest["inputs"]["interests"]["sha256"]) == 64


def test_check_gives_the_same_figures_as_the_build(gossamer, workload):
    built = json.loads(gossamer("build", "cyclon", "w", "o", "--seed", 2, "--cycles", 5, "--json")[1])
    checked = json.loads(gossamer("check", "o", "w", "--json")[1])
    keys = [
        "nodes",
        "links",
        "average_degree",
        "max_degree",
        "topics",
        "partitioned_topics",
        "components",
        "max_topic_diameter",
    ]
    assert {key: checked[key] for key in keys} == {key: built[key] for key in keys}
    bounded = json.loads(gossamer("check", "o", "w", "--json", "--bounds")[1])
    assert bounded["max_topic_diameter"] <= checked["max_topic_diameter"]


def test_an_overlay_with_one_node_stops_and_prints_why(gossamer, tmp_path):
    (tmp_path / "one").mkdir()
    pq.write_table(pa.table({"node": [5], "topic": [3]}), tmp_path / "one" / "interests.parquet")
    code, out, _ = gossamer("build", "cyclon", "one", "o", "--seed", 1)
    assert code == 0
    assert "Stopped after 10 cycles: no link had changed for ten cycles." in out


def test_the_same_seed_builds_the_same_overlay(gossamer, workload, tmp_path):
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        gossamer("build", "cyclon", "w", out, "--seed", seed, "--cycles", 5)
    first, second, other = (pq.read_table(tmp_path / out / "overlay.parquet") for out in "abc")
    assert first.equals(second)
    assert not first.equals(other)


def test_systems_lists_parameters_with_the_origin_of_their_defaults(gossamer):
    (cyclon,) = [entry for entry in json.loads(gossamer("systems", "--json")[1]) if entry["name"] == "cyclon"]
    assert {p["name"]: p["default"] for p in cyclon["parameters"]}["view_size"] == 20
    assert all(p["origin"].startswith(("Paper:", "Chosen:")) for p in cyclon["parameters"])
    assert "Paper: 20" in gossamer("systems")[1]


@pytest.mark.parametrize("engine", ["cycle", "event"])
def test_a_network_too_small_to_change_stops_by_itself(gossamer, engine):
    gossamer("workload", "make", "t", "--nodes", 8, "--topics", 3, "--subscriptions", 1, "--seed", 1)
    built = json.loads(gossamer("build", "cyclon", "t", "o", "--seed", 1, "--engine", engine, "--json")[1])
    assert built["links"] == 28
    assert built["stopped_by"] == "rest"


@pytest.mark.parametrize("system", sorted(all_systems()))
def test_every_system_can_be_built_and_checked(gossamer, workload, system):
    built = json.loads(gossamer("build", system, "w", "o", "--seed", 1, "--cycles", 30, "--json")[1])
    # The links of systems that gossip all the time never come to rest.
    assert built["stopped_by"] in ("rest", "plan", "limit")
    assert json.loads(gossamer("check", "o", "w", "--json")[1])["links"] == built["links"] > 0


def test_spidercast_connects_every_topic(gossamer, workload):
    assert json.loads(gossamer("build", "spidercast", "w", "o", "--seed", 1, "--json")[1])["partitioned_topics"] == 0


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("greedy_coverage=0", "must not both be 0"),
        ("greedy_coverage=-1", "greedy_coverage is '-1'"),
        ("view=0", "view is '0'"),
        ("view=1.5", "view is '1.5'"),
        ("ties=far", "ties is 'far'"),
        ("ties=near", "use --engine event"),
        ("membership=cyclon", "use --engine event"),
    ],
)
def test_wrong_parameters_of_spidercast_are_refused(gossamer, workload, setting, sentence):
    code, _, err = gossamer("build", "spidercast", "w", "o", "--seed", 1, "--set", setting)
    assert code == 2
    assert sentence in err


@pytest.fixture
def planners_draw_nothing(monkeypatch):
    """`needs_seed` of the planners, until the registry of systems sets it."""
    if not hasattr(System, "needs_seed"):
        central = ("gm", "lowoda", "minmaxoda", "ring-per-topic")
        monkeypatch.setattr(System, "needs_seed", property(lambda system: system.name not in central), raising=False)


@pytest.mark.parametrize("system", ["gm", "lowoda", "minmaxoda", "ring-per-topic"])
def test_a_planner_that_draws_nothing_needs_no_seed(gossamer, workload, tmp_path, planners_draw_nothing, system):
    for out, seed in (("a", ()), ("b", ("--seed", 7))):
        assert gossamer("build", system, "w", out, *seed)[0] == 0
    first, second = (pq.read_table(tmp_path / out / "overlay.parquet") for out in "ab")
    assert first.equals(second)


@pytest.mark.parametrize("system", ["mesh-per-topic", "spidercast"])
def test_a_system_that_draws_at_random_needs_a_seed(gossamer, workload, tmp_path, planners_draw_nothing, system):
    assert gossamer("build", system, "w", "o") == (2, "", f"gossamer: {system} draws at random; give --seed\n")
    assert files(tmp_path) == ["w"]
