"""`gossamer workload make` and `show`."""

import json

import pyarrow.parquet as pq
import pytest

from tests.unit.conftest import MAKE, files


def test_a_made_workload_has_its_table_and_its_manifest(workload):
    assert files(workload) == ["interests.parquet", "manifest.json"]
    table = pq.read_table(workload / "interests.parquet")
    assert table.column_names == ["node", "topic"]
    assert table.num_rows == 240
    manifest = json.loads((workload / "manifest.json").read_text())
    assert (manifest["seed"], manifest["rows"], manifest["kind"]) == (1, {"interests": 240}, "popularity")


@pytest.mark.parametrize(
    "flags",
    [
        ("--kind", "grid", "--nodes", 300, "--topics", 30),
        ("--kind", "douban", "--nodes", 200, "--topics", 300, "--total", 2000, "--largest", 80),
        ("--kind", "communities", "--nodes", 200, "--topics", 300, "--total", 2000, "--largest", 80),
        ("--kind", "friends", "--nodes", 400, "--degree", 8),
        ("--kind", "followers", "--nodes", 400, "--degree", 8),
        ("--nodes", 30, "--topics", 9, "--subscriptions", "power:2:8", "--popularity", "nyse"),
        ("--nodes", 30, "--topics", 9, "--subscriptions", "2:8", "--popularity", "zipf:1.3"),
    ],
)
def test_every_kind_of_workload_can_be_made_and_shown(gossamer, flags):
    code, out, _ = gossamer("workload", "make", "w", "--seed", 3, *flags, "--json")
    assert code == 0
    made = json.loads(out)
    code, out, _ = gossamer("workload", "show", "w", "--json")
    assert code == 0
    assert json.loads(out)["subscriptions"] == made["subscriptions"] > 0


@pytest.mark.parametrize("kind", ["douban", "communities"])
def test_a_kind_with_figures_reports_how_close_it_came(gossamer, kind):
    flags = ("--kind", kind, "--nodes", 200, "--topics", 300, "--total", 2000, "--largest", 80)
    made = json.loads(gossamer("workload", "make", "w", "--seed", 3, *flags, "--json")[1])
    assert made["wanted"] == {"users": 200, "topics": 300, "subscriptions": 2000, "largest_topic": 80}
    assert set(made["reached"]) == set(made["wanted"])
    assert ("local_share" in made) == (kind == "communities")


def test_force_replaces_output_of_gossamer(gossamer, workload):
    assert gossamer(*MAKE, "--force")[0] == 0


def test_square_brackets_in_a_path_are_printed_as_they_are(gossamer, tmp_path):
    code, out, _ = gossamer(*MAKE[:2], "out[red][x]", *MAKE[3:])
    assert code == 0
    assert "out[red][x]" in out


def test_a_table_in_part_files_is_read_as_one(gossamer, workload, tmp_path):
    table = pq.read_table(workload / "interests.parquet")
    parts = tmp_path / "spark" / "interests.parquet"
    parts.mkdir(parents=True)
    pq.write_table(table.slice(0, 100), parts / "part-0.parquet")
    pq.write_table(table.slice(100), parts / "part-1.parquet")
    shown = json.loads(gossamer("workload", "show", "spark", "--json")[1])
    assert shown["subscriptions"] == 240
    assert gossamer("build", "cyclon", "spark", "o", "--seed", 1, "--cycles", 2)[0] == 0


def test_nodes_without_topics_are_not_counted(gossamer):
    made = json.loads(
        gossamer("workload", "make", "g", "--kind", "grid", "--nodes", 300, "--topics", 9, "--seed", 1, "--json")[1]
    )
    assert made["nodes"] < 300
    assert made["nodes"] == json.loads(gossamer("workload", "show", "g", "--json")[1])["nodes"]
