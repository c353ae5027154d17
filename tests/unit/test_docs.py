"""README and docs are true: every block of Python runs as it stands, and every link leads somewhere."""

import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import gossamer

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
# The blocks of a walk run one after another in one folder (`test_tutorials.py`).
WALKS = sorted(path for path in ROOT.glob("docs/tutorial/*.md") if path.name != "README.md")
# In front of a block that runs until Ctrl-C, beside the block after it.
BESIDE = "<!-- runs beside the next block -->\n"
SECONDS = 120


def python_blocks(page):
    """The blocks of Python in a page: the line on which each begins, its code, and whether it runs beside the next."""
    text = page.read_text()
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 2, match.group(1), text[: match.start()].endswith(BESIDE)


BLOCKS = [(page, *block) for page in PAGES if page not in WALKS for block in python_blocks(page)]
ALONE = [block for place, block in enumerate(BLOCKS) if not block[3] and not (place and BLOCKS[place - 1][3])]
PAIRS = [(block[2], after[2]) for block, after in pairwise(BLOCKS) if block[3]]


def name(block):
    return f"{block[0].relative_to(ROOT)}:{block[1]}" if isinstance(block, tuple) and len(block) == 4 else None


@pytest.mark.parametrize("block", ALONE, ids=name)
def test_a_block_of_python_runs_as_it_stands(block, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", block[2]], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_readme_shows_every_job_in_python():
    assert sum(page.name == "README.md" for page, *_ in BLOCKS) >= 6


@pytest.mark.parametrize("pair", PAIRS, ids=["first and second terminal"] * len(PAIRS))
def test_two_blocks_run_beside_each_other_as_they_stand(pair, tmp_path):
    listening, talking = pair
    with subprocess.Popen([sys.executable, "-c", listening], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout.readline().startswith("listening on 127.0.0.1:7400")
            second = subprocess.run(
                [sys.executable, "-c", talking], capture_output=True, text=True, timeout=SECONDS, check=True
            )
            assert second.stdout == "1 neighbour took the message\n"
            assert first.stdout.readline().startswith("prices/eur 1.07 from ")
        finally:
            first.send_signal(signal.SIGINT)


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "reference.md").read_text()
    listed = re.findall(r"auto(?:class|function|exception):: gossamer\.(\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(set(gossamer.__all__) - {"__version__"})


def test_the_site_lists_every_page():
    text = (ROOT / "docs" / "site" / "index.md").read_text()
    listed = {line for line in text.splitlines() if line and (ROOT / f"{line}.md").exists()}
    decisions = {"docs/decisions/" + path.stem for path in ROOT.glob("docs/decisions/[0-9]*.md")}
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in PAGES} - {"docs/site/index"}
    assert pages - decisions == listed


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page):
    """The links of a page within the repository that lead to no file or no heading."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert broken_links(page) == []


def test_a_link_to_nowhere_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title\n[one](#a-title) [two](#another) [three](gone.md) [four](https://example.org)\n")
    assert broken_links(page) == ["#another", "gone.md"]
