"""Studies: every table was made by the study as it stands now."""

import pytest
from studies import tables

from gossamer.analysis.exhibits.catalogue import all_exhibits


def test_every_table_belongs_to_its_study_as_it_stands():
    assert tables.stale_tables() == []


def test_a_study_that_changed_since_its_table_was_made_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "TABLES", tmp_path / "tables")
    (tmp_path / "made.py").write_text("# a script")
    (tmp_path / "made.toml").write_text('title = "T"\nquestion = "Q?"\nseeds = [1]\n')
    assert tables.stale_tables() == ["made has no table; run python -m studies.made"]
    (tmp_path / "made.toml").write_text('title = "T"\nquestion = "Q?"\nseeds = [1]\nwaiting = "for a machine"\n')
    assert tables.stale_tables() == []
    (tmp_path / "made.toml").write_text('title = "T"\nquestion = "Q?"\nseeds = [1]\n')
    tables.write_table("made", tables.read_study("made"), ["a"], [["1"]], "")
    assert tables.stale_tables() == []
    for name in ("made.py", "made.toml"):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(before + "\n")
        assert tables.stale_tables() == ["made has changed since its table was made; run python -m studies.made"]
        (tmp_path / name).write_text(before)
    (tmp_path / "made.toml").unlink()
    assert tables.stale_tables() == ["made has a table but no study"]


def test_every_study_that_an_exhibit_names_exists():
    assert {name for exhibit in all_exhibits().values() for name in exhibit.studies} <= set(tables.studies())


@pytest.mark.parametrize(("samples", "text"), [([2.0], "2.00"), ([1.0, 3.0], "2.00 ± 1.00")])
def test_a_mean_is_shown_with_its_standard_error(samples, text):
    assert tables.shown(samples) == text
