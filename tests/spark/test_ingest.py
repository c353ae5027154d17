"""Raw text into tables on embedded Spark: every line is accounted for, and ids do not depend on partitioning."""

import gzip
import json

import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.pipeline.ids import NameIds, is_number, write_ids
from gossamer.pipeline.ingest import ingest_edges, ingest_machine_events, ingest_memberships
from gossamer.pipeline.inputs import local_files
from gossamer.pipeline.lines import EDGES, judge_lines, read_lines
from gossamer.pipeline.sample import along_edges, write_sample
from gossamer.pipeline.storage import spark_path
from gossamer.workloads.formats import WHITESPACE, Format

LINES = """# SNAP says so
% and KONECT so
1 2
2\t1
10,2

3 3
only
a b c d e
4 5 1.5
5 4 0.5 7
6 7 heavy
8 9 1 1e999
"""


def rows(spark, path, *order):
    return [tuple(row) for row in spark.read.parquet(spark_path(path)).orderBy(*order).toLocalIterator()]


def test_a_list_is_split_at_whitespace_and_bad_lines_go_to_quarantine(spark, tmp_path):
    (tmp_path / "e.txt").write_text(LINES)
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, local_files(str(tmp_path / "e.txt")), tmp_path / "out", directed=False, max_bad=0.6)
    assert vars(found.counts) == {
        "lines": 13,
        "comments": 2,
        "quarantined": 6,
        "self_loops": 1,
        "merged": 2,
        "rows": 2,
        "headers": 0,
    }
    assert rows(spark, tmp_path / "out" / "quarantine.parquet", "line") == [
        ("e.txt", 5, "10,2", "fewer than 2 columns"),
        ("e.txt", 6, "", "blank line"),
        ("e.txt", 8, "only", "fewer than 2 columns"),
        ("e.txt", 9, "a b c d e", "more than 4 columns"),
        ("e.txt", 12, "6 7 heavy", "weight is not a number"),
        ("e.txt", 13, "8 9 1 1e999", "time is too large"),
    ]
    names = dict(rows(spark, tmp_path / "out" / "names.parquet", "id"))
    assert names == {0: "1", 1: "2", 2: "3", 3: "4", 4: "5"}
    # Of two copies the smallest weight is kept; a column that a line does not have is empty.
    assert rows(spark, tmp_path / "out" / "edges.parquet", "source", "target") == [
        (0, 1, None, None),
        (3, 4, 0.5, 7.0),
    ]
    assert not (tmp_path / "out" / "lines.aside").exists()


def test_fields_between_blanks_are_bad_if_one_is_empty_or_has_a_comma_at_an_end(spark, tmp_path):
    (tmp_path / "e.txt").write_text("a b\na, b\na ,b\na,b c\na\t\tb\na \t \tb\na\tb\n,a b\na b,\na , b\na,,b c\n")
    format = Format(name=WHITESPACE, places=(("source", 0), ("target", 1)))
    lines = judge_lines(read_lines(spark, [tmp_path / "e.txt"]), EDGES, format)
    reasons = {row["value"]: row["reason"] for row in lines.toLocalIterator()}
    commas, tabs = "both blanks and commas are delimiters", "the field between two tabs is empty"
    assert {value for value, reason in reasons.items() if reason == commas} == {"a, b", "a ,b", ",a b", "a b,", "a , b"}
    assert {value for value, reason in reasons.items() if reason == tabs} == {"a\t\tb", "a \t \tb"}
    assert {value for value, reason in reasons.items() if reason == ""} == {"a b", "a,b c", "a\tb", "a,,b c"}


