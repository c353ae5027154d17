"""The commands of README run as they stand: in one folder, in order, beside files of one's own (subs.csv, hosts.csv).

Commands on Spark and `reproduce` take many minutes; `tests/spark` and the tests of exhibits run them on small inputs, and
`test_help.py` checks that README's lines are accepted. `tests/live/test_dashboard.py` starts the dashboard.
"""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.live.operations.status_server import fetch_status
from tests.waiting import until_now

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
ELSEWHERE = {"study", "sweep", "ingest", "sample", "profile", "analyse", "reproduce", "dashboard"}
COMMANDS = [
    shlex.split(line, comments=True)
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    if not language
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("gossamer ")
]
HERE = [command for command in COMMANDS if command[1] not in ELSEWHERE and "--spark" not in command]
ROWS = [f"s{node},t{(node * 7 + turn) % 12}\n" for node in range(60) for turn in range(4)]
# `plan --nodes 50` plans for the first fifty.
HOSTS = [f"s{node},10.0.0.{node}\n" for node in range(50)]


def started(command, folder):
    """A command that runs until Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


async def holders():
    """How many neighbours of README's node have its topic; 0 while the node does not answer."""
    try:
        return (await fetch_status("127.0.0.1:9400")).topics[0].peers
    except Exception:
        return 0


def test_the_commands_are_found():
    assert len(COMMANDS) > 35
    assert {"plan", "simulate", "node", "up", "deploy", "what-if"} <= {command[1] for command in HERE}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_commands_of_the_readme_run_as_they_stand(tmp_path):
    (tmp_path / "subs.csv").write_text("service,topic\n" + "".join(ROWS))
    (tmp_path / "hosts.csv").write_text("service,host\n" + "".join(HOSTS))
    running = []
    try:
        for command in HERE:
            if command[1] in ("node", "sub"):
                running.append(started(command, tmp_path))
                if len(running) == 2:
                    until_now(holders)
                continue
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=1800,
                check=False,
            )
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        ended = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ended
    assert ended[1][0] == "1.07\n"
