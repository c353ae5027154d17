"""docs/study.md is true: its examples are studies, and it has every field with its default."""

import re
from pathlib import Path

import msgspec
import pytest

from gossamer.pipeline.study_settings import SMALL_NODES, Candidate, Study, read_study

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "study.md").read_text()
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_is_a_study(number, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(EXAMPLES[number])
    read_study(path).expanded()


def test_there_is_an_example_for_each_kind(tmp_path):
    kinds = []
    for example in EXAMPLES:
        (tmp_path / "study.toml").write_text(example)
        kinds.append(read_study(tmp_path / "study.toml").kind)
    assert set(kinds) == {"edges", "memberships", "edges and memberships", "workload"}


@pytest.mark.parametrize("kind", [Study, Candidate])
def test_every_field_is_in_a_table(kind):
    rows = [line for line in DOCS.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(kind.__struct_fields__) <= documented


def test_the_defaults_of_numbers_are_true():
    fields = {each.name: each.default for each in msgspec.structs.fields(Study)}
    for line in DOCS.splitlines():
        names, *more = (cell.strip() for cell in line.strip("|").split("|")) if line.startswith("| `") else ("",)
        named = re.findall(r"`(\w+)`", names)
        numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*\d|\d", more[0] if more else "")]
        if named and all(isinstance(fields.get(name), int | float) for name in named) and numbers:
            assert numbers == [fields[name] for name in named], line
    assert f"| `churn_nodes` | {SMALL_NODES}, at most `nodes` |" in DOCS
