"""Input files as they are found: strange paths, CSV, TSV, JSON lines, Parquet, damaged files, small components."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.pipeline.ingest import ingest_edges, ingest_memberships
from gossamer.pipeline.inputs import local_files
from gossamer.pipeline.sample import write_sample
from gossamer.pipeline.storage import pattern_path, read_parquet, spark_path, write_parquet
from gossamer.workloads.formats import Reading


def rows(spark, path, *order):
    return [tuple(row) for row in spark.read.parquet(spark_path(path)).orderBy(*order).toLocalIterator()]


STRANGE = "a b%20c#d{e}[f]*?+é"


def test_paths_with_blanks_and_signs_of_uris_and_patterns_are_read_and_written_where_they_say(spark, tmp_path):
    folder = tmp_path / STRANGE
    for name in ("in", "graph", "w"):
        (folder / name).mkdir(parents=True)
    source = folder / "in" / f"{STRANGE}.txt"
    source.write_text("1 2\n2 3\noops\n3 1\n")
    found = ingest_edges(spark, local_files(str(source)), folder / "graph", directed=False, max_bad=0.5)
    assert (found.counts.rows, found.counts.quarantined) == (3, 1)
    assert pq.read_table(folder / "graph" / "edges.parquet").num_rows == 3
    (bad,) = pq.read_table(folder / "graph" / "quarantine.parquet").to_pylist()
    assert (bad["source"], bad["line"]) == (source.name, 3)
    write_sample(spark, folder / "graph", folder / "w", 3, 1, 1, "friends")
    assert pq.read_table(folder / "w" / "interests.parquet").num_rows == 6
    assert {path.name for path in tmp_path.iterdir()} == {STRANGE}, "nothing is written to another folder"


def test_a_path_with_a_colon_is_read_and_written_unless_it_has_signs_of_patterns_too(spark, tmp_path):
    (tmp_path / "a:b").mkdir()
    write_parquet(spark.range(3), tmp_path / "a:b" / "t:u.parquet")
    assert read_parquet(spark, tmp_path / "a:b" / "t:u.parquet").count() == 3
    with pytest.raises(InputError, match=r"Spark cannot read .*: a name has a colon"):
        pattern_path(tmp_path / "a:b" / "t[1].parquet")


def test_a_pattern_in_a_file_name_does_not_read_other_files(spark, tmp_path):
    (tmp_path / "e[12].txt").write_text("1 2\n")
    (tmp_path / "e1.txt").write_text("3 4\n5 6\n")
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, [tmp_path / "e[12].txt"], tmp_path / "out", directed=False)
    assert found.counts.lines == 1


def test_a_table_that_is_not_where_it_should_be_is_an_error(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.pipeline.storage.spark_path", lambda path: f"file://{tmp_path}/elsewhere")
    with pytest.raises(CheckFailed, match=r"Spark has written here\.parquet, but not to"):
        write_parquet(spark.range(3), tmp_path / "here.parquet")


def test_names_that_are_not_utf8_are_quarantined_and_never_merged(spark, tmp_path):
    (tmp_path / "m.txt").write_bytes(b"caf\xe9 rock\ncaf\xe8 rock\ncaf\xc3\xa9 rock\n\xef\xbf\xbd rock\nann jazz\n")
    (tmp_path / "out").mkdir()
    found = ingest_memberships(spark, [tmp_path / "m.txt"], tmp_path / "out", max_bad=0.5)
    assert (found.counts.quarantined, found.counts.rows) == (2, 3)
    assert {row[1] for row in rows(spark, tmp_path / "out" / "names.parquet", "id")} == {"ann", "café", "\ufffd"}
    bad = pq.read_table(tmp_path / "out" / "quarantine.parquet").sort_by("line").to_pylist()
    assert [(row["line"], row["reason"]) for row in bad] == [(1, "not UTF-8"), (2, "not UTF-8")]


def memberships(spark, tmp_path, text, max_bad=0.6, reading=None, name="m.csv"):
    """Ingest memberships; returns the line counts, the pairs of names, and the reasons of the quarantine by line."""
    (tmp_path / name).write_text(text)
    out = tmp_path / "out"
    out.mkdir()
    found = ingest_memberships(spark, [tmp_path / name], out, max_bad, reading or Reading())
    users, topics = (dict(rows(spark, out / f"{name}.parquet", "id")) for name in ("names", "topic_names"))
    pairs = {(users[node], topics[topic]) for node, topic in rows(spark, out / "interests.parquet", "node", "topic")}
    return found, pairs, {row[1]: row[3] for row in rows(spark, out / "quarantine.parquet", "line")}


def test_csv_has_quotes_a_header_and_empty_fields(spark, tmp_path):
    text = (
        "user_id,genre\n"
        "1,Rap/Hip Hop\n"
        '"1","Rock, Pop"\n'
        '"2","say ""yes"""\n'
        "1,,5\n"
        "3,\n"
        ",rock\n"
        '4,""\n'
        '5,"open\n'
        "6\n"
        "2, Blink 182 \n"
        '7, "a, b"\n'
    )
    found, pairs, bad = memberships(spark, tmp_path, text)
    assert found.counts.headers == 1
    assert pairs == {("1", "Rap/Hip Hop"), ("1", "Rock, Pop"), ("2", 'say "yes"'), ("2", "Blink 182"), ("7", "a, b")}
    assert bad == {
        5: "more columns than the 2 of the header",
        6: "group is empty",
        7: "user is empty",
        8: "group is empty",
        9: "a quoted field does not end before the next delimiter",
        10: "fewer than 2 columns",
    }


