"""The walks of docs/tutorial: all blocks of a page, in order, in one folder, as a reader runs them."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.unit.test_docs import BESIDE, ROOT, WALKS

SECONDS = 240
# The command of this environment, for blocks that call `gossamer`.
GOSSAMER = f"""#!{sys.executable}
from gossamer.cli.app import main
if __name__ == "__main__":
    main()
"""


def blocks(page):
    """The language, the code, and whether it runs beside the next block."""
    text = page.read_text()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield match.group(1), match.group(2), text[: match.start()].endswith(BESIDE)


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "gossamer"
    script.write_text(GOSSAMER)
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}


def command(language, code):
    assert language in ("python", "sh"), f"a walk has no test for blocks of {language}"
    return [sys.executable, "-c", code] if language == "python" else ["bash", "-euo", "pipefail", "-c", code]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", WALKS, ids=lambda page: page.stem)
def test_a_walk_runs_from_its_first_block_to_its_last(page, tmp_path, environment):
    folder = tmp_path / "here"
    folder.mkdir()
    beside = None
    try:
        for language, code, is_beside in blocks(page):
            if is_beside:
                beside = subprocess.Popen(command(language, code), stdout=subprocess.PIPE, text=True, cwd=folder)
                assert beside.stdout.readline().startswith("listening on ")
                continue
            done = subprocess.run(
                command(language, code),
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
            assert done.stdout.strip()
            if beside is not None:
                # The program in the first terminal printed what the second one sent.
                assert beside.stdout.readline().strip()
                beside.send_signal(signal.SIGINT)
                beside.communicate(timeout=SECONDS)
                beside = None
    finally:
        if beside is not None:
            beside.kill()
            beside.wait()


def test_there_are_three_walks():
    assert [page.stem for page in WALKS] == ["application", "csv-to-live", "own-data"]
    assert all(page.is_relative_to(ROOT / "docs" / "tutorial") for page in WALKS)
