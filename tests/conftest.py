"""Fixtures that several rooms share, and the Hypothesis profiles: fixed examples in `make test`, fresh ones in `make test-slow`."""

import logging
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gossamer.cli import app as cli
from tests.schedule import pytest_xdist_make_scheduler  # noqa: F401 (a hook of pytest)

# No deadline: a slow machine is no failure. A failing example is printed as a blob for `@reproduce_failure`.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("fixed", derandomize=True, **_COMMON)
settings.register_profile("fresh", derandomize=False, **_COMMON)
settings.load_profile(os.environ.get("GOSSAMER_HYPOTHESIS", "fixed"))

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    """The folder of real data; a test that needs it is skipped where it is not."""
    if not REAL_DATA.is_dir():
        pytest.skip("the real data sets are not on this machine")
    return REAL_DATA


@pytest.fixture(autouse=True)
def plain_log():
    """Every test starts with a log that was not set up: a command that ran before in this process may have done so."""
    logging.disable(logging.NOTSET)
    for name, log in list(logging.root.manager.loggerDict.items()):
        if name.partition(".")[0] == "gossamer" and isinstance(log, logging.Logger):
            log.handlers.clear()
            log.setLevel(logging.NOTSET)
            log.propagate, log.disabled = True, False


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
