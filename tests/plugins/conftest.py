"""Packages outside this repository, installed into folders of their own and put on the path of subprocesses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick_java import QUICK_JAVA

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@pytest.fixture(scope="session")
def star(tmp_path_factory):
    """The folder with the installed example system."""
    folder = tmp_path_factory.mktemp("installed")
    example = ROOT / "examples" / "star_per_topic"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(folder), str(example)], check=True, timeout=120)
    return folder


@pytest.fixture
def python(tmp_path):
    """Runs Python, or the command with `command=True`, with further folders on its path, in an empty folder."""

    def run(*arguments, path=(), command=False):
        environment = {**os.environ, **QUICK_JAVA, "PYTHONPATH": os.pathsep.join(map(str, (*path, SOURCE)))}
        words = [sys.executable, *(("-m", "gossamer") if command else ()), *map(str, arguments)]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=280, check=False, env=environment, cwd=tmp_path
        )

    return run


@pytest.fixture
def gossamer(python, star):
    """Runs a command with the example system installed."""

    def run(*arguments):
        done = python(*arguments, path=(star,), command=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
