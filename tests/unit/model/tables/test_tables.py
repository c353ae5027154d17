"""Tables are checked when they are read, and output folders are written completely or not at all."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.model.arrays.churn import Churn
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.folders import MANIFEST, check_output, output_folder, write_manifest
from gossamer.model.tables.schemas import SCHEMAS, check_table_types, read_table, write_table
from gossamer.model.tables.workload import (
    INTERESTS,
    read_churn,
    read_overlay,
    read_workload,
    write_churn,
    write_interests,
    write_overlay,
)
from gossamer.model.values.errors import InputError, TableError
from gossamer.workloads.interests import make_interests


def workload_of(folder, **columns):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / INTERESTS)
    return folder


def test_a_workload_survives_being_written_and_read(tmp_path):
    made = make_interests(50, 20, "2:6", "rss", seed=1)
    write_interests(tmp_path, made)
    read = read_workload(tmp_path)
    assert (read.interest.node_starts == made.node_starts).all()
    assert (read.topic_ids[read.interest.node_topics] == made.node_topics).all()


def test_a_workload_may_have_ids_with_gaps_of_any_integer_type_and_further_columns(tmp_path):
    nodes, topics = pa.array([10**12, 7, 7], pa.int64()), pa.array([5, 900_000, 5], pa.uint32())
    found = read_workload(workload_of(tmp_path, topic=topics, extra=["a", "b", "c"], node=nodes))
    assert found.node_ids.tolist() == [7, 10**12]
    assert found.topic_ids.tolist() == [5, 900_000]
    assert [found.interest.topics_of(node).tolist() for node in (0, 1)] == [[0, 1], [0]]


def test_roles_are_read_and_are_written_only_if_a_node_publishes(tmp_path):
    found = read_workload(workload_of(tmp_path, node=[0, 0], topic=[0, 1], role=[2, 3]))
    assert found.interest.roles.tolist() == [2, 3]
    (tmp_path / "again").mkdir()
    write_interests(tmp_path / "again", found.interest)
    assert pq.read_table(tmp_path / "again" / INTERESTS).column_names == ["node", "topic", "role"]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"node": [1], "subject": [2]}, "missing topic; present node, subject"),
        ({"node": [1, 1], "topic": [2, 2]}, "1 duplicate rows, the first for node 1 and topic 2"),
        ({"node": [1, None], "topic": [2, 2]}, "column node has 1 nulls"),
        ({"node": [1, -4], "topic": [2, 2]}, "column node must not be negative, got -4"),
        ({"node": [1], "topic": ["sports"]}, "column topic must be int64, got string"),
        ({"node": [1.5], "topic": [1]}, "column node must be int64, got double"),
        ({"node": pa.array([], pa.int64()), "topic": pa.array([], pa.int64())}, "is empty"),
        ({"node": [1], "topic": [2], "role": [9]}, "column role must be 1"),
    ],
)
def test_a_wrong_interests_table_is_refused_in_one_sentence(tmp_path, columns, sentence):
    with pytest.raises(InputError, match=sentence):
        read_workload(workload_of(tmp_path, **columns))


def test_a_missing_file_and_a_file_that_is_not_parquet_are_refused(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        read_workload(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"there is no .*interests\.parquet"):
        read_workload(tmp_path)
    (tmp_path / INTERESTS).write_text("node,topic\n1,2\n")
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_workload(tmp_path)


def test_an_overlay_is_written_with_the_ids_of_the_workload(tmp_path):
    ids = np.array([3, 50, 700])
    write_overlay(tmp_path, Overlay.from_links(np.array([2, 0]), np.array([0, 1]), 3), ids)
    assert pq.read_table(tmp_path / "overlay.parquet").to_pydict() == {"u": [3, 3], "v": [50, 700]}
    assert read_overlay(tmp_path, ids).link_count == 2
    assert read_overlay(tmp_path / "overlay.parquet", ids).degrees.tolist() == [2, 1, 1]
    with pytest.raises(InputError, match="names node 700, which is not in the workload"):
        read_overlay(tmp_path, ids[:2])


def test_churn_survives_being_written_and_read(tmp_path):
    churn = Churn.from_rows(np.array([5, 9]), np.array([0, 1]), np.array([0, 2]))
    write_churn(tmp_path, churn, np.array([30, 40]))
    assert pq.read_table(tmp_path / "churn.parquet").to_pydict() == {
        "at_us": [5, 9],
        "node": [30, 40],
        "event": ["join", "crash"],
    }
    again = read_churn(tmp_path, np.array([20, 30, 40]))
    assert (again.nodes.tolist(), again.events.tolist()) == ([1, 2], [0, 2])


def test_an_unknown_churn_event_is_refused(tmp_path):
    write_table("churn", tmp_path / "churn.parquet", {"at_us": [1], "node": [0], "event": ["explode"]})
    with pytest.raises(TableError, match="event must be one of join, leave, crash"):
        read_churn(tmp_path, np.array([0]))


def test_a_table_of_results_keeps_one_column_for_each_figure(tmp_path):
    columns = {"label": ["a", "b"], "kind": ["build"] * 2, "system": ["gm"] * 2, "seed": [1, 2**64 - 1]}
    write_table("results", tmp_path / "r.parquet", {**columns, "metrics": ["{}", "{}"], "links": [3, None]})
    found = read_table("results", tmp_path / "r.parquet")
    assert found.column("links").to_pylist() == [3, None]
    assert found.column("seed").to_pylist() == [1, 2**64 - 1]


def test_a_value_of_an_exhibit_may_have_nothing_to_compare_with(tmp_path):
    numbers = {name: [0.5] for name in ("x", "measured", "low", "high")}
    missing = {name: [None] for name in ("published", "deviation", "verdict", "expected")}
    write_table("values", tmp_path / "v.parquet", {"series": ["gm"], "seeds": [3], **numbers, **missing})
    found = read_table("values", tmp_path / "v.parquet")
    assert found.column("published").to_pylist() == [None]
    assert found.schema.field("published").type == pa.float64()
    without = pa.table({"series": pa.array([None], pa.string()), **{name: [1.0] for name in (*numbers, *missing)}})
    pq.write_table(without.append_column("seeds", [[1]]), tmp_path / "w.parquet")
    with pytest.raises(TableError, match="column series has 1 nulls"):
        read_table("values", tmp_path / "w.parquet")


def test_the_types_of_a_table_are_checked_without_reading_its_rows(tmp_path):
    path = tmp_path / "machine_events.parquet"
    with pytest.raises(InputError, match="expected the table 'machine_events' there"):
        check_table_types("machine_events", path)
    pq.write_table(pa.table({"at_us": [0], "node": [1], "event": [0]}), path)
    check_table_types("machine_events", path)
    pq.write_table(pa.table({"at_us": [0], "node": [1], "event": ["add"]}), path)
    with pytest.raises(TableError, match="column event must be int64, got string"):
        check_table_types("machine_events", path)
    pq.write_table(pa.table({"at_us": [0], "node": [1]}), path)
    with pytest.raises(TableError, match="missing event; present at_us, node"):
        check_table_types("machine_events", path)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_writes_and_reads_an_empty_table(tmp_path, name):
    columns = {field.name: [] for field in SCHEMAS[name].required}
    assert write_table(name, tmp_path / "t.parquet", columns) == 0
    assert read_table(name, tmp_path / "t.parquet").num_rows == 0


def test_a_failed_write_leaves_no_folder(tmp_path):
    def broken():
        with output_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_force_replaces_a_folder_and_keeps_the_old_one_if_the_work_fails(tmp_path):
    out = tmp_path / "deep" / "out"
    with output_folder(out) as folder:
        write_manifest(folder, {"gossamer": "1"})
        (folder / "old").write_text("old")
    with pytest.raises(InputError, match="exists; choose another folder, or force=True"):
        check_output(out, force=False)

    def broken():
        with output_folder(out, force=True):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert (out / "old").exists()
    with output_folder(out, force=True) as folder:
        write_manifest(folder, {"gossamer": "2"})
    assert [path.name for path in out.iterdir()] == [MANIFEST]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_force_does_not_replace_a_folder_that_gossamer_did_not_make(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("cat")
    with pytest.raises(InputError, match="`force` does not replace it"):
        check_output(tmp_path / "photos", force=True)
    (tmp_path / "photos" / MANIFEST).write_text('{"name": "my web extension"}')
    with pytest.raises(InputError, match="`force` does not replace it"):
        check_output(tmp_path / "photos", force=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"):
        check_output(tmp_path / "file", force=True)


def test_half_written_folders_of_a_killed_process_are_removed_by_the_next_run(tmp_path):
    left = tmp_path / ".out.making-999999999"
    left.mkdir()
    (left / "half").write_text("half")
    with output_folder(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_that_a_killed_process_was_replacing_is_restored(tmp_path):
    old = tmp_path / ".out.old-999999999"
    old.mkdir()
    write_manifest(old, {"gossamer": "1"})
    (old / "result").write_text("precious")
    with pytest.raises(InputError, match="exists"), output_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "result").read_text() == "precious"


def test_a_folder_that_another_process_creates_meanwhile_is_not_replaced(tmp_path):
    def race():
        with output_folder(tmp_path / "out"):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "thesis").write_text("mine")

    with pytest.raises(InputError, match="exists"):
        race()
    assert (tmp_path / "out" / "thesis").read_text() == "mine"


@pytest.mark.parametrize(
    "column", [pa.array([True]), pa.array([1], pa.timestamp("us")), pa.array([2**63], pa.uint64())]
)
def test_columns_that_are_not_ids_are_refused(tmp_path, column):
    with pytest.raises(TableError, match="column node must be int64"):
        read_workload(workload_of(tmp_path, node=column, topic=[1]))
