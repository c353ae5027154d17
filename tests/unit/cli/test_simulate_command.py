"""`gossamer simulate` and `replay`."""

import json

import pyarrow.parquet as pq
import pytest

from tests.unit.conftest import files


def test_a_simulation_writes_its_tables_and_its_record_replays(gossamer, workload, tmp_path):
    assert (
        gossamer(
            "churn",
            "make",
            "c",
            "--workload",
            "w",
            "--on",
            "exp:60s",
            "--off",
            "exp:20s",
            "--until",
            "90s",
            "--crashes",
            0.5,
            "--seed",
            4,
        )[0]
        == 0
    )
    code, out, _ = gossamer(
        "simulate",
        "cyclon",
        "w",
        "s",
        "--seed",
        5,
        "--set",
        "period_us=1000000",
        "--churn",
        "c",
        "--latency",
        "uniform:5-50ms",
        "--loss",
        0.02,
        "--until",
        "100s",
        "--record",
        "--partition",
        "30s-40s:0.4",
        "--json",
    )
    assert code == 0
    metrics = json.loads(out)
    assert metrics["lost_messages"] > 0
    tables = ["absent", "control", "degrees", "deliveries", "links", "overlay", "publications", "topics"]
    assert files(tmp_path / "s") == sorted(
        [*(f"{name}.parquet" for name in tables), "manifest.json", "metrics.json", "record.bin"]
    )
    control = pq.read_table(tmp_path / "s" / "control.parquet").to_pydict()
    assert {"ShuffleRequest", "ShuffleReply", "Join"} <= set(control["kind"])
    code, out, _ = gossamer("replay", tmp_path / "s" / "record.bin", "--json")
    assert code == 0
    assert json.loads(out)["difference"] is None
    assert json.loads(out)["equal_steps"] == metrics["handled_events"]


def test_a_record_that_does_not_replay_has_exit_code_1(gossamer, workload, tmp_path):
    gossamer("simulate", "cyclon", "w", "s", "--seed", 5, "--until", "30s", "--record")
    path = tmp_path / "s" / "record.bin"
    # Another seed in the header: other draws, other actions.
    path.write_bytes(path.read_bytes().replace(b"\xa4seed\x05", b"\xa4seed\x06", 1))
    code, out, _ = gossamer("replay", path)
    assert code == 1
    assert "differs" in out


def test_a_simulation_measures_only_the_nodes_present_at_its_end(gossamer, workload, tmp_path):
    gossamer(
        "churn",
        "make",
        "c",
        "--workload",
        "w",
        "--on",
        "fixed:10s",
        "--off",
        "fixed:1000s",
        "--until",
        "5s",
        "--seed",
        4,
    )
    metrics = json.loads(
        gossamer("simulate", "cyclon", "w", "s", "--seed", 1, "--churn", "c", "--until", "30s", "--json")[1]
    )
    assert metrics["present"] == metrics["nodes"] < 10
    degrees = pq.read_table(tmp_path / "s" / "degrees.parquet").to_pydict()
    assert sum(degrees["nodes"]) == metrics["nodes"]


def test_the_links_table_adds_up_to_the_last_overlay(gossamer, workload, tmp_path):
    gossamer(
        "churn",
        "make",
        "c",
        "--workload",
        "w",
        "--on",
        "exp:30s",
        "--off",
        "exp:30s",
        "--until",
        "90s",
        "--crashes",
        0.5,
        "--seed",
        4,
    )
    gossamer(
        "simulate", "cyclon", "w", "s", "--seed", 5, "--set", "period_us=1000000", "--churn", "c", "--until", "100s"
    )
    links = pq.read_table(tmp_path / "s" / "links.parquet").to_pydict()
    up = set()
    for u, v, rises in zip(links["u"], links["v"], links["up"], strict=True):
        assert ((u, v) in up) != rises
        up ^= {(u, v)}
    last = pq.read_table(tmp_path / "s" / "overlay.parquet").to_pydict()
    assert set(zip(last["u"], last["v"], strict=True)) == up


