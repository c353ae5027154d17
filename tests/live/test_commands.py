"""The commands of live nodes, as processes: signals, pipes, exit codes."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from gossamer.live.operations.status_server import fetch_status
from tests.waiting import until_now

COMMAND = [sys.executable, "-m", "gossamer"]
QUICK = ("--set", "heartbeat_us=200000", "--set", "period_us=20000", "--set", "connect_timeout_us=200000")
SECONDS = 30
HISTORY = ("--identity-file", "id", "--history", "past")


@contextmanager
def running(*arguments, **options):
    """A command that keeps running; it is killed at the end of the test."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen([*COMMAND, *arguments], **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def node(*arguments):
    """A running node: its process, and the fields of its first JSON log lines."""
    with running("node", "--log", "json", "--metrics", "127.0.0.1:0", *QUICK, *arguments) as process:
        facts = {"process": process}
        while "metrics" not in facts:
            facts = json.loads(process.stderr.readline()) | facts
        yield facts


def run(*arguments, **options):
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


async def holders(metrics):
    """The number of neighbours that have the first topic of a node."""
    return (await fetch_status(metrics)).topics[0].peers


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_makes_a_node_leave_gracefully(number):
    with node("--follow", "t") as found:
        process = found["process"]
        assert found["message"] == f"listening on {found['address']}"
        process.send_signal(number)
        out, log = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, "")
    assert [json.loads(line)["message"] for line in log.splitlines()] == ["leaving", "left"]


STUBBORN = """
import asyncio
from gossamer.live.operations.signals import asked_to_stop
async def main():
    with asked_to_stop() as asked:
        print("runs", flush=True)
        await asked.wait()
        print("was asked", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


def test_a_second_signal_ends_a_node_at_once():
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True) as process:
        for line in ("runs\n", "was asked\n"):
            assert process.stdout.readline() == line
            process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 128 + signal.SIGTERM


def test_a_subscriber_warns_while_the_address_does_not_answer():
    with running("sub", "t", "--join", "127.0.0.1:1") as reader:
        line = "warning none of the nodes to join has accepted a link; still trying 127.0.0.1:1 (connection refused)"
        assert line in reader.stderr.readline()
        reader.send_signal(signal.SIGINT)
        assert reader.wait(SECONDS) == 0


def test_lines_of_stdin_reach_a_node_that_prints_and_one_that_subscribes():
    with node("--follow", "a/b", "--print") as found:
        join = ("--join", found["address"], *QUICK)
        with running("sub", "a/b", "other", *join, "--count", "2") as reader:
            until_now(lambda: holders(found["metrics"]))
            code, out, _ = run("pub", "a/b", "--json", *join, input="one\ntwo\n")
            receipts = [json.loads(line) for line in out.splitlines()]
            assert (code, len(receipts)) == (0, 2)
            assert all(receipt["sent"] >= 1 for receipt in receipts)
            out, _ = reader.communicate(timeout=SECONDS)
            assert (reader.returncode, out) == (0, "a/b\tone\na/b\ttwo\n")
        printed = [json.loads(found["process"].stdout.readline()) for _ in range(2)]
    assert [message["payload"] for message in printed] == ["one", "two"]
    assert [message["sequence"] for message in printed] == [receipt["sequence"] for receipt in receipts]


def keys_for(folder, *names):
    """A cluster's authority, and a folder of keys for each name."""
    assert run("keys", "init", str(folder / "authority"))[0] == 0
    for name in names:
        issue = ("keys", "issue", name, str(folder / name), "--authority", str(folder / "authority"))
        assert run(*issue)[0] == 0
    return [str(folder / name) for name in names]