def test_an_empty_field_of_an_edge_list_does_not_move_the_next_one(spark, tmp_path):
    (tmp_path / "e.csv").write_text('1,,5\n"1","2"\n1,2\n3,4\n')
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, [tmp_path / "e.csv"], tmp_path / "out", directed=False)
    assert (found.counts.quarantined, found.counts.merged, found.names) == (1, 1, {"nodes": 4})


def test_tsv_names_keep_their_blanks_and_quotes(spark, tmp_path):
    text = 'ann\tBlink 182\nann\t"Weird Al" Yankovic\nbob\t\n\tU2\nbob\tU2\n'
    _, pairs, bad = memberships(spark, tmp_path, text, name="m.tsv")
    assert pairs == {("ann", "Blink 182"), ("ann", '"Weird Al" Yankovic'), ("bob", "U2")}
    assert bad == {3: "group is empty", 4: "user is empty"}


def test_columns_are_chosen_by_name_or_number(spark, tmp_path):
    text = "plays;who;what\n7;ann;rock\n8;bob;jazz\n"
    reading = Reading(columns=("who", "3"))
    _, pairs, _ = memberships(spark, tmp_path, text, reading=reading)
    assert pairs == {("ann", "rock"), ("bob", "jazz")}


def test_json_lines_are_read_and_bad_objects_quarantined(spark, tmp_path):
    text = (
        '{"user": "ann", "topic": "a, b"}\n{"topic": "rock", "user": 7}\n{"user": "bob"}\n{broken\n'
        '{"user": "cat", "topic": null}\n'
    )
    _, pairs, bad = memberships(spark, tmp_path, text, name="m.jsonl")
    assert pairs == {("ann", "a, b"), ("7", "rock")}
    assert bad == {3: "group is empty", 4: "not a JSON object", 5: "group is empty"}


def test_parquet_files_are_read_and_their_rows_counted(spark, tmp_path):
    table = pa.table({"source": pa.array([1, 2, None]), "target": ["2", "#3", "4"], "weight": [0.5, 1.0, 2.0]})
    pq.write_table(table, tmp_path / "e.parquet")
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, [tmp_path / "e.parquet"], tmp_path / "out", directed=False, max_bad=0.5)
    assert (found.counts.lines, found.counts.rows, found.counts.quarantined) == (3, 2, 1)
    assert [row[1:] for row in rows(spark, tmp_path / "out" / "quarantine.parquet", "line")] == [
        (3, '{"target":"4","weight":"2.0"}', "source is empty")
    ]
    assert {row[1] for row in rows(spark, tmp_path / "out" / "names.parquet", "id")} == {"1", "2", "#3"}


def test_files_of_several_formats_are_read_together(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("source,target\n1,2\n1,\n")
    (folder / "b.txt").write_text("# comment\n2 3\n3\n")
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, local_files(str(folder)), tmp_path / "out", directed=False, max_bad=0.5)
    assert (found.counts.headers, found.counts.comments, found.counts.rows, found.names) == (1, 1, 2, {"nodes": 3})
    assert [row[:2] for row in rows(spark, tmp_path / "out" / "quarantine.parquet", "source")] == [
        ("a.csv", 3),
        ("b.txt", 3),
    ]
    assert found.format_facts()["a.csv"]["header"] == ["source", "target"]
    assert found.format_facts()["b.txt"]["format"] == "whitespace"


def test_self_loops_only_and_a_wrong_checksum_are_one_sentence(spark, tmp_path):
    (tmp_path / "e.txt").write_text("1 1\n2 2\n")
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="no edge is left of 2 lines: all others are self-loops"):
        ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "out", directed=False)
    # Longer than the start of the file that the driver reads.
    text = "".join(f"{number} {number + 1}\n" for number in range(100_000)).encode()
    packed = bytearray(gzip.compress(text))
    packed[-8] ^= 1
    (tmp_path / "bad.gz").write_bytes(bytes(packed))
    (tmp_path / "more").mkdir()
    with pytest.raises(InputError, match=r"bad\.gz is damaged"):
        ingest_edges(spark, [tmp_path / "bad.gz"], tmp_path / "more", directed=False)
