"""The format of an input file: delimiter, quote, header and columns are found, or refused with one sentence."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.model.values.errors import InputError
from gossamer.pipeline.inputs import file_labels, find_inputs
from gossamer.workloads.formats import DELIMITED, JSON_LINES, PARQUET, WHITESPACE, Reading, find_format
from gossamer.workloads.heads import read_head

EDGES = (("source", "target"), ("weight", "time"))
MEMBERSHIPS = (("user", "group"), ("weight", "time"))


def found(tmp_path, text, columns=EDGES, reading=None, name="rows.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return find_format(path, *columns, reading or Reading(), read_head(path))


@pytest.mark.parametrize(
    ("text", "name", "delimiter"),
    [
        ("# SNAP\n1 2\n2 3\n", WHITESPACE, ""),
        ("1\t2\n2\t3\n", DELIMITED, "\t"),
        ("1,2\n2,3\n", DELIMITED, ","),
        ("1;2\n2;3\n", DELIMITED, ";"),
        ("1|2\n2|3\n", DELIMITED, "|"),
        ("Blink 182\trock\nU2\trock\n", DELIMITED, "\t"),
        # Numbers separated by blanks and tabs.
        ("1 2\t1\t100\n2 3\t1\t101\n", WHITESPACE, ""),
        ("% sym unweighted\nann bob\t1\ncat dan\t1\n", WHITESPACE, ""),
        ('"a,b",c\n"d,e",c\n', DELIMITED, ","),
        ("\ufeff1,2\n2,3\n", DELIMITED, ","),
    ],
)
def test_the_delimiter_is_that_of_most_lines(tmp_path, text, name, delimiter):
    format = found(tmp_path, text)
    assert (format.name, format.delimiter) == (name, delimiter)
    assert format.header == ()


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("source target\n1 2\n", ("source", "target")),
        ("node_1,node_2\nann,bob\n", ("node_1", "node_2")),
        ('"x","y"\n"1","2"\n"3","4"\n', ("x", "y")),
        ("ann,bob\nbob,cat\n", ()),
        ("a b\nb a\n", ()),
        ("1,2\n3,4\n", ()),
        ("\ufefffrom,to\nann,bob\n", ("from", "to")),
    ],
)
def test_a_header_has_known_words_or_stands_above_numbers(tmp_path, text, header):
    format = found(tmp_path, text)
    assert format.header == header
    assert bool(format.header_line) == bool(header)


@pytest.mark.parametrize("text", ["Dienst,Thema\nann,rock\nbob,rock\n", "Служба;Тема\nann;rock\nbob;rock\n"])
def test_a_first_line_that_may_be_header_or_data_is_refused_until_the_user_says_which(tmp_path, text):
    with pytest.raises(InputError, match="may be a header or data"):
        found(tmp_path, text, MEMBERSHIPS)
    assert len(found(tmp_path, text, MEMBERSHIPS, Reading(header=True)).header) == 2
    assert found(tmp_path, text, MEMBERSHIPS, Reading(header=False)).header == ()


def test_a_first_line_whose_values_occur_again_is_data(tmp_path):
    assert found(tmp_path, "ann,rock\nbob,rock\n", MEMBERSHIPS).header == ()


def test_a_header_decides_which_columns_are_read(tmp_path):
    format = found(tmp_path, "id,genre,userID\n1,Rap/Hip Hop,7\n", MEMBERSHIPS)
    assert dict(format.places) == {"user": 2, "group": 1}
    assert format.facts() == {
        "format": "csv",
        "delimiter": ",",
        "quote": '"',
        "header": ["id", "genre", "userID"],
        "columns": {"user": "userID", "group": "genre"},
    }
    with pytest.raises(InputError, match="has the columns who, what, 3rd; say which are user and group"):
        found(tmp_path, "who,what,3rd\n1,a,5\n2,b,6\n", MEMBERSHIPS)


def test_the_user_can_say_otherwise(tmp_path):
    text = "who,what,count\n1,a,5\n2,b,6\n"
    format = found(tmp_path, text, MEMBERSHIPS, Reading(columns=("who", "2")))
    assert dict(format.places) == {"user": 0, "group": 1}
    format = found(tmp_path, text, MEMBERSHIPS, Reading(header=False))
    assert format.header == ()
    assert found(tmp_path, "1;2,3\n", EDGES, Reading(delimiter="semicolon")).delimiter == ";"
    assert found(tmp_path, "1\t2\n", EDGES, Reading(delimiter="whitespace")).name == WHITESPACE
    assert found(tmp_path, "ann,bob\n", EDGES, Reading(header=True)).header == ("ann", "bob")
    for reading, sentence in (
        (Reading(columns=("who", "nobody")), "has no column 'nobody'; it has the columns who, what, count"),
        (Reading(columns=("who",)), "must name 2 to 4 columns"),
        (Reading(delimiter="::"), "must be one character or one of"),
    ):
        with pytest.raises(InputError, match=sentence):
            found(tmp_path, text, MEMBERSHIPS, reading)


def test_quotes_in_a_tsv_have_a_meaning_only_around_whole_fields(tmp_path):
    assert found(tmp_path, '1\t"Weird Al" Yankovic\n2\tU2\n', MEMBERSHIPS).quote == ""
    assert found(tmp_path, '1\t"U2"\n2\t"a\tb"\n', MEMBERSHIPS).quote == '"'


def test_json_lines_and_parquet_are_found_by_their_content(tmp_path):
    format = found(tmp_path, '{"user": 1, "topic": "a"}\n{"user": 2, "topic": "b", "time": 5}\n', MEMBERSHIPS)
    assert (format.name, dict(format.places)) == (JSON_LINES, {"user": "user", "group": "topic", "time": "time"})
    pq.write_table(pa.table({"src": [1], "dst": [2], "note": ["x"]}), tmp_path / "e.parquet")
    format = find_format(tmp_path / "e.parquet", *EDGES, Reading(), read_head(tmp_path / "e.parquet"))
    assert (format.name, dict(format.places)) == (PARQUET, {"source": "src", "target": "dst"})
    with pytest.raises(InputError, match="say which are user and group"):
        find_format(tmp_path / "e.parquet", *MEMBERSHIPS, Reading(), read_head(tmp_path / "e.parquet"))


# Without the time of day, which would be part of the names of the tests: all workers must find the same names.
ZIPPED = gzip.compress(b"1 2\n", mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("e.txt", "1 2\n".encode("utf-16"), "is UTF-16"),
        ("e.txt", "1 2\n".encode("utf-16-le"), "has NUL bytes"),
        ("e.txt", b"1 2\n3\x00 4\n", "has NUL bytes"),
        ("e.gz", b"1 2\n", "is not a gzip file"),
        ("e.txt", ZIPPED, "compressed with gzip; its name must end in .gz"),
        ("e.GZ", ZIPPED, "compressed with gzip; its name must end in .gz"),
        ("e.gz", ZIPPED[:-6], "is damaged"),
        ("e.gz", ZIPPED[:-8] + b"\x00" * 8, "is damaged"),
        ("e.zip", b"PK\x03\x04....", "compressed with zip"),
        ("e.json", b'[{"source": 1}]\n', "is not JSON lines"),
        ("e.jsonl", b"{broken\n", "none of its first 1 lines is an object"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_one_sentence(tmp_path, name, content, sentence):
    with pytest.raises(InputError, match=sentence):
        found(tmp_path, content, name=name)


def test_hidden_files_and_subfolders_are_named_as_skipped(tmp_path):
    for name in ("a.txt", ".hidden", "_SUCCESS", "_x.txt"):
        (tmp_path / name).write_text("1 2\n")
    (tmp_path / "more").mkdir()
    inputs = find_inputs(str(tmp_path))
    assert [file.name for file in inputs.files] == ["a.txt"]
    assert inputs.skipped_sentence().startswith("Skipped .hidden, _SUCCESS, _x.txt, more/: ")
    inputs = find_inputs(str(tmp_path / "*"))
    assert [path.name for path in inputs.skipped] == ["_SUCCESS", "_x.txt", "more"]
    with pytest.raises(InputError, match="Spark ignores files whose names begin with"):
        find_inputs(str(tmp_path / "_x.txt"))
    with pytest.raises(InputError, match=r"there is no file at .* \(only more\)"):
        find_inputs(str(tmp_path / "mor?"))


def test_two_files_with_the_same_name_are_told_apart_by_their_paths(tmp_path):
    files = [tmp_path / "a" / "part", tmp_path / "b" / "part", tmp_path / "b" / "other"]
    assert list(file_labels(files).values()) == [str(files[0]), str(files[1]), "other"]


def test_a_long_quoted_field_is_one_field(tmp_path):
    text = '1\t"' + 'x ""y"" ' * 20_000 + '"\n'
    assert found(tmp_path, text, MEMBERSHIPS).quote == '"'