def test_directed_edges_keep_their_direction_and_folders_of_gzip_are_read(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number, text in enumerate(("b a\na b\n", "b a\nb c\n")):
        (folder / f"{number}.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "out").mkdir()
    found = ingest_edges(spark, local_files(str(folder)), tmp_path / "out", directed=True)
    assert (found.counts.rows, found.counts.merged, found.names) == (3, 1, {"nodes": 3})
    assert [row[:2] for row in rows(spark, tmp_path / "out" / "edges.parquet", "source", "target")] == [
        (0, 1),
        (1, 0),
        (1, 2),
    ]


def test_line_numbers_are_right_in_a_file_of_many_blocks(spark, tmp_path):
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    try:
        text = "".join("oops\n" if number in (1, 700, 999) else f"{number} {number + 1}\n" for number in range(1, 1000))
        (tmp_path / "e.txt").write_text(text)
        (tmp_path / "out").mkdir()
        ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "out", directed=False)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert [row[1] for row in rows(spark, tmp_path / "out" / "quarantine.parquet", "line")] == [1, 700, 999]


NUMBERS = [str(number) for number in (7, 10, 9, 100, 0, 10)]
WORDS = [*NUMBERS, "x", "é", "007", "-1", "9" * 30]


@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.parametrize(("values", "are_numbers"), [(NUMBERS, True), (NUMBERS, False), (WORDS, False)])
def test_ids_are_ranks_for_any_partitioning(spark, tmp_path, partitions, values, are_numbers):
    names = spark.createDataFrame([(value,) for value in values], "user string").repartition(partitions)
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    if are_numbers:
        names = names.selectExpr("cast(user as bigint) as user")
    found = write_ids(names, ("user",), are_numbers, tmp_path, "names.parquet")
    expected = sorted(set(values), key=lambda name: (len(name.encode()), name.encode()))
    assert rows(spark, tmp_path / "names.parquet", "id") == list(enumerate(expected))
    assert (found.count, found.name_bytes) == (len(expected), sum(len(name.encode()) for name in expected))
    for most in (0, 2**30):  # by shuffling, and sent to every worker
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("gossamer.pipeline.ids.BROADCAST_BYTES_MAX", most)
            numbered = found.put_for(names, "user")
        assert sorted(row["user"] for row in numbered.toLocalIterator()) == sorted(map(expected.index, values))


def test_a_number_is_one_only_if_its_text_can_be_written_again(spark):
    texts = ["0", "7", "10", "9" * 18, "00", "07", "-1", "+1", "1.0", "1e3", " 1", "", "x", "9" * 19]
    table = spark.createDataFrame([(text,) for text in texts], "name string")
    found = [row["is_one"] for row in table.select(is_number(table["name"]).alias("is_one")).toLocalIterator()]
    assert [text for text, is_one in zip(texts, found, strict=True) if is_one] == ["0", "7", "10", "9" * 18]


@pytest.mark.parametrize("most", [0, 2**30])
def test_words_and_numbers_give_the_same_edges_by_either_plan(spark, tmp_path, monkeypatch, most):
    monkeypatch.setattr("gossamer.pipeline.ids.BROADCAST_BYTES_MAX", most)
    pairs = [(3, 1), (1, 3), (2, 2), (10, 9), (9, 10), (0, 10), (0, 10), (1, 2)]
    for name, sign in (("numbers", ""), ("words", "n")):
        (tmp_path / f"{name}.txt").write_text("".join(f"{sign}{u} {sign}{v}\n" for u, v in pairs))
        (tmp_path / name).mkdir()
        found = ingest_edges(spark, [tmp_path / f"{name}.txt"], tmp_path / name, directed=False)
        assert (found.counts.rows, found.counts.merged, found.counts.self_loops) == (4, 3, 1)
        ids = {number: place for place, number in enumerate((0, 1, 2, 3, 9, 10))}
        expected = sorted({tuple(sorted((ids[u], ids[v]))) for u, v in pairs if u != v})
        assert rows(spark, tmp_path / name / "edges.parquet", "source", "target") == expected
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == [
            "edges.parquet",
            "names.parquet",
            "quarantine.parquet",
        ]


def test_a_row_that_is_lost_before_the_table_is_written_is_noticed(spark, tmp_path, monkeypatch):
    """Rows are counted as they are written. Counted earlier, they would be counted again when a lost worker's are made again."""
    put_for = NameIds.put_for
    monkeypatch.setattr(
        NameIds, "put_for", lambda self, table, column: put_for(self, table, column).where(f"{column} != 2")
    )
    (tmp_path / "e.txt").write_text("0 1\n1 2\n1 3\n")
    (tmp_path / "out").mkdir()
    with pytest.raises(CheckFailed, match="3 lines were read and 2 are accounted for"):
        ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "out", directed=False)


def test_memberships_become_interests(spark, tmp_path):
    (tmp_path / "m.txt").write_text("ann rock\nbob rock\nann jazz\nann rock\n")
    (tmp_path / "out").mkdir()
    found = ingest_memberships(spark, [tmp_path / "m.txt"], tmp_path / "out")
    assert (found.counts.rows, found.counts.merged, found.names) == (3, 1, {"nodes": 2, "topics": 2})
    assert rows(spark, tmp_path / "out" / "interests.parquet", "node", "topic") == [(0, 0), (0, 1), (1, 1)]


