"""Every command of README runs as it stands: in one folder, in order, beside files of one's own (subs.csv, hosts.csv)."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
COMMANDS = [
    shlex.split(line, comments=True)
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    if not language
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("gossamer ")
]
SUBSCRIPTIONS = "service,topic\n" + "".join(
    f"s{node},t{(node * 7 + turn) % 12}\n" for node in range(60) for turn in range(4)
)
HOSTS = "service,host\n" + "".join(f"s{node},10.0.0.{node}\n" for node in range(60))


def started(command, folder):
    """A command that runs until Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_commands_are_found():
    assert len(COMMANDS) > 35
    assert {"study", "plan", "node", "up", "deploy"} <= {command[1] for command in COMMANDS}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_command_of_the_readme_runs_as_it_stands_with_spark(tmp_path):
    (tmp_path / "subs.csv").write_text(SUBSCRIPTIONS)
    (tmp_path / "hosts.csv").write_text(HOSTS)
    # The commands on data read what the default study made.
    first = ["gossamer", "study"]
    running = []
    try:
        for command in [first, *(each for each in COMMANDS if each != first)]:
            if command[1] in ("node", "sub"):
                running.append(started(command, tmp_path))
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
    node, reader, pattern = (process.returncode for process in running)
    assert (node, reader, pattern) == (0, 0, 0), ended
    assert ended[1][0] == "1.07\n"
