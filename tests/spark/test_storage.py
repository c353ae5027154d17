"""Inputs and outputs at URIs, through a Hadoop file system that is not local (viewfs), and failures with a known cause."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.tables.schemas import write_table
from gossamer.model.values.errors import InputError
from gossamer.pipeline.analyse import write_analysis
from gossamer.pipeline.failures import explained, sentence_for
from gossamer.pipeline.ingest import ingest_edges
from gossamer.pipeline.inputs import find_inputs
from gossamer.pipeline.profile import profile_folder
from gossamer.pipeline.sample import write_sample
from gossamer.pipeline.session import read_conf
from gossamer.pipeline.storage import (
    RemotePath,
    discard,
    exists,
    fingerprint,
    output_place,
    read_facts,
    read_parquet,
    read_place,
    spark_path,
    write_facts,
    write_parquet,
)
from gossamer.workloads.raw import write_raw_edges


@pytest.fixture
def store(spark, tmp_path):
    """A remote folder: a mount table of viewfs, whose content lies in tmp_path / "store"."""
    (tmp_path / "store").mkdir()
    # Hadoop keeps a file system for each name, so every test needs a name of its own.
    name = f"s{abs(hash(str(tmp_path)))}"
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{tmp_path}/store")
    yield RemotePath(f"viewfs://{name}/data")
    spark.conf.unset(f"fs.viewfs.mounttable.{name}.link./data")


def sorted_rows(table):
    return sorted(map(tuple, table.toLocalIterator()))


def test_plain_paths_and_uris_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_place("out/study") == Path("out/study")
    # Workers have other working folders than the driver.
    assert spark_path(read_place("out/study")) == f"file://{tmp_path}/out/study"
    assert read_place("file:///a b/c") == read_place("file:/a b/c") == Path("/a b/c")
    assert read_place("s3a://bucket/x/") == RemotePath("s3a://bucket/x")
    place = RemotePath("hdfs://host:9000/a/b.txt")
    assert (str(place.parent / "c"), place.name, place.suffix) == ("hdfs://host:9000/a/c", "b.txt", ".txt")


def test_a_graph_at_a_uri_is_ingested_sampled_and_profiled_as_a_local_one(spark, store, tmp_path):
    raw = tmp_path / "store" / "raw"
    raw.mkdir()
    write_raw_edges(raw / "edges.txt", 600, 8.0, 1)
    (raw / "more.txt").write_text("1 2\n# end\n\nonly\n5000 1\n")
    for name in ("graph", "sample"):
        (tmp_path / name).mkdir()
    there = find_inputs(str(store / "raw"), spark)
    assert [file.name for file in there.files] == ["edges.txt", "more.txt"]
    ways = ((find_inputs(str(raw)).files, tmp_path), (there.files, store))
    found = [ingest_edges(spark, files, folder / "graph", directed=False) for files, folder in ways]
    assert found[0].counts == found[1].counts
    assert found[0].format_facts() == found[1].format_facts()
    counted = [write_sample(spark, f / "graph", f / "sample", 100, 3, 1, "friends") for _, f in ways]
    assert counted[0] == counted[1]
    for table in ("graph/edges", "graph/names", "graph/quarantine", "sample/edges", "sample/interests"):
        here, remote = (sorted_rows(read_parquet(spark, f / f"{table}.parquet")) for _, f in ways)
        assert here == remote, table
        assert here
    profiles = [profile_folder(spark, f / "sample").figures() for _, f in ways]
    assert profiles[0] == profiles[1]
    # Tables that were only needed on the way are gone, or empty where Spark cannot delete.
    assert not (tmp_path / "graph" / "lines.aside").exists()
    assert read_parquet(spark, store / "graph" / "lines.aside").count() == 0


def test_an_overlay_at_a_uri_has_the_measures_of_a_local_one(spark, store, tmp_path):
    for folder in ("w", "o", "a"):
        (tmp_path / folder).mkdir()
    node, topic = np.divmod(np.arange(60), 3)
    write_table("interests", tmp_path / "w" / "interests.parquet", {"node": node, "topic": (node + topic) % 5})
    write_table("overlay", tmp_path / "o" / "overlay.parquet", {"u": np.arange(18), "v": np.arange(18) + 2})
    write_table("absent", tmp_path / "o" / "absent.parquet", {"node": np.array([19])})
    for name in ("w/interests", "o/overlay", "o/absent"):
        write_parquet(read_parquet(spark, tmp_path / f"{name}.parquet"), store / f"{name}.parquet")
    here = write_analysis(spark, tmp_path / "o", tmp_path / "w", tmp_path / "a", "shuffle")
    there = write_analysis(spark, store / "o", store / "w", store / "a")
    assert here == there
    assert here["nodes"] == 19
    with pytest.raises(InputError, match="needs local folders that all workers share"):
        write_analysis(spark, store / "o", store / "w", store / "b", "files")


def test_a_remote_folder_counts_as_written_when_its_manifest_is_there(spark, store):
    out = store / "out"

    def killed(folder):
        write_parquet(spark.range(3), folder / "t.parquet")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"), output_place(spark, out) as folder:
        killed(folder)
    assert read_facts(spark, out) == {}
    # Run again, it replaces what the first attempt left.
    with output_place(spark, out) as folder:
        write_parquet(spark.range(5), folder / "t.parquet")
        write_facts(spark, folder, {"gossamer": "1", "rows": 5})
    assert read_facts(spark, out) == {"gossamer": "1", "rows": 5}
    assert read_parquet(spark, out / "t.parquet").count() == 5
    with pytest.raises(InputError, match=r"out exists; choose another folder"), output_place(spark, out):
        pytest.fail("an existing folder must not be written")
    assert read_facts(spark, out)["rows"] == 5
    with output_place(spark, out, force=True) as folder:
        assert read_facts(spark, out) == {}, "while it is written, the old result does not count"
        write_parquet(spark.range(1), folder / "t.parquet")
        write_facts(spark, folder, {"rows": 1})
    assert read_facts(spark, out) == {"rows": 1}


def test_a_remote_output_never_replaces_an_input_or_what_others_wrote(spark, store, tmp_path):
    (tmp_path / "store" / "theirs").mkdir()
    (tmp_path / "store" / "theirs" / "x.txt").write_text("keep me")
    for inputs, sentence in (([], "has no manifest.json written by Gossamer"), ([store / "theirs" / "x.txt"], "input")):
        with pytest.raises(InputError, match=sentence), output_place(spark, store / "theirs", True, inputs):
            pytest.fail("it must not be written")
    assert (tmp_path / "store" / "theirs" / "x.txt").read_text() == "keep me"


def test_missing_empty_and_unknown_inputs_at_a_uri_are_one_sentence(spark, store, tmp_path):
    (tmp_path / "store" / "empty.txt").write_text("")
    for name in ("none.txt", "empty.txt"):
        with pytest.raises(InputError, match=r"^there is no file with content at viewfs://"):
            find_inputs(str(store / name), spark)
    assert not exists(spark, store / "none")
    with pytest.raises(InputError, match="only after Spark has started"):
        find_inputs(str(store / "empty.txt"))
    for uri, sentence in (
        ("nosuch://host/x", "Spark knows no storage for nosuch://"),
        ("s3a://bucket/x", "needs; add its package"),
    ):
        with pytest.raises(InputError, match=sentence), explained():
            find_inputs(uri, spark)


def test_a_fingerprint_of_a_remote_file_changes_with_the_file(spark, store, tmp_path):
    file = tmp_path / "store" / "a.txt"
    file.write_text("1 2\n")
    before = fingerprint(spark, store / "a.txt")
    assert (before["files"], before["bytes"]) == (1, 4)
    file.write_text("1 2\n3 4\n")
    assert fingerprint(spark, store / "a.txt") != before
    discard(spark, store / "t.parquet")
    assert read_parquet(spark, store / "t.parquet").count() == 0


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("java.io.IOException: No space left on device", "the disk is full"),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"', "no storage for gs://"),
        ("x\nRuntimeError: worker w1 has no numba: install gossamer[sim]\n at y", "worker w1 has no numba: install"),
        ("java.net.UnknownHostException: nowhere", "the host nowhere is not known"),
        (
            "  import pyarrow as pa\nModuleNotFoundError: No module named 'pyarrow'\n",
            "of the workers has no pyarrow: install",
        ),
        (
            'java.io.IOException: Cannot run program "/x/python": error=2, No such file',
            "the workers cannot run /x/python: set",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11, PySpark",
            "version: 3.9 than that in driver: 3.11; set PYSPARK_PYTHON",
        ),
    ],
)
def test_failures_of_spark_with_a_known_cause_are_one_sentence(message, sentence):
    found = sentence_for(message)
    assert found is not None
    assert sentence in found
    assert "\n" not in found


def test_other_failures_stay_as_they_are():
    with pytest.raises(ValueError, match="something else"), explained():
        raise ValueError("something else")


@pytest.mark.parametrize("text", ["spark.x", "x=1", "=1", "spark.local.dir="])
def test_a_setting_that_is_not_one_of_spark_is_refused(text):
    with pytest.raises(InputError, match="`conf` must be NAME=VALUE"):
        read_conf([text])


def gossamer(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "gossamer", *map(str, arguments)], capture_output=True, text=True, check=False, **more
    )


def test_commands_take_uris_and_settings_of_spark(tmp_path):
    (tmp_path / "store").mkdir()
    write_raw_edges(tmp_path / "store" / "edges.txt", 300, 6.0, 1)
    mount = f"spark.hadoop.fs.viewfs.mounttable.disk.link./data=file://{tmp_path}/store"
    done = gossamer("ingest", "edges", "viewfs://disk/data/edges.txt", "viewfs://disk/data/graph", "--conf", mount)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "store" / "graph" / "edges.parquet").num_rows > 500
    done = gossamer("ingest", "edges", "nosuch://disk/edges.txt", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "Spark knows no storage for nosuch://" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=False).returncode:
        pytest.skip("a small disk cannot be mounted here: that needs root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["ingest", "shuffle", "sample", "analyse", "plan", "study"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(small_disk, tmp_path, stage):
    raw, graph = tmp_path / "edges.txt", tmp_path / "graph"
    write_raw_edges(raw, 60_000, 20.0, 1)
    commands = {
        "ingest": ["ingest", "edges", raw, small_disk / "out"],
        "shuffle": ["ingest", "edges", raw, tmp_path / "out", "--conf", f"spark.local.dir={small_disk}"],
        "sample": ["sample", graph, small_disk / "out", "--nodes", 50_000, "--seed", 1],
        "analyse": ["analyse", tmp_path / "o", tmp_path / "w", small_disk / "out", "--way", "shuffle"],
        "plan": ["plan", tmp_path / "w", small_disk / "out", "--spark"],
        "study": ["study", tmp_path / "study.toml", "--out", small_disk / "out"],
    }
    (tmp_path / "study.toml").write_text(f'edges = "{raw}"\nnodes = 50000\nchurn_nodes = 300\n')
    if stage == "sample":
        assert gossamer("ingest", "edges", raw, graph).returncode == 0
    if stage in ("analyse", "plan"):
        node = np.repeat(np.arange(400_000), 2)
        for folder in ("w", "o"):
            (tmp_path / folder).mkdir()
        write_table("interests", tmp_path / "w" / "interests.parquet", {"node": node, "topic": np.arange(800_000) // 3})
        links = {"u": np.arange(399_999), "v": np.arange(1, 400_000)}
        write_table("overlay", tmp_path / "o" / "overlay.parquet", links)
    done = gossamer(*commands[stage])
    assert done.returncode == 2, done.stderr
    sentences = [line for line in done.stderr.splitlines() if line.startswith("gossamer:")]
    assert len(sentences) == 1
    assert "the disk is full" in sentences[0] or "No space left on device" in sentences[0]
    assert "Traceback" not in done.stderr
    if stage == "study":
        # Finished stages stay, so that the same command continues.
        left = [path for path in (small_disk / "out").iterdir() if not (path / "manifest.json").exists()]
    else:
        left = [path for path in (*small_disk.rglob("*"), *(tmp_path / "out").rglob("*")) if path.is_file()]
    assert not left
