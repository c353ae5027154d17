"""Wrong input to `gossamer study` gets one sentence and exit code 2, before Spark starts."""

import pytest

from tests.unit.conftest import files

BAD = {
    "a missing file": (("nowhere.csv",), "there is no file at nowhere.csv"),
    "a missing definition": (("nowhere.toml",), "nowhere.toml cannot be read: No such file"),
    "an empty file": (("empty.csv",), "empty.csv is empty"),
    "a file of unknown kind": (("numbers.txt",), "say which with --kind edges or --kind memberships"),
    "an unknown kind": (("numbers.txt", "--kind", "edgess"), "edgess"),
    "a kind without an input": (("--kind", "edges"), "--kind says what INPUT is"),
    "no links": (("numbers.txt", "--kind", "edges", "--max-links", 0), "--max-links"),
    "no links in the definition": (("links.toml",), "max_links"),
    "a typo": (("typo.toml",), "did you mean max_links?"),
    "a missing file in the definition": (("missing.toml",), "there is no file at subs.csv"),
    "a folder that is no workload": (("w", "--kind", "workload", "--out", "o"), "w is not a workload"),
    "an input inside the output": (("w/numbers.txt", "--kind", "edges", "--out", "w"), "is inside the output folder"),
    "an input and a folder of data": (("numbers.txt", "--data", "w"), "it excludes INPUT"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_input_is_refused_before_spark_starts(gossamer, tmp_path, monkeypatch, name):
    pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

    def started(*settings):
        raise AssertionError("Spark was started")

    monkeypatch.setattr("gossamer.pipeline.session.spark_session", started)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "w").mkdir()
    for path in ("numbers.txt", "w/numbers.txt"):
        (tmp_path / path).write_text("1 2\n3 4\n")
    (tmp_path / "links.toml").write_text("max_links = 0\n")
    (tmp_path / "typo.toml").write_text("max_link = 5\n")
    (tmp_path / "missing.toml").write_text("memberships = 'subs.csv'\n")
    before = files(tmp_path)
    arguments, sentence = BAD[name]
    code, out, err = gossamer("study", *arguments)
    assert code == 2, err
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
    assert files(tmp_path) == before
