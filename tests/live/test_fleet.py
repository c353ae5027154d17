"""A network of processes: it carries traffic, survives killed members, and leaves no process behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.live.fleet.network import MEMBERS, read_members
from gossamer.model.spool.files import SpoolFindings, read_spool
from gossamer.protocols.telemetry import AnyRecord, MessageDelivered
from tests.waiting import until_now

QUICK = ("--set", "heartbeat_us=200000", "--set", "period_us=20000", "--set", "connect_timeout_us=200000")
UP = (sys.executable, "-m", "gossamer", "up", "--nodes", "6", "--topics", "6", "--subscriptions", "3", *QUICK)


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in state(pid)]


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_network_delivers_its_traffic_and_leaves_records_and_no_process(tmp_path):
    out = tmp_path / "out"
    arguments = (
        *UP,
        "--rate",
        "100",
        "--seconds",
        "1",
        "--json",
        "--record",
        "--telemetry",
        "--trace",
        "1",
        "--out",
        out,
    )
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["messages_published"] > 50
    assert found["delivered"] == sum(phase["expected"] for phase in found["phases"])
    assert (found["missing"], found["twice"], found["out_of_order"], found["topics_parted"]) == (0, 0, 0, False)
    assert not alive(member.pid for member in read_members(out))
    spooled = list(read_spool(out / "telemetry", AnyRecord, SpoolFindings()))
    assert sum(isinstance(record, MessageDelivered) for record in spooled) == found["delivered"]
    assert len({record.node for record in spooled}) == 6
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


def test_a_network_loses_no_message_after_some_nodes_were_killed(tmp_path):
    arguments = (*UP, "--rate", "100", "--seconds", "3", "--kill", "0.34", "--settle", "0.7", "--json", "--dashboard")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    # Nobody used the dashboard, so that missing messages are judged.
    assert "dashboard: http://127.0.0.1:" in done.stderr
    assert found["orders"] == 0
    assert found["killed"] == 2
    assert (found["twice"], found["died"], found["topics_parted"]) == (0, 0, False)
    before, meanwhile, after = found["phases"]
    assert (before["name"], meanwhile["name"], after["name"]) == ("before", "meanwhile", "after")
    assert min(meanwhile["published"], after["published"]) > 0
    assert after["missing"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_no_process_is_left_however_the_network_ends(tmp_path, number):
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
