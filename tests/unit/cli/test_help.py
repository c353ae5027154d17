"""The help of every command, its examples, and the commands in README.md."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gossamer.cli import app as cli
from gossamer.cli.renamed import replace_old_flags

README = Path(__file__).resolve().parents[3] / "README.md"
ROOT = typer.main.get_command(cli.app)


def commands(group, prefix=()):
    """Every command with its words, groups included."""
    for name, command in group.commands.items():
        yield (*prefix, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))


def parse(arguments):
    """Parse a command line without running it; returns the words of the command."""
    command, words, left = ROOT, [], list(arguments)
    while hasattr(command, "commands"):
        words.append(left.pop(0))
        command = command.commands[words[-1]]
    command.make_context(" ".join(words), left)
    return tuple(words)


def readme_commands():
    text = README.read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith("gossamer ")]


COMMANDS = dict(commands(ROOT))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_that_its_options_accept(words):
    examples = re.findall(r"Example: gossamer (.+)", COMMANDS[words].help)
    assert examples, f"the help of {' '.join(words)} has no example"
    for example in examples:
        assert parse(shlex.split(example))[: len(words)] == words


@pytest.mark.parametrize("line", readme_commands())
def test_every_command_in_the_readme_is_accepted_and_uses_no_old_flag(line):
    arguments = shlex.split(line, comments=True)[1:]
    assert parse(arguments)
    assert replace_old_flags(arguments) == (arguments, [])


def test_the_readme_shows_every_job():
    assert {"study", "plan", "node", "workload"} <= {line.split()[1] for line in readme_commands()}


def test_an_example_with_a_wrong_flag_is_noticed():
    with pytest.raises(Exception, match="--sed"):
        parse(["build", "cyclon", "w", "o", "--sed", "1"])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_printed(gossamer, words):
    code, out, _ = gossamer(*words, "--help")
    assert code == 0
    assert "Example: gossamer" in out


def test_the_commands_are_listed_by_job_in_80_columns(gossamer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = gossamer("--help")[1]
    jobs = re.findall(r"^(\w+):$", out, re.MULTILINE)
    assert jobs == ["Options", "Study", "Plan", "Run", "Data"]
    listed = re.findall(r"^  ([a-z-]+) ", out.partition("Study:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(ROOT.commands)
    assert "..." not in out.partition("Study:")[2], "a summary does not fit its line"
    assert max(map(len, out.splitlines())) <= 80


def run_fresh(*arguments, **environment):
    code = (
        "import sys; sys.argv[0] = 'gossamer'\n"
        "from gossamer.cli.app import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'pyarrow', 'numba', 'rich'} & set(sys.modules)), file=sys.stderr)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_help_loads_no_heavy_library():
    done = run_fresh("--help")
    assert done.returncode == 0
    assert done.stderr == "[]\n"


def test_completion_of_the_shell_can_be_shown():
    done = run_fresh("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_GOSSAMER_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("gossamer simu", "simulate"), ("gossamer build spid", "spidercast"), ("gossamer node --jo", "--join")],
)
def test_the_shell_completes_commands_systems_and_flags(typed, expected):
    done = run_fresh(_GOSSAMER_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(typed.split()) - 1))
    assert expected in done.stdout.split()