def test_machine_events_may_have_empty_columns_but_no_unknown_event(spark, tmp_path):
    (tmp_path / "events.csv").write_text(
        "0,5,0,abc,0.5,0.25\n600,5,1,abc,,\n700,5,3,abc,1,1\n99999999999999999999,6,0,,,\n"
    )
    (tmp_path / "out").mkdir()
    found = ingest_machine_events(spark, [tmp_path / "events.csv"], tmp_path / "out", max_bad=0.5)
    assert (found.counts.rows, found.counts.quarantined) == (2, 2)
    assert rows(spark, tmp_path / "out" / "machine_events.parquet", "at_us") == [(0, 0, 0), (600, 0, 1)]
    reasons = [row[3] for row in rows(spark, tmp_path / "out" / "quarantine.parquet", "line")]
    assert reasons == ["event is above 2", "time is not a whole number"]


def test_a_file_of_another_kind_and_a_cut_off_file_are_refused(spark, tmp_path):
    (tmp_path / "e.txt").write_text("1 2\n3 4\n")
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="2 of 2 lines cannot be read as time/machine/event"):
        ingest_machine_events(spark, [tmp_path / "e.txt"], tmp_path / "out")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"1 2\n" * 100_000)[:-20])
    (tmp_path / "more").mkdir()
    with pytest.raises(InputError, match=r"cut\.gz is damaged"):
        ingest_edges(spark, [tmp_path / "cut.gz"], tmp_path / "more", directed=False)


def test_a_sample_has_all_edges_between_its_nodes_for_any_partitioning(spark, tmp_path):
    edges = [(node, (node * step + 1) % 200) for node in range(200) for step in (1, 7)]
    (tmp_path / "e.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    (tmp_path / "graph").mkdir()
    ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "graph", directed=False)
    samples = []
    for number, partitions in enumerate(("2", "16")):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        found = write_sample(spark, tmp_path / "graph", folder, 60, 2, 5, "friends")
        assert found["nodes"] == 60
        samples.append(rows(spark, folder / "interests.parquet", "node", "topic"))
    assert samples[0] == samples[1]
    nodes = {node for row in samples[0] for node in row}
    whole = rows(spark, tmp_path / "graph" / "edges.parquet", "source", "target")
    inside = {edge for edge in whole if set(edge) <= nodes}
    assert {(u, v) for u, v in samples[0] if u < v} == inside
    assert set(samples[0]) == {(v, u) for u, v in samples[0]}
    with pytest.raises(InputError, match="between 1 and the graph's 200 nodes"):
        write_sample(spark, tmp_path / "graph", tmp_path / "w0", 201, 2, 5, "friends")


def test_a_sample_of_memberships_keeps_all_groups_of_its_users_for_any_partitioning(spark, tmp_path):
    # Two islands of users: 0-99 in groups of ten, 100-109 in a group of their own.
    pairs = [(f"u{user}", f"g{user // 10}") for user in range(110)] + [
        (f"u{user}", f"h{user % 10}") for user in range(100)
    ]
    (tmp_path / "m.txt").write_text("".join(f"{user}\t{group}\n" for user, group in pairs))
    (tmp_path / "members").mkdir()
    ingest_memberships(spark, [tmp_path / "m.txt"], tmp_path / "members")
    whole = rows(spark, tmp_path / "members" / "interests.parquet", "node", "topic")
    samples = []
    for number, partitions in enumerate(("2", "16")):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        found = write_sample(spark, tmp_path / "members", folder, 30, 1, 5, "memberships")
        samples.append(rows(spark, folder / "interests.parquet", "node", "topic"))
        assert found == {"nodes": 30, "interests": len(samples[-1])}
    assert samples[0] == samples[1]
    users = {node for node, _ in samples[0]}
    assert set(samples[0]) == {row for row in whole if row[0] in users}
    with pytest.raises(InputError, match=r"has no edges.parquet; `gossamer ingest edges` makes one"):
        write_sample(spark, tmp_path / "members", tmp_path / "w0", 5, 1, 1, "friends")


MATRIX = "# ms\n0 10.5 20\n10.5 0 30\n20 30 0\n"


