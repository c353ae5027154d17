"""The kind of an input is found or asked for, and every input is checked before Spark starts."""

from pathlib import Path

import pytest

from gossamer.model.tables.schemas import write_table
from gossamer.model.values.errors import InputError, TableError
from gossamer.pipeline.study_inputs import check_inputs, find_kind, study_of
from gossamer.pipeline.study_settings import Study

OUT = Path("out")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.csv", "user,topic\nann,news\n", "memberships"),
        ("a.csv", "timestamp,user_id,genre\n1,2,3\n", "memberships"),
        ("a.tsv", "from\tto\n1\t2\n", "edges"),
        ("a.jsonl", '{"source": 1, "target": 2}\n', "edges"),
        ("a.txt", "# FromNodeId\tToNodeId\n1\t2\n", "edges"),
        ("a.txt", "# Undirected friendships\n1 2\n", "edges"),
        ("out.konect", "% bip unweighted\n1 2\n", "memberships"),
        ("subs.csv", "1,2\n3,4\n", "memberships"),
        ("friends.txt", "1 2\n3 4\n", "edges"),
        ("a.txt", "ann bob\nbob eve\n", "edges"),
        ("a.txt", "ann 7\nbob 9\n", "memberships"),
    ],
)
def test_the_kind_is_found_by_columns_comments_name_or_values(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert find_kind(str(tmp_path / name))[0] == kind


@pytest.mark.parametrize("text", ["1 2\n3 4\n", "ann news\nbob sport\n"])
def test_a_kind_that_cannot_be_told_is_asked_for(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(InputError, match="say which with --kind edges or --kind memberships"):
        find_kind(str(tmp_path / "a.txt"))
    study, sentence = study_of(str(tmp_path / "a.txt"), "edges")
    assert study.edges == str(tmp_path / "a.txt")
    assert "is read as edges (as --kind says)" in sentence


def test_a_file_with_one_column_is_refused(tmp_path):
    (tmp_path / "services.csv").write_text("service\na\nb\n")
    with pytest.raises(InputError, match="has one column; expected two on each line"):
        find_kind(str(tmp_path / "services.csv"))


@pytest.mark.parametrize("given_as", ["", "interests.parquet"])
def test_a_folder_with_interests_is_a_workload(tmp_path, given_as):
    write_table("interests", tmp_path / "interests.parquet", {"node": [1, 2], "topic": [5, 5]})
    study, _ = study_of(str(tmp_path / given_as), None)
    assert study.workload == str(tmp_path)
    check_inputs(study, OUT)


@pytest.mark.parametrize("field", ["edges", "memberships", "events"])
def test_a_missing_or_empty_file_is_found_before_spark_starts(tmp_path, field):
    with pytest.raises(InputError, match="there is no file at"):
        check_inputs(Study(**{field: str(tmp_path / "nowhere.csv")}), OUT)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match=r"empty\.csv is empty"):
        check_inputs(Study(**{field: str(tmp_path / "empty.csv")}), OUT)


def test_a_folder_that_is_no_workload_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a workload"):
        check_inputs(Study(workload=str(tmp_path)), OUT)
    write_table("overlay", tmp_path / "interests.parquet", {"u": [1], "v": [2]})
    with pytest.raises(TableError, match="missing node, topic"):
        check_inputs(Study(workload=str(tmp_path)), OUT)


def test_columns_that_a_file_lacks_are_refused_before_spark_starts(tmp_path):
    (tmp_path / "a.csv").write_text("who,what,when\nann,news,3\n")
    with pytest.raises(InputError, match="say which are user and group with `columns`"):
        check_inputs(Study(memberships=str(tmp_path / "a.csv")), OUT)
    check_inputs(Study(memberships=str(tmp_path / "a.csv"), columns=("who", "what")), OUT)


def test_an_input_inside_the_output_folder_is_refused(tmp_path):
    write_table("interests", tmp_path / "interests.parquet", {"node": [1, 2], "topic": [5, 5]})
    for out in (tmp_path, tmp_path.parent):
        with pytest.raises(InputError, match="is inside the output folder"):
            check_inputs(Study(workload=str(tmp_path)), out)
