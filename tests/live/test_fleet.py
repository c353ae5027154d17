"""A network of processes: started, counted by id, killed in part, and none left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.live.fleet.count import count_messages
from gossamer.live.fleet.member import DELIVERED, ENTRY, PUBLISHED, log_path
from gossamer.live.fleet.network import MEMBERS, is_connected, read_members
from tests.waiting import until_now

QUICK = ("--set", "heartbeat_us=200000", "--set", "period_us=20000", "--set", "connect_timeout_us=200000")
UP = (sys.executable, "-m", "gossamer", "up", "--nodes", "6", "--topics", "6", "--subscriptions", "3", *QUICK)


def write_logs(folder, *logs):
    for member, entries in enumerate(logs):
        log_path(folder, member).write_bytes(b"".join(ENTRY.pack(*entry) for entry in entries))


NODES = {0: 100, 1: 101, 2: 102}
TOPICS = [[7], [7], [7]]
PHASES = [("before", 0), ("after", 1_000)]


def published(number, at_ns, member=0):
    return (PUBLISHED, 7, NODES[member], number, at_ns)


def delivered(number, at_ns, member=0):
    return (DELIVERED, 7, NODES[member], number, at_ns)


def test_a_run_without_fault_is_counted_as_one(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10), published(2, 2_000_010)],
        [delivered(1, 1_000_010), delivered(2, 5_000_010)],
        [delivered(1, 3_000_010), delivered(2, 6_000_010)],
    )
    found = count_messages(tmp_path, TOPICS, NODES, (), PHASES)
    assert (found.published, found.delivered, found.missing, found.twice, found.out_of_order) == (2, 4, 0, 0, 0)
    assert [(phase.published, phase.expected) for phase in found.phases] == [(1, 2), (1, 2)]
    assert (found.latency_ms_p50, found.latency_ms_max) == (3.0, 4.0)


def test_what_is_missing_twice_or_out_of_order_is_counted(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10), published(2, 20), published(3, 2_000)],
        [delivered(2, 30), delivered(1, 30), delivered(1, 40)],
        [delivered(1, 30), delivered(3, 3_000), delivered(9, 3_000)],
    )
    found = count_messages(tmp_path, TOPICS, NODES, (), PHASES)
    assert (found.missing, found.twice, found.out_of_order, found.unknown) == (2, 1, 1, 1)
    assert [phase.missing for phase in found.phases] == [1, 1]
    assert "message 2 of 0000000000000064 on topic 7: delivered at 1 of 2 nodes" in found.examples


def test_who_was_killed_owes_nothing_and_is_owed_nothing(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10)],
        [delivered(1, 30), delivered(1, 40, member=2)],
        [published(1, 10, member=2)],
    )
    # The last entry of a killed node may be cut off.
    with log_path(tmp_path, 2).open("ab") as log:
        log.write(b"\x01\x02")
    found = count_messages(tmp_path, TOPICS, NODES, {2}, PHASES)
    assert (found.published, found.missing, found.unknown) == (2, 0, 0)
    assert found.phases[0].expected == 1


def test_a_topic_is_connected_by_links_that_both_ends_know():
    assert is_connected({"a": {"b"}, "b": {"a", "c"}, "c": {"b"}})
    assert not is_connected({"a": {"b"}, "b": {"a"}, "c": set()})
    assert not is_connected({"a": {"b"}, "b": {"a"}, "c": {"b"}})


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in state(pid)]


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_network_carries_its_traffic_and_leaves_records_and_no_process(tmp_path):
    out = tmp_path / "out"
    arguments = (*UP, "--rate", "100", "--seconds", "1", "--json", "--record", "--out", out)
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["messages_published"] > 50
    assert found["delivered"] == sum(phase["expected"] for phase in found["phases"])
    assert (found["missing"], found["twice"], found["out_of_order"], found["topics_parted"]) == (0, 0, 0, False)
    assert not alive(member.pid for member in read_members(out))
    replayed = subprocess.run(
        [sys.executable, "-m", "gossamer", "replay", *out.glob("*.record"), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stdout
    audit = json.loads(replayed.stdout)["audit"]
    assert (audit["nodes"], audit["deliveries"], audit["breach_count"]) == (6, found["delivered"], 0)


def test_a_network_loses_some_nodes_and_nothing_else(tmp_path):
    arguments = (*UP, "--rate", "100", "--seconds", "3", "--kill", "0.34", "--settle", "0.7", "--json")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    assert found["killed"] == 2
    assert (found["twice"], found["died"], found["topics_parted"]) == (0, 0, False)
    before, meanwhile, after = found["phases"]
    assert (before["name"], meanwhile["name"], after["name"]) == ("before", "meanwhile", "after")
    assert min(meanwhile["published"], after["published"]) > 0
    assert after["missing"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_however_it_ends_no_process_is_left(tmp_path, number):
    out = tmp_path / "out"
    with subprocess.Popen([*UP, "--out", out], stderr=subprocess.PIPE, start_new_session=True) as up:
        until_now(lambda: (out / MEMBERS).exists() or up.poll() is not None)
        pids = [member.pid for member in read_members(out)]
        assert len(alive(pids)) == 6
        if number == signal.SIGINT:
            status = [sys.executable, "-m", "gossamer", "status", "--dir", out, "--json"]
            shown = subprocess.run(status, capture_output=True, timeout=60, check=True)
            assert len(json.loads(shown.stdout)["nodes"]) == 6
        os.kill(up.pid, number)
        assert up.wait(30) == (130 if number == signal.SIGINT else -signal.SIGKILL)
        until_now(lambda: not alive(pids))