def test_matrices_become_round_trips_and_a_bad_row_is_still_counted(spark, tmp_path):
    from gossamer.pipeline.latency import ingest_latency
    from gossamer.simulator.network import read_matrix_us

    (tmp_path / "a.txt").write_text(MATRIX)
    (tmp_path / "b.csv").write_text("0,1,2\n\n1,zero,3\n2,3,0\n")
    (tmp_path / "out").mkdir()
    found = ingest_latency(spark, [tmp_path / "a.txt", tmp_path / "b.csv"], tmp_path / "out", max_bad=0.5)
    assert vars(found.counts) == {
        "lines": 8,
        "comments": 1,
        "quarantined": 2,
        "self_loops": 0,
        "merged": 0,
        "rows": 5,
        "headers": 0,
    }
    assert found.names == {"matrices": 2, "nodes": 3}
    assert rows(spark, tmp_path / "out" / "quarantine.parquet", "source", "line", "reason") == [
        ("b.csv", 2, "", "blank line"),
        ("b.csv", 3, "1,zero,3", "a round trip is not a number"),
    ]
    cells = rows(spark, tmp_path / "out" / "latency.parquet", "matrix", "source", "target", "rtt_us")
    assert [cell for cell in cells if cell[0] == 1 and cell[1] != 0] == [(1, 2, 0, 2000), (1, 2, 1, 3000), (1, 2, 2, 0)]
    assert read_matrix_us(tmp_path / "out").tolist() == read_matrix_us(tmp_path / "a.txt").tolist()
    # The way back stands for a row that could not be read; where there is none, it is said.
    (tmp_path / "b").mkdir()
    ingest_latency(spark, [tmp_path / "b.csv"], tmp_path / "b", max_bad=0.5)
    assert read_matrix_us(tmp_path / "b").tolist() == [[0, 1000, 2000], [1000, 0, 3000], [2000, 3000, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n1 0\n2 2\n", "m.txt is not a square matrix: it has 3 lines of 2 round trips"),
        ("alice bob\nbob carol\n", "2 of 2 lines cannot be read as a row of round trips"),
        ("0 -1\n-1 0\n", "not between 0 and"),
    ],
)
def test_a_file_that_is_not_a_square_matrix_is_refused(spark, tmp_path, text, sentence):
    from gossamer.pipeline.latency import ingest_latency

    (tmp_path / "m.txt").write_text(text)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=sentence):
        ingest_latency(spark, [tmp_path / "m.txt"], tmp_path / "out")


def test_churn_from_a_trace_starts_with_the_first_machines_and_ends_early(spark, tmp_path):
    from gossamer.pipeline.events import churn_from_events

    lines = [f"0,{machine},0,p,1,1" for machine in range(20)] + ["500,3,1,p,1,1", "900,3,0,p,1,1", "1000,99,0,p,1,1"]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "m").mkdir()
    ingest_machine_events(spark, [tmp_path / "events.csv"], tmp_path / "m")
    churn = churn_from_events(spark, tmp_path / "m", 21, 1_000_000, seed=1)
    assert int(churn.present_at_start(21).sum()) == 20
    later = churn.at_us[churn.at_us > 0]
    assert len(later) == 3
    assert later.max() < 910_000
    assert later[0] == pytest.approx(450_000, rel=0.01)
    with pytest.raises(InputError, match="fewer than the 22"):
        churn_from_events(spark, tmp_path / "m", 22, 1_000_000, seed=1)


@pytest.mark.parametrize(("name", "text"), [("nothing.txt", ""), ("missing.txt", None)])
def test_missing_or_empty_input_is_refused(tmp_path, name, text):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"is empty|there is no file"):
        local_files(str(tmp_path / name))


def test_the_manifest_can_be_read_by_others(spark, tmp_path):
    """What Spark wrote is a table like any other: a folder of part files."""
    from gossamer.model.tables.schemas import read_table

    (tmp_path / "e.txt").write_text("1 2\n")
    (tmp_path / "out").mkdir()
    ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "out", directed=False)
    table = read_table("edges", tmp_path / "out" / "edges.parquet")
    assert json.loads(json.dumps(table.to_pylist())) == [{"source": 0, "target": 1}]


def test_a_sample_of_many_small_components_is_complete_after_few_hops(spark, tmp_path, monkeypatch):
    hops = []

    def counted(edges):
        reach = along_edges(edges)
        return lambda frontier, count: hops.append(1) or reach(frontier, count)

    monkeypatch.setattr("gossamer.pipeline.sample.along_edges", counted)
    (tmp_path / "e.txt").write_text("".join(f"{2 * pair} {2 * pair + 1}\n" for pair in range(100)) + "500 500\n")
    (tmp_path / "graph").mkdir()
    ingest_edges(spark, [tmp_path / "e.txt"], tmp_path / "graph", directed=False)
    (tmp_path / "w").mkdir()
    found = write_sample(spark, tmp_path / "graph", tmp_path / "w", 100, 3, 1, "friends")
    assert found["nodes"] == 100
    # A pair is cut at most where the sample ends.
    assert found["interests"] >= 98
    assert found["interests"] == 100 - found.get("nodes_without_interests", 0)
    # Two hops for 3, 2, 4, 8, 16 and 17 starts: one to the other nodes of the pairs, and one that finds no node. Pairs
    # with a start at both ends need further starts. One start at a time would need more than 90 hops.
    assert len(hops) <= 20
    (tmp_path / "all").mkdir()
    with pytest.raises(InputError, match="only 200 of the 201 nodes asked for"):
        write_sample(spark, tmp_path / "graph", tmp_path / "all", 201, 100, 1, "friends")
