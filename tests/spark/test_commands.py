"""The commands of the pipeline: their tables, manifests, printed lines and exit codes."""

import gzip
import json
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.tables.schemas import write_table
from gossamer.model.tables.workload import write_interests
from gossamer.workloads.interests import make_interests


@pytest.fixture
def command(gossamer, spark, monkeypatch):
    """Run a command on the session of all tests, which would otherwise end with the first command."""

    @contextmanager
    def same_session(*where):
        yield spark

    monkeypatch.setattr("gossamer.pipeline.session.spark_session", same_session)
    return gossamer


def rows_of(path):
    return pq.read_table(path).to_pylist()


def names_in(path):
    return {row["id"]: row["name"] for row in rows_of(path)}


def test_ingest_reads_columns_as_told_states_how_and_writes_where_it_was_told(command, tmp_path):
    out = tmp_path / "a b%20c[1]*?{d}"
    # Without the flags, the comma would be the delimiter, and the first line would be a row.
    folder = tmp_path / "in"
    (folder / "older").mkdir(parents=True)
    (folder / "m.csv").write_text("person;born, in;style\nann;May, Rome;rock\nbob;June, Oslo;jazz\n")
    (folder / ".hidden").write_text("eve;July, Bern;pop\n")
    (folder / "_SUCCESS").write_text("")
    flags = ("--delimiter", "semicolon", "--header", "--columns", "person,style")
    code, said, _ = command("ingest", "memberships", folder, out, *flags)
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"in", out.name}, "nothing is written to another folder"
    users, topics = (names_in(out / f"{name}.parquet") for name in ("names", "topic_names"))
    interests = rows_of(out / "interests.parquet")
    assert {(users[row["node"]], topics[row["topic"]]) for row in interests} == {("ann", "rock"), ("bob", "jazz")}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["formats"] == {
        "m.csv": {
            "format": "csv",
            "delimiter": ";",
            "quote": '"',
            "header": ["person", "born, in", "style"],
            "columns": {"user": "person", "group": "style"},
        }
    }
    assert manifest["skipped"] == [".hidden", "_SUCCESS", "older"]
    assert "m.csv: split at ';', quoted by \", header person, born, in, style." in said.splitlines()
    assert "Skipped .hidden, _SUCCESS, older/: hidden files, names that begin with _ and subfolders" in said
    assert "3 lines = 0 comments + 1 headers + 0 quarantined + 0 self-loops + 0 merged + 2 rows." in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        # Longer than the start of a file that the driver reads.
        (b"hello world, this is no gzip\n" * 20_000, "e.gz is not a gzip file; rename it without .gz"),
        (gzip.compress(b"1 2\n")[:10] + b"hello world, this is no gzip\n" * 20_000, "e.gz is damaged"),
        pytest.param(
            gzip.compress(b"1 2\n" * 200_000) + b"hello world, this is no gzip\n" * 20_000,
            "e.gz is damaged",
            # Spark tries to read it four times.
            marks=pytest.mark.slow,
        ),
    ],
    ids=["text", "text behind the header of a gzip file", "text behind a whole gzip file"],
)
def test_a_long_file_that_is_not_gzip_is_refused_in_one_sentence(command, tmp_path, content, sentence):
    (tmp_path / "e.gz").write_bytes(content)
    code, out, err = command("ingest", "edges", "e.gz", "out")
    assert (code, out) == (2, "")
    _, refusal = err.splitlines()
    assert refusal.startswith(f"gossamer: {sentence}")
    assert {path.name for path in tmp_path.iterdir()} == {"e.gz"}


def test_profile_says_that_an_exponent_is_at_the_edge_of_its_search_range(command, tmp_path):
    # Of 401 nodes one has two friends and all others one: the exponent is above 6, the end of the search range.
    sources, targets = [*range(0, 400, 2), 0], [*range(1, 400, 2), 400]
    write_table("edges", tmp_path / "edges.parquet", {"source": sources, "target": targets})
    code, out, _ = command("profile", ".", "profile")
    assert code == 0
    assert "friends (data): the exponent 6.00 is at the edge of the search range, so it is not an estimate" in out
    assert json.loads((tmp_path / "profile" / "profile.json").read_text())["data"]["friends"]["power_law_is_at_edge"]


STUDY = """
nodes = 20
seeds = [1]
churn_nodes = 20
churn_systems = []
run_seconds = {run_seconds}

[[systems]]
system = "gm"
{more}
"""
RANDOM = '[[systems]]\nsystem = "random"\nlabel = "random links"'


@pytest.fixture
def made_workload(monkeypatch):
    """A study whose workload is made at once: the stages before the runs take most of the time, and have tests."""
    interest = make_interests(20, 5, "2", "rss", seed=1)

    def make(spark, study, stages):
        for name in ("workload", "churn-workload", "churn", "failure"):
            stages.run(name, {}, lambda folder: {"interests": write_interests(folder, interest)})

    monkeypatch.setattr("gossamer.pipeline.study.make_tables", lambda *stage: None)
    monkeypatch.setattr("gossamer.pipeline.study.make_samples", make)


def test_a_sweep_names_its_failed_runs_and_a_further_sweep_repeats_them(command, made_workload, tmp_path):
    results = tmp_path / "out" / "results"

    def sweep(run_seconds, more):
        (tmp_path / "study.toml").write_text(STUDY.format(run_seconds=run_seconds, more=more))
        return command("sweep", "study.toml", "--out", tmp_path / "out")

    def tables():
        return [[row["system"] for row in rows_of(results / f"{name}.parquet")] for name in ("results", "failures")]

    code, out, _ = sweep(600, "")
    assert (code, out) == (0, f"1 runs done, 0 failed. The tables are in {results}\n")
    # No run ends within a microsecond. The run that was done before is kept.
    code, out, err = sweep(0.000001, RANDOM)
    assert (code, out) == (1, f"1 runs done, 1 failed. The tables are in {results}\n")
    assert "random links (build, seed 1) failed: stopped: it took longer than 1e-06 s\n" in err
    assert "Run the same command again to repeat the failed runs.\n" in err
    assert tables() == [["gm"], ["random"]]
    code, out, _ = sweep(600, RANDOM)
    assert (code, out) == (0, f"2 runs done, 0 failed. The tables are in {results}\n")
    assert tables() == [["gm", "random"], []]
    assert "results: nothing has changed" in sweep(600, RANDOM)[2]