def test_commands_use_tls_and_signatures_and_refuse_nodes_without_keys(tmp_path):
    hub, feed, desk = keys_for(tmp_path / "ours", "hub", "feed", "desk")
    (stranger,) = keys_for(tmp_path / "theirs", "stranger")
    strict = ("--signatures", "strict")
    with node("--follow", "a", "--keys", hub, *strict) as found:
        join = ("--join", found["address"], *QUICK)
        with running("sub", "a", *join, "--keys", desk, *strict, "--count", "1", "--json") as reader:
            until_now(lambda: holders(found["metrics"]))
            assert run("pub", "a", "1.07", *join, "--keys", feed, *strict)[0] == 0
            out, _ = reader.communicate(timeout=SECONDS)
        message = json.loads(out)
        assert message["payload"] == "1.07"
        assert message["publisher"] == json.loads(run("keys", "show", feed, "--json")[1])["id"]
        reasons = {
            (): "it closed the connection before its greeting; if it uses TLS, this node needs --keys",
            (
                "--keys",
                stranger,
                *strict,
            ): "its certificate is of another authority; both nodes need keys from the same",
        }
        for keys, reason in reasons.items():
            code, out, err = run("pub", "a", "x", *join, *keys, "--timeout", "1")
            assert (code, out) == (1, "")
            assert (
                "the message reached nobody, because no node to join accepted a link within 1 s" in err.splitlines()[-1]
            )
            assert f"{found['address']}: {reason}" in err.splitlines()[-1]
            with running("sub", "a", *join, *keys) as reader:
                assert f"warning link to {found['address']} refused: " in reader.stderr.readline()
                reader.send_signal(signal.SIGINT)
                assert reader.wait(SECONDS) == 0


def test_what_the_rules_forbid_is_one_sentence_and_exit_code_1(tmp_path):
    hub, desk = keys_for(tmp_path, "hub", "desk")
    rules = tmp_path / "rules.toml"
    rules.write_text('[[allow]]\nnames = ["hub"]\npublish = ["*"]\nsubscribe = ["*"]\n')
    with node("--follow", "a", "--keys", hub, "--rules", str(rules)) as found:
        options = ("--join", found["address"], *QUICK, "--keys", desk, "--rules", str(rules))
        refused = {
            ("pub", "a", "x"): "publish on",
            ("sub", "a"): "subscribe to",
            ("node", "--log", "json", "--follow", "a"): "subscribe to",
            ("node", "--log", "json", "--publish", "a"): "publish on",
        }
        for command, right in refused.items():
            code, out, err = run(*command, *options)
            assert (code, out) == (1, "")
            said = [line for line in err.splitlines() if not line.startswith("{")]
            assert said == [f"gossamer: the access rules do not allow desk to {right} 'a'"]


