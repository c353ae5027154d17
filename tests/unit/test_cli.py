"""The command line as a user meets it."""

import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from gossamer.cli import app as cli
from tests.unit.conftest import MAKE


def files(folder):
    return sorted(path.name for path in folder.iterdir())


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


def test_the_douban_kind_reports_how_close_it_came(gossamer):
    flags = ("--kind", "douban", "--nodes", 200, "--topics", 300, "--total", 2000, "--largest", 80)
    made = json.loads(gossamer("workload", "make", "w", "--seed", 3, *flags, "--json")[1])
    assert made["wanted"] == {"users": 200, "topics": 300, "subscriptions": 2000, "largest_topic": 80}
    assert set(made["reached"]) == set(made["wanted"])


@pytest.mark.parametrize("engine", ["cycle", "event"])
def test_a_build_writes_links_in_order_and_measures_them(gossamer, workload, tmp_path, engine):
    code, out, _ = gossamer("build", "cyclon", "w", "o", "--seed", 2, "--engine", engine, "--cycles", 12, "--json")
    assert code == 0
    metrics = json.loads(out)
    assert files(tmp_path / "o") == [
        "degrees.parquet",
        "manifest.json",
        "metrics.json",
        "overlay.parquet",
        "topics.parquet",
    ]
    links = pq.read_table(tmp_path / "o" / "overlay.parquet").to_pydict()
    assert all(u < v for u, v in zip(links["u"], links["v"], strict=True))
    assert len(links["u"]) == metrics["links"]
    assert (metrics["stopped_by"], metrics["cycles"]) == ("limit", 12)
    assert metrics["messages"]["ShuffleRequest"] > 0
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert len(manifest["inputs"]["interests"]["sha256"]) == 64


def test_check_gives_the_same_figures_as_the_build(gossamer, workload):
    built = json.loads(gossamer("build", "cyclon", "w", "o", "--seed", 2, "--cycles", 5, "--json")[1])
    checked = json.loads(gossamer("check", "o", "w", "--json")[1])
    keys = [
        "nodes",
        "links",
        "average_degree",
        "max_degree",
        "topics",
        "partitioned_topics",
        "components",
        "max_topic_diameter",
    ]
    assert {key: checked[key] for key in keys} == {key: built[key] for key in keys}
    bounded = json.loads(gossamer("check", "o", "w", "--json", "--bounds")[1])
    assert bounded["max_topic_diameter"] <= checked["max_topic_diameter"]


def test_an_overlay_with_one_node_settles_and_says_so(gossamer, tmp_path):
    (tmp_path / "one").mkdir()
    pq.write_table(pa.table({"node": [5], "topic": [3]}), tmp_path / "one" / "interests.parquet")
    code, out, _ = gossamer("build", "cyclon", "one", "o", "--seed", 1)
    assert code == 0
    assert "Stopped after 10 cycles: no link had changed for ten." in out


def test_the_same_seed_builds_the_same_overlay(gossamer, workload, tmp_path):
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        gossamer("build", "cyclon", "w", out, "--seed", seed, "--cycles", 5)
    first, second, other = (pq.read_table(tmp_path / out / "overlay.parquet") for out in "abc")
    assert first.equals(second)
    assert not first.equals(other)


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
    tables = ["control", "degrees", "deliveries", "links", "overlay", "publications", "topics"]
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


def test_systems_lists_parameters_with_where_they_come_from(gossamer):
    (cyclon,) = [entry for entry in json.loads(gossamer("systems", "--json")[1]) if entry["name"] == "cyclon"]
    assert {p["name"]: p["default"] for p in cyclon["parameters"]}["view_size"] == 20
    assert all(p["origin"].startswith(("Paper:", "Chosen:")) for p in cyclon["parameters"])
    assert "Paper: 20" in gossamer("systems")[1]


RECOVERY = ("--recovery", "--recovery-with")