def test_every_input_of_a_simulation_is_hashed_in_its_manifest(gossamer, workload, tmp_path):
    (tmp_path / "m.tsv").write_text("0 10\n10 0\n")
    gossamer(
        "churn", "make", "c", "--workload", "w", "--on", "exp:60s", "--off", "exp:20s", "--until", "9s", "--seed", 4
    )
    assert (
        gossamer(
            "simulate", "cyclon", "w", "s", "--seed", 5, "--churn", "c", "--latency", "matrix:m.tsv", "--until", "9s"
        )[0]
        == 0
    )
    inputs = json.loads((tmp_path / "s" / "manifest.json").read_text())["inputs"]
    assert set(inputs) == {"interests", "churn", "latency"}
    assert set(json.loads((tmp_path / "c" / "manifest.json").read_text())["inputs"]) == {"interests"}


@pytest.mark.parametrize(
    ("dissemination", "membership"),
    [("flood", "oracle"), ("tree", "oracle"), ("gossip", "oracle"), ("push-pull", "oracle"), ("tree", "cyclon")],
)
def test_messages_reach_all_subscribers_and_the_record_replays(gossamer, workload, tmp_path, dissemination, membership):
    flags = ("--dissemination", dissemination, "--set", f"membership={membership}", "--events", 20, "--until", "40s")
    flags = (*flags, "--record", "--json")
    code, out, err = gossamer("simulate", "spidercast", "w", "s", "--seed", 3, *flags)
    assert code == 0, err
    metrics = json.loads(out)
    assert metrics["published"] == 20
    assert metrics["delivered"] == metrics["expected_deliveries"] > 20
    assert pq.read_table(tmp_path / "s" / "deliveries.parquet").num_rows == metrics["delivered"]
    code, out, _ = gossamer("replay", tmp_path / "s" / "record.bin", "--json")
    assert code == 0
    assert json.loads(out)["equal_steps"] == metrics["handled_events"]


@pytest.mark.parametrize("dissemination", ["flood", "tree"])
@pytest.mark.parametrize("settings", [(), ("membership=cyclon", "keep_cover=true", "mend_cycles=2", "exchange_size=8")])
def test_a_record_of_feverfew_under_churn_replays(gossamer, workload, tmp_path, dissemination, settings):
    gossamer(
        "churn", "make", "c", "--workload", "w", "--on", "exp:60s", "--off", "exp:20s", "--until", "30s", "--seed", 4
    )
    flags = ("--dissemination", dissemination, "--recovery", "--churn", "c", "--rate", 2, "--until", "30s")
    flags += ("--loss", 0.02, "--set", "bubble_cycles=3", *(word for each in settings for word in ("--set", each)))
    code, out, err = gossamer("simulate", "feverfew", "w", "s", "--seed", 3, *flags, "--record", "--json")
    assert code == 0, err
    metrics = json.loads(out)
    assert metrics["delivered"] > 0.8 * metrics["expected_deliveries"] > 50
    code, out, _ = gossamer("replay", tmp_path / "s" / "record.bin", "--json")
    assert code == 0
    assert json.loads(out)["equal_steps"] == metrics["handled_events"]


@pytest.mark.parametrize("dissemination", ["tree", "gossip", "push-pull"])
def test_with_recovery_messages_that_were_lost_arrive_and_the_record_replays(
    gossamer, workload, tmp_path, dissemination
):
    ways = ("--dissemination", dissemination, "--recovery", "--set", "recovery.history=99")
    flags = ("--rate", 5, "--loss", 0.05, "--until", "60s", "--record", "--json")
    code, out, err = gossamer("simulate", "spidercast", "w", "s", "--seed", 3, *ways, *flags)
    assert code == 0, err
    metrics = json.loads(out)
    assert metrics["recovery_parameters"]["history"] == 99
    assert metrics["gaps_given_up"] == 0
    # Messages published at the end may still be travelling.
    assert metrics["delivered"] >= 0.99 * metrics["expected_deliveries"]
    code, out, _ = gossamer("replay", tmp_path / "s" / "record.bin", "--json")
    assert code == 0
    assert json.loads(out)["equal_steps"] == metrics["handled_events"]


