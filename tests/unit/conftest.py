"""The command line, and a small workload to give it."""

import sys

import pytest

from gossamer.cli import app as cli


@pytest.fixture
def gossamer(monkeypatch, capsys, tmp_path):
    """Run a command in a folder of its own; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gossamer", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


MAKE = ("workload", "make", "w", "--nodes", 60, "--topics", 12, "--subscriptions", 4, "--seed", 1)


@pytest.fixture
def workload(gossamer, tmp_path):
    assert gossamer(*MAKE)[0] == 0
    return tmp_path / "w"