BAD = {
    "unknown system": (("build", "cylon", "w", "o", "--seed", 1), "no system 'cylon'; there are: cyclon"),
    "unknown parameter": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "vew=1"), "no parameter 'vew'"),
    "parameter out of range": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "view_size=0"), "view_size is '0'"),
    "parameter without value": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "view_size"), "NAME=VALUE"),
    "unknown popularity": ((*MAKE[:2], "o", *MAKE[3:], "--popularity", "zip"), "no popularity 'zip'; there are: rss"),
    "more subscriptions than topics": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", 9, "--seed", 1),
        "at most the number of topics (4), got 9",
    ),
    "no nodes": (
        ("workload", "make", "o", "--nodes", 0, "--topics", 4, "--subscriptions", 2, "--seed", 1),
        "nodes must lie",
    ),
    "negative topics": (
        ("workload", "make", "o", "--nodes", 5, "--topics", -4, "--subscriptions", 2, "--seed", 1),
        "topics must lie",
    ),
    "no subscriptions": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", 0, "--seed", 1),
        "at least 1",
    ),
    "missing flag": (("workload", "make", "o", "--nodes", 5, "--seed", 1), "needs --topics"),
    "meaningless flag": (
        ("workload", "make", "o", "--kind", "friends", "--nodes", 50, "--topics", 9, "--seed", 1),
        "--topics has no meaning",
    ),
    "negative seed": (("build", "cyclon", "w", "o", "--seed", -1), "--seed"),
    "output exists": (MAKE, "w exists; choose another folder, or --force"),
    "no workload": (("build", "cyclon", "nowhere", "o", "--seed", 1), "nowhere is not a folder"),
    "no overlay": (("check", "nowhere.parquet", "w"), "there is no nowhere.parquet"),
    "no record": (("replay", "nowhere.bin"), "no record at nowhere.bin"),
    "a record that is none": (("replay", "w/manifest.json"), "record"),
    "loss of five": (("simulate", "cyclon", "w", "o", "--seed", 1, "--loss", 5), "did you mean 0.05?"),
    "bad latency": (("simulate", "cyclon", "w", "o", "--seed", 1, "--latency", "fast"), "latency must be"),
    "bad until": (("simulate", "cyclon", "w", "o", "--seed", 1, "--until", "later"), "--until must be"),
    "no time": (("simulate", "cyclon", "w", "o", "--seed", 1, "--until", "0s"), "longer than nothing"),
    "bad partition": (("simulate", "cyclon", "w", "o", "--seed", 1, "--partition", "10s"), "FROM-UNTIL:SHARE"),
    "dissemination to come": (("simulate", "cyclon", "w", "o", "--seed", 1, "--dissemination", "flood"), "carries no"),
    "recovery of nothing": (("simulate", "spidercast", "w", "o", "--seed", 1, "--recovery"), "above a dissemination"),
    "recovery where it cannot stand": (
        ("simulate", "unstructured", "w", "o", "--seed", 1, "--dissemination", "gossip", "--recovery"),
        "unstructured has no recovery",
    ),
    "a parameter of no recovery": (
        ("simulate", "spidercast", "w", "o", "--seed", 1, RECOVERY[1], "history=5"),
        "give --recovery too",
    ),
    "a parameter that recovery has not": (
        ("simulate", "spidercast", "w", "o", "--seed", 1, "--dissemination", "tree", *RECOVERY, "histroy=5"),
        "did you mean history?",
    ),
    "events with nothing to carry them": (
        ("simulate", "cyclon", "w", "o", "--seed", 1, "--events", 5),
        "need a dissem",
    ),
    "events and rate": (("simulate", "cyclon", "w", "o", "--seed", 1, "--events", 5, "--rate", 2), "not both"),
    "no churn table": (("simulate", "cyclon", "w", "o", "--seed", 1, "--churn", "nowhere"), "there is no nowhere"),
    "churn without nodes": (("churn", "make", "o", "--on", "exp:3s", "--off", "exp:3s", "--seed", 1), "either as"),
    "churn with a bad law": (
        ("churn", "make", "o", "--nodes", 3, "--on", "gauss:3s", "--off", "exp:3s", "--seed", 1),
        "--on must be",
    ),
    "churn with bad crashes": (
        ("churn", "make", "o", "--nodes", 3, "--on", "exp:3s", "--off", "exp:3s", "--crashes", 7, "--seed", 1),
        "between 0 and 1",
    ),
    "subscriptions that are no number": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", "\u00b2", "--seed", 1),
        "subscriptions must be",
    ),
    "endless subscriptions": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", "9" * 5000, "--seed", 1),
        "subscriptions must be",
    ),
    "too many friends": (
        ("workload", "make", "o", "--kind", "friends", "--nodes", 10**20, "--seed", 1),
        "must lie between",
    ),
    "too much churn": (
        ("churn", "make", "o", "--nodes", 99999999999, "--on", "exp:3s", "--off", "exp:3s", "--seed", 1),
        "must lie between",
    ),
    "an endless period": (
        ("build", "cyclon", "w", "o", "--seed", 1, "--set", "period_us=18446744073709551615"),
        "period_us is",
    ),
    "an endless rate": (("simulate", "cyclon", "w", "o", "--seed", 1, "--rate", "inf"), "--rate must lie"),
    "deep output of a run that fails": (
        ("simulate", "cyclon", "w", "deep/er/o", "--seed", 1, "--latency", "fast"),
        "latency must be",
    ),
    "output over the input": (("build", "cyclon", "w", "w", "--seed", 1, "--force"), "is or holds the input"),
    "output around the input": (("build", "cyclon", "w", ".", "--seed", 1, "--force"), "is or holds the input"),
    "a name that is too long": (("build", "cyclon", "w", "x" * 300, "--seed", 1), "too long"),
    "unwritable": (("build", "cyclon", "w", "w/manifest.json/o", "--seed", 1), "cannot write"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_exit_code_2_and_leaves_nothing(gossamer, workload, tmp_path, name):
    arguments, sentence = BAD[name]
    code, out, err = gossamer(*arguments)
    assert code == 2, err
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
    assert files(tmp_path) == ["w"]


def test_force_replaces_what_gossamer_made(gossamer, workload):
    assert gossamer(*MAKE, "--force")[0] == 0


@pytest.mark.parametrize("library", ["numpy", "pyarrow", "numba"])
def test_a_missing_extra_is_one_sentence_with_the_pip_command(workload, tmp_path, library):
    code = f"import sys; sys.modules[{library!r}] = None; from gossamer.cli.app import main; main()"
    command = [sys.executable, "-c", code, "build", "cyclon", "w", "o", "--seed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"gossamer: this command needs {library}; run: pip install 'gossamer[sim]'\n"


def test_a_check_that_fails_prints_the_command_that_repeats_it(gossamer, workload, monkeypatch):
    from gossamer.model.values.errors import CheckFailed
    from gossamer.simulator import execute

    def fail(*_, **__):
        raise CheckFailed("node 3 delivered twice")

    monkeypatch.setattr(execute, "execute", fail)
    code, _, err = gossamer("simulate", "cyclon", "w", "o", "--seed", 9)
    assert code == 1
    assert "gossamer simulate cyclon w o --seed 9" in err


def commands(app, prefix=()):
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            for inner in command.commands:
                yield (*prefix, name, inner)
        else:
            yield (*prefix, name)


@pytest.mark.parametrize("command", list(commands(cli.app)), ids=" ".join)
def test_every_command_has_help_with_an_example(gossamer, command):
    code, out, _ = gossamer(*command, "--help")
    assert code == 0
    assert f"Example: gossamer {' '.join(command)}" in " ".join(out.split())


def test_a_killed_build_leaves_nothing_in_the_way_of_the_next(workload, tmp_path):
    command = [sys.executable, "-m", "gossamer", "build", "cyclon", "w", "o", "--seed", "1", "--cycles", "3000000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert "cycles" in process.stderr.readline()  # it is at work
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "nothing half-written is left" in err
    assert files(tmp_path) == ["w"]
    again = subprocess.run([*command[:-1], "20"], cwd=tmp_path, capture_output=True, check=False, env=os.environ)
    assert again.returncode == 0


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


def test_nodes_that_hold_nothing_are_counted_out_aloud(gossamer):
    made = json.loads(
        gossamer("workload", "make", "g", "--kind", "grid", "--nodes", 300, "--topics", 9, "--seed", 1, "--json")[1]
    )
    assert made["nodes"] < 300
    assert made["nodes"] == json.loads(gossamer("workload", "show", "g", "--json")[1])["nodes"]


def test_a_simulation_measures_only_who_is_there(gossamer, workload, tmp_path):
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


@pytest.mark.parametrize("engine", ["cycle", "event"])
def test_a_network_too_small_to_change_comes_to_rest(gossamer, engine):
    gossamer("workload", "make", "t", "--nodes", 8, "--topics", 3, "--subscriptions", 1, "--seed", 1)
    built = json.loads(gossamer("build", "cyclon", "t", "o", "--seed", 1, "--engine", engine, "--json")[1])
    assert built["links"] == 28
    assert built["stopped_by"] == "rest"


def test_the_last_overlay_is_what_the_links_table_adds_up_to(gossamer, workload, tmp_path):
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
    [("flood", "oracle"), ("tree", "oracle"), ("gossip", "oracle"), ("tree", "cyclon")],
)
def test_messages_reach_everybody_and_the_record_replays(gossamer, workload, tmp_path, dissemination, membership):
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


@pytest.mark.parametrize("dissemination", ["tree", "gossip"])
def test_with_recovery_messages_that_were_lost_arrive_and_the_record_replays(
    gossamer, workload, tmp_path, dissemination
):
    ways = ("--dissemination", dissemination, "--recovery", "--recovery-with", "history=99")
    flags = ("--rate", 5, "--loss", 0.05, "--until", "60s", "--record", "--json")
    code, out, err = gossamer("simulate", "spidercast", "w", "s", "--seed", 3, *ways, *flags)
    assert code == 0, err
    metrics = json.loads(out)
    assert metrics["recovery_parameters"]["history"] == 99
    assert metrics["gaps_given_up"] == 0
    # What was published at the very end may still be under way.
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


@pytest.mark.parametrize(
    "system", ["spidercast", "similarity", "random", "ring-per-topic", "mesh-per-topic", "unstructured"]
)
def test_every_system_can_be_built_and_checked(gossamer, workload, system):
    built = json.loads(gossamer("build", system, "w", "o", "--seed", 1, "--json")[1])
    assert built["stopped_by"] in ("rest", "plan")
    assert json.loads(gossamer("check", "o", "w", "--json")[1])["links"] == built["links"] > 0


def test_spidercast_connects_every_topic(gossamer, workload):
    assert json.loads(gossamer("build", "spidercast", "w", "o", "--seed", 1, "--json")[1])["partitioned_topics"] == 0


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("greedy_coverage=0", "must not both be 0"),
        ("greedy_coverage=-1", "greedy_coverage is '-1'"),
        ("view=0", "view is '0'"),
        ("view=1.5", "view is '1.5'"),
        ("ties=far", "ties is 'far'"),
        ("ties=near", "use --engine event"),
        ("membership=cyclon", "use --engine event"),
    ],
)
def test_wrong_parameters_of_spidercast_are_refused(gossamer, workload, setting, sentence):
    code, _, err = gossamer("build", "spidercast", "w", "o", "--seed", 1, "--set", setting)
    assert code == 2
    assert sentence in err


def test_a_planned_system_cannot_be_simulated(gossamer, workload, tmp_path):
    code, _, err = gossamer("simulate", "ring-per-topic", "w", "o", "--seed", 1)
    assert code == 2
    assert "planned centrally" in err
    assert files(tmp_path) == ["w"]
