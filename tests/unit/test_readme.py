"""The README's Python runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_is_a_snippet_for_each_job():
    assert len(SNIPPETS) == 4


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_runs_unchanged(number, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SNIPPETS[number]], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