def test_a_tree_sends_less_than_a_flood(gossamer, workload):
    sent = {}
    for way in ("flood", "tree"):
        flags = ("--dissemination", way, "--rate", 4, "--until", "60s", "--json")
        sent[way] = json.loads(gossamer("simulate", "spidercast", "w", way, "--seed", 3, *flags)[1])["data_messages"]
    assert sent["tree"] < 0.7 * sent["flood"]


def test_a_planned_system_cannot_be_simulated(gossamer, workload, tmp_path):
    code, _, err = gossamer("simulate", "ring-per-topic", "w", "o", "--seed", 1)
    assert code == 2
    assert "planned centrally" in err
    assert files(tmp_path) == ["w"]


def test_check_gives_the_metrics_of_a_simulation_at_whose_end_nodes_are_absent(gossamer, workload, tmp_path):
    churned = ("--on", "exp:60s", "--off", "exp:30s", "--until", "90s", "--crashes", 0.5, "--seed", 4)
    assert gossamer("churn", "make", "c", "--workload", "w", *churned)[0] == 0
    simulated = ("--seed", 5, "--churn", "c", "--until", "100s", "--json")
    code, out, _ = gossamer("simulate", "spidercast", "w", "s", *simulated)
    assert code == 0
    metrics = json.loads(out)
    absent = pq.read_table(tmp_path / "s" / "absent.parquet").column("node").to_pylist()
    assert metrics["nodes"] + len(absent) == 60
    assert 0 < len(absent) < 60
    for overlay in ("s", "s/overlay.parquet"):
        checked = json.loads(gossamer("check", overlay, "w", "--json")[1])
        del checked["disconnected_topics"], checked["nodes_with_most_links"]
        assert checked == {name: metrics[name] for name in checked}
    code, _, complaint = gossamer("theory", "topics", "w", "s", "--gossip", 0.1)
    assert code == 2
    assert "some nodes are absent" in complaint


def test_a_simulation_in_which_all_nodes_stay_has_no_table_of_absent_nodes(gossamer, workload, tmp_path):
    assert gossamer("simulate", "cyclon", "w", "s", "--seed", 5, "--until", "5s")[0] == 0
    assert "absent.parquet" not in files(tmp_path / "s")


def test_a_simulation_with_a_history_on_disk_says_how_much_returning_nodes_get(gossamer, workload):
    churn = ("--workload", "w", "--on", "exp:60s", "--off", "exp:10s", "--until", "100s", "--seed", 4)
    assert gossamer("churn", "make", "c", *churn)[0] == 0
    flags = ("--seed", 5, "--churn", "c", "--until", "120s", "--dissemination", "tree", "--recovery", "--events", 60)
    without = json.loads(gossamer("simulate", "spidercast", "w", "a", *flags, "--json")[1])
    assert "missed_while_away" not in without
    history = ("--history-size", "1MB", "--history-age", "1h")
    code, out, _ = gossamer("simulate", "spidercast", "w", "b", *flags, *history, "--record", "--json")
    assert code == 0
    metrics = json.loads(out)
    assert metrics["missed_while_away"] > 20
    assert metrics["missed_and_delivered"] / metrics["missed_while_away"] == metrics["missed_delivery_ratio"] > 0.5
    assert metrics["delivered_to_newcomers"] > without["delivered_to_newcomers"]
    assert gossamer("replay", "b/record.bin")[0] == 0


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--history-size", "1MB"), "give --recovery too"),
        (("--dissemination", "tree", "--recovery", "--history-size", "0B"), "--history-size must be between"),
        (
            ("--dissemination", "tree", "--recovery", "--set", "recovery.stores=true"),
            "give --recovery and --history-size",
        ),
    ],
)
def test_a_history_that_cannot_be_simulated_is_one_sentence(gossamer, workload, flags, sentence):
    code, _, err = gossamer("simulate", "spidercast", "w", "s", "--seed", 5, *flags)
    assert (code, sentence in err) == (2, True)