def test_a_secret_of_stan_comes_from_a_file_and_keeps_other_nodes_out(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("between us\n")
    quick = ("--system", "stan", "--set", "probe_us=50000", "--set", "period_us=100000")
    inside = (*quick, "--secret", f"a={secret}")
    with running("node", "--log", "json", "--metrics", "127.0.0.1:0", "--follow", "a", "--print", *inside) as process:
        found = {}
        while "metrics" not in found:
            found = json.loads(process.stderr.readline()) | found
        join = ("--join", found["address"])
        assert run("pub", "a", "for friends", *join, *inside)[0] == 0
        assert json.loads(process.stdout.readline())["payload"] == "for friends"
        code, _, err = run("pub", "a", "x", *join, *quick, "--timeout", "2")
        assert code == 1
        assert "no node with the topic 'a' was found" in err


def test_a_closed_pipe_ends_a_reader_quietly():
    with node("--publish", "t") as found:
        join = ("--join", found["address"], *QUICK)
        with running("sub", "t", *join, "--json") as reader:
            until_now(lambda: holders(found["metrics"]))
            reader.stdout.close()
            # One message only: the reader leaves after it, and a second one could be refused.
            assert run("pub", "t", "x", *join)[0] == 0
            assert reader.wait(SECONDS) == 0
            assert reader.stderr.read() == ""


def test_a_publisher_without_neighbours_gets_one_sentence_and_exit_code_1():
    code, out, err = run("pub", "t", "x", "--join", "127.0.0.1:1", "--timeout", "0.3")
    assert (code, out) == (1, "")
    assert err == (
        "gossamer: the message reached nobody, because no node to join accepted a link within 0.3 s; "
        "127.0.0.1:1: connection refused\n"
    )
    with node() as found:
        code, _, err = run("pub", "t", "x", "--join", found["address"], "--timeout", "0.5", *QUICK)
    assert code == 1
    assert err == "gossamer: no node with the topic 't' was found within 0.5 s; the message reached nobody\n"


def test_a_node_keeps_trying_to_join_until_the_address_answers():
    with socket.create_server(("127.0.0.1", 0)) as place:
        address = f"127.0.0.1:{place.getsockname()[1]}"
    with node("--join", address, "--follow", "t") as early:
        lines = iter(early["process"].stderr.readline, "")
        complaint = next(entry for line in lines if (entry := json.loads(line))["level"] == "warning")
        sentence = f"none of the nodes to join has accepted a link; still trying {address} (connection refused)"
        assert complaint["message"] == sentence
        with node("--listen", address, "--follow", "t") as late:
            until_now(lambda: holders(late["metrics"]))


def test_status_shows_links_and_topics_and_names_nodes_that_do_not_answer():
    with node("--follow", "t") as one, node("--join", one["address"], "--publish", "t") as other:
        until_now(lambda: holders(one["metrics"]))
        code, out, err = run("status", one["metrics"], other["metrics"], "127.0.0.1:1", "--timeout", "5")
        assert code == 1
        assert err == "gossamer: 127.0.0.1:1 cannot be reached: connection refused\n"
        assert all(found["node"] in out and found["address"] in out for found in (one, other))
        code, out, _ = run("status", one["metrics"])
        assert code == 0
        assert "Links" in out
        assert other["address"] in out


def test_a_node_takes_its_settings_from_a_file_and_flags_override_them(tmp_path):
    (tmp_path / "node.toml").write_text(
        'follow = ["from/file"]\nrecord = "r.bin"\nlisten = "127.0.0.1:1"\n[settings]\nheartbeat_us = 200000\n'
    )
    with node("--config", tmp_path / "node.toml", "--listen", "127.0.0.1:0") as found:
        _, out, _ = run("status", found["metrics"], "--json")
        assert [topic["topic"] for topic in json.loads(out)["nodes"][0]["topics"]] == ["from/file"]
        found["process"].send_signal(signal.SIGTERM)
        assert found["process"].wait(SECONDS) == 0
    code, out, _ = run("replay", tmp_path / "r.bin", "--json")
    assert code == 0
    assert json.loads(out)["difference"] is None


WRONG = {
    "a bad address": (("node", "--listen", "nowhere"), "must be HOST:PORT"),
    "a bad address to join": (("node", "--join", "127.0.0.1"), "must be HOST:PORT"),
    "an unknown system": (("node", "--system", "spidrcast"), "not 'spidrcast'"),
    "an unknown parameter": (("node", "--set", "greedy=1"), "has no parameter 'greedy'"),
    "an unknown dissemination": (("node", "--dissemination", "pigeon"), "no dissemination 'pigeon'"),
    "a plan that is not there": (("node", "--system", "planned", "--plan", "nowhere"), "cannot read the plan nowhere"),
    "keys that are not there": (("node", "--keys", "nowhere"), "nowhere"),
    "an open address without keys": (("node", "--listen", "0.0.0.0:0"), "can be reached from other machines"),
    "a topic without a name": (("node", "--follow", ""), "must be a non-empty string"),
    "a topic with a long name": (("node", "--follow", "x" * 256), "at most 255 bytes"),
    "metrics at a bad address": (("node", "--metrics", "here"), "must be HOST:PORT"),
    "a record that cannot be written": (
        ("node", "--record", "no/such/folder"),
        "cannot write the record no/such/folder: no such file or directory",
    ),
    "a history without an identity": (("node", "--history", "past"), "give --keys or --identity-file"),
    "a size without a unit": (("node", *HISTORY, "--history-size", "7"), "--history-size must be a number and a unit"),
    "a history that is too small": (("node", *HISTORY, "--history-size", "1kB"), "at least 1,048,576 bytes"),
    "an age below zero": (("node", *HISTORY, "--history-age=-1d"), "--history-age must be a number and a unit"),
    "a history below a file": (
        ("node", "--identity-file", "id", "--history", "/dev/null/past"),
        "cannot make the folder of the history, /dev/null/past: not a directory",
    ),
    "a history of a system without recovery": (("node", "--system", "gossip", *HISTORY), "needs recovery"),
    "a settings file that is not there": (("node", "--config", "nowhere.toml"), "no settings file at nowhere.toml"),
    "a secret without a file": (("node", "--system", "stan", "--secret", "t"), "--secret must be TOPIC=FILE"),
    "a secret of another topic": (
        ("pub", "t", "x", "--join", "a:1", "--system", "stan", "--secret", "u=/dev/null"),
        "--secret names 'u', which this command does not use",
    ),
    "a secret that is not there": (
        ("node", "--system", "stan", "--secret", "t=nowhere"),
        "cannot be read from nowhere",
    ),
    "a secret that is empty": (("node", "--system", "stan", "--secret", "t=/dev/null"), "is empty"),
    "a secret for a system without secrets": (("node", "--secret", "t=/etc/hostname"), "needs --system stan"),
    "no address for a publisher to join": (("pub", "t", "x"), "give the address of a node through which to join"),
    "no address for a subscriber to join": (("sub", "t"), "give the address of a node through which to join"),
    "a rate of zero": (("pub", "t", "x", "--join", "a:1", "--rate", "0"), "--rate must be above 0"),
    "status of no node": (("status",), "give the --metrics address"),
    "a folder without a network": (("status", "--dir", "."), "no network runs in"),
    "records without a folder": (("up", "--record"), "--record needs --out"),
    "a kill without the time to settle": (("up", "--kill", "0.2", "--seconds", "10"), "give --seconds above 20"),
    "a folder that is there": (("up", "--out", "."), "exists; give another folder"),
    "topics without common followers": (
        ("up", "--nodes", "2", "--topics", "100000", "--subscriptions", "1", "--popularity", "uniform"),
        "no topic is followed by two nodes",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_flag_is_one_sentence_and_exit_code_2(gossamer, case):
    arguments, sentence = WRONG[case]
    code, out, err = gossamer(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_one_sentence_and_exit_code_2(gossamer):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert gossamer("node", "--listen", address) == (
            2,
            "",
            f"gossamer: cannot listen on {address}: address already in use\n",
        )
        code, _, err = gossamer("node", "--metrics", address)
    assert code == 2
    assert f"cannot serve the status on {address}: " in err


STOPS_WHEN_SERVING = """
import logging, os, signal, sys
from gossamer.cli.app import app

class Stop(logging.Handler):
    def emit(self, record):
        if record.getMessage().startswith("metrics on"):
            os.kill(os.getpid(), signal.SIGTERM)

logging.getLogger("gossamer.live").addHandler(Stop())
try:
    app(["node", "--follow", "t", "--metrics", "127.0.0.1:0"])
except SystemExit as ended:
    assert not ended.code
print(sorted({"numpy", "numba", "pyarrow", "scipy", "rich", "cryptography"} & set(sys.modules)))
"""


def test_a_node_command_loads_no_heavy_library():
    done = subprocess.run(
        [sys.executable, "-c", STOPS_WHEN_SERVING], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_sighup_makes_a_node_read_its_access_rules_again(tmp_path):
    (hub,) = keys_for(tmp_path / "keys", "hub")
    rules = tmp_path / "rules.toml"
    rules.write_text('[[allow]]\nnames = ["*"]\nsubscribe = ["t"]')
    with node("--follow", "t", "--keys", hub, "--rules", str(rules)) as found:
        process = found["process"]
        process.send_signal(signal.SIGHUP)
        assert json.loads(process.stderr.readline())["message"] == "the access rules were read again"
        rules.write_text("[[deny]]")
        process.send_signal(signal.SIGHUP)
        line = json.loads(process.stderr.readline())["message"]
        assert line.startswith("the access rules stay as they are: ")
        assert "unknown field `deny`" in line
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def test_a_pattern_on_the_command_line_prints_every_topic_that_matches(tmp_path):
    with node("--publish", "prices/eur", "--pattern", "prices/*") as found:
        (tmp_path / "peers.txt").write_text(found["address"] + "\n")
        with running("sub", "--pattern", "prices/**", "--join-file", str(tmp_path / "peers.txt"), *QUICK) as reader:
            until_now(lambda: holders(found["metrics"]))
            assert run("pub", "prices/eur", "1.07", "--join", found["address"], *QUICK)[0] == 0
            assert reader.stdout.readline() == "prices/eur\t1.07\n"
            reader.send_signal(signal.SIGINT)
            assert reader.wait(SECONDS) == 0
        shown = run("status", found["metrics"])[1]
        assert "prices/*" in shown
        assert "prices/eur" in shown


def test_a_wrong_pattern_and_no_topic_are_one_sentence_and_exit_code_2():
    join = ("--join", "127.0.0.1:1")
    for arguments, sentence in {
        ("sub", *join): "give a TOPIC to follow, or --pattern",
        ("sub", "--pattern", "a**", *join): "`**` must be a whole level, as in 'orders/**', got 'a**' in 'a**'",
        (
            "sub",
            "--pattern",
            "a/*",
            "--system",
            "stan",
            *join,
        ): "patterns need nodes that tell each other names of topics",
        ("sub", "a", "--join-file", "nowhere.txt"): "cannot read the addresses to join from nowhere.txt",
    }.items():
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"gossamer: {sentence}")
        assert err.count("\n") == 1
    code, _, err = run("sub", "--pattern", "**", *join)
    assert code == 1
    assert "matches every topic; only an access rule" in err
