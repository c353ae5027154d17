"""Runs that are over: from records and from tables, forward and back."""

import pyarrow.parquet as pq
import pytest

from gossamer import InputError
from gossamer.web.recorded import read_run

SIMULATE = ("simulate", "spidercast", "w", "--seed", 1, "--until", "12s", "--set", "period_us=200000")
TRAFFIC = ("--dissemination", "tree", "--recovery", "--rate", 4)


def ignore(*progress):
    """Nobody reads the progress."""


@pytest.fixture
def runs(gossamer, workload):
    """The same run twice: with a record of every event, and with tables only."""
    for name, flags in (("recorded", ("--record", "--telemetry")), ("tables", ())):
        assert gossamer(*SIMULATE[:3], name, *SIMULATE[3:], *TRAFFIC, *flags)[0] == 0
    # The telemetry of the first is another way to the same run.
    (workload.parent / "recorded" / "telemetry").rename(workload.parent / "spooled")
    return [read_run(workload.parent / name, ignore) for name in ("recorded", "tables")]


def test_a_record_and_the_tables_of_a_run_show_the_same_network(runs, workload):
    frames = [run.frame(run.until_us) for run in runs]
    recorded, tables = ({frozenset(pair) for pair in links(frame)} for frame in frames)
    overlay = pq.read_table(workload.parent / "tables" / "overlay.parquet").to_pylist()
    assert recorded == tables == {frozenset((str(row["u"]), str(row["v"]))) for row in overlay}
    measured = {
        f"topic {row['topic']}": (row["subscribers"], row["components"], row["diameter"])
        for row in pq.read_table(workload.parent / "tables" / "topics.parquet").to_pylist()
    }
    for frame in frames:
        shown = {row["name"]: (row["subscribers"], row["components"], row["diameter"]) for row in frame["topics"]}
        assert shown == measured
    same = ("topic", "publisher", "expected", "arrived")
    assert [[row[name] for name in same] for row in frames[0]["messages"]] == [
        [row[name] for name in same] for row in frames[1]["messages"]
    ]
    assert all(row["arrived"] == row["expected"] for row in frames[0]["topics"])
    # Only the record says which way messages went.
    assert frames[0]["messages"][0]["copies"] >= frames[0]["messages"][0]["arrived"]
    assert not frames[1]["messages"][0]["copies"]


def test_going_back_and_forth_shows_the_same_as_going_straight_there(runs, workload):
    run = runs[0]
    fresh = read_run(workload.parent / "recorded", ignore)
    middle = (run.from_us + run.until_us) // 2
    run.frame(run.until_us)
    back, straight = run.frame(middle, topic="topic 1"), fresh.frame(middle, topic="topic 1")
    assert back == straight
    assert run.frame(run.until_us)["at_us"] == run.until_us


def test_telemetry_of_a_simulation_equals_that_of_its_record(runs, workload):
    spooled = read_run(workload.parent / "spooled", ignore)
    assert spooled._records == runs[0]._records
    assert spooled.frame(spooled.until_us, topic="topic 1") == runs[0].frame(runs[0].until_us, topic="topic 1")


def test_a_node_that_crashed_is_gone_from_then_on(gossamer, workload):
    law = ("--on", "exp:6s", "--off", "exp:3s", "--crashes", "1")
    churn = ("churn", "make", "c", "--workload", "w", *law, "--seed", 1)
    assert gossamer(*churn, "--until", "12s")[0] == 0
    for name, flags in (("recorded", ("--record", "--telemetry")), ("tables", ())):
        assert gossamer(*SIMULATE[:3], name, *SIMULATE[3:], "--churn", "c", *flags)[0] == 0
    (workload.parent / "recorded" / "telemetry").rename(workload.parent / "spooled")
    runs = [read_run(workload.parent / name, ignore) for name in ("recorded", "tables", "spooled")]
    seen = set()
    for at_us in range(0, 12_000_000, 1_500_000):
        recorded, tables, spooled = ({node[0] for node in run.frame(at_us)["nodes"]} for run in runs)
        assert recorded == tables == spooled
        seen.add(len(recorded))
    assert len(seen) > 3
    absent = {str(row["node"]) for row in pq.read_table(workload.parent / "tables" / "absent.parquet").to_pylist()}
    assert absent
    assert not absent & {node[0] for node in runs[0].frame(12_000_000)["nodes"]}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "is no folder"),
        (lambda path: path.mkdir(), "holds no run"),
        (lambda path: (path.mkdir(), (path / "manifest.json").write_text("[]")), "holds no run"),
        (
            lambda path: (path.mkdir(), (path / "a.record").write_bytes(b"nonsense")),
            "not a Gossamer record|damaged|cut off",
        ),
        (
            lambda path: (
                path.mkdir(),
                (path / "manifest.json").write_text('{"run": {"system": "x", "workload": "gone"}}'),
            ),
            "workload gone is not here",
        ),
    ],
)
def test_a_folder_without_a_run_is_refused_in_one_sentence(tmp_path, make, sentence):
    make(tmp_path / "run")
    with pytest.raises(InputError, match=sentence):
        read_run(tmp_path / "run", ignore)


def links(frame):
    names = [node[0] for node in frame["nodes"]]
    places = frame["links"]
    return [(names[one], names[other]) for one, other in zip(places[::2], places[1::2], strict=True)]
